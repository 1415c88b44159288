//! The KG-Agent loop with recovery from failures (rules A.5): an error is returned to the planner
//! as an observation, a limited number of times per step; calls that were rejected or already made
//! are not written again; the likeliest of several programs are kept, and those without a result
//! dropped.

use std::time::Instant;

use common::transcript::{Part, Role, Turn};
use kg::Kg;
use toolbox::answer::Answer;
use toolbox::call::{Call, Target, Tool, parse_call};
use toolbox::exec::{Observation, Session, Value};
use toolbox::prompt::Conversation;
use toolbox::rank::RankError;
use toolbox::trace::{RankedProgram, TraceEvent};

use super::kind::{AgentKind, Robust};
use super::outcome::{NO_CALL, Outcome};
use super::recorder::Recorder;
use super::task::Task;
use crate::InferError;
use crate::planner::{Planner, PlannerInput};

/// A program so far.
#[derive(Clone, Debug, Default)]
struct BeamProgram {
    /// The calls as written.
    texts: Vec<String>,
    /// The calls with full names and without their targets; none may be repeated.
    done: Vec<String>,
    logprob: f64,
    /// The last call had an empty result.
    empty: bool,
    ended: bool,
    /// It ended with an answer.
    answered: bool,
}

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
    let mut search = BeamSearch {
        mode,
        task,
        planner,
        record: Recorder::open(task, &AgentKind::KgAgentRobust(mode)),
    };
    let chosen = search.run()?;
    let mut record = search.record;
    let (session, conversation) = replay(task, &chosen)?;
    for step in session.steps() {
        record.result(&session, step);
    }
    record.outcome.calls = session.steps().len();
    record.outcome.samples = conversation.into_samples();
    record.outcome.failure = session.answer().is_none().then_some(NO_CALL);
    record.outcome.kg_seconds = begun.elapsed().as_secs_f64() - record.outcome.model_seconds;
    Ok(record.finish(Answer::of(&session)))
}

/// Replays a program, whose calls are known to succeed.
fn replay<'g>(
    task: &Task<'g>,
    program: &BeamProgram,
) -> Result<(Session<'g>, Conversation), RankError> {
    let mut session = task.session()?;
    let mut conversation = Conversation::open(task.template, &session);
    for text in &program.texts {
        if parse_call(text).is_ok_and(|call| session.run(&call).is_ok()) {
            conversation.record(&session, text)?;
        }
    }
    Ok((session, conversation))
}

struct BeamSearch<'s, 'g> {
    mode: Robust,
    task: &'s Task<'g>,
    planner: &'s mut dyn Planner,
    record: Recorder,
}

impl BeamSearch<'_, '_> {
    /// The best program: the likeliest with an answer, or else the likeliest that ended, or else
    /// any.
    fn run(&mut self) -> Result<BeamProgram, InferError> {
        let beam = self.mode.beam.max(1);
        let mut open = vec![BeamProgram::default()];
        let mut ended: Vec<BeamProgram> = Vec::new();
        while !open.is_empty() {
            let mut extended = Vec::new();
            for program in &open {
                self.extend(program, &mut extended)?;
            }
            open.clear();
            for program in self.prune(extended) {
                if program.ended {
                    ended.push(program);
                } else {
                    open.push(program);
                }
            }
            let best = ended
                .iter()
                .filter(|program| program.answered)
                .map(|program| program.logprob)
                .fold(f64::NEG_INFINITY, f64::max);
            // A program only becomes less likely as it grows.
            open.retain(|program| program.logprob > best);
            // Short programs end first. Once there is an answer, only likelier programs continue;
            // without one, a full beam of abstentions ends the search.
            if best == f64::NEG_INFINITY && ended.len() >= beam {
                break;
            }
        }
        ended.sort_by(|a, b| {
            b.answered
                .cmp(&a.answered)
                .then(b.logprob.total_cmp(&a.logprob))
        });
        let chosen = ended.into_iter().next().or(open.into_iter().next());
        Ok(chosen.unwrap_or_default())
    }

    /// Keeps the likeliest programs. Empty results are dropped if any program has a result.
    fn prune(&mut self, mut programs: Vec<BeamProgram>) -> Vec<BeamProgram> {
        let beam = self.mode.beam.max(1);
        // The sort is stable: equally likely programs keep their order.
        programs.sort_by(|a, b| b.logprob.total_cmp(&a.logprob));
        let fruitful = programs
            .iter()
            .any(|program| !program.empty && (!program.ended || program.answered));
        let mut kept = Vec::new();
        let mut ranked = Vec::new();
        for program in programs {
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
            self.record.event(TraceEvent::Beam { ranked });
        }
        kept
    }

    /// Adds the program's extensions by up to `beam` different calls, each requested again after
    /// errors.
    fn extend(
        &mut self,
        program: &BeamProgram,
        extended: &mut Vec<BeamProgram>,
    ) -> Result<(), InferError> {
        let (mode, task) = (self.mode, self.task);
        // Calls already made are not written again. A handle may now mean another relation, so with
        // handles only the check after the call applies.
        let mut rejected: Vec<String> = if task.template.naming.relations_by_handle() {
            Vec::new()
        } else {
            repetitions(program)
        };
        for choice in 0..mode.beam.max(1) {
            let (mut session, conversation) = replay(task, program)?;
            let mut turns = conversation.prompt().to_vec();
            if choice == 0 {
                self.record.prompt(&turns, 0);
            }
            for ask in 0..=mode.reasks {
                let input = PlannerInput {
                    session: &session,
                    template: task.template,
                    turns: &turns,
                };
                let planner = &mut *self.planner;
                let proposal = self.record.plan(|| {
                    planner.propose_except(&input, &rejected, (mode.beam > 1).then_some(choice))
                })?;
                // Every possible call has been rejected.
                let Some(proposal) = proposal else {
                    return Ok(());
                };
                self.record.turn(&proposal, session.steps().len() + 1, true);
                let seen = rejected.contains(&proposal.text);
                rejected.push(proposal.text.clone());
                let ran = if seen {
                    Err("this call has just been written; write another one".to_owned())
                } else {
                    run(mode, &mut session, &proposal.text, program)?
                };
                let Err(message) = ran else {
                    let (text, logprob) = (&proposal.text, proposal.logprob);
                    extended.push(extension(program, &session, text, logprob));
                    break;
                };
                self.record.outcome.invalid += 1;
                self.record.error(message.clone());
                if ask == mode.reasks {
                    return Ok(());
                }
                // The session may have ended with an answer of the wrong kind.
                session = replay(task, program)?.0;
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
        Ok(())
    }
}

/// Rounded to four decimals, the precision that traces guarantee.
fn rounded(logprob: f64) -> f64 {
    (logprob * 1e4).round() / 1e4
}

/// The calls of a program as they would be written next.
fn repetitions(program: &BeamProgram) -> Vec<String> {
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

/// Runs a call; fails if it was made before or ends with an answer of the wrong kind.
fn run(
    mode: Robust,
    session: &mut Session<'_>,
    text: &str,
    program: &BeamProgram,
) -> Result<Result<(), String>, RankError> {
    let call = match parse_call(text) {
        Ok(call) => call,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let step = match session.run(&call) {
        Ok(step) => step,
        Err(error) => return Ok(Err(error.recoverable()?.to_string())),
    };
    if program.done.contains(&without_target(&step.call)) {
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

/// A call without the variable that it assigns.
fn without_target(call: &Call) -> String {
    Call {
        target: Target::None,
        ..call.clone()
    }
    .to_string()
}

/// The program extended by the call that `session` has just run.
fn extension(
    program: &BeamProgram,
    session: &Session<'_>,
    text: &str,
    logprob: f64,
) -> BeamProgram {
    let mut next = program.clone();
    next.texts.push(text.to_owned());
    next.logprob += logprob;
    if let Some(step) = session.steps().last() {
        next.done.push(without_target(&step.call));
        next.ended = step.call.tool == Tool::End;
        next.empty = match &step.observation {
            Observation::Relations(shown) => shown.is_empty(),
            Observation::Value(value) | Observation::Answer(value) => value.is_empty(),
        };
        next.answered = next.ended && !next.empty;
        // An abstention is an end, not an empty result: it stays in the beam next to programs with
        // a result and loses to them at the end.
        next.empty &= !next.ended;
    }
    next
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
