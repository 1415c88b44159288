//! `kgagent demo`: the pipeline on the graph and the questions in `data/`.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use datagen::pipeline::{ABSTAIN, GenerateOptions};
use datagen::read::ReadOptions;
use datagen::verify::VerifyOptions;
use serde_json::json;

use super::super::datagen::{generate, source};
use super::pipeline::{Demo, Laps};
use super::report;
use crate::cli::{DemoArgs, EntitySource};
use crate::ui::Ui;

/// Questions per template: enough to show every wording, few enough to train within minutes.
const PER_TEMPLATE: usize = 45;
/// Questions per template under `--quick`.
const QUICK_PER_TEMPLATE: usize = 2;
/// Share of questions with an additional example without an answer. A higher share would make
/// training take longer.
const DEMO_ABSTAIN: f64 = 0.25;

/// Sample questions, of types seen in training: a cast, the running example of the KG-Agent paper
/// on this graph, two hops, and a question that the graph cannot answer.
const SAMPLES: [&str; 4] = [
    "Who starred in Casablanca?",
    "Of the teams Cristiano Ronaldo was at in 2011, which was founded most recently?",
    "Where was the author of Norwegian Wood born?",
    "Who is the coach of Real Madrid?",
];

/// The heading for the questions of `questions.asked.jsonl`.
const ASKED: &str = "6. four questions that were chosen from the graph before the run; whatever \
                     comes out is shown, with the right answer";

pub(super) fn run(args: &DemoArgs, ui: &Ui) -> Result<()> {
    let data = |name: &str| -> Result<PathBuf> {
        let path = args.data.join(name);
        if !path.exists() {
            bail!(
                "{} is missing; run the demo from the root of the repository, or name its data \
                 folder with --data",
                path.display()
            );
        }
        Ok(path)
    };
    let mut laps = Laps::start();
    let demo = Demo::load(args, &[data("graph.ttl")?, data("ontology.ttl")?], ui)?;
    laps.lap("load");

    let jsonl = |path: &Path| format!("jsonl={}", path.display());
    let new_entities = jsonl(&data("questions.new-entities.jsonl")?);
    let new_wordings = jsonl(&data("questions.new-wordings.jsonl")?);
    let everyday = jsonl(&data("questions.blind-test.jsonl")?);
    let sources = [
        format!("templates={}", data("templates.jsonl")?.display()),
        jsonl(&data("questions.train.jsonl")?),
    ];
    // Not held out, so that the training data does not depend on them.
    let asked = jsonl(&data("questions.asked.jsonl")?);
    let hold_out = [
        new_entities.clone(),
        new_wordings.clone(),
        jsonl(&data("questions.cases.jsonl")?),
    ];
    let report = generate_data(&demo, &sources, &hold_out)?;
    ui.say(format!(
        "2. generated {} verified examples ({} calls) into {}",
        report.total.examples,
        report.total.steps,
        demo.data().display()
    ));
    laps.lap("generate");

    let trained = demo.train()?;
    laps.lap("train");

    let mut measured = Vec::new();
    for &agent in &args.agents {
        for (name, source) in [
            ("new-entities", &new_entities),
            ("new-wordings", &new_wordings),
        ] {
            measured.push(demo.evaluate(agent, &trained, name, source, EntitySource::Gold)?);
        }
    }
    for &agent in &args.agents {
        let entities = EntitySource::Linked;
        measured.push(demo.evaluate(agent, &trained, "everyday-words", &everyday, entities)?);
    }
    ui.say(format!(
        "4. evaluated on {} questions with new entities, {} with new wordings, and {} that a \
         language model worded without sight of the training data (entities linked)",
        measured[0].metrics.n,
        measured[1].metrics.n,
        measured[measured.len() - 1].metrics.n
    ));
    laps.lap("evaluate");

    ui.say("5. four questions of types seen in training");
    let mut samples = demo.ask(&trained, &SAMPLES)?;
    let asked = source::read(&[asked], Some(&demo.graph), &ReadOptions::default())?;
    samples.extend(demo.ask_known(&trained, ASKED, &asked)?);
    laps.lap("ask");
    report::finish(&demo, &laps, &measured, &report, &trained.summary, &samples)
}

/// Generates the training data from the questions of `sources`, without the entities of `hold_out`.
fn generate_data(
    demo: &Demo<'_>,
    sources: &[String],
    hold_out: &[String],
) -> Result<datagen::report::Report> {
    let args = demo.args;
    let reading = ReadOptions {
        per_template: if args.quick {
            QUICK_PER_TEMPLATE
        } else {
            PER_TEMPLATE
        },
        seed: args.seed,
    };
    let questions = source::read(sources, Some(&demo.graph), &reading)?;
    let options = GenerateOptions {
        agents: generate::agents(&args.agents),
        verify: VerifyOptions {
            abstain: true,
            ..VerifyOptions::default()
        },
        seed: args.seed,
        abstain: if args.agents.len() == 1 {
            DEMO_ABSTAIN
        } else {
            ABSTAIN
        },
        hold_out: source::read(hold_out, Some(&demo.graph), &reading)?,
        ..GenerateOptions::default()
    };
    let run = json!({ "sources": sources, "hold_out": hold_out });
    let data = demo.data();
    generate::generate(&data, &questions, &demo.graph, &options, &run, demo.ui)
}
