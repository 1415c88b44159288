//! The KG-Agent loop that does not give up at the first failure (spec A.5): an error goes back to the planner as an observation, at most so many times a
//! step; what has been refused or already done is not written again; and of several programs the likelier ones are kept, those that lead to
//! nothing dropped.

use std::time::Instant;

use common::transcript::{Part, Role, Turn};
use kg::Kg;
use serde::{Deserialize, Serialize};
use toolbox::answer::Answer;
use toolbox::call::{Call, Target, Tool, parse_call};
use toolbox::exec::{Observation, Session, Value};
use toolbox::prompt::Conversation;
use toolbox::rank::RankError;
use toolbox::trace::{RankedProgram, ResultText, TraceEvent};

use super::{Outcome, Task, opening};
use crate::InferError;
use crate::planner::{Planner, PlannerInput};

/// How the loop deals with failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Robust {
    /// Times that a step is asked for again after an error.
    pub reasks: usize,
    /// Programs kept side by side.
    pub beam: usize,
    /// Whether an answer of the wrong kind (a set where the question asks how many) is refused.
    pub answer_types: bool,
}

impl Default for Robust {
    fn default() -> Self {
        Self {
            reasks: 2,
            beam: 1,
            answer_types: false,
        }
    }
}

/// A program so far.
#[derive(Clone, Debug, Default)]
struct Program {
    /// Calls as they were written.
    texts: Vec<String>,
    /// The same with full names and without what they assign: what must not be done again.
    done: Vec<String>,
    logprob: f64,
    /// The last call gave nothing.
    empty: bool,
    ended: bool,
    /// It ended with an answer.
    answered: bool,
}

/// What the loop counts.
#[derive(Default)]
struct Count {
    asked: usize,
    invalid: usize,
    tokens: usize,
    model: f64,
}

/// Answers one question.
///
/// # Errors
/// [`InferError`] when the planner itself fails.
pub fn answer(
    mode: Robust,
    task: &Task<'_>,
    planner: &mut dyn Planner,
) -> Result<Outcome, InferError> {
    let begun = Instant::now();
    let beam = mode.beam.max(1);
    let mut events = vec![opening(task, &super::AgentKind::KgAgentRobust(mode))];
    let mut count = Count::default();
    let mut open = vec![Program::default()];
    let mut ended: Vec<Program> = Vec::new();
    while !open.is_empty() {
        let mut grown = Vec::new();
        for program in &open {
            grow(
                &mode,
                task,
                program,
                planner,
                &mut grown,
                &mut events,
                &mut count,
            )?;
        }
        // Likelier first; equals in the order in which they were written.
        grown.sort_by(|a: &Program, b: &Program| b.logprob.total_cmp(&a.logprob));
        // Pruned by execution: what gave nothing goes where something else is left.
        let fruitful = grown
            .iter()
            .any(|program| !program.empty && (!program.ended || program.answered));
        let mut kept = Vec::new();
        let mut ranked = Vec::new();
        for program in grown {
            let keep = kept.len() < beam && (!fruitful || !program.empty);
            ranked.push(RankedProgram {
                call: program.texts.last().cloned().unwrap_or_default(),
                logprob: rounded(program.logprob),
                kept: keep,
            });
            if keep {
                kept.push(program);
            }
        }
        if beam > 1 {
            events.push(TraceEvent::Beam { ranked });
        }
        open.clear();
        for program in kept {
            if program.ended {
                ended.push(program)
            } else {
                open.push(program)
            }
        }
        let best = ended
            .iter()
            .filter(|program| program.answered)
            .map(|program| program.logprob)
            .fold(f64::NEG_INFINITY, f64::max);
        // A program only becomes less likely as it grows.
        open.retain(|program| program.logprob > best);
        // Short programs end first: with an answer at hand the likelier ones still go on; without one, so many that gave up are enough.
        if best == f64::NEG_INFINITY && ended.len() >= beam {
            break;
        }
    }
    // The likeliest program with an answer; else the likeliest that ended; else what there is.
    ended.sort_by(|a, b| {
        b.answered
            .cmp(&a.answered)
            .then(b.logprob.total_cmp(&a.logprob))
    });
    let chosen = ended
        .into_iter()
        .next()
        .or_else(|| open.into_iter().next())
        .unwrap_or_default();
    let (session, conversation) = again(task, &chosen)?;
    for step in session.steps() {
        events.push(TraceEvent::Result {
            call: step.call.to_string(),
            result: ResultText::of(&session, step),
        });
    }
    let answer = Answer::of(&session);
    let failure = session
        .answer()
        .is_none()
        .then_some(super::kg_agent::NO_CALL);
    events.push(TraceEvent::Answer {
        answer: Box::new(answer.clone()),
    });
    let kg_seconds = begun.elapsed().as_secs_f64() - count.model;
    events.push(TraceEvent::Timing {
        kg: kg_seconds,
        model: count.model,
    });
    Ok(Outcome {
        samples: conversation.into_samples(),
        calls: session.steps().len(),
        invalid: count.invalid,
        asked: count.asked,
        tokens: count.tokens,
        model_seconds: count.model,
        kg_seconds,
        failure,
        ..Outcome::new(answer, events)
    })
}

/// A log-probability in as many digits as a trace can be held to.
fn rounded(logprob: f64) -> f64 {
    (logprob * 1e4).round() / 1e4
}

/// The session and the conversation of a program; its calls ran before, so they run.
fn again<'g>(task: &Task<'g>, program: &Program) -> Result<(Session<'g>, Conversation), RankError> {
    let mut session = Session::new(
        task.kg,
        task.question,
        task.linked.clone(),
        task.must_offer,
        task.options.clone(),
    )?;
    let mut conversation = Conversation::open(task.template, &session);
    for text in &program.texts {
        if parse_call(text).is_ok_and(|call| session.run(&call).is_ok()) {
            conversation.record(&session, text)?;
        }
    }
    Ok((session, conversation))
}

/// Adds the program's next calls to `grown`: as many different ones as the beam is wide, each asked for again after errors.
fn grow(
    mode: &Robust,
    task: &Task<'_>,
    program: &Program,
    planner: &mut dyn Planner,
    grown: &mut Vec<Program>,
    events: &mut Vec<TraceEvent>,
    count: &mut Count,
) -> Result<(), InferError> {
    // What has been done already is not written again. By handles a relation may be another one now, so there only the check after it counts.
    let mut refused: Vec<String> = if task.template.naming.relations_by_handle() {
        Vec::new()
    } else {
        repeats(program)
    };
    for choice in 0..mode.beam.max(1) {
        let (mut session, conversation) = again(task, program)?;
        let mut turns = conversation.prompt().to_vec();
        if choice == 0 {
            events.push(TraceEvent::Prompt {
                turns: turns.clone(),
            });
        }
        for ask in 0..=mode.reasks {
            let begun = Instant::now();
            let moment = PlannerInput {
                session: &session,
                template: task.template,
                turns: &turns,
            };
            let proposal =
                planner.propose_except(&moment, &refused, (mode.beam > 1).then_some(choice))?;
            count.model += begun.elapsed().as_secs_f64();
            // Everything that could be written has been refused.
            let Some(proposal) = proposal else {
                return Ok(());
            };
            count.asked += 1;
            count.tokens += proposal.read + proposal.decided + proposal.forced;
            events.push(TraceEvent::Tokens {
                read: proposal.read,
                decided: proposal.decided,
                forced: proposal.forced,
                logprob: proposal.logprob,
            });
            events.push(TraceEvent::Call {
                step: session.steps().len() + 1,
                text: proposal.text.clone(),
            });
            let seen = refused.contains(&proposal.text);
            refused.push(proposal.text.clone());
            let ran = if seen {
                Err("this call has just been written; write another one".to_owned())
            } else {
                run(mode, &mut session, &proposal.text, program)?
            };
            match ran {
                Ok(()) => {
                    grown.push(longer(program, &session, &proposal.text, proposal.logprob));
                    break;
                }
                Err(message) => {
                    count.invalid += 1;
                    events.push(TraceEvent::Error {
                        message: message.clone(),
                    });
                    if ask == mode.reasks {
                        return Ok(());
                    }
                    // The session may have ended on an answer of the wrong kind.
                    session = again(task, program)?.0;
                    turns.push(Turn::shown(
                        Role::Assistant,
                        vec![Part::user(proposal.text)],
                    ));
                    turns.push(Turn::shown(
                        Role::Tool,
                        vec![Part::ours("error: "), Part::kg(message)],
                    ));
                }
            }
        }
    }
    Ok(())
}

/// The calls of a program as they would be written again.
fn repeats(program: &Program) -> Vec<String> {
    let calls: Vec<Call> = program
        .texts
        .iter()
        .filter_map(|text| parse_call(text).ok())
        .collect();
    let next = calls
        .iter()
        .filter(|call| matches!(call.target, Target::Var(_)))
        .count();
    let next = u32::try_from(next).unwrap_or(u32::MAX);
    calls
        .into_iter()
        .map(|call| Call::new(call.tool, call.args, next).to_string())
        .collect()
}

/// Runs a call, unless it has been made before or ends with an answer of the wrong kind.
fn run(
    mode: &Robust,
    session: &mut Session<'_>,
    text: &str,
    program: &Program,
) -> Result<Result<(), String>, RankError> {
    let call = match parse_call(text) {
        Ok(call) => call,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let step = match session.run(&call) {
        Ok(step) => step,
        Err(error) => return Ok(Err(error.recoverable()?.to_string())),
    };
    if program.done.contains(&what(&step.call)) {
        return Ok(Err(format!(
            "`{}` has been called before and gives the same again",
            step.call
        )));
    }
    Ok(match session.answer() {
        Some(answer) if mode.answer_types => fits(session.question(), answer, session.kg()),
        _ => Ok(()),
    })
}

/// A call without what it assigns.
fn what(call: &Call) -> String {
    Call {
        target: Target::None,
        ..call.clone()
    }
    .to_string()
}

fn longer(program: &Program, session: &Session<'_>, text: &str, logprob: f64) -> Program {
    let mut next = program.clone();
    next.texts.push(text.to_owned());
    next.logprob += logprob;
    if let Some(step) = session.steps().last() {
        next.done.push(what(&step.call));
        next.ended = step.call.tool == Tool::End;
        next.empty = match &step.observation {
            Observation::Relations(shown) => shown.is_empty(),
            Observation::Value(value) | Observation::Answer(value) => value.is_empty(),
        };
        next.answered = next.ended && !next.empty;
        // Giving up is a way to end, not a dead end: it stands beside programs that found something, and loses to them at the end.
        next.empty &= !next.ended;
    }
    next
}

/// Whether an answer is of the kind that the question's first words ask for, where these say it.
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
        Value::Set(_) | Value::Int(_) | Value::Bool(_) => Ok(()),
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
