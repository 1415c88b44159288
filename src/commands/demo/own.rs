//! `kgagent demo --graph FILE...`: the whole pipeline on a graph of one's own, without a single question given.

use anyhow::{Context, Result, bail};
use datagen::question::GoldQuestion;
use datagen::read::ReadOptions;
use kg::Kg;
use serde_json::json;

use super::{Laps, Made, finish, samples};
use crate::Outcome;
use crate::cli::{DemoArgs, EntitySource, KgArg, KgLoadArgs, SampleArgs, SynthArgs};
use crate::commands::{datagen as sources, graph};
use crate::ui::Ui;

/// Share of the questions that are kept out of training and measured on.
const HELD_BACK: f64 = 0.05;
/// Questions under `--quick`.
const QUICK: usize = 400;
/// Held-out questions that are shown.
const SHOWN: usize = 3;

pub(super) fn run(args: &DemoArgs, ui: &Ui) -> Result<Outcome> {
    let mut laps = Laps::new();
    let loading = KgLoadArgs::plain(args.out.join("graph"), args.graph.clone());
    let (graph, manifest) = graph::load_files(&loading, ui)?;
    ui.say(format!(
        "1. loaded {} triples into {}",
        manifest.triples,
        loading.kg.display()
    ));
    laps.lap("load");

    let synth = SynthArgs {
        graph: KgArg::whole(&loading.kg),
        count: if args.quick {
            QUICK.min(args.count)
        } else {
            args.count
        },
        out: args.out.join("data"),
        samples: SampleArgs::plain(&args.agents, args.seed),
        abstain: 0.04,
        hold_back: HELD_BACK,
    };
    let report = sources::synthesise(&synth, &graph, ui)?;
    let Some(coverage) = &report.coverage else {
        bail!("the report of {} has no coverage", synth.out.display())
    };
    ui.say(format!(
        "2. made {} questions of it, all verified, over {} of {} relations and {} of {} classes, into {}",
        coverage.questions,
        coverage.relations_covered,
        coverage.relations_usable,
        coverage.classes_covered,
        coverage.classes_usable,
        synth.out.display()
    ));
    laps.lap("ask");

    let (model_dir, local, summary) = super::train(args, &synth.out, ui)?;
    laps.lap("train");

    let source = format!("jsonl={}", synth.out.join("heldout.jsonl").display());
    let questions = sources::read(
        std::slice::from_ref(&source),
        Some(&graph as &dyn Kg),
        &ReadOptions::default(),
    )
    .context("no questions were held out; ask for more with --count")?;
    let about = json!({ "model": model_dir, "source": source, "entities": "linked" });
    let mut measured = Vec::new();
    for &agent in &args.agents {
        let (name, setting) = (
            super::called(args, agent, "held-out"),
            super::setting(agent, &local, EntitySource::Linked)?,
        );
        let metrics = super::measure(&args.out, &name, &graph, &questions, &setting, &about, ui)?;
        measured.push((name, metrics));
    }
    ui.say(format!(
        "4. evaluated on {} held-out questions, entities linked",
        measured[0].1.n
    ));
    laps.lap("evaluate");

    ui.say(format!("5. {SHOWN} of them"));
    let shown: Vec<&str> = various(&questions);
    let samples = samples(args.agents[0], &graph, &local, &shown, ui)?;
    laps.lap("answer");
    let made = Made {
        laps,
        measured,
        report,
        summary,
        samples,
    };
    finish(args, &made, ui)?;
    ui.say(format!(
        "\nask it yourself:  kgagent ask --kg {} --model {} \"{}\"",
        loading.kg.display(),
        model_dir.display(),
        shown.first().copied().unwrap_or("…")
    ));
    Ok(Outcome::Done)
}

/// A few questions of different shapes.
fn various(questions: &[GoldQuestion]) -> Vec<&str> {
    let mut shapes = Vec::new();
    let mut shown = Vec::new();
    for question in questions {
        if shown.len() < SHOWN && !shapes.contains(&&question.kind) {
            shapes.push(&question.kind);
            shown.push(question.question.as_str());
        }
    }
    shown
}
