//! The baseline without a graph: the model answers from the question alone. What it says is looked up among the names of the graph's nodes only
//! to be compared with gold answers; none of it is proved.

use std::time::Instant;

use common::transcript::{Part, Role, Turn};
use kg::Kg;
use kg::term::{Literal, Term};
use toolbox::answer::{Answer, AnswerValue, Member, Provenance};
use toolbox::grammar::Grammar;
use toolbox::trace::TraceEvent;

use super::{AgentKind, Outcome, Task, opening};
use crate::InferError;
use crate::planner::Planner;

/// Longest answer in characters.
const LONGEST: usize = 160;

/// Asks the model once.
///
/// # Errors
/// [`InferError`] when the planner fails.
pub fn answer(task: &Task<'_>, planner: &mut dyn Planner) -> Result<Outcome, InferError> {
    let nothing = Answer {
        value: AnswerValue::Set(Vec::new()),
        program: Vec::new(),
        evidence: Vec::new(),
        provenance: Provenance::None,
        emptied: None,
    };
    instead(
        task.kg,
        task.question,
        Outcome::new(nothing, vec![opening(task, &AgentKind::Direct)]),
        planner,
    )
}

/// The outcome with what the model knows itself in place of the answer that the graph did not have. What was tried and why it came to nothing
/// stays with the answer.
///
/// # Errors
/// [`InferError`] when the planner fails.
pub(super) fn instead(
    kg: &dyn Kg,
    question: &str,
    mut outcome: Outcome,
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
    let events = &mut outcome.events;
    events.push(TraceEvent::Prompt {
        turns: turns.clone(),
    });
    let begun = Instant::now();
    let written = planner.write(&turns, &Grammar::free(1, LONGEST, ""))?;
    let model_seconds = begun.elapsed().as_secs_f64();
    if planner.constrained() {
        events.push(TraceEvent::Tokens {
            read: written.read,
            decided: written.decided,
            forced: written.forced,
            logprob: written.logprob,
        });
    }
    outcome.asked += 1;
    events.push(TraceEvent::Call {
        step: outcome.asked,
        text: written.text.clone(),
    });
    let value = read(kg, &written.text);
    let none = matches!(&value, AnswerValue::Set(members) if members.is_empty());
    outcome.answer.value = value;
    outcome.answer.provenance = if none {
        Provenance::None
    } else {
        Provenance::Model
    };
    events.push(TraceEvent::Answer {
        answer: Box::new(outcome.answer.clone()),
    });
    events.push(TraceEvent::Timing {
        kg: 0.0,
        model: model_seconds,
    });
    outcome.tokens += written.read + written.decided + written.forced;
    outcome.model_seconds += model_seconds;
    Ok(outcome)
}

/// What a text says: a truth value, a number, or names.
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

/// The node of that name, the best connected where there are several; else the text itself.
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
