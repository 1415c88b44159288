//! The KG-Agent loop (§4.3): the planner writes one call per step, the executor runs it, and the
//! prompt is updated, until the planner calls `end`.

use toolbox::answer::Answer;
use toolbox::call::parse_call;
use toolbox::exec::{ExecOptions, Session, ToolError};
use toolbox::prompt::{Conversation, Layout};
use toolbox::trace::TraceEvent;

use super::kind::AgentKind;
use super::outcome::{NO_CALL, NO_END, Outcome};
use super::recorder::Recorder;
use super::task::Task;
use crate::InferError;
use crate::planner::{Planner, PlannerInput};

/// Maximum number of steps, as in the authors' code; a constrained planner must end with the last.
const STEPS: usize = 30;

/// Answers one question with the paper's loop (rules A.5). Each call is requested once. A call that
/// fails to parse or execute ends the question without an answer, and so does reaching the step
/// limit; the trace gives the reason.
///
/// # Errors
/// [`InferError`] if the planner fails.
pub fn answer(task: &Task<'_>, planner: &mut dyn Planner) -> Result<Outcome, InferError> {
    let mut record = Recorder::open(task, &AgentKind::KgAgent);
    let ran = run(task, planner, &mut record)?;
    record.outcome.failure = ran.failure;
    record.outcome.calls = ran.session.steps().len();
    record.outcome.samples = ran.conversation.into_samples();
    Ok(record.finish(Answer::of(&ran.session)))
}

/// A question after the loop.
pub(super) struct Ran<'g> {
    pub(super) session: Session<'g>,
    pub(super) conversation: Conversation,
    /// Why the loop ended without an answer, unless the model gave up.
    pub(super) failure: Option<&'static str>,
}

/// Runs the loop and records its events.
pub(super) fn run<'g>(
    task: &Task<'g>,
    planner: &mut dyn Planner,
    record: &mut Recorder,
) -> Result<Ran<'g>, InferError> {
    let limit = task.options.max_steps.min(STEPS);
    let template = task.template;
    let mut session = task.session_with(template.fit(ExecOptions {
        max_steps: limit,
        ..task.options.clone()
    }))?;
    let mut conversation = Conversation::open(template, &session);
    let mut failure = None;
    let mut shown = 0;
    while session.answer().is_none() {
        if session.steps().len() == limit {
            record.error(ToolError::Steps { limit }.to_string());
            failure = Some(NO_END);
            break;
        }
        // Observe: the turns that the planner has not seen yet.
        let turns = conversation.prompt();
        record.prompt(turns, shown);
        // Propose, constrained to live calls.
        let proposal = record.plan(|| {
            planner.propose(&PlannerInput {
                session: &session,
                template,
                turns,
            })
        })?;
        // Replayed texts have no tokens; a server reports its own.
        let tokens = planner.constrained() || proposal.decided > 0;
        record.turn(&proposal, session.steps().len() + 1, tokens);
        // Execute.
        let ran = record.execute(|| match parse_call(&proposal.text) {
            Ok(call) => match session.run(&call) {
                Ok(_) => Ok(Ok(())),
                Err(error) => error.recoverable().map(|error| Err(error.to_string())),
            },
            Err(error) => Ok(Err(error.to_string())),
        })?;
        if let Err(message) = ran {
            record.outcome.invalid += 1;
            record.error(message);
            failure = Some(NO_CALL);
            break;
        }
        // Record.
        shown = if template.layout == Layout::Dialogue {
            turns.len() + 1
        } else {
            0
        };
        conversation.record(&session, &proposal.text)?;
        if let Some(step) = session.steps().last() {
            record.result(&session, step);
        }
        record.event(TraceEvent::Memory {
            history: session
                .steps()
                .iter()
                .map(|step| step.call.to_string())
                .collect(),
        });
    }
    Ok(Ran {
        session,
        conversation,
        failure,
    })
}
