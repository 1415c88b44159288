//! `kgagent datagen recall`: the ranks of gold relations in the lists that they are chosen from,
//! and the same choices as training pairs of a relation retriever.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};
use common::fs::{StagedFolder, check_target};
use datagen::choice::Choice;
use datagen::lines::{JsonLines, write_json};
use datagen::read::ReadOptions;
use datagen::recall::{CUTS, Recall, RecallReport, SourceRecall, recall};
use datagen::verify::VerifyOptions;
use kg::Kg;
use serde_json::{Value, json};

use super::super::{graph, output, ranking};
use super::source;
use crate::cli::RecallArgs;
use crate::exit::ExitStatus;
use crate::ui::Ui;

pub(crate) fn run(args: &RecallArgs, ui: &Ui) -> Result<ExitStatus> {
    ui.catch_interrupts()?;
    if let Some(out) = &args.pairs {
        let inputs = output::paths_of(&args.sources)?;
        let inputs = inputs.iter().chain([&args.graph.kg]);
        output::spare(out, inputs.map(PathBuf::as_path))?;
    }
    let graph = graph::open(&args.graph)?;
    let reading = ReadOptions {
        per_template: args.per_template,
        seed: args.seed,
    };
    let questions = source::read(&args.sources, Some(&graph), &reading)?;
    let ranker = ranking::open(&args.ranking)?;
    let options = VerifyOptions {
        ranker: Arc::clone(&ranker),
        ..VerifyOptions::default()
    };
    let stage = ui.progress("recall", "question", Some(questions.len() as u64));
    let progress = |done: usize| stage.set_position(done as u64);
    let mut pairs = args.pairs.as_deref().map(Pairs::new).transpose()?;
    let mut sink = |choice: &Choice| match &mut pairs {
        Some(pairs) => pairs.lines.push(choice),
        None => Ok(()),
    };
    let report = recall(
        &questions,
        &graph,
        &options,
        args.threads.unwrap_or(0),
        &progress,
        ui.stop(),
        &mut sink,
    )?;
    stage.finish_and_clear();
    let chosen: usize = report
        .sources
        .values()
        .map(|source| source.all.choices)
        .sum();
    if chosen == 0 {
        bail!(
            "no program of the {} questions follows a relation on this graph; `datagen gold` lists the \
             reasons",
            questions.len()
        );
    }
    ui.object(&object(&report));
    print(&report, ui);
    if let (Some(pairs), Some(out)) = (pairs, &args.pairs) {
        let run = json!({
            "version": env!("CARGO_PKG_VERSION"), "sources": args.sources, "kg_hash": graph.content_hash(), "ranker": report.ranker,
            "pairs": chosen, "seed": args.seed, "per_template": args.per_template,
        });
        pairs.commit(&run)?;
        ui.say(format!("\n{chosen} pairs written to {}", out.display()));
    }
    Ok(ExitStatus::Done)
}

/// A folder of `pairs.jsonl`, one choice per line, and `run.json`.
struct Pairs {
    folder: StagedFolder,
    lines: JsonLines,
}

impl Pairs {
    fn new(out: &Path) -> Result<Self> {
        check_target(out, &["pairs.jsonl", "run.json"])?;
        let folder = StagedFolder::new(out)?;
        let lines = JsonLines::create(&folder, "pairs.jsonl")?;
        Ok(Self { folder, lines })
    }

    fn commit(self, run: &Value) -> Result<()> {
        self.lines.finish()?;
        write_json(&self.folder, "run.json", run)?;
        Ok(self.folder.commit()?)
    }
}

fn shares(recall: &Recall) -> Value {
    let mut object = json!({
        "choices": recall.choices, "mrr": recall.mrr(), "mean_length": recall.mean_length(), "longest": recall.longest,
    });
    for (cut, share) in CUTS.iter().zip(recall.at()) {
        object[format!("recall_at_{cut}")] = json!(share);
    }
    object
}

/// The report as JSON, with shares instead of sums.
fn object(report: &RecallReport) -> Value {
    let source = |source: &SourceRecall| {
        json!({
            "questions": source.questions, "left_out": source.left_out, "ranking_seconds": source.ranking_seconds,
            "all": shares(&source.all), "out": shares(&source.out), "in": shares(&source.incoming),
        })
    };
    let sources: serde_json::Map<String, Value> = report
        .sources
        .iter()
        .map(|(name, one)| (name.clone(), source(one)))
        .collect();
    json!({ "ranker": report.ranker, "sources": sources })
}

fn print(report: &RecallReport, ui: &Ui) {
    let mut head = vec!["source".to_owned(), "choices".to_owned()];
    head.extend(CUTS.map(|cut| format!("r@{cut}")));
    head.extend(["mrr", "list", "longest", "µs a question"].map(str::to_owned));
    let mut rows = vec![head];
    for (name, source) in &report.sources {
        for (what, recall) in [
            ("", &source.all),
            (" out", &source.out),
            (" in", &source.incoming),
        ] {
            if recall.choices == 0 {
                continue;
            }
            let mut row = vec![format!("{name}{what}"), recall.choices.to_string()];
            row.extend(recall.at().map(|share| format!("{share:.4}")));
            row.extend([
                format!("{:.4}", recall.mrr()),
                format!("{:.1}", recall.mean_length()),
                recall.longest.to_string(),
            ]);
            let time = 1e6 * source.ranking_seconds / source.questions.max(1) as f64;
            row.push(if what.is_empty() {
                format!("{time:.0}")
            } else {
                String::new()
            });
            rows.push(row);
        }
    }
    ui.say(format!("ranker {}", report.ranker));
    ui.table(&rows);
    let left: usize = report.sources.values().map(|source| source.left_out).sum();
    if left > 0 {
        ui.say(format!(
            "{left} questions are left out: `datagen gold` refuses them, or they follow a relation \
             that no list shows"
        ));
    }
}
