//! The ODA loop (ODA §2): observe, act, reflect, until the planner answers or its iterations are over. What can be done and shown is
//! [`toolbox::oda`]'s; here a planner writes the turns, and what does not read or cannot be done is asked for again (spec B.4).

use std::time::Instant;

use toolbox::exec::Session;
use toolbox::oda::{
    Action, AnswerTurn, Awaited, OdaOptions, Run, parse_action_lenient, parse_reflection_lenient,
};
use toolbox::trace::{ResultText, TraceEvent};

use super::{AgentKind, Outcome, Task, opening};
use crate::InferError;
use crate::planner::{Planner, Proposal};

/// Times a turn is asked for again before something is done without the planner.
const ASKED_AGAIN: usize = 2;
/// Calls of one question: sixteen an iteration at most, and the answer's.
const CALLS: usize = 160;

/// Answers one question.
///
/// # Errors
/// [`InferError`] when the planner itself fails.
pub fn answer(
    task: Task<'_>,
    options: &OdaOptions,
    planner: &mut dyn Planner,
) -> Result<Outcome, InferError> {
    let mut events = vec![opening(&task, &AgentKind::Oda(options.clone()))];
    let exec = toolbox::exec::ExecOptions {
        max_steps: task.options.max_steps.max(CALLS),
        ..task.options
    };
    let session = Session::new(task.kg, task.question, task.linked, task.must_offer, exec)?;
    let no_entity = session.linked().entities.is_empty();
    let mut looped = Loop {
        run: Run::open(session, task.template, options)?,
        planner,
        told: Told::default(),
    };
    let mut forced = false;
    let (mut shown, mut steps) = (0, 0);
    while looped.run.awaited() != Awaited::Nothing {
        let turns = looped.run.turns();
        events.push(TraceEvent::Prompt {
            turns: turns[shown.min(turns.len())..].to_vec(),
        });
        shown = turns.len() + 1;
        forced |= looped.run.awaited() == Awaited::Action && looped.run.forced();
        looped.turn(&mut events)?;
        for step in looped.run.session().steps().iter().skip(steps) {
            events.push(TraceEvent::Result {
                call: step.call.to_string(),
                result: ResultText::of(looped.run.session(), step),
            });
        }
        steps = looped.run.session().steps().len();
        events.push(TraceEvent::Memory {
            history: looped
                .run
                .actions()
                .iter()
                .cloned()
                .chain(looped.run.remembered())
                .collect(),
        });
    }
    let told = looped.told;
    let answer = looped.run.answered();
    events.push(TraceEvent::Answer {
        answer: Box::new(answer.clone()),
    });
    events.push(TraceEvent::Timing {
        kg: told.kg_seconds,
        model: told.model_seconds,
    });
    let failure = match (answer.is_none(), forced, no_entity) {
        (true, _, true) => Some("no_entity"),
        (true, true, _) => Some("forced_answer"),
        _ => None,
    };
    Ok(Outcome {
        calls: steps,
        invalid: told.invalid,
        asked: told.asked,
        tokens: told.tokens,
        model_seconds: told.model_seconds,
        kg_seconds: told.kg_seconds,
        failure,
        samples: vec![looped.run.into_turns()],
        ..Outcome::new(answer, events)
    })
}

#[derive(Default)]
struct Told {
    asked: usize,
    invalid: usize,
    tokens: usize,
    model_seconds: f64,
    kg_seconds: f64,
}

struct Loop<'r, 'g> {
    run: Run<'g>,
    planner: &'r mut dyn Planner,
    told: Told,
}

impl Loop<'_, '_> {
    /// Has one turn written and taken.
    fn turn(&mut self, events: &mut Vec<TraceEvent>) -> Result<(), InferError> {
        let by_rule = match self.run.reflected_by_rule() {
            Ok(text) => text,
            Err(error) => {
                error.recoverable()?;
                None
            }
        };
        if let Some(text) = by_rule {
            events.push(TraceEvent::Call {
                step: self.run.actions().len(),
                text: text.clone(),
            });
            if self.take(&text, events)? {
                return Ok(());
            }
        }
        for _ in 0..=ASKED_AGAIN {
            let begun = Instant::now();
            let proposal = self.planner.write(self.run.turns(), &self.run.grammar())?;
            self.told.model_seconds += begun.elapsed().as_secs_f64();
            self.count(&proposal, events);
            events.push(TraceEvent::Call {
                step: self.run.actions().len(),
                text: proposal.text.clone(),
            });
            let text = self.normal(&proposal.text);
            if self.take(&text, events)? {
                return Ok(());
            }
            self.told.invalid += 1;
        }
        self.without_planner(events)
    }

    fn count(&mut self, proposal: &Proposal, events: &mut Vec<TraceEvent>) {
        self.told.asked += 1;
        self.told.tokens += proposal.read + proposal.decided + proposal.forced;
        if self.planner.constrained() {
            let Proposal {
                read,
                decided,
                forced,
                logprob,
                ..
            } = *proposal;
            events.push(TraceEvent::Tokens {
                read,
                decided,
                forced,
                logprob,
            });
        }
    }

    /// What was written, in the grammar's own form where it can be read at all.
    fn normal(&self, text: &str) -> String {
        if self.run.grammar().matches(text) {
            return text.to_owned();
        }
        match self.run.awaited() {
            Awaited::Action => {
                let session = self.run.session();
                let named = |label: &str| {
                    let entities = session.linked().entities.iter();
                    let at = entities.enumerate().find(|&(_, &node)| {
                        let (name, shown) = (session.kg().name(node), session.kg().label(node));
                        name.eq_ignore_ascii_case(label)
                            || shown.is_some_and(|shown| shown.eq_ignore_ascii_case(label))
                    });
                    at.map(|(i, _)| format!("e{i}"))
                };
                parse_action_lenient(text, &named)
                    .map_or_else(|_| text.to_owned(), |act| spelled(&act))
            }
            Awaited::Reflection => {
                let (picks, _) = parse_reflection_lenient(text, &|pick| self.run.holds(pick));
                let item = |pick: &toolbox::oda::Pick| {
                    let sign = if pick.incoming { "~" } else { "" };
                    let narrowed = pick
                        .narrowed
                        .as_ref()
                        .map(|by| format!(" {by}"))
                        .unwrap_or_default();
                    format!("{sign}{}{narrowed}", pick.relation)
                };
                if picks.is_empty() {
                    "none".to_owned()
                } else {
                    picks.iter().map(item).collect::<Vec<_>>().join("; ")
                }
            }
            Awaited::Nothing => text.to_owned(),
        }
    }

    fn take(&mut self, text: &str, events: &mut Vec<TraceEvent>) -> Result<bool, InferError> {
        let begun = Instant::now();
        let taken = self.run.write(text);
        self.told.kg_seconds += begun.elapsed().as_secs_f64();
        match taken {
            Ok(()) => Ok(true),
            Err(error) => {
                events.push(TraceEvent::Error {
                    message: error.recoverable()?.to_string(),
                });
                Ok(false)
            }
        }
    }

    /// After too many tries: the first set that was not explored is; nothing is remembered; where all is over there is no answer.
    fn without_planner(&mut self, events: &mut Vec<TraceEvent>) -> Result<(), InferError> {
        let texts: Vec<String> = match self.run.awaited() {
            Awaited::Reflection => vec!["none".to_owned()],
            _ => {
                let (sets, _) = self.run.sets();
                let open = sets.into_iter().map(|set| format!("neighbor {set}"));
                open.filter(|text| self.run.grammar().matches(text))
                    .take(1)
                    .chain(["answer none".to_owned()])
                    .collect()
            }
        };
        for text in texts {
            if self.take(&text, events)? {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// An action as the grammar writes it.
fn spelled(act: &Action) -> String {
    match act {
        Action::Neighbor(set) => format!("neighbor {set}"),
        Action::Path(from, to) => format!("path {from} {to}"),
        Action::Answer(AnswerTurn::None) => "answer none".to_owned(),
        Action::Answer(AnswerTurn::Set(set)) => format!("answer {set}"),
        Action::Answer(AnswerTurn::Count(set)) => format!("answer count {set}"),
        Action::Answer(AnswerTurn::Judge(set)) => format!("answer judge {set}"),
    }
}
