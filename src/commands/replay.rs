//! `kgagent replay`: run the calls of a trace again and compare every event except the timing.

use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use infer::agent::{AgentKind, Task, answer_with};
use infer::planner::{LocalModel, LocalPlanner, Planner, Proposal, Scripted};
use kg::Kg;
use kg::term::NodeId;
use serde_json::json;
use toolbox::exec::{Exclude, ExecOptions};
use toolbox::link::Linked;
use toolbox::prompt::Template;
use toolbox::trace::{self, Event, Opening};

use super::{graph, ranking};
use crate::cli::ReplayArgs;
use crate::exit::ExitStatus;
use crate::ui::Ui;

pub(crate) fn run(args: &ReplayArgs, ui: &Ui) -> Result<Outcome> {
    let file =
        File::open(&args.trace).with_context(|| format!("cannot open {}", args.trace.display()))?;
    let events = trace::read(BufReader::new(file))
        .with_context(|| format!("{} is no trace", args.trace.display()))?;
    let graph = graph::open(&args.graph)?;
    let ranker = ranking::open(&args.ranking)?;
    let Some(Event::Observe(opening)) = events.first() else {
        bail!(
            "{} does not begin with an observe event",
            args.trace.display()
        );
    };
    let Opening {
        agent,
        options,
        model_knowledge,
        question,
        entities,
        kg_hash,
        template_hash,
        planner,
        exclude,
        without,
        ..
    } = opening.as_ref();
    let ranked_by = opening.ranker.as_str();
    let kind = AgentKind::traced(agent, options)
        .map_err(|error| anyhow::anyhow!("the trace is of the agent `{agent}` with options that this version does not have: {error}"))?;
    if kg_hash != graph.content_hash() {
        bail!(
            "the trace was made on the graph {kg_hash}, this folder holds {}",
            graph.content_hash()
        );
    }
    let Some(template) = Template::by_hash(template_hash) else {
        bail!(
            "the trace was rendered by template {template_hash}, which this version does not have"
        );
    };
    // Another order of relations is another prompt. A trace that does not say what ranked may still be of this ranker.
    if !ranked_by.is_empty() && ranked_by != ranker.name() {
        bail!(
            "the trace was made with relations ranked by `{ranked_by}`, and these are ranked by `{}`; {}",
            ranker.name(),
            ranking::wanted(ranked_by)
        );
    }
    let nodes = |names: &[String]| -> Result<Vec<NodeId>> {
        names
            .iter()
            .map(|name| {
                graph
                    .by_name(name)
                    .with_context(|| format!("the graph has no entity `{name}`"))
            })
            .collect()
    };
    let mut planner_again: Box<dyn Planner> = match &args.decode {
        Some(folder) => {
            let model = LocalModel::open_on(args.device.into(), folder)
                .with_context(|| format!("cannot load the model {}", folder.display()))?;
            let doubt = args.doubt.unwrap_or(model.doubt());
            Box::new(LocalPlanner::new(&Arc::new(model)).doubting(doubt))
        }
        None => Box::new(Scripted::with(written(&events))),
    };
    // Gold programs may end on statements; whoever else plans may not (rule R22).
    let refuse_statements = planner != "oracle";
    let exclude = Exclude {
        nodes: nodes(&exclude.0)?,
        when: exclude.1,
    };
    let without = nodes(without)?.into_iter().map(NodeId::relation).collect();
    let exec = ExecOptions {
        exclude,
        refuse_statements,
        without,
        ranker: Arc::clone(&ranker),
        ..ExecOptions::default()
    };
    let linked = Linked::new(&graph, question, &nodes(entities)?);
    let task = Task {
        kg: &graph,
        question,
        linked,
        must_offer: &[],
        options: exec,
        template: &template,
        planner_name: planner,
        model_knowledge: *model_knowledge,
    };
    let mut again = answer_with(&kind, task, planner_again.as_mut())?;
    if let (true, Some(Event::Observe(opening))) = (ranked_by.is_empty(), again.events.first_mut())
    {
        opening.ranker.clear();
    }
    let differ = compare(&events, &again.events, args.decode.is_some())?;
    ui.object(
        &json!({ "events": events.len(), "equal": differ.is_none(), "first_difference": differ }),
    );
    match differ {
        None => {
            ui.say(format!("{} events replayed, all equal", events.len()));
            Ok(Outcome::Done)
        }
        Some(difference) => {
            ui.say(difference);
            Ok(Outcome::Negative)
        }
    }
}

/// What was written, in order, each turn with the log-probability that stands before it.
fn written(events: &[Event]) -> Vec<Proposal> {
    let mut last = 0.0;
    let mut turns = Vec::new();
    for event in events {
        match event {
            Event::Tokens { logprob, .. } => last = *logprob,
            Event::Call { text, .. } => {
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

/// The first event that differs; timings are not compared, and tokens only where they were decoded again.
fn compare(then: &[Event], now: &[Event], tokens: bool) -> Result<Option<String>> {
    let comparable = |events: &[Event]| -> Result<Vec<String>, serde_json::Error> {
        let kept = events.iter().filter(|event| match event {
            Event::Timing { .. } => false,
            Event::Tokens { .. } => tokens,
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
