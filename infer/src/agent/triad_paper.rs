//! Triad as published (rules C): the sub-tasks are those of [`toolbox::published::triad`]; this
//! module asks the planner and measures the phases.

use std::time::Instant;

use common::transcript::Turn;
use kg::limits::QUERY_DEADLINE;
use toolbox::link::Linked;
use toolbox::published::triad::{self, PublishedTriadOptions};
use toolbox::triad::{PHASES, SubTask};

use super::kind::AgentKind;
use super::outcome::{Linkable, Outcome, Survived};
use super::recorder::Recorder;
use super::task::Task;
use crate::InferError;
use crate::planner::Planner;

/// Answers one question. The task's linked entities are not used: the generalist extracts its own.
///
/// # Errors
/// [`InferError`] if the planner fails.
pub fn answer(
    options: &PublishedTriadOptions,
    mut task: Task<'_>,
    planner: &mut dyn Planner,
) -> Result<Outcome, InferError> {
    let begun = Instant::now();
    let mut record = Recorder::open(&task, &AgentKind::TriadPaper(options.clone()));
    let kg = task.kg;
    task.linked = Linked::asked(kg, task.question, &[]);
    let deadline = task.options.deadline.min(QUERY_DEADLINE);
    let session = task.session()?;
    let mut phases = [0.0; PHASES.len()];
    let mut since = Instant::now();
    let result = triad::answer(
        &session,
        options,
        deadline,
        &mut |sub: SubTask, turns: &[Turn]| {
            record.prompt(turns, 0);
            let proposal = record.plan(|| planner.reply(turns))?;
            let step = record.outcome.asked + 1;
            record.turn(&proposal, step, planner.constrained());
            // The work of the graph before a request belongs to its phase.
            phases[sub.phase()] += since.elapsed().as_secs_f64();
            since = Instant::now();
            let call = vec![Turn::call(proposal.text.clone())];
            record.outcome.samples.push([turns.to_vec(), call].concat());
            Ok::<String, InferError>(proposal.text)
        },
    )?;
    phases[SubTask::Answer.phase()] += since.elapsed().as_secs_f64();
    for failure in &result.failures {
        record.error(failure.clone());
    }
    let outcome = &mut record.outcome;
    outcome.invalid = result.unusable;
    outcome.calls = outcome.asked;
    outcome.kg_seconds = (begun.elapsed().as_secs_f64() - outcome.model_seconds).max(0.0);
    outcome.phases = PHASES.into_iter().zip(phases).collect();
    outcome.failure = result.answer.is_none().then_some("no answer in any try");
    let recall = result.recall;
    let (entities, relations) = (Linkable::Entities, Linkable::Relations);
    outcome.survived = [
        ("text filter", entities, recall.found_entities),
        ("entity selection", entities, recall.chosen_entities),
        ("traversal", relations, recall.found_relations),
        ("relation selection", relations, recall.chosen_relations),
    ]
    .map(|(stage, what, nodes)| Survived::of(kg, stage, what, nodes))
    .into();
    Ok(record.finish(result.answer))
}
