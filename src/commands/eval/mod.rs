//! `kgagent eval`: measure agents on questions with gold answers.
//!
//! [`setting`] says who answers and how questions are put, [`run`](mod@run) puts them and scores the answers against [`gold`], [`write`], [`report`],
//! [`qald`] and [`table`] show what came of it, [`compare`] sets the papers' results beside it. Nothing here knows how an agent works: see [`infer::agent::answer_with`].

mod compare;
mod gold;
mod qald;
mod report;
mod run;
mod setting;
mod table;
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, bail};
use datagen::question::GoldQuestion;
use datagen::read::ReadOptions;
use kg::Kg;
use serde_json::json;
use toolbox::rank::Ranker;

pub(crate) use self::run::evaluate;
pub(crate) use self::setting::{Planning, Setting};
pub(crate) use self::table::{head, row};
pub(crate) use self::write::write;

use super::{datagen as sources, graph, ranking};
use crate::Outcome;
use crate::cli::{EntitySource, EvalArgs};
use crate::ui::Ui;

pub(crate) fn run(args: &EvalArgs, ui: &Ui) -> Result<Outcome> {
    write::check_target(&args.out)?;
    let graph = graph::open(&args.answering.graph)?;
    let ranker = ranking::open(&args.answering.ranking)?;
    let settings = settings(args, &ranker)?;
    for setting in &settings {
        if let Planning::Local(model) = &setting.planning
            && let Some(warning) = ranking::mismatch(ranker.as_ref(), model.info())
        {
            ui.warn(&warning);
            break;
        }
    }
    let all = sources::read(
        std::slice::from_ref(&args.source),
        Some(&graph),
        &ReadOptions {
            seed: args.seed,
            ..ReadOptions::default()
        },
    )?;
    let questions = limited(all, args.limit, args.seed);
    let Some(first) = questions.first() else {
        bail!("the source {} has no questions to measure on", args.source)
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(args.threads.unwrap_or(0))
        .build()?;
    let evaluated = settings
        .iter()
        .map(|setting| pool.install(|| evaluate(&graph, &questions, setting, ui)))
        .collect::<Result<Vec<_>>>()?;
    let model = args.model.as_deref().unwrap_or("none");
    let entities = format!("{:?}", args.entities).to_lowercase();
    let published = if args.compare {
        let ours = format!(
            "{} of {} triples, {} questions of {}, {entities} entities, model {model}",
            args.answering.graph.kg.display(),
            graph.len(),
            questions.len(),
            args.source
        );
        compare::beside(&first.source, &evaluated, &ours)?
    } else {
        Vec::new()
    };
    let setting = json!({ "model": model, "source": args.source, "entities": entities, "ranker": ranker.name(), "graph": graph.content_hash(), "triples": graph.len() });
    write(&args.out, &evaluated, &setting, &published, args.traces)?;
    table::print(&evaluated, ui);
    if args.compare && published.is_empty() {
        ui.say(format!("\nno published table is on `{}`", first.source));
    }
    for table in &published {
        ui.say(format!("\n{}", table.title));
        ui.table(&table.rows);
        table.differs.iter().for_each(|line| ui.say(line));
    }
    ui.say(format!("\nwritten to {}", args.out.display()));
    let mut objects = evaluated
        .iter()
        .map(|one| write::metrics_object(one, &setting))
        .collect::<Result<Vec<_>>>()?;
    match objects.len() {
        1 => ui.object(&objects.remove(0)),
        _ => ui.object(&json!({ "agents": objects })),
    }
    Ok(Outcome::Done)
}

/// The setting of each agent; a model is loaded once for all of them.
fn settings(args: &EvalArgs, ranker: &Arc<dyn Ranker>) -> Result<Vec<Setting>> {
    let exclude = args.exclude_topics.map(crate::cli::ExcludeTopics::when);
    let mut loaded = None;
    let mut settings: Vec<Setting> = Vec::new();
    let linked = args.entities == EntitySource::Linked;
    for agent in args
        .agents
        .iter()
        .map(|&name| args.answering.kind(name, linked))
    {
        if settings.iter().any(|setting| setting.agent == agent) {
            bail!("{} is named twice", agent.name());
        }
        let setting = Setting::open(
            agent,
            args.model.as_deref(),
            &args.answering,
            &mut loaded,
            args.entities,
            exclude,
            Arc::clone(ranker),
        )?;
        settings.push(Setting {
            batch: args.batch,
            withhold: args.withhold,
            doubt: args.answering.doubt,
            model_knowledge: args.answering.allow_model_knowledge,
            ..setting
        });
    }
    Ok(settings)
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
    questions
        .into_iter()
        .zip(keep)
        .filter(|(_, keep)| *keep)
        .map(|(question, _)| question)
        .collect()
}
