//! Think-on-Graph with the model's own ratings: the search is [`toolbox::published::tog`]; this module
//! asks the planner.

use std::time::Instant;

use common::transcript::Turn;
use toolbox::published::tog::{self, TogOptions};

use super::kind::AgentKind;
use super::outcome::Outcome;
use super::recorder::Recorder;
use super::task::Task;
use crate::InferError;
use crate::planner::Planner;

/// Answers one question.
///
/// # Errors
/// [`InferError`] if the planner fails.
pub fn answer(
    options: TogOptions,
    task: &Task<'_>,
    planner: &mut dyn Planner,
) -> Result<Outcome, InferError> {
    let begun = Instant::now();
    let mut record = Recorder::open(task, &AgentKind::TogModel(options));
    let session = task.session()?;
    let result = tog::answer(&session, options, &mut |turns: &[Turn]| {
        record.prompt(turns, 0);
        let proposal = record.plan(|| planner.reply(turns))?;
        let step = record.outcome.asked + 1;
        record.turn(&proposal, step, planner.constrained());
        Ok::<String, InferError>(proposal.text)
    })?;
    let outcome = &mut record.outcome;
    outcome.invalid = result.unusable;
    outcome.calls = result.rounds;
    outcome.kg_seconds = (begun.elapsed().as_secs_f64() - outcome.model_seconds).max(0.0);
    outcome.failure = result.answer.is_none().then_some("no answer");
    Ok(record.finish(result.answer))
}
