//! ODA as published (rules B): the prompts and the memory are those of
//! [`toolbox::published::oda`]. A reply that cannot be used is asked for again (rules B.4).

use common::transcript::{Part, Role, Turn};
use toolbox::oda::OdaOptions;
use toolbox::published::oda::{OdaReplyError, OdaRequest, PublishedOda};
use toolbox::trace::TraceEvent;

use super::kind::AgentKind;
use super::outcome::Outcome;
use super::recorder::Recorder;
use super::task::Task;
use crate::InferError;
use crate::planner::Planner;

/// Times a reply is asked for again before the loop goes on without it.
const REASKS: usize = 2;

/// Answers one question.
///
/// # Errors
/// [`InferError`] if the planner fails.
pub fn answer(
    task: &Task<'_>,
    options: &OdaOptions,
    planner: &mut dyn Planner,
) -> Result<Outcome, InferError> {
    let mut record = Recorder::open(task, &AgentKind::OdaPaper(options.clone()));
    let session = task.session()?;
    let no_entity = session.linked().entities.is_empty();
    let mut run = record.execute(|| PublishedOda::open(session, options))?;
    let mut forced = false;
    while let Some(request) = run.request() {
        forced |= request == OdaRequest::Answer && run.forced();
        if !step(&mut run, &mut record, planner)? {
            record.execute(|| run.fall_back())?;
        }
        let history = [run.actions().to_vec(), run.memory()].concat();
        record.event(TraceEvent::Memory { history });
    }
    record.outcome.calls = run.actions().len();
    let answer = run.into_answer();
    record.outcome.failure = match (answer.is_none(), forced, no_entity) {
        (true, _, true) => Some("no_entity"),
        (true, true, _) => Some("forced_answer"),
        _ => None,
    };
    Ok(record.finish(answer))
}

/// Asks for one reply until it can be used; false if none could.
fn step(
    run: &mut PublishedOda<'_>,
    record: &mut Recorder,
    planner: &mut dyn Planner,
) -> Result<bool, InferError> {
    let mut turns = run.turns();
    let mut shown = 0;
    for _ in 0..=REASKS {
        record.prompt(&turns, shown);
        let proposal = record.plan(|| planner.reply(&turns))?;
        record.turn(&proposal, run.actions().len(), planner.constrained());
        let problem = match record.execute(|| run.take(&proposal.text)) {
            Ok(()) => {
                turns.push(Turn::call(proposal.text));
                record.outcome.samples.push(turns);
                return Ok(true);
            }
            Err(OdaReplyError::Ranker(error)) => return Err(error.into()),
            Err(problem) => problem.to_string(),
        };
        record.error(problem.clone());
        record.outcome.invalid += 1;
        turns.push(Turn::call(proposal.text));
        shown = turns.len();
        let again = format!("That cannot be used: {problem}. Write it again in the form above.");
        turns.push(Turn::shown(Role::User, vec![Part::kg(again)]));
    }
    Ok(false)
}
