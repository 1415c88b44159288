//! The baseline without a graph: the model answers from the question alone. Its answer is looked up
//! among the names of the graph's nodes only for comparison with gold answers; nothing is proved.

use common::transcript::{Part, Role, Turn};
use kg::Kg;
use toolbox::answer::Provenance;
use toolbox::grammar::Grammar;
use toolbox::prompts::DIRECT;
use toolbox::published::{Separators, read_answer};
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
    answer_recorded(
        kg,
        question,
        Recorder {
            outcome,
            logprob: 0.0,
            watcher,
        },
        planner,
    )
}

/// Asks the model and records what it says after the events so far.
fn answer_recorded(
    kg: &dyn Kg,
    question: &str,
    mut record: Recorder,
    planner: &mut dyn Planner,
) -> Result<Outcome, InferError> {
    let turns = vec![
        Turn::shown(Role::System, vec![Part::ours(DIRECT.text())]),
        Turn::shown(Role::User, vec![Part::user(question)]),
    ];
    let seconds_before = record.outcome.model_seconds;
    record.prompt(&turns, 0);
    let written = record.plan(|| planner.write(&turns, &Grammar::free(1, LONGEST, "")))?;
    let step = record.outcome.asked + 1;
    record.turn(&written, step, planner.constrained());
    let answer = &mut record.outcome.answer;
    answer.value = read_answer(kg, &written.text, &[], Separators::Bars);
    answer.provenance = if answer.value.is_empty() {
        Provenance::None
    } else {
        Provenance::Model
    };
    let answer = Box::new(answer.clone());
    record.event(TraceEvent::Answer { answer });
    record.event(TraceEvent::Timing {
        kg: 0.0,
        model: record.outcome.model_seconds - seconds_before,
    });
    Ok(record.outcome)
}
