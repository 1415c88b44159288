//! `kgagent ask`: answer one question, with program and evidence, or with the step at which nothing
//! was left.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use infer::agent::{AgentKind, Outcome, Task, answer_with};
use infer::planner::{Planner, Scripted, public_address};
use kg::Kg;
use kg::term::NodeId;
use serde_json::json;
use toolbox::answer::{Answer, AnswerValue, Provenance};
use toolbox::exec::{Exclude, ExecOptions};
use toolbox::link::{self, Linked};
use toolbox::prompt::Template;
use toolbox::rank::Ranker;

use super::eval::Planning;
use super::{graph, output, ranking};
use crate::cli::AskArgs;
use crate::exit::ExitStatus;
use crate::ui::{Ui, clean_value};

/// How a trace begins.
const TRACE: &str = "{\"event\":\"observe\"";

pub(crate) fn run(args: &AskArgs, ui: &Ui) -> Result<ExitStatus> {
    link::check_question(&args.question)?;
    if let Some(path) = &args.trace {
        output::file(path, Some(TRACE))?;
    }
    let graph = graph::open(&args.answering.graph)?;
    let ranker = ranking::open(&args.answering.ranking)?;
    let entities = topics(&graph, &args.question, &args.entities, ranker.as_ref())?;
    let options = &args.answering.agents;
    let agent = (args.agent)(options, args.entities.is_empty());
    let agent = options.for_planner(agent, args.model.as_deref());
    let (mut planner, template) = planner(args, &agent, ranker.as_ref(), ui)?;
    let options = ExecOptions {
        exclude: Exclude {
            nodes: Vec::new(),
            when: args.exclude_topics,
        },
        ranker: Arc::clone(&ranker),
        ..ExecOptions::default()
    };
    let name = public_address(args.model.as_deref().unwrap_or("none"));
    let task = Task {
        model_knowledge: args.answering.allow_model_knowledge,
        ..task(&graph, &args.question, &entities, options, &template, &name)
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
        ExitStatus::Negative
    } else {
        ExitStatus::Done
    })
}

/// The planner of `--model` and its template.
fn planner(
    args: &AskArgs,
    agent: &AgentKind,
    ranker: &dyn Ranker,
    ui: &Ui,
) -> Result<(Box<dyn Planner>, Template)> {
    let model = args.model.as_deref();
    if let Some(file) = model.and_then(|name| name.strip_prefix("scripted:")) {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
        let turns = text
            .lines()
            .map(|line| line.trim().trim_end_matches(';').to_owned())
            .filter(|line| !line.is_empty())
            .collect();
        return Ok((
            Box::new(Scripted::new(turns)),
            Template::of(agent.trained_as()),
        ));
    }
    let (planning, template) = Planning::open(agent, model, &args.answering, &mut None)?;
    if let Planning::Local(model) = &planning
        && let Some(warning) = ranking::mismatch(ranker, model.info())
    {
        ui.warn(&warning);
    }
    let Some(planner) = planning.planner(args.answering.abstention_threshold) else {
        bail!("the oracle replays gold programs, and your own question has none; see `eval`")
    };
    Ok((planner, template))
}

/// A question as a task for an agent. The excluded nodes of `options` become the topic entities.
pub(super) fn task<'a>(
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

/// The given topic entities, or else those mentioned in the question. `ranker` decides between
/// entities of the same name.
pub(super) fn topics(
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
        let node = match graph.by_name(name) {
            Some(node) => Some(node),
            None => link::candidates(graph, name)?
                .first()
                .map(|found| found.node),
        };
        nodes.push(node.with_context(|| {
            format!(
                "the graph has no entity `{name}`; give an id or a label as shown by `kg query`"
            )
        })?);
    }
    Ok(nodes)
}

/// Maximum number of printed answers, and of printed evidence triples.
const PRINTED: usize = 20;

/// An outcome as JSON.
pub(super) fn object(question: &str, entities: &[String], outcome: &Outcome) -> serde_json::Value {
    let mut object = json!({
        "question": question, "entities": entities, "answer": outcome.answer,
        "calls": outcome.calls, "tokens": outcome.tokens,
    });
    if let Some(failure) = outcome.failure {
        object["failure"] = json!(failure);
    }
    if let Some(reason) = outcome.stuck() {
        object["reason"] = json!(reason);
    }
    object
}

/// Prints an outcome.
pub(super) fn print_text(ui: &Ui, question: &str, entities: &[String], outcome: &Outcome) {
    let answer = &outcome.answer;
    ui.say(format!("question  {}", clean_value(question)));
    if entities.is_empty() {
        ui.say("entities  none found in the question (name one with --entity)");
    } else {
        ui.say(format!("entities  {}", clean_value(&entities.join(", "))));
    }
    ui.say(format!("answer    {}", clean_value(&answer_text(outcome))));
    if answer.provenance == Provenance::Model {
        ui.say("source    the model's own knowledge; nothing in the graph proves it");
    }
    let lines = |name: &str, lines: &mut dyn Iterator<Item = String>| {
        for (i, line) in lines.enumerate() {
            let name = if i == 0 { name } else { "" };
            ui.say(format!("{name:<9} {}", clean_value(&line)));
        }
    };
    lines("program", &mut answer.program.iter().cloned());
    let evidence = answer.evidence.iter().take(PRINTED);
    lines(
        "evidence",
        &mut evidence.map(|triple| triple.text.join(" · ")),
    );
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

/// The answer of an outcome in one line.
pub(super) fn answer_text(outcome: &Outcome) -> String {
    if let Some(reason) = outcome.stuck() {
        return format!("none: the model failed to reach one: {reason}");
    }
    let Answer { value, .. } = &outcome.answer;
    match value {
        AnswerValue::Set(members) if members.is_empty() => {
            "none: the graph has no answer to this".to_owned()
        }
        AnswerValue::Set(members) => {
            let shown: Vec<&str> = members
                .iter()
                .take(PRINTED)
                .map(|member| member.label.as_str())
                .collect();
            let more = if members.len() > PRINTED {
                format!(", … ({} in all)", members.len())
            } else {
                String::new()
            };
            shown.join(", ") + &more
        }
        AnswerValue::Number(number) => number.to_string(),
        AnswerValue::Truth(true) => "yes".to_owned(),
        AnswerValue::Truth(false) => "no".to_owned(),
    }
}
