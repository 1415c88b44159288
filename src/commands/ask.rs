//! `kgagent ask`: answer one question, with program, evidence and, where there is no answer, the step that emptied.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use infer::agent::{Outcome as Answered, Task, answer_with};
use infer::planner::{Planner, Scripted};
use kg::Kg;
use kg::term::NodeId;
use serde_json::json;
use toolbox::answer::{Answer, AnswerValue, Provenance};
use toolbox::exec::{Exclude, ExecOptions};
use toolbox::link::{self, Linked};
use toolbox::prompt::Template;
use toolbox::rank::Ranker;

use super::eval::Planning;
use super::{graph, ranking};
use crate::Outcome;
use crate::cli::AskArgs;
use crate::ui::Ui;

pub(crate) fn run(args: &AskArgs, ui: &Ui) -> Result<Outcome> {
    let graph = graph::open(&args.answering.graph)?;
    let ranker = ranking::open(&args.answering.ranking)?;
    let entities = topics(&graph, &args.question, &args.entities, ranker.as_ref())?;
    let agent = args.answering.kind(args.agent, args.entities.is_empty());
    let name = args.model.as_deref().unwrap_or("none");
    let (mut planner, template): (Box<dyn Planner>, Template) = match name.strip_prefix("scripted:")
    {
        Some(file) => {
            let text =
                std::fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
            let turns = text
                .lines()
                .map(|line| line.trim().trim_end_matches(';').to_owned())
                .filter(|line| !line.is_empty())
                .collect();
            (
                Box::new(Scripted::new(turns)),
                Template::of(agent.trained_as()),
            )
        }
        None => {
            let (planning, template) =
                Planning::open(&agent, args.model.as_deref(), &args.answering, &mut None)?;
            if let Planning::Local(model) = &planning
                && let Some(warning) = ranking::mismatch(ranker.as_ref(), model.info())
            {
                ui.warn(&warning);
            }
            let Some(planner) = planning.planner(args.answering.doubt) else {
                bail!(
                    "the oracle replays gold programs, and a question of your own has none; see `eval`"
                )
            };
            (planner, template)
        }
    };
    let exclude = Exclude {
        nodes: Vec::new(),
        when: args.exclude_topics.when(),
    };
    let options = ExecOptions {
        exclude,
        ranker: Arc::clone(&ranker),
        ..ExecOptions::default()
    };
    let task = task(&graph, &args.question, &entities, options, &template, name);
    let task = Task {
        model_knowledge: args.answering.allow_model_knowledge,
        ..task
    };
    let outcome = answer_with(&agent, task, planner.as_mut())?;
    if let Some(path) = &args.trace {
        let mut bytes = Vec::new();
        toolbox::trace::write(&outcome.events, &mut bytes)?;
        common::fs::write_file(path, &bytes)?;
    }
    let names: Vec<String> = entities.iter().map(|&node| graph.name(node)).collect();
    print_text(ui, &args.question, &names, &outcome);
    ui.object(&object(&args.question, &names, &outcome));
    Ok(if outcome.answer.is_none() {
        Outcome::Negative
    } else {
        Outcome::Done
    })
}

/// A question as a task for an agent. The entities are what `options` excludes, where it excludes anything.
pub(crate) fn task<'a>(
    graph: &'a dyn Kg,
    question: &'a str,
    entities: &[NodeId],
    mut options: ExecOptions,
    template: &'a Template,
    planner_name: &'a str,
) -> Task<'a> {
    let linked = Linked::new(graph, question, entities);
    options.exclude.nodes.clone_from(&linked.entities);
    Task::new(graph, question, linked, options, template, planner_name)
}

/// The topic entities: those given, else those that the question mentions; where a name means several, `ranker` says which.
pub(crate) fn topics(
    graph: &dyn Kg,
    question: &str,
    given: &[String],
    ranker: &dyn Ranker,
) -> Result<Vec<NodeId>> {
    if given.is_empty() {
        return Ok(link::entities_of(graph, question, ranker)?);
    }
    let mut nodes = Vec::new();
    for name in given {
        let called = || -> Result<Option<NodeId>> {
            Ok(link::candidates(graph, name)?
                .first()
                .map(|candidate| candidate.node))
        };
        match graph
            .by_name(name)
            .map_or_else(called, |node| Ok(Some(node)))?
        {
            Some(node) => nodes.push(node),
            None => bail!(
                "the graph has no entity `{name}`; give an id or a label as `kg query` shows them"
            ),
        }
    }
    Ok(nodes)
}

/// Members of an answer, and evidence triples, that are printed.
const PRINTED: usize = 20;

/// An answer with what explains it, for machines.
pub(crate) fn object(question: &str, entities: &[String], outcome: &Answered) -> serde_json::Value {
    let mut object = json!({ "question": question, "entities": entities, "answer": outcome.answer, "calls": outcome.calls, "tokens": outcome.tokens });
    if let Some(failure) = outcome.failure {
        object["failure"] = json!(failure);
    }
    if let Some(reason) = outcome.stuck() {
        object["reason"] = json!(reason);
    }
    object
}

/// Prints an answer with what explains it.
pub(crate) fn print_text(ui: &Ui, question: &str, entities: &[String], outcome: &Answered) {
    let answer = &outcome.answer;
    ui.say(format!("question  {question}"));
    if entities.is_empty() {
        ui.say("entities  none found in the question (name one with --entity)");
    } else {
        ui.say(format!("entities  {}", entities.join(", ")));
    }
    match outcome.stuck() {
        Some(reason) => ui.say(format!(
            "answer    none: the model did not come to one: {reason}"
        )),
        None => ui.say(format!("answer    {}", answer_text(answer))),
    }
    if answer.provenance == Provenance::Model {
        ui.say("source    what the model knows itself; nothing in the graph proves it");
    }
    for (i, call) in answer.program.iter().enumerate() {
        ui.say(format!(
            "{} {call}",
            if i == 0 { "program  " } else { "         " }
        ));
    }
    for (i, triple) in answer.evidence.iter().take(PRINTED).enumerate() {
        ui.say(format!(
            "{} {}",
            if i == 0 { "evidence " } else { "         " },
            triple.text.join(" · ")
        ));
    }
    if answer.evidence.len() > PRINTED {
        ui.say(format!(
            "          … and {} more triples",
            answer.evidence.len() - PRINTED
        ));
    }
    if let Some(emptied) = &answer.emptied {
        ui.say(format!(
            "emptied   step {}: {}: {}",
            emptied.step, emptied.call, emptied.why
        ));
    }
}

/// The answer in one line.
fn answer_text(answer: &Answer) -> String {
    match &answer.value {
        AnswerValue::Set(members) if members.is_empty() => {
            "none: the graph has no answer to this".to_owned()
        }
        AnswerValue::Set(members) => {
            let more = if members.len() > PRINTED {
                format!(", … ({} in all)", members.len())
            } else {
                String::new()
            };
            members
                .iter()
                .take(PRINTED)
                .map(|member| member.label.as_str())
                .collect::<Vec<_>>()
                .join(", ")
                + &more
        }
        AnswerValue::Number(number) => number.to_string(),
        AnswerValue::Truth(true) => "yes".to_owned(),
        AnswerValue::Truth(false) => "no".to_owned(),
    }
}
