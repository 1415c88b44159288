//! `kgagent datagen`: from questions with gold SPARQL to verified instruction data, and conversion coverage without a graph.

use std::path::Path;

use anyhow::{Context, Result, bail};
use datagen::agree::agreements;
use datagen::export::ExportFormat;
use datagen::pipeline::GenerateOptions;
use datagen::question::GoldQuestion;
use datagen::read::{Format, ReadOptions, Source, readers};
use datagen::report::{Counts, Report};
use datagen::select::{Amount, Draw, LeakLevel, SelectOptions, SplitKind, Unit};
use datagen::synth::{Coverage, SynthOptions};
use datagen::verify::VerifyOptions;
use kg::Kg;
use model::Dataset;
use serde_json::json;
use toolbox::exec::Naming;
use toolbox::prompt::{Agent, Template};

use super::{axolotl, graph, ranking};
use crate::Outcome;
use crate::cli::{
    CheckArgs, ExportArgs, ExportName, GoldArgs, LayoutName, LeakName, RelationStyle, SampleArgs,
    SelectArgs, SparqlArgs, SplitName, SynthArgs, TrainerName, UnitName,
};
use crate::ui::{Ui, seconds};

/// Reads sources, in order.
pub(crate) fn read(
    sources: &[String],
    kg: Option<&dyn Kg>,
    options: &ReadOptions,
) -> Result<Vec<GoldQuestion>> {
    let mut questions = Vec::new();
    for text in sources {
        let source: Source = text.parse()?;
        questions.extend(
            source
                .read(kg, options)
                .with_context(|| format!("cannot read the source {text}"))?,
        );
    }
    Ok(questions)
}

/// Questions that `--show` works on unless told otherwise.
const SHOWN: usize = 5;

pub(crate) fn gold(args: &GoldArgs, ui: &Ui) -> Result<Outcome> {
    ui.catch_interrupts()?;
    let graph = graph::open(&args.graph)?;
    if args.show {
        show(args, &graph, ui)?;
    }
    let Some(out) = &args.out else {
        return Ok(Outcome::Done);
    };
    match generate(args, out, &graph, ui) {
        Ok(report) => {
            if args.show {
                return Ok(Outcome::Done);
            }
            print(&report, ui)?;
            print_selection(&report, ui);
            ui.say(format!("\nwritten to {}", out.display()));
            if report.total.examples == 0 {
                ui.warn("no question gave an example: the table says why, refused.jsonl question by question");
                return Ok(Outcome::Negative);
            }
            Ok(Outcome::Done)
        }
        Err(error)
            if error
                .downcast_ref::<datagen::Error>()
                .is_some_and(|error| matches!(error, datagen::Error::Leakage(_))) =>
        {
            ui.object(&json!({ "leakage": error.to_string() }));
            ui.say(format!("nothing was written: {error}"));
            Ok(Outcome::Negative)
        }
        Err(error) => Err(error),
    }
}

/// The questions of a run and how data is made of them.
fn prepare(args: &GoldArgs, graph: &dyn Kg) -> Result<(Vec<GoldQuestion>, GenerateOptions)> {
    if args.samples.observe && args.scramble > 0.0 {
        bail!("--observe shows names that --scramble cannot change; take one of the two");
    }
    let reading = ReadOptions {
        per_template: args.per_template,
        seed: args.samples.seed,
    };
    let questions = read(&args.sources, Some(graph), &reading)?;
    let options = GenerateOptions {
        template: template(&args.samples, RelationStyle::Name)?,
        agents: agents(&args.samples.agents),
        verify: VerifyOptions {
            abstain: args.abstain > 0.0,
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
        synth: None,
    };
    Ok((questions, options))
}

fn selection(args: &SelectArgs) -> SelectOptions {
    let unit = match args.unit {
        UnitName::Question => Unit::Question,
        UnitName::Step => Unit::Step,
    };
    SelectOptions {
        dedup: args.dedup,
        draw: Draw {
            mix: args.mix.clone(),
            count: args.count,
            unit,
        },
        split: match args.split {
            SplitName::Iid => SplitKind::Iid,
            SplitName::Compositional => SplitKind::Compositional,
            SplitName::ZeroShot => SplitKind::ZeroShot,
        },
        strict: args.strict_leakage.map(|level| match level {
            LeakName::Question => LeakLevel::Question,
            LeakName::Masked => LeakLevel::Masked,
            LeakName::Topics => LeakLevel::Topics,
        }),
    }
}

/// Generates a dataset with a bar.
pub(crate) fn generate(args: &GoldArgs, out: &Path, graph: &dyn Kg, ui: &Ui) -> Result<Report> {
    let (questions, options) = prepare(args, graph)?;
    let run = json!({ "sources": args.sources, "hold_out": args.hold_out });
    let bar = ui.bar(Some(questions.len() as u64), "generate");
    let progress = |done: usize, total: usize| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    };
    let report =
        datagen::write_dataset(out, &questions, graph, &options, &run, &progress, ui.stop())
            .map_err(|error| match error {
                datagen::Error::Stopped { .. } => {
                    anyhow::Error::from(error).context("the same command goes on from here")
                }
                other => other.into(),
            });
    bar.finish_and_clear();
    let report = report?;
    if report.resumed > 0 {
        ui.say(format!("{} questions had been done before", report.resumed));
    }
    Ok(report)
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
            "── {} · {} · refused: {} ({})",
            refused.source, refused.id, refused.reason, refused.detail
        ));
    }
    Ok(())
}

/// Prints a program as the query that gives the same on the graph.
pub(crate) fn sparql(args: &SparqlArgs, ui: &Ui) -> Result<Outcome> {
    let calls = toolbox::call::parse_program(&args.calls).context("the calls do not parse")?;
    let graph = graph::open(&args.graph)?;
    let query = datagen::to_sparql::back(&graph, &calls, &[])?;
    ui.say(query.to_string());
    ui.object(&json!({ "sparql": query.to_string() }));
    Ok(Outcome::Done)
}

/// Relations that a small model learns to spell from synthesised questions, of which each has a few. Trained so, people's questions on graphs of 411 and
/// 726 relations come out right in 0.44 and 0.23 by name, in 0.62 and 0.42 by handle; on one of 27 in 0.34 and 0.32 (docs/results.md, *Bring your own graph*).
const SPELLED: usize = 200;

/// How calls write relations where the user does not say it and data is synthesised.
fn style(graph: &dyn Kg) -> RelationStyle {
    if graph.relations().len() > SPELLED {
        RelationStyle::Handle
    } else {
        RelationStyle::Name
    }
}

/// The template of the tool loop's examples; `style` is how calls write relations where the user does not say it.
fn template(args: &SampleArgs, style: RelationStyle) -> Result<Template> {
    let mut template = Template::new(args.layout.layout());
    if args.layout == LayoutName::Dialogue {
        template.toolbox = args.tool_list;
        template.observe = args.observe;
        template.naming = match args.relations.unwrap_or(style) {
            RelationStyle::Name => Naming::Mixed,
            RelationStyle::Handle => Naming::Handles,
            RelationStyle::Mention => Naming::Mentions,
        };
    } else if args.observe {
        bail!("--observe is for the dialogue layout: a paper prompt has no room for it");
    }
    Ok(template)
}

/// The agents named, each once, in their own order.
fn agents(named: &[Agent]) -> Vec<Agent> {
    Agent::ALL
        .into_iter()
        .filter(|agent| named.contains(agent))
        .collect()
}

pub(crate) fn synth(args: &SynthArgs, ui: &Ui) -> Result<Outcome> {
    ui.catch_interrupts()?;
    let graph = graph::open(&args.graph)?;
    let report = synthesise(args, &graph, ui)?;
    print(&report, ui)?;
    if let Some(coverage) = &report.coverage {
        print_coverage(coverage, ui);
    }
    ui.say(format!("\nwritten to {}", args.out.display()));
    Ok(Outcome::Done)
}

/// Makes questions of a graph and a dataset of them, with a bar.
pub(crate) fn synthesise(args: &SynthArgs, graph: &dyn Kg, ui: &Ui) -> Result<Report> {
    if !(0.0..=0.9).contains(&args.hold_back) {
        bail!(
            "--hold-back takes a share from 0 to 0.9, not {}",
            args.hold_back
        );
    }
    if args.count == 0 {
        bail!("--count takes a number of questions from 1 on");
    }
    let threads = args.samples.threads.unwrap_or(0);
    let bar = ui.bar(Some(args.count as u64), "ask");
    let progress = |done: usize, _: usize| bar.set_position(done as u64);
    let options = SynthOptions {
        count: args.count,
        seed: args.samples.seed,
        threads,
        ..SynthOptions::default()
    };
    let made = datagen::synth::synthesise(graph, &options, None, &progress, ui.stop())?;
    bar.finish_and_clear();
    let (questions, beside) = made.split(args.hold_back, args.samples.seed);
    let options = GenerateOptions {
        template: template(&args.samples, style(graph))?,
        agents: agents(&args.samples.agents),
        verify: VerifyOptions {
            abstain: args.abstain > 0.0,
            ..VerifyOptions::default()
        },
        threads,
        seed: args.samples.seed,
        abstain: args.abstain,
        synth: Some(beside),
        ..GenerateOptions::default()
    };
    let run = json!({ "count": args.count, "hold_back": args.hold_back });
    let bar = ui.bar(Some(questions.len() as u64), "generate");
    let progress = |done: usize, _: usize| bar.set_position(done as u64);
    let report = datagen::write_dataset(
        &args.out,
        &questions,
        graph,
        &options,
        &run,
        &progress,
        ui.stop(),
    )?;
    bar.finish_and_clear();
    Ok(report)
}

/// Relations and classes without a question that are named.
const UNCOVERED: usize = 8;

fn print_coverage(coverage: &Coverage, ui: &Ui) {
    let row = |name: &str, covered: usize, usable: usize, share: f64| {
        vec![
            name.to_owned(),
            usable.to_string(),
            covered.to_string(),
            format!("{:.1} %", share * 100.0),
        ]
    };
    ui.say("");
    ui.table(&[
        ["coverage", "usable", "covered", "share"]
            .map(str::to_owned)
            .to_vec(),
        row(
            "relations",
            coverage.relations_covered,
            coverage.relations_usable,
            coverage.relation_share(),
        ),
        row(
            "classes",
            coverage.classes_covered,
            coverage.classes_usable,
            coverage.class_share(),
        ),
    ]);
    ui.say("");
    let mut rows = vec![vec!["shape".to_owned(), "questions".to_owned()]];
    rows.extend(
        coverage
            .by_shape
            .iter()
            .map(|(shape, count)| vec![shape.clone(), count.to_string()]),
    );
    rows.extend(coverage.by_hops.iter().map(|(hops, count)| {
        vec![
            format!("{hops} hop{}", if *hops == 1 { "" } else { "s" }),
            count.to_string(),
        ]
    }));
    ui.table(&rows);
    for (what, list) in [
        ("relations", &coverage.relations_uncovered),
        ("classes", &coverage.classes_uncovered),
    ] {
        if list.is_empty() {
            continue;
        }
        ui.say(format!("\n{} {what} without a question:", list.len()));
        for one in list.iter().take(UNCOVERED) {
            ui.say(format!("  {}: {}", one.name, one.why));
        }
        if list.len() > UNCOVERED {
            ui.say(format!(
                "  … and {} more in report.json",
                list.len() - UNCOVERED
            ));
        }
    }
    if coverage.questions < coverage.wanted {
        ui.say(format!(
            "\nthe graph gave {} different questions of the {} asked for",
            coverage.questions, coverage.wanted
        ));
    }
}

pub(crate) fn check(args: &CheckArgs, ui: &Ui) -> Result<Outcome> {
    if args.fronts {
        return fronts(&args.sources, ui);
    }
    let questions = read(&args.sources, None, &ReadOptions::default())?;
    let (report, _) = datagen::pipeline::check(&questions, 0);
    print(&report, ui)?;
    Ok(Outcome::Done)
}

/// Reads each source by every front end of its format and compares them; fails where two answer differently.
fn fronts(sources: &[String], ui: &Ui) -> Result<Outcome> {
    let mut rows = vec![
        [
            "source",
            "questions",
            "equal programs",
            "equal answers",
            "untested",
            "some refused",
            "all refused",
            "differ",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    let mut objects = Vec::new();
    let mut differ = false;
    for text in sources {
        let source: Source = text.parse()?;
        let all = readers(&ReadOptions::default());
        let format = all
            .iter()
            .map(|reader| reader.format())
            .find(|format| format.name == source.format)
            .context("no such format")?;
        anyhow::ensure!(
            !format.fronts.is_empty(),
            "{} has one front end only; there is nothing to compare",
            format.name
        );
        let mut read = Vec::new();
        for option in
            std::iter::once(None).chain(format.fronts.iter().map(|name| Some((*name).to_owned())))
        {
            let name = option.clone().unwrap_or_else(|| "sparql".to_owned());
            let source = Source {
                option,
                ..source.clone()
            };
            read.push((
                name,
                source
                    .read(None, &ReadOptions::default())
                    .with_context(|| format!("cannot read the source {text}"))?,
            ));
        }
        let found = agreements(&read, 1);
        let counts = [
            found.questions,
            found.programs,
            found.answers,
            found.untested,
            found.some,
            found.none,
            found.differ,
        ];
        rows.push(
            std::iter::once(text.clone())
                .chain(counts.iter().map(ToString::to_string))
                .collect(),
        );
        differ |= found.differ > 0;
        objects.push((text.clone(), found));
    }
    ui.object(&serde_json::to_value(
        objects
            .iter()
            .map(|(text, found)| (text, found))
            .collect::<std::collections::BTreeMap<_, _>>(),
    )?);
    ui.table(&rows);
    for (front, reason, count) in objects
        .iter()
        .flat_map(|(_, found)| &found.refused)
        .flat_map(|(front, reasons)| {
            reasons
                .iter()
                .map(move |(reason, count)| (front, reason, count))
        })
    {
        ui.say(format!("{front}: {count} refused, {reason}"));
    }
    for (id, how) in objects.iter().flat_map(|(_, found)| &found.differing) {
        ui.say(format!("{id}: {how}"));
    }
    Ok(if differ {
        Outcome::Negative
    } else {
        Outcome::Done
    })
}

/// The formats of questions.
pub(crate) fn formats(ui: &Ui) -> Result<Outcome> {
    let all = readers(&ReadOptions::default());
    let object = |format: &Format| {
        let options: Vec<_> = format
            .options
            .iter()
            .map(|(name, about)| json!({ "name": name, "about": about }))
            .collect();
        json!({ "format": format.name, "about": format.about, "needs": format.needs, "folder": format.folder, "example": format.example,
                "options": options, "gold_queries": format.queries })
    };
    ui.object(
        &json!({ "formats": all.iter().map(|reader| object(reader.format())).collect::<Vec<_>>() }),
    );
    for format in all.iter().map(|reader| reader.format()) {
        let queries = if format.queries {
            ""
        } else {
            " (answers only: for eval)"
        };
        ui.say(format!(
            "{}={}",
            format.name,
            format.about.to_owned() + queries
        ));
        ui.say(format!("    {}", format.needs));
        for (name, about) in format.options {
            ui.say(format!("    {}:{name}=…  {about}", format.name));
        }
        for line in format.example.lines() {
            ui.say(format!("    {line}"));
        }
    }
    Ok(Outcome::Done)
}

pub(crate) fn export(args: &ExportArgs, ui: &Ui) -> Result<Outcome> {
    let format = match args.format {
        ExportName::Sharegpt => ExportFormat::ShareGpt,
        ExportName::Alpaca => ExportFormat::Alpaca,
        ExportName::Parquet => ExportFormat::Parquet,
    };
    let beside = match (args.trainer, &args.base) {
        (None, _) => Vec::new(),
        (Some(_), _) if format != ExportFormat::ShareGpt => {
            bail!("--trainer goes with --format sharegpt, which its configuration reads")
        }
        (Some(_), None) => bail!(
            "--trainer takes --base, the model that is to be trained, such as meta-llama/Llama-3.1-70B"
        ),
        (Some(TrainerName::Axolotl), Some(base)) => {
            axolotl::files(&Dataset::read(&args.data)?, base)?
        }
    };
    // The trainer's configuration has the chat format's own template, which takes turns in any order.
    let format = if args.trainer.is_some() {
        ExportFormat::ShareGptTurns
    } else {
        format
    };
    let mut done = datagen::export::export_with(&args.data, format, &args.out, &beside)?;
    done.files
        .extend(beside.iter().map(|(name, _)| (*name).to_owned()));
    ui.say(format!(
        "{} examples to train on and {} to validate with, read back as they were",
        done.train, done.valid
    ));
    done.files
        .iter()
        .for_each(|file| ui.say(args.out.join(file).display().to_string()));
    ui.object(&serde_json::to_value(&done)?);
    Ok(Outcome::Done)
}

/// Prints a report: one row a source, then the reasons for refusing.
fn print(report: &Report, ui: &Ui) -> Result<()> {
    ui.object(&serde_json::to_value(report)?);
    let head = [
        "source",
        "questions",
        "converted",
        "verified",
        "refused",
        "examples",
        "steps",
        "time",
    ]
    .map(str::to_owned);
    let row = |name: &str, counts: &Counts| {
        let refused: usize = counts.refused.values().sum();
        let numbers = [
            counts.questions,
            counts.converted,
            counts.verified,
            refused,
            counts.examples,
            counts.steps,
        ];
        let cells = numbers.iter().map(ToString::to_string);
        std::iter::once(name.to_owned())
            .chain(cells)
            .chain([seconds(counts.seconds)])
            .collect::<Vec<_>>()
    };
    let mut rows = vec![head.to_vec()];
    rows.extend(
        report
            .sources
            .iter()
            .map(|(name, counts)| row(name, counts)),
    );
    rows.push(row("all", &report.total));
    ui.table(&rows);
    if !report.total.refused.is_empty() {
        let mut reasons: Vec<(&String, &usize)> = report.total.refused.iter().collect();
        reasons.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), (*name).clone()));
        ui.say("");
        let mut rows = vec![vec!["refused because".to_owned(), "questions".to_owned()]];
        rows.extend(
            reasons
                .iter()
                .map(|(name, count)| vec![(*name).clone(), count.to_string()]),
        );
        ui.table(&rows);
    }
    Ok(())
}

/// Prints what was chosen, where anything was, and what the parts share.
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
        let mut rows = vec![["source", "questions", "calls"].map(str::to_owned).to_vec()];
        let row = |(source, amount): (&String, &Amount)| {
            vec![
                source.clone(),
                amount.questions.to_string(),
                amount.steps.to_string(),
            ]
        };
        rows.extend(selection.drawn.iter().map(row));
        ui.table(&rows);
    }
    if !selection.leakage.is_empty() {
        ui.say("");
        let mut rows = vec![
            [
                "compared",
                "questions",
                "same words",
                "same but for names",
                "shared entity",
            ]
            .map(str::to_owned)
            .to_vec(),
        ];
        rows.extend(selection.leakage.iter().map(|leak| {
            let counts = [
                leak.questions,
                leak.same_question,
                leak.same_masked,
                leak.shared_topics,
            ];
            let name = format!("{} against {}", leak.second, leak.first);
            std::iter::once(name)
                .chain(counts.iter().map(ToString::to_string))
                .collect()
        }));
        ui.table(&rows);
    }
}
