//! `kgagent demo --graph FILE...`: the pipeline on the user's own graph, with generated questions.

use anyhow::{Context, Result};
use datagen::pipeline::GenerateOptions;
use datagen::question::GoldQuestion;
use datagen::read::ReadOptions;
use datagen::synth::SynthOptions;
use datagen::verify::VerifyOptions;
use toolbox::prompt::{Layout, Template};

use super::super::datagen::{generate, source};
use super::pipeline::{Demo, Laps};
use super::report;
use crate::cli::{DemoArgs, EntitySource, SYNTH_ABSTAIN};
use crate::ui::Ui;

/// Share of the questions that are held out for the evaluation.
const HELD_BACK: f64 = 0.05;
/// Number of questions under `--quick`.
const QUICK: usize = 400;
/// Number of held-out questions that are shown.
const SHOWN: usize = 3;

pub(super) fn run(args: &DemoArgs, ui: &Ui) -> Result<()> {
    let mut laps = Laps::start();
    let demo = Demo::load(args, &args.graph, ui)?;
    laps.lap("load");

    let report = synthesize_data(&demo)?;
    let coverage = report.coverage.as_ref();
    let coverage = coverage.context("the data report has no coverage")?;
    ui.say(format!(
        "2. generated {} questions, all verified, over {} of {} relations and {} of {} classes, \
         into {}",
        coverage.questions,
        coverage.relations_covered,
        coverage.relations_usable,
        coverage.classes_covered,
        coverage.classes_usable,
        demo.data().display()
    ));
    laps.lap("generate");

    let trained = demo.train()?;
    laps.lap("train");

    let held_out = format!("jsonl={}", demo.data().join("heldout.jsonl").display());
    let questions = source::read(
        std::slice::from_ref(&held_out),
        Some(&demo.graph),
        &ReadOptions::default(),
    )
    .context("no questions were held out; ask for more with --count")?;
    let mut measured = Vec::new();
    for &agent in &args.agents {
        let entities = EntitySource::Linked;
        measured.push(demo.evaluate(agent, &trained, "held-out", &held_out, entities)?);
    }
    ui.say(format!(
        "4. evaluated on {} held-out questions, entities linked",
        measured[0].metrics.n
    ));
    laps.lap("evaluate");

    ui.say(format!("5. {SHOWN} of them"));
    let shown = various(&questions);
    let samples = demo.ask(&trained, &shown)?;
    laps.lap("ask");
    report::finish(&demo, &laps, &measured, &report, &trained.summary, &samples)?;
    ui.say(format!(
        "\nask your own:  kgagent ask --kg {} --model {} \"{}\"",
        demo.folder("graph").display(),
        demo.folder("model").display(),
        shown.first().copied().unwrap_or("…")
    ));
    Ok(())
}

/// Generates questions about the graph and the training data.
fn synthesize_data(demo: &Demo<'_>) -> Result<datagen::report::Report> {
    let args = demo.args;
    let tools = generate::synth_tools(Layout::Dialogue, &args.agents);
    let verify = VerifyOptions {
        tools,
        ..VerifyOptions::default()
    };
    let synth = SynthOptions {
        count: if args.quick {
            QUICK.min(args.count)
        } else {
            args.count
        },
        seed: args.seed,
        verify: verify.clone(),
        ..SynthOptions::default()
    };
    let options = GenerateOptions {
        template: Template {
            naming: generate::synth_naming(&demo.graph),
            tools,
            ..Template::new(Layout::Dialogue)
        },
        agents: generate::agents(&args.agents),
        verify: VerifyOptions {
            abstain: true,
            ..verify
        },
        seed: args.seed,
        abstain: SYNTH_ABSTAIN,
        ..GenerateOptions::default()
    };
    generate::synthesize(
        &demo.data(),
        &demo.graph,
        &synth,
        HELD_BACK,
        None,
        options,
        demo.ui,
    )
}

/// The first questions of different shapes.
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
