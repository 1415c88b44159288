//! The KG-Agent loop with recovery from failures (rules A.5): an error is returned to the planner
//! as an observation, a limited number of times per step; calls that were rejected or already made
//! are not written again.

use std::time::Instant;

use common::transcript::{Part, Role, Turn};
use kg::Kg;
use toolbox::answer::Answer;
use toolbox::call::{Call, parse_call};
use toolbox::exec::{Session, Value};
use toolbox::prompt::Conversation;
use toolbox::rank::RankError;

use super::kind::{AgentKind, Robust};
use super::outcome::{NO_CALL, Outcome};
use super::recorder::Recorder;
use super::task::Task;
use crate::InferError;
use crate::planner::{Planner, PlannerInput};

/// Answers one question.
///
/// # Errors
/// [`InferError`] if the planner fails.
pub fn answer(
    mode: Robust,
    task: &Task<'_>,
    planner: &mut dyn Planner,
) -> Result<Outcome, InferError> {
    let begun = Instant::now();
    let mut record = Recorder::open(task, &AgentKind::KgAgentRobust(mode));
    let mut session = task.session()?;
    let mut conversation = Conversation::open(task.template, &session);
    while session.answer().is_none() {
        let turns = conversation.prompt();
        let Some((text, next)) = step(mode, task, &session, turns, planner, &mut record)? else {
            record.outcome.failure = Some(NO_CALL);
            break;
        };
        session = next;
        conversation.record(&session, &text)?;
        if let Some(step) = session.steps().last() {
            record.result(&session, step);
        }
    }
    record.outcome.calls = session.steps().len();
    record.outcome.samples = conversation.into_samples();
    record.outcome.kg_seconds = begun.elapsed().as_secs_f64() - record.outcome.model_seconds;
    Ok(record.finish(Answer::of(&session)))
}

/// Asks for a call, again after each error: the call as written and the session after it; `None`
/// if every attempt failed.
fn step<'g>(
    mode: Robust,
    task: &Task<'g>,
    session: &Session<'g>,
    prompt: &[Turn],
    planner: &mut dyn Planner,
    record: &mut Recorder,
) -> Result<Option<(String, Session<'g>)>, InferError> {
    record.prompt(prompt, 0);
    let mut turns = prompt.to_vec();
    let mut rejected = repetitions(task, session);
    for _ in 0..=mode.reasks {
        let input = PlannerInput {
            session,
            template: task.template,
            turns: &turns,
        };
        let Some(proposal) = record.plan(|| planner.propose_except(&input, &rejected))? else {
            // Every possible call has been rejected.
            break;
        };
        record.turn(&proposal, session.steps().len() + 1, true);
        let message = match run(mode, session, &proposal.text)? {
            Ok(next) => return Ok(Some((proposal.text, next))),
            Err(message) => message,
        };
        record.outcome.invalid += 1;
        record.error(message.clone());
        rejected.push(proposal.text.clone());
        turns.push(Turn::shown(
            Role::Assistant,
            vec![Part::user(proposal.text)],
        ));
        turns.push(Turn::shown(
            Role::Tool,
            vec![Part::ours("error: "), Part::kg(message)],
        ));
    }
    Ok(None)
}

/// The calls already made, as the planner would write them now.
fn repetitions(task: &Task<'_>, session: &Session<'_>) -> Vec<String> {
    let next = u32::try_from(session.variables()).unwrap_or(u32::MAX);
    let mut written = Vec::new();
    for step in session.steps() {
        let call = task.template.call(session, &step.call);
        written.push(Call::new(call.tool, call.args, next).to_string());
    }
    written
}

/// Runs a call on a copy of the session, because a call may be rejected after it has run: if it
/// was made before or ends with an answer of the wrong kind. Returns the copy or the error message.
fn run<'g>(
    mode: Robust,
    session: &Session<'g>,
    text: &str,
) -> Result<Result<Session<'g>, String>, RankError> {
    let call = match parse_call(text) {
        Ok(call) => call,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let mut next = session.clone();
    let made = match next.run(&call) {
        Ok(step) => &step.call,
        Err(error) => return Ok(Err(error.recoverable()?.to_string())),
    };
    let mut before = session.steps().iter().map(|step| &step.call);
    if before.any(|call| call.tool == made.tool && call.args == made.args) {
        return Ok(Err(format!(
            "`{made}` has been called before and gives the same again"
        )));
    }
    let fit = match next.answer() {
        Some(answer) if mode.answer_types => fits(next.question(), answer, next.kg()),
        _ => Ok(()),
    };
    Ok(fit.map(|()| next))
}

/// Checks that an answer is of the kind that the question's first words ask for, if they do.
fn fits(question: &str, answer: &Value, kg: &dyn Kg) -> Result<(), String> {
    let lower = question.trim().to_lowercase();
    let begins = |words: &[&str]| {
        words.iter().any(|word| {
            lower
                .strip_prefix(word)
                .is_some_and(|rest| rest.starts_with(' '))
        })
    };
    let counts = begins(&["how many", "how much"]) || lower.contains("number of");
    let judges = begins(&[
        "is", "are", "was", "were", "do", "does", "did", "has", "have", "had", "can",
    ]);
    let names = begins(&["who", "whom", "whose", "where", "which", "when"]);
    let literals =
        |set: &[kg::term::NodeId]| set.iter().all(|&node| kg.term(node).as_literal().is_some());
    match answer {
        Value::Set(set) if set.is_empty() => Ok(()),
        Value::Set(set) if counts && !literals(set) => {
            Err("the question asks for a number and this is a set of things; count it".to_owned())
        }
        Value::Set(_) if judges => {
            Err("the question asks whether something is so and this is a set; judge it".to_owned())
        }
        Value::Int(_) if (names || judges) && !counts => {
            Err("the question does not ask for a number".to_owned())
        }
        Value::Bool(_) if names || counts => {
            Err("the question does not ask whether something is so".to_owned())
        }
        Value::Set(_) | Value::Int(_) | Value::Bool(_) | Value::Table(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_fit_the_first_words_of_a_question() {
        let kg = kg::FrozenKg::from_triples(Vec::new());
        let empty = Value::Set(Vec::new().into());
        for (question, answer, good) in [
            ("How many films did she direct?", Value::Int(3), true),
            ("How many films did she direct?", Value::Bool(true), false),
            ("Is Lisbon a city?", Value::Bool(false), true),
            ("Is Lisbon a city?", Value::Int(1), false),
            ("Who directed Heat?", Value::Int(1), false),
            ("Who directed Heat?", empty, true),
            ("Name the number of children of Ann.", Value::Int(2), true),
        ] {
            assert_eq!(
                fits(question, &answer, &kg).is_ok(),
                good,
                "{question} {answer:?}"
            );
        }
    }
}
