//! The KG-Agent loop (§4.3): the planner writes one call a step, the executor runs it, the memory is updated; the planner's own `end` stops it.

use std::time::Instant;

use toolbox::answer::Answer;
use toolbox::call::parse_call;
use toolbox::exec::{ExecOptions, Session, ToolError};
use toolbox::prompt::{Conversation, Layout};
use toolbox::trace::{ResultText, TraceEvent};

use super::{AgentKind, Outcome, Task, opening};
use crate::InferError;
use crate::planner::{Planner, PlannerInput};

/// Most steps of a question (the authors' code); whoever is held to what is live must end with the last of them.
const STEPS: usize = 30;

/// Why there is no answer where the model wrote what cannot be run, or came to no end: neither says anything about the graph.
pub(super) const NO_CALL: &str = "call_failed";
pub(super) const NO_END: &str = "no_end";

/// Answers one question as the paper's loop does (spec A.5): nothing is asked for twice, and a call that does not parse or cannot be executed
/// ends it without an answer, as the thirtieth does that is no end; the trace says why.
///
/// # Errors
/// [`InferError`] when the planner itself fails.
pub fn answer(task: Task<'_>, planner: &mut dyn Planner) -> Result<Outcome, InferError> {
    let mut events = vec![opening(&task, &AgentKind::KgAgent)];
    let limit = task.options.max_steps.min(STEPS);
    let options = task.template.fit(ExecOptions {
        max_steps: limit,
        ..task.options
    });
    let mut session = Session::new(
        task.kg,
        task.question,
        task.linked,
        task.must_offer,
        options,
    )?;
    let mut conversation = Conversation::open(task.template, &session);
    let (mut shown, mut asked, mut tokens, mut invalid) = (0, 0, 0, 0);
    let (mut model_seconds, mut kg_seconds) = (0.0, 0.0);
    let mut failure = None;
    while session.answer().is_none() {
        if session.steps().len() == limit {
            events.push(TraceEvent::Error {
                message: ToolError::Steps { limit }.to_string(),
            });
            failure = Some(NO_END);
            break;
        }
        // Observe: what the planner has not seen yet.
        let turns = conversation.prompt();
        events.push(TraceEvent::Prompt {
            turns: turns[shown.min(turns.len())..].to_vec(),
        });
        // Propose, under the constraint of what is live.
        let begun = Instant::now();
        let proposal = planner.propose(&PlannerInput {
            session: &session,
            template: task.template,
            turns,
        })?;
        model_seconds += begun.elapsed().as_secs_f64();
        asked += 1;
        tokens += proposal.read + proposal.decided + proposal.forced;
        // What only repeats a text has no tokens; a server tells what it read and wrote.
        if planner.constrained() || proposal.decided > 0 {
            events.push(TraceEvent::Tokens {
                read: proposal.read,
                decided: proposal.decided,
                forced: proposal.forced,
                logprob: proposal.logprob,
            });
        }
        events.push(TraceEvent::Call {
            step: session.steps().len() + 1,
            text: proposal.text.clone(),
        });
        // Execute.
        let begun = Instant::now();
        let ran = match parse_call(&proposal.text) {
            Ok(call) => match session.run(&call) {
                Ok(_) => Ok(()),
                Err(error) => Err(error.recoverable()?.to_string()),
            },
            Err(error) => Err(error.to_string()),
        };
        kg_seconds += begun.elapsed().as_secs_f64();
        if let Err(message) = ran {
            invalid += 1;
            events.push(TraceEvent::Error { message });
            failure = Some(NO_CALL);
            break;
        }
        // Record.
        shown = if task.template.layout == Layout::Dialogue {
            turns.len() + 1
        } else {
            0
        };
        conversation.record(&session, &proposal.text)?;
        if let Some(step) = session.steps().last() {
            events.push(TraceEvent::Result {
                call: step.call.to_string(),
                result: ResultText::of(&session, step),
            });
        }
        events.push(TraceEvent::Memory {
            history: session
                .steps()
                .iter()
                .map(|step| step.call.to_string())
                .collect(),
        });
    }
    let answer = Answer::of(&session);
    events.push(TraceEvent::Answer {
        answer: Box::new(answer.clone()),
    });
    events.push(TraceEvent::Timing {
        kg: kg_seconds,
        model: model_seconds,
    });
    let (calls, samples) = (session.steps().len(), conversation.into_samples());
    Ok(Outcome {
        samples,
        calls,
        invalid,
        asked,
        tokens,
        model_seconds,
        kg_seconds,
        failure,
        ..Outcome::new(answer, events)
    })
}
