//! `kgagent demo --graph FILE...`: the whole pipeline on a graph of one's own, without a single question given.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use datagen::question::GoldQuestion;
use datagen::read::ReadOptions;
use infer::agent::AgentKind;
use infer::planner::LocalModel;
use model::Preset;
use serde_json::json;
use toolbox::kg::Kg;
use toolbox::memory::Agent;
use toolbox::rank;
use train::{Base, TrainConfig};

use super::{Laps, Made, finish, samples};
use crate::Outcome;
use crate::cli::{DemoArgs, EntitySource, KgArg, KgLoadArgs, LayoutName, RelationStyle, SynthArgs};
use crate::commands::eval::{self, Planning, Setting};
use crate::commands::{datagen as sources, kg, train as training};
use crate::ui::Ui;

/// Share of the questions that are kept out of training and measured on.
const HELD_BACK: f64 = 0.05;
/// Questions under `--quick`.
const QUICK: usize = 400;
/// Passes over the data.
const EPOCHS: usize = 4;
/// Held-out questions that are shown.
const SHOWN: usize = 3;

pub(super) fn run(args: &DemoArgs, ui: &Ui) -> Result<Outcome> {
    let mut laps = Laps::new();
    let loading = KgLoadArgs::plain(args.out.join("graph"), args.graph.clone());
    let (graph, manifest) = kg::load_files(&loading, ui)?;
    ui.say(format!("1. loaded {} triples into {}", manifest.triples, loading.kg.display()));
    laps.lap("load");

    let synth = SynthArgs {
        graph: KgArg::whole(&loading.kg),
        count: if args.quick { QUICK.min(args.count) } else { args.count },
        out: args.out.join("data"),
        agents: vec![Agent::KgAgent],
        layout: LayoutName::Dialogue,
        relations: RelationStyle::Name,
        abstain: 0.04,
        hold_back: HELD_BACK,
        seed: args.seed,
        threads: None,
    };
    let report = sources::synthesise(&synth, &graph, ui)?;
    let Some(coverage) = &report.coverage else { bail!("the report of {} has no coverage", synth.out.display()) };
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

    let config = TrainConfig { epochs: if args.quick { 1 } else { EPOCHS }, seed: args.seed, ..TrainConfig::default() };
    let model_dir = args.out.join("model");
    let summary = training::train_with(&config, &Base::Scratch(Preset::Tiny), &synth.out, &model_dir, ui)?;
    ui.say(format!(
        "3. trained {} parameters on {} tokens ({:.0} tokens/s) into {}",
        summary.parameters,
        summary.tokens,
        summary.tokens_per_second,
        model_dir.display()
    ));
    laps.lap("train");

    let local = Arc::new(LocalModel::open(&model_dir)?);
    let setting = Setting {
        agent: AgentKind::KgAgent,
        planning: Planning::Local(Arc::clone(&local)),
        template: local.template(Agent::KgAgent)?,
        entities: EntitySource::Linked,
        exclude: None,
        ranker: rank::lexical(),
        batch: None,
    };
    let source = format!("jsonl={}", synth.out.join("heldout.jsonl").display());
    let questions = sources::read(std::slice::from_ref(&source), Some(&graph as &dyn Kg), &ReadOptions::default())
        .context("no questions were held out; ask for more with --count")?;
    let evaluated = eval::evaluate(&graph, &questions, &setting, ui)?;
    let about = json!({ "model": model_dir, "source": source, "entities": "linked" });
    eval::write(&args.out.join("eval").join("held-out"), std::slice::from_ref(&evaluated), &about, &[], false)?;
    ui.say(format!("4. evaluated on {} held-out questions, entities linked", evaluated.metrics.n));
    laps.lap("evaluate");

    ui.say(format!("5. {SHOWN} of them"));
    let shown: Vec<&str> = various(&questions);
    let samples = samples(&graph, &local, &shown, ui)?;
    laps.lap("answer");
    let measured = vec![("held-out", evaluated.metrics)];
    let made = Made { laps, measured, report, summary, samples };
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
