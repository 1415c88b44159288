//! `kgagent datagen gold`: verified examples from questions with gold SPARQL.

use std::path::PathBuf;

use anyhow::{Result, bail};
use datagen::pipeline::GenerateOptions;
use datagen::question::GoldQuestion;
use datagen::read::ReadOptions;
use datagen::report::Report;
use datagen::select::{Amount, MixOptions, SelectOptions};
use datagen::verify::VerifyOptions;
use kg::Kg;
use serde_json::json;
use toolbox::exec::Naming;
use toolbox::prompt::Template;

use super::super::{graph, output, ranking};
use super::generate::{agents, generate, template};
use super::report::{print, row};
use super::reword::with_rewordings;
use super::source::read;
use crate::cli::{GoldArgs, SelectArgs};
use crate::exit::ExitStatus;
use crate::ui::{Ui, header};

/// Questions shown by `--show` without `--limit`.
const SHOWN: usize = 5;

pub(crate) fn run(args: &GoldArgs, ui: &Ui) -> Result<ExitStatus> {
    ui.catch_interrupts()?;
    let graph = graph::open(&args.graph)?;
    if args.show {
        show(args, &graph, ui)?;
    }
    let Some(out) = &args.out else {
        return Ok(ExitStatus::Done);
    };
    let inputs = output::paths_of(&[&args.sources[..], &args.hold_out].concat())?;
    let inputs = inputs.iter().chain([&args.graph.kg]);
    output::spare(out, inputs.map(PathBuf::as_path))?;
    let (questions, mut options) = prepare(args, &graph)?;
    if args.reword.reword.is_some() && args.limit.is_some() {
        bail!("--limit would leave out some of the rewordings; give --reword a smaller source");
    }
    let (seed, verify) = (args.samples.seed, options.verify.clone());
    let questions = with_rewordings(&args.reword, seed, out, questions, &verify, &graph, ui)?;
    let (questions, counts) = questions;
    options.reworded = counts;
    let run = json!({ "sources": args.sources, "hold_out": args.hold_out });
    let report = match generate(out, &questions, &graph, &options, &run, ui) {
        Err(error) if matches!(error.downcast_ref(), Some(datagen::Error::Leakage(_))) => {
            ui.object(&json!({ "leakage": error.to_string() }));
            ui.say(format!("nothing was written: {error}"));
            return Ok(ExitStatus::Negative);
        }
        other => other?,
    };
    if args.show {
        return Ok(ExitStatus::Done);
    }
    print(&report, ui)?;
    print_selection(&report, ui);
    ui.say(format!("\nwritten to {}", out.display()));
    if report.total.examples == 0 {
        ui.warn(
            "no question gave an example; the table lists the reasons, refused.jsonl the questions",
        );
        return Ok(ExitStatus::Negative);
    }
    Ok(ExitStatus::Done)
}

/// Reads the questions of a run and its options.
fn prepare(args: &GoldArgs, graph: &dyn Kg) -> Result<(Vec<GoldQuestion>, GenerateOptions)> {
    if args.samples.observe && args.scramble > 0.0 {
        bail!("--observe shows names that --scramble cannot change; use only one of them");
    }
    let reading = ReadOptions {
        per_template: args.per_template,
        seed: args.samples.seed,
    };
    let questions = read(&args.sources, Some(graph), &reading)?;
    let options = GenerateOptions {
        template: Template {
            tools: args.tools,
            ..template(&args.samples, Naming::Mixed)?
        },
        agents: agents(&args.samples.agents),
        verify: VerifyOptions {
            abstain: args.abstain > 0.0,
            tools: args.tools,
            ranker: ranking::open(&args.ranking)?,
            ..VerifyOptions::default()
        },
        threads: args.samples.threads.unwrap_or(0),
        seed: args.samples.seed,
        limit: args.limit,
        abstain: args.abstain,
        scramble: args.scramble,
        valid: args.select.valid,
        hold_out: read(&args.hold_out, Some(graph), &reading)?,
        select: selection(&args.select),
        ..GenerateOptions::default()
    };
    Ok((questions, options))
}

fn selection(args: &SelectArgs) -> SelectOptions {
    SelectOptions {
        dedup: args.dedup,
        mixing: MixOptions {
            mix: args.mix.clone(),
            count: args.count,
            unit: args.unit,
        },
        split: args.split,
        strict: args.strict_leakage,
    }
}

/// Prints the examples of a few questions as a model will see them.
fn show(args: &GoldArgs, graph: &dyn Kg, ui: &Ui) -> Result<()> {
    let (questions, mut options) = prepare(args, graph)?;
    options.limit = args.limit.or(Some(SHOWN));
    let made = datagen::pipeline::generate(&questions, graph, &options, &|_, _| {}, ui.stop())?;
    ui.object(&json!({ "train": made.train, "valid": made.valid, "refused": made.refused }));
    for example in made.train.iter().chain(&made.valid) {
        ui.say(format!(
            "── {} · {} · step {} of {}",
            example.source, example.id, example.step, example.n_steps
        ));
        for message in &example.messages {
            let role = serde_json::to_value(message.role)?;
            ui.say(format!(
                "[{}] {}",
                role.as_str().unwrap_or_default(),
                message.content
            ));
        }
        ui.say("");
    }
    for refused in &made.refused {
        ui.say(format!(
            "── {} · {} · refused: {}",
            refused.source,
            refused.id,
            refused.reason.with_detail(&refused.detail)
        ));
    }
    Ok(())
}

/// Prints the size of the parts, what the selection left out, and what the parts share.
fn print_selection(report: &Report, ui: &Ui) {
    let selection = &report.selection;
    let (train, valid) = (&selection.train, &selection.valid);
    ui.say(format!(
        "\n{} questions ({} calls) to train on, {} ({}) to validate with",
        train.questions, train.steps, valid.questions, valid.steps
    ));
    if selection.duplicates + selection.not_drawn > 0 {
        ui.say(format!(
            "left out: {} near-duplicates, {} by the mixture",
            selection.duplicates, selection.not_drawn
        ));
        let mut rows = header("source|questions|calls");
        let counts = |amount: &Amount| [amount.questions, amount.steps];
        let drawn = selection.drawn.iter();
        rows.extend(drawn.map(|(source, amount)| row(source, &counts(amount))));
        ui.table(&rows);
    }
    if !selection.leakage.is_empty() {
        let mut rows = header("compared|questions|same words|same but for names|shared entity");
        rows.extend(selection.leakage.iter().map(|leak| {
            let counts = [
                leak.questions,
                leak.same_question,
                leak.same_masked,
                leak.shared_topics,
            ];
            row(&format!("{} against {}", leak.second, leak.first), &counts)
        }));
        ui.say("");
        ui.table(&rows);
    }
}
