//! `kgagent eval`: evaluate agents on questions with gold answers.
//!
//! [`setting`] says how questions are asked, [`run`](mod@run) evaluates an agent question by
//! question ([`question`], [`gold`], [`linking`]), [`sweep`] varies a setting, [`seen`] compares the questions with those of
//! training, [`unfinished`] continues an interrupted evaluation, [`write`](mod@write), [`report`], [`qald`] and
//! [`table`] present the result, and [`compare`](mod@compare) adds the papers' results. Nothing
//! here depends on how an agent works; see [`infer::agent::answer_with`] and [`super::oracle`].

mod compare;
mod gold;
mod linking;
mod qald;
mod question;
pub(super) mod report;
mod result;
mod run;
mod seen;
mod setting;
mod sweep;
mod table;
mod unfinished;
mod write;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};
use datagen::question::GoldQuestion;
use datagen::read::ReadOptions;
use infer::planner::public_address;
use kg::Kg;
use serde_json::json;
use toolbox::call::ToolTable;
use toolbox::rank::Ranker;

pub(super) use self::gold::gold_labels;
pub(super) use self::result::Prediction;
pub(super) use self::run::evaluate;
pub(super) use self::setting::{Planning, Serving, Setting};
pub(super) use self::table::{head, row};
pub(super) use self::write::write;

use self::compare::{ComparisonTable, compare, dataset};
use self::result::Evaluation;
use self::unfinished::{Unfinished, Work};
use super::datagen::source;
use super::{graph, output, ranking};
use crate::cli::{EntitySource, EvalArgs};
use crate::exit::ExitStatus;
use crate::ui::Ui;

pub(crate) fn run(args: &EvalArgs, ui: &Ui) -> Result<ExitStatus> {
    ui.catch_interrupts()?;
    let mut inputs = output::paths_of(std::slice::from_ref(&args.source))?;
    inputs.extend(args.model.iter().map(PathBuf::from));
    inputs.push(args.answering.graph.kg.clone());
    output::spare(&args.out, inputs.iter().map(PathBuf::as_path))?;
    write::check_target(&args.out)?;
    let graph = graph::open(&args.answering.graph)?;
    let ranker = ranking::open(&args.answering.ranking)?;
    let settings = settings(args, &ranker, ui)?;
    let reading = ReadOptions {
        seed: args.seed,
        ..ReadOptions::default()
    };
    let all = source::read(std::slice::from_ref(&args.source), Some(&graph), &reading)?;
    let questions = limited(all, args.limit, args.seed);
    if questions.is_empty() {
        bail!("the source {} has no questions", args.source);
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(args.threads.unwrap_or(0))
        .build()?;
    let work = Work::new(args, settings.len(), &graph, ranker.as_ref());
    let mut unfinished = Vec::new();
    let mut evaluations = Vec::new();
    for setting in &settings {
        let of_agent = work.of_agent(setting)?;
        match pool.install(|| evaluate(&graph, &questions, setting, Some(&of_agent), ui)) {
            Ok(evaluation) => evaluations.push(evaluation),
            Err(error) => {
                of_agent.discard_if_empty();
                return Err(error);
            }
        }
        unfinished.push(of_agent);
    }
    let model = public_address(args.model.as_deref().unwrap_or("none"));
    let entities = format!("{:?}", args.entities).to_lowercase();
    let published = if args.compare {
        let ours = format!(
            "{} of {} triples, {} questions of {}, {entities} entities, model {model}",
            args.answering.graph.kg.display(),
            graph.len(),
            questions.len(),
            args.source
        );
        compare(dataset(&args.source)?.as_deref(), &evaluations, &ours)?
    } else {
        Vec::new()
    };
    let setting = json!({
        "model": model, "source": args.source, "entities": entities, "ranker": ranker.name(), "scorer": ranker.scorer(),
        "graph": graph.content_hash(), "triples": graph.len(),
    });
    let swept = if args.sweep.is_empty() && args.runs == 1 {
        Vec::new()
    } else {
        sweep::objects(&evaluations)
    };
    let traces = args.traces;
    write(
        &args.out,
        &evaluations,
        &setting,
        &published,
        &swept,
        traces,
    )?;
    unfinished.into_iter().try_for_each(Unfinished::remove)?;
    if swept.is_empty() {
        table::print(&evaluations, ui);
    } else {
        sweep::print(&swept, ui);
    }
    if args.compare && published.is_empty() {
        ui.say(format!("\nno published table is on {}", args.source));
    }
    print_published(&published, ui);
    ui.say(format!("\nwritten to {}", args.out.display()));
    if swept.is_empty() {
        print_object(&evaluations, &setting, ui)?;
    } else {
        ui.object(&json!({ "sweep": swept, "setting": setting }));
    }
    Ok(ExitStatus::Done)
}

fn print_published(published: &[ComparisonTable], ui: &Ui) {
    for table in published {
        ui.say(format!("\n{}", table.title));
        ui.table(&table.rows);
        table.differs.iter().for_each(|line| ui.say(line));
    }
}

/// Prints the metrics as JSON: one object, or with several agents a list of them.
fn print_object(evaluations: &[Evaluation], setting: &serde_json::Value, ui: &Ui) -> Result<()> {
    let mut objects = evaluations
        .iter()
        .map(|one| write::metrics_object(one, setting))
        .collect::<Result<Vec<_>>>()?;
    match objects.len() {
        1 => ui.object(&objects.remove(0)),
        _ => ui.object(&json!({ "agents": objects })),
    }
    Ok(())
}

/// The setting of each agent. All agents share one loaded model.
fn settings(args: &EvalArgs, ranker: &Arc<dyn Ranker>, ui: &Ui) -> Result<Vec<Setting>> {
    let answering = &args.answering;
    let linked = args.entities == EntitySource::Linked;
    let mut loaded = None;
    let mut agents = Vec::new();
    for &make in &args.agents {
        let agent = answering.agent(make, linked, args.model.as_deref());
        if agents.contains(&agent) {
            bail!("the agent {} is named twice", agent.name());
        }
        agents.push(agent);
    }
    let shots = answering.remote.shots;
    let mut settings: Vec<Setting> = Vec::new();
    for one in sweep::variations(&agents, shots, &args.sweep, args.runs)? {
        let name = one.name(args.runs);
        let serving = Serving {
            seed: args.seed.wrapping_add(one.run),
            shots: one.shots,
            concurrency: args.concurrency,
            tools: ToolTable::Paper,
        };
        let (planning, template) = Planning::open(
            &one.agent,
            args.model.as_deref(),
            answering,
            serving,
            &mut loaded,
        )?;
        settings.push(Setting {
            name,
            changed: one.changed,
            sampling: (serving.shots, serving.seed),
            exclude: args.exclude_topics,
            ranker: Arc::clone(ranker),
            batch: args.batch,
            abstention_threshold: answering.abstention_threshold,
            model_knowledge: answering.allow_model_knowledge,
            price: answering.price,
            withhold: args.withhold,
            ..Setting::new(one.agent, planning, template, args.entities)
                .trained_as(Path::new(args.model.as_deref().unwrap_or_default()))?
        });
    }
    if let Some(warning) = loaded.and_then(|model| model.other_ranker(ranker.as_ref())) {
        ui.warn(&warning);
    }
    Ok(settings)
}

/// At most `limit` questions of each hop count, chosen by a hash of id and seed, in their original
/// order.
fn limited(questions: Vec<GoldQuestion>, limit: Option<usize>, seed: u64) -> Vec<GoldQuestion> {
    let Some(limit) = limit else { return questions };
    let mut order: Vec<usize> = (0..questions.len()).collect();
    order.sort_by_cached_key(|&i| common::hash::number(seed, "eval", &questions[i].id));
    let mut taken: BTreeMap<Option<u32>, usize> = BTreeMap::new();
    let mut keep = vec![false; questions.len()];
    for i in order {
        let count = taken.entry(questions[i].hops).or_default();
        if *count < limit {
            *count += 1;
            keep[i] = true;
        }
    }
    let kept = questions.into_iter().zip(keep).filter(|(_, keep)| *keep);
    kept.map(|(question, _)| question).collect()
}
