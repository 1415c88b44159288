//! `kgagent datagen`: from questions with gold SPARQL to verified instruction data, and conversion coverage without a graph.

use std::path::Path;

use anyhow::{Context, Result};
use datagen::pipeline::GenerateOptions;
use datagen::question::GoldQuestion;
use datagen::read::{ReadOptions, Source};
use datagen::report::{Counts, Report};
use datagen::verify::VerifyOptions;
use serde_json::json;
use toolbox::exec::Naming;
use toolbox::kg::Kg;
use toolbox::memory::Template;

use super::kg;
use crate::Outcome;
use crate::cli::{CheckArgs, GoldArgs, LayoutName, RelationStyle};
use crate::ui::{Ui, seconds};

/// Reads sources, in order.
pub(crate) fn read(sources: &[String], kg: Option<&dyn Kg>, options: &ReadOptions) -> Result<Vec<GoldQuestion>> {
    let mut questions = Vec::new();
    for text in sources {
        let source: Source = text.parse()?;
        questions.extend(source.read(kg, options).with_context(|| format!("cannot read the source {text}"))?);
    }
    Ok(questions)
}

pub(crate) fn gold(args: &GoldArgs, ui: &Ui) -> Result<Outcome> {
    ui.catch_interrupts()?;
    let graph = kg::open(&args.graph.kg)?;
    let report = generate(args, &graph, ui)?;
    print(&report, ui)?;
    ui.say(format!("\nwritten to {}", args.out.display()));
    Ok(Outcome::Done)
}

/// Generates a dataset with a bar.
pub(crate) fn generate(args: &GoldArgs, graph: &dyn Kg, ui: &Ui) -> Result<Report> {
    let reading = ReadOptions { per_template: args.per_template, seed: args.seed };
    let questions = read(&args.sources, Some(graph), &reading)?;
    let mut template = Template::new(args.layout.layout());
    if args.layout == LayoutName::Dialogue {
        template.toolbox = args.tool_list;
        template.naming = match args.relations {
            RelationStyle::Name => Naming::Mixed,
            RelationStyle::Handle => Naming::Handles,
            RelationStyle::Mention => Naming::Mentions,
        };
    }
    let options = GenerateOptions {
        template,
        verify: VerifyOptions { abstain: args.abstain > 0.0, ..VerifyOptions::default() },
        threads: args.threads.unwrap_or(0),
        seed: args.seed,
        limit: args.limit,
        abstain: args.abstain,
        scramble: args.scramble,
        hold_out: read(&args.hold_out, Some(graph), &reading)?,
        ..GenerateOptions::default()
    };
    let run = json!({ "sources": args.sources, "hold_out": args.hold_out });
    let bar = ui.bar(Some(questions.len() as u64), "generate");
    let progress = |done: usize, total: usize| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    };
    let report = write(&args.out, &questions, graph, &options, &run, &progress, ui)?;
    bar.finish_and_clear();
    Ok(report)
}

fn write(
    out: &Path,
    questions: &[GoldQuestion],
    graph: &dyn Kg,
    options: &GenerateOptions,
    run: &serde_json::Value,
    progress: &(dyn Fn(usize, usize) + Sync),
    ui: &Ui,
) -> Result<Report> {
    Ok(datagen::write_dataset(out, questions, graph, options, run, progress, ui.stop())?)
}

pub(crate) fn check(args: &CheckArgs, ui: &Ui) -> Result<Outcome> {
    let questions = read(&args.sources, None, &ReadOptions::default())?;
    let (report, _) = datagen::pipeline::check(&questions, 0);
    print(&report, ui)?;
    Ok(Outcome::Done)
}

/// Prints a report: one row a source, then the reasons for refusing.
fn print(report: &Report, ui: &Ui) -> Result<()> {
    ui.object(&serde_json::to_value(report)?);
    let head = ["source", "questions", "converted", "verified", "refused", "examples", "steps", "time"].map(str::to_owned);
    let row = |name: &str, counts: &Counts| {
        let refused: usize = counts.refused.values().sum();
        let numbers = [counts.questions, counts.converted, counts.verified, refused, counts.examples, counts.steps];
        let cells = numbers.iter().map(ToString::to_string);
        std::iter::once(name.to_owned()).chain(cells).chain([seconds(counts.seconds)]).collect::<Vec<_>>()
    };
    let mut rows = vec![head.to_vec()];
    rows.extend(report.sources.iter().map(|(name, counts)| row(name, counts)));
    rows.push(row("all", &report.total));
    ui.table(&rows);
    if !report.total.refused.is_empty() {
        let mut reasons: Vec<(&String, &usize)> = report.total.refused.iter().collect();
        reasons.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), (*name).clone()));
        ui.say("");
        let mut rows = vec![vec!["refused because".to_owned(), "questions".to_owned()]];
        rows.extend(reasons.iter().map(|(name, count)| vec![(*name).clone(), count.to_string()]));
        ui.table(&rows);
    }
    Ok(())
}
