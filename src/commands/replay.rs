//! `kgagent replay`: run the calls of a trace again and compare every event except the timing.

use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use infer::agent::{AgentKind, Task, answer_with};
use infer::planner::{LocalModel, LocalPlanner, Planner, Proposal, Scripted, words_of};
use kg::term::NodeId;
use kg::{FrozenKg, Kg};
use serde_json::json;
use toolbox::exec::{Exclude, ExecOptions};
use toolbox::explain::WordTables;
use toolbox::link::{Linked, check_question};
use toolbox::prompt::Template;
use toolbox::rank::Ranker;
use toolbox::trace::{self, Opening, TraceEvent};

use super::{graph, oracle, ranking};
use crate::cli::ReplayArgs;
use crate::exit::ExitStatus;
use crate::ui::Ui;

pub(crate) fn run(args: &ReplayArgs, ui: &Ui) -> Result<ExitStatus> {
    let file =
        File::open(&args.trace).with_context(|| format!("cannot open {}", args.trace.display()))?;
    let events = trace::read(BufReader::new(file))
        .with_context(|| format!("{} is not a trace", args.trace.display()))?;
    let graph = graph::open(&args.graph)?;
    let ranker = ranking::open(&args.ranking)?;
    let Some(TraceEvent::Observe(opening)) = events.first() else {
        bail!(
            "{} does not begin with an observe event",
            args.trace.display()
        );
    };
    let template = check(opening, &graph, ranker.as_ref())?;
    let mut planner = planner(args, opening, &events)?;
    let mut again = answer_again(opening, &graph, &template, &ranker, planner.as_mut())?;
    if let (true, Some(TraceEvent::Observe(opening))) =
        (opening.ranker.is_empty(), again.first_mut())
    {
        opening.ranker.clear();
    }
    let difference = compare(&events, &again, args.decode.is_some())?;
    ui.object(&json!({
        "events": events.len(), "equal": difference.is_none(), "first_difference": difference,
    }));
    Ok(match difference {
        None => {
            ui.say(format!("{} events replayed, all equal", events.len()));
            ExitStatus::Done
        }
        Some(difference) => {
            ui.say(difference);
            ExitStatus::Negative
        }
    })
}

/// Checks that graph and ranker are those of the trace, and returns its template.
fn check(opening: &Opening, graph: &FrozenKg, ranker: &dyn Ranker) -> Result<Template> {
    if opening.kg_hash != graph.content_hash() {
        bail!(
            "the trace was made on the graph with the hash {}, but the graph in this folder has {}",
            opening.kg_hash,
            graph.content_hash()
        );
    }
    let template = Template::by_hash(&opening.template_hash).with_context(|| {
        format!(
            "the trace was rendered by template {}, which this version does not have",
            opening.template_hash
        )
    })?;
    // Another order of relations gives another prompt. Old traces do not name their ranker, so they
    // are accepted.
    if !opening.ranker.is_empty() && opening.ranker != ranker.name() {
        bail!(
            "the trace was made with relations ranked by `{}`, here they are ranked by `{}`; {}",
            opening.ranker,
            ranker.name(),
            ranking::option_for(&opening.ranker)
        );
    }
    Ok(template)
}

/// The model of `--decode`, or a script of the turns in the trace.
fn planner(
    args: &ReplayArgs,
    opening: &Opening,
    events: &[TraceEvent],
) -> Result<Box<dyn Planner>> {
    let Some(folder) = &args.decode else {
        let words = match &args.words {
            Some(folder) => words_of(folder)?,
            None => WordTables::base(),
        };
        if words.name() != opening.words {
            bail!(
                "the decision of the trace used the word tables `{}` of a model; name the folder of \
                 that model with --words",
                opening.words
            );
        }
        let script = Scripted::with(written(events))
            .with_logprobs(logprobs(events))
            .with_words(words);
        return Ok(Box::new(script));
    };
    let model = LocalModel::open_on(args.device, folder)
        .with_context(|| format!("cannot load the model {}", folder.display()))?;
    let threshold = args
        .abstention_threshold
        .unwrap_or(model.abstention_threshold());
    Ok(Box::new(
        LocalPlanner::new(&Arc::new(model)).with_abstention_threshold(threshold),
    ))
}

/// Answers the question of a trace again and returns the events.
fn answer_again(
    opening: &Opening,
    graph: &FrozenKg,
    template: &Template,
    ranker: &Arc<dyn Ranker>,
    planner: &mut dyn Planner,
) -> Result<Vec<TraceEvent>> {
    let agent = AgentKind::traced(&opening.agent, &opening.options).map_err(|error| {
        anyhow::anyhow!(
            "the trace is of the agent `{}` with options that this version does not have: {error}",
            opening.agent
        )
    })?;
    let nodes = |names: &[String]| -> Result<Vec<NodeId>> {
        let node = |name: &String| {
            graph
                .by_name(name)
                .with_context(|| format!("the graph has no entity `{name}`"))
        };
        names.iter().map(node).collect()
    };
    let without = nodes(&opening.without)?;
    let options = ExecOptions {
        exclude: Exclude {
            nodes: nodes(&opening.exclude.0)?,
            when: opening.exclude.1,
        },
        // Only gold programs may end on statements (rule R22).
        refuse_statements: opening.planner != oracle::NAME,
        tools: template.tools,
        without: without.into_iter().map(NodeId::relation).collect(),
        ranker: Arc::clone(ranker),
        ..ExecOptions::default()
    };
    check_question(&opening.question)?;
    let entities = nodes(&opening.entities)?;
    let linked = Linked::asked(graph, &opening.question, &entities);
    let usual = ExecOptions::default();
    let task = Task {
        options,
        model_knowledge: opening.model_knowledge,
        ..Task::new(
            graph,
            &opening.question,
            linked,
            usual,
            template,
            &opening.planner,
        )
    };
    Ok(answer_with(&agent, task, planner)?.events)
}

/// The turns of a trace in order, each with the log-probability recorded before it.
fn written(events: &[TraceEvent]) -> Vec<Proposal> {
    let mut last = 0.0;
    let mut turns = Vec::new();
    for event in events {
        match event {
            TraceEvent::Tokens { logprob, .. } => last = *logprob,
            TraceEvent::Call { text, .. } => {
                turns.push(Proposal {
                    text: text.clone(),
                    logprob: std::mem::take(&mut last),
                    ..Proposal::default()
                });
            }
            _ => {}
        }
    }
    turns
}

/// The model's log-probabilities of the candidates of a trace's decision.
fn logprobs(events: &[TraceEvent]) -> Vec<Option<f64>> {
    events
        .iter()
        .filter_map(|event| match event {
            TraceEvent::Decision { candidates, .. } => Some(candidates),
            _ => None,
        })
        .flatten()
        .map(|one| one.model)
        .collect()
}

/// The first event that differs. Timings are not compared, and tokens only if they were decoded
/// again.
fn compare(then: &[TraceEvent], now: &[TraceEvent], tokens: bool) -> Result<Option<String>> {
    let comparable = |events: &[TraceEvent]| -> Result<Vec<String>, serde_json::Error> {
        let kept = events.iter().filter(|event| match event {
            TraceEvent::Timing { .. } | TraceEvent::Reply(_) => false,
            TraceEvent::Tokens { .. } => tokens,
            _ => true,
        });
        kept.map(serde_json::to_string).collect()
    };
    let (then, now) = (comparable(then)?, comparable(now)?);
    for (i, (a, b)) in then.iter().zip(&now).enumerate() {
        if a != b {
            return Ok(Some(format!(
                "event {} differs\n  then {a}\n  now  {b}",
                i + 1
            )));
        }
    }
    Ok((then.len() != now.len()).then(|| {
        format!(
            "the trace has {} events, the replay {}",
            then.len(),
            now.len()
        )
    }))
}
