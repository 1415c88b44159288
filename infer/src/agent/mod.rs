//! The agents: ways of driving the toolbox with a planner. All take a [`Task`] and return an
//! [`Outcome`], so that one harness measures them.

pub mod decide;
pub mod direct;
pub mod kg_agent;
mod kind;
pub mod oda;
pub mod oda_paper;
mod outcome;
pub mod path_baselines;
mod recorder;
pub mod robust;
mod task;
pub mod thoughts;
pub mod tog;
pub mod triad;
pub mod triad_paper;
mod trust;
pub mod vote;

pub use kind::{
    AgentKind, AgentProfile, Deciding, GoldTurns, Robust, ThoughtsOptions, TriadOptions, Voting,
};
pub use outcome::{DecidedAnswer, GIVING_UP, Linkable, Nearest, Outcome, PLANNER_FAILED, Survived};
pub use task::{Task, TraceWatcher};

use toolbox::link::check_question;

use crate::InferError;
use crate::planner::Planner;

/// Answers one question with an agent. It ends early when the task's
/// [`cancel`](toolbox::exec::ExecOptions::cancel) says so.
///
/// # Errors
/// [`InferError`] if the question is too long or cancelled, or if the planner fails. A question without an answer
/// is an [`Outcome`].
pub fn answer_with(
    agent: &AgentKind,
    task: Task<'_>,
    planner: &mut dyn Planner,
) -> Result<Outcome, InferError> {
    check_question(task.question)?;
    let cancel = task.options.cancel.clone();
    planner.begin(&cancel);
    let answered = answer_by(agent, task, planner);
    // A call that was cancelled fails like any other, and an agent may continue from what is left.
    cancel.check()?;
    answered
}

/// [`answer_with`], which looks whether the question was cancelled meanwhile.
fn answer_by(
    agent: &AgentKind,
    task: Task<'_>,
    planner: &mut dyn Planner,
) -> Result<Outcome, InferError> {
    let (kg, question, watcher) = (task.kg, task.question, task.watcher.clone());
    let may_know = task.model_knowledge && agent.needs_model() && !agent.knows_itself();
    let outcome = match agent {
        AgentKind::KgAgent => kg_agent::answer(&task, planner),
        AgentKind::KgAgentRobust(mode) => robust::answer(*mode, &task, planner),
        AgentKind::KgAgentDecide(options) => decide::answer(*options, &task, Some(planner)),
        AgentKind::Words(options) => decide::answer(*options, &task, None),
        AgentKind::Oda(options) => oda::answer(&task, options, planner),
        AgentKind::Triad(options) => triad::answer(&task, options, planner),
        AgentKind::OdaDecide(options) => vote::with_oda(options, &task, planner),
        AgentKind::TriadDecide(options) => vote::with_triad(options, &task, planner),
        AgentKind::OdaPaper(options) => oda_paper::answer(&task, options, planner),
        AgentKind::TriadPaper(options) => triad_paper::answer(options, task, planner),
        AgentKind::Direct => direct::answer(&task, planner),
        AgentKind::Cot(options) | AgentKind::SelfConsistency(options) => {
            thoughts::answer(agent, *options, &task, planner)
        }
        AgentKind::TogModel(options) => tog::answer(*options, &task, planner),
        AgentKind::Retrieval | AgentKind::Tog => path_baselines::answer(agent, &task),
    }?;
    if may_know && outcome.answer.is_none() {
        return direct::answer_instead(kg, question, outcome, watcher, planner);
    }
    Ok(outcome)
}
