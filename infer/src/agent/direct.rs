//! The baseline without a graph: the model answers from the question alone. Its answer is looked up
//! among the names of the graph's nodes only for comparison with gold answers; nothing is proved.

use common::transcript::{Part, Role, Turn};
use kg::Kg;
use kg::term::{Literal, Term};
use toolbox::answer::{AnswerValue, Member, Provenance};
use toolbox::grammar::Grammar;
use toolbox::trace::TraceEvent;

use super::kind::AgentKind;
use super::outcome::Outcome;
use super::recorder::Recorder;
use super::task::{Task, TraceWatcher};
use crate::InferError;
use crate::planner::Planner;

/// Maximum characters of an answer.
const LONGEST: usize = 160;

/// Asks the model once.
///
/// # Errors
/// [`InferError`] if the planner fails.
pub fn answer(task: &Task<'_>, planner: &mut dyn Planner) -> Result<Outcome, InferError> {
    let record = Recorder::open(task, &AgentKind::Direct);
    answer_recorded(task.kg, task.question, record, planner)
}

/// Replaces an answer that the graph did not have with the model's own knowledge. The answer keeps
/// the program that was tried and the reason why it found nothing.
///
/// # Errors
/// [`InferError`] if the planner fails.
pub(super) fn answer_instead(
    kg: &dyn Kg,
    question: &str,
    outcome: Outcome,
    watcher: Option<TraceWatcher>,
    planner: &mut dyn Planner,
) -> Result<Outcome, InferError> {
    answer_recorded(kg, question, Recorder { outcome, watcher }, planner)
}

/// Asks the model and records what it says after the events so far.
fn answer_recorded(
    kg: &dyn Kg,
    question: &str,
    mut record: Recorder,
    planner: &mut dyn Planner,
) -> Result<Outcome, InferError> {
    let turns = vec![
        Turn::shown(
            Role::System,
            vec![Part::ours(
                "Answer the question from what you know, in a few words: a name, a number, yes or no. Separate several answers by ` | `.",
            )],
        ),
        Turn::shown(Role::User, vec![Part::user(question)]),
    ];
    let seconds_before = record.outcome.model_seconds;
    record.prompt(&turns, 0);
    let written = record.plan(|| planner.write(&turns, &Grammar::free(1, LONGEST, "")))?;
    let step = record.outcome.asked + 1;
    record.turn(&written, step, planner.constrained());
    let answer = &mut record.outcome.answer;
    answer.value = read(kg, &written.text);
    answer.provenance = match &answer.value {
        AnswerValue::Set(members) if members.is_empty() => Provenance::None,
        _ => Provenance::Model,
    };
    let answer = Box::new(answer.clone());
    record.event(TraceEvent::Answer { answer });
    record.event(TraceEvent::Timing {
        kg: 0.0,
        model: record.outcome.model_seconds - seconds_before,
    });
    Ok(record.outcome)
}

/// Reads a text as a truth value, a number, or names.
fn read(kg: &dyn Kg, text: &str) -> AnswerValue {
    match text.trim().to_lowercase().trim_end_matches('.') {
        "true" | "yes" => return AnswerValue::Truth(true),
        "false" | "no" => return AnswerValue::Truth(false),
        number => {
            if let Ok(number) = number.parse() {
                return AnswerValue::Number(number);
            }
        }
    }
    let mut members: Vec<Member> = text
        .split(['|', '\n'])
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(|name| member(kg, name))
        .collect();
    members.sort();
    members.dedup();
    AnswerValue::Set(members)
}

/// The node with this name, the best connected one if there are several, or else the text itself.
fn member(kg: &dyn Kg, name: &str) -> Member {
    let nodes = kg.by_label(name);
    match nodes
        .into_iter()
        .max_by_key(|&node| (kg.degree(node), std::cmp::Reverse(node)))
    {
        Some(node) => Member {
            term: kg.term(node),
            name: kg.name(node),
            label: kg.label(node).unwrap_or_else(|| name.to_owned()),
        },
        None => Member {
            term: Term::Literal(Literal::plain(name)),
            name: name.to_owned(),
            label: name.to_owned(),
        },
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_as_truths_numbers_and_names() {
        let kg = kg::FrozenKg::from_triples(Vec::new());
        assert_eq!(read(&kg, "Yes."), AnswerValue::Truth(true));
        assert_eq!(read(&kg, " 42 "), AnswerValue::Number(42));
        let AnswerValue::Set(members) = read(&kg, "Paris | | Rome|Paris") else {
            panic!("no set")
        };
        assert_eq!(
            members
                .iter()
                .map(|member| member.label.as_str())
                .collect::<Vec<_>>(),
            ["Paris", "Rome"]
        );
        assert_eq!(read(&kg, " | "), AnswerValue::Set(Vec::new()));
    }
}
