//! The ODA loop (ODA §2): observe, act, reflect, until the planner answers or its iterations are
//! used up. The actions and observations are those of [`toolbox::oda`]. The planner writes the
//! turns; a turn that cannot be read or executed is requested again (rules B.4).

use toolbox::answer::Answer;
use toolbox::exec::{ExecOptions, Session};
use toolbox::oda::{
    Action, AnswerTurn, Awaited, OdaOptions, Run, parse_action_lenient, parse_reflection_lenient,
};
use toolbox::trace::TraceEvent;

use super::kind::AgentKind;
use super::outcome::Outcome;
use super::recorder::Recorder;
use super::task::Task;
use crate::InferError;
use crate::planner::Planner;

/// Times a turn is requested again before the loop continues without the planner.
const REASKS: usize = 2;
/// Maximum calls per question: up to sixteen per iteration, and those of the answer.
const CALLS: usize = 160;

/// Answers one question.
///
/// # Errors
/// [`InferError`] if the planner fails.
pub fn answer(
    task: &Task<'_>,
    options: &OdaOptions,
    planner: &mut dyn Planner,
) -> Result<Outcome, InferError> {
    let record = Recorder::open(task, &AgentKind::Oda(options.clone()));
    let (record, answer, _) = run(task, options, planner, record)?;
    Ok(record.finish(answer))
}

/// Runs the loop and records its events. Returns the answer and the session that reached it.
pub(super) fn run<'g>(
    task: &Task<'g>,
    options: &OdaOptions,
    planner: &mut dyn Planner,
    record: Recorder,
) -> Result<(Recorder, Answer, Session<'g>), InferError> {
    let template = task.template;
    let session = task.session_with(ExecOptions {
        max_steps: task.options.max_steps.max(CALLS),
        ..task.options.clone()
    })?;
    let no_entity = session.linked().entities.is_empty();
    let mut oda = OdaLoop {
        run: Run::open(session, template, options)?,
        planner,
        record,
    };
    let mut forced = false;
    let (mut shown, mut steps) = (0, 0);
    while oda.run.awaited() != Awaited::Nothing {
        let turns = oda.run.turns();
        oda.record.prompt(turns, shown);
        shown = turns.len() + 1;
        forced |= oda.run.awaited() == Awaited::Action && oda.run.forced();
        oda.turn()?;
        let session = oda.run.session();
        for step in session.steps().iter().skip(steps) {
            oda.record.result(session, step);
        }
        steps = session.steps().len();
        oda.record.event(TraceEvent::Memory {
            history: oda
                .run
                .actions()
                .iter()
                .cloned()
                .chain(oda.run.remembered())
                .collect(),
        });
    }
    let OdaLoop {
        run, mut record, ..
    } = oda;
    let answer = run.answered();
    record.outcome.failure = match (answer.is_none(), forced, no_entity) {
        (true, _, true) => Some("no_entity"),
        (true, true, _) => Some("forced_answer"),
        _ => None,
    };
    record.outcome.calls = steps;
    let (session, turns) = run.into_parts();
    record.outcome.samples = vec![turns];
    Ok((record, answer, session))
}

struct OdaLoop<'r, 'g> {
    run: Run<'g>,
    planner: &'r mut dyn Planner,
    record: Recorder,
}

impl OdaLoop<'_, '_> {
    /// Has one turn written and executes it.
    fn turn(&mut self) -> Result<(), InferError> {
        let by_rule = match self.run.reflected_by_rule() {
            Ok(text) => text,
            Err(error) => {
                error.recoverable()?;
                None
            }
        };
        if let Some(text) = by_rule {
            self.record.call(self.run.actions().len(), &text);
            if self.execute(&text)? {
                return Ok(());
            }
        }
        for _ in 0..=REASKS {
            let (run, planner) = (&self.run, &mut *self.planner);
            let proposal = self
                .record
                .plan(|| planner.write(run.turns(), &run.grammar()))?;
            let tokens = self.planner.constrained();
            self.record
                .turn(&proposal, self.run.actions().len(), tokens);
            let text = self.normalised(&proposal.text);
            if self.execute(&text)? {
                return Ok(());
            }
            self.record.outcome.invalid += 1;
        }
        self.continue_without_planner()
    }

    /// The text in the form of the grammar, if it can be read.
    fn normalised(&self, text: &str) -> String {
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

    /// Executes a turn, or records the error.
    fn execute(&mut self, text: &str) -> Result<bool, InferError> {
        let result = self.record.execute(|| self.run.write(text));
        match result {
            Ok(_) => Ok(true),
            Err(error) => {
                self.record.error(error.recoverable()?.to_string());
                Ok(false)
            }
        }
    }

    /// After too many failures: explores the first unexplored set, remembers nothing, or ends
    /// without an answer.
    fn continue_without_planner(&mut self) -> Result<(), InferError> {
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
            if self.execute(&text)? {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// An action in the form of the grammar.
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
