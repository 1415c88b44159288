//! `kgagent eval`: measure agents on questions with gold answers.
//!
//! [`setting`] says who answers and how questions are put, [`run`](mod@run) puts them and scores the answers against [`gold`], [`write`] and [`table`] show
//! what came of it. Nothing here knows how an agent works: see [`infer::agent::answer_with`].

mod gold;
mod run;
mod setting;
mod table;
mod write;

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use datagen::question::GoldQuestion;
use datagen::read::ReadOptions;
use infer::agent::AgentKind;
use serde_json::json;

pub(crate) use self::run::evaluate;
pub(crate) use self::setting::{Planning, Setting};
pub(crate) use self::table::{head, row};
pub(crate) use self::write::write;

use super::{datagen as sources, kg, ranking};
use crate::Outcome;
use crate::cli::EvalArgs;
use crate::ui::Ui;

pub(crate) fn run(args: &EvalArgs, ui: &Ui) -> Result<Outcome> {
    let graph = kg::open(&args.graph)?;
    let exclude = args.exclude_topics.map(crate::cli::ExcludeTopics::when);
    let setting = Setting::open(
        args.agent.kind(&args.triad, args.entities == crate::cli::EntitySource::Linked),
        &args.model,
        args.entities,
        exclude,
        ranking::open(&args.ranking)?,
    )?;
    if matches!(setting.planning, Planning::Oracle) && setting.agent != AgentKind::KgAgent {
        bail!("gold programs are kg-agent's; `--model oracle` cannot answer as {}", setting.agent.name());
    }
    if let Planning::Local(model) = &setting.planning
        && let Some(warning) = ranking::mismatch(setting.ranker.as_ref(), model.info())
    {
        ui.warn(&warning);
    }
    let all = sources::read(std::slice::from_ref(&args.source), Some(&graph), &ReadOptions { seed: args.seed, ..ReadOptions::default() })?;
    let questions = limited(all, args.limit, args.seed);
    if questions.is_empty() {
        bail!("the source {} has no questions to measure on", args.source);
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads.unwrap_or(0)).build()?;
    let evaluated = pool.install(|| evaluate(&graph, &questions, &setting, ui))?;
    ranking::check(setting.ranker.as_ref())?;
    let setting = json!({ "agent": setting.agent.name(), "ranker": setting.ranker.name(), "model": args.model, "source": args.source, "entities": format!("{:?}", args.entities).to_lowercase() });
    write(&args.out, &evaluated, &setting, args.traces)?;
    table::print(&evaluated, ui);
    ui.say(format!("\nwritten to {}", args.out.display()));
    let mut value = serde_json::to_value(&evaluated.metrics)?;
    value["skipped"] = json!(evaluated.skipped.len());
    if let Some(linking) = &evaluated.linking {
        value["linking"] = write::linking_object(linking);
    }
    ui.object(&value);
    Ok(Outcome::Done)
}

/// At most `limit` questions of each hop count, chosen by a hash of id and seed; the order stays.
fn limited(questions: Vec<GoldQuestion>, limit: Option<usize>, seed: u64) -> Vec<GoldQuestion> {
    let Some(limit) = limit else { return questions };
    let mut order: Vec<usize> = (0..questions.len()).collect();
    order.sort_by_cached_key(|&i| datagen::hash::number(seed, "eval", &questions[i].id));
    let mut taken: BTreeMap<Option<u32>, usize> = BTreeMap::new();
    let mut keep = vec![false; questions.len()];
    for i in order {
        let count = taken.entry(questions[i].hops).or_default();
        if *count < limit {
            *count += 1;
            keep[i] = true;
        }
    }
    questions.into_iter().zip(keep).filter(|(_, keep)| *keep).map(|(question, _)| question).collect()
}
