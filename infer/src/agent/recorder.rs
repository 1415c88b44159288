//! Records the trace, the counters and the times of one question.

use std::time::Instant;

use common::transcript::Turn;
use kg::term::NodeId;
use toolbox::answer::Answer;
use toolbox::exec::{Session, Step};
use toolbox::trace::{Opening, ResultText, TRACE_VERSION, TraceEvent};

use super::kind::AgentKind;
use super::outcome::Outcome;
use super::task::{Task, TraceWatcher};
use crate::InferError;
use crate::planner::Proposal;

/// An outcome being recorded.
#[derive(Clone)]
pub(super) struct Recorder {
    pub(super) outcome: Outcome,
    /// Log-probability of all turns so far.
    pub(super) logprob: f64,
    /// Sees the events as they happen.
    pub(super) watcher: Option<TraceWatcher>,
}

impl Recorder {
    /// Starts the trace of a task.
    pub(super) fn open(task: &Task<'_>, agent: &AgentKind) -> Self {
        Self::open_with(task, agent, "")
    }

    /// Starts the trace of a decision with the translation tables of this name.
    pub(super) fn open_with(task: &Task<'_>, agent: &AgentKind, words: &str) -> Self {
        let mut record = Self {
            outcome: Outcome::unanswered(Vec::new()),
            logprob: 0.0,
            watcher: task.watcher.clone(),
        };
        record.event(opening(task, agent, words));
        record
    }

    pub(super) fn event(&mut self, event: TraceEvent) {
        if let Some(watcher) = &self.watcher {
            watcher(&event);
        }
        self.outcome.events.push(event);
    }

    /// Records the turns of a prompt after the first `shown`.
    pub(super) fn prompt(&mut self, turns: &[Turn], shown: usize) {
        self.event(TraceEvent::Prompt {
            turns: turns[shown.min(turns.len())..].to_vec(),
        });
    }

    /// Runs the planner and adds the time it takes.
    pub(super) fn plan<T>(
        &mut self,
        write: impl FnOnce() -> Result<T, InferError>,
    ) -> Result<T, InferError> {
        let begun = Instant::now();
        let written = write()?;
        self.outcome.model_seconds += begun.elapsed().as_secs_f64();
        Ok(written)
    }

    /// Runs a tool and adds the time it takes.
    pub(super) fn execute<T>(&mut self, tool: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let result = tool();
        self.outcome.kg_seconds += begun.elapsed().as_secs_f64();
        result
    }

    /// Counts and records a turn of the planner as number `step`, with its tokens if `tokens`.
    pub(super) fn turn(&mut self, proposal: &Proposal, step: usize, tokens: bool) {
        let Proposal {
            read,
            decided,
            forced,
            logprob,
            ..
        } = *proposal;
        self.outcome.asked += 1;
        self.logprob += logprob;
        self.outcome.tokens += read + decided + forced;
        for reply in &proposal.replies {
            *self.outcome.served.get_or_insert_default() += reply.usage;
            self.event(TraceEvent::Reply(reply.clone()));
        }
        if tokens {
            self.event(TraceEvent::Tokens {
                read,
                decided,
                forced,
                logprob,
            });
        }
        self.call(step, &proposal.text);
    }

    /// Records a call.
    pub(super) fn call(&mut self, step: usize, text: &str) {
        self.event(TraceEvent::Call {
            step,
            text: text.to_owned(),
        });
    }

    /// Records the result of a step.
    pub(super) fn result(&mut self, session: &Session<'_>, step: &Step) {
        self.event(TraceEvent::Result {
            call: step.call.to_string(),
            result: ResultText::of(session, step),
        });
    }

    /// Records an error.
    pub(super) fn error(&mut self, message: impl Into<String>) {
        self.event(TraceEvent::Error {
            message: message.into(),
        });
    }

    /// Ends the trace with the answer and the times.
    pub(super) fn finish(mut self, answer: Answer) -> Outcome {
        self.event(TraceEvent::Answer {
            answer: Box::new(answer.clone()),
        });
        self.event(TraceEvent::Timing {
            kg: self.outcome.kg_seconds,
            model: self.outcome.model_seconds,
        });
        Outcome {
            answer,
            ..self.outcome
        }
    }
}

/// The event that opens a trace.
fn opening(task: &Task<'_>, agent: &AgentKind, words: &str) -> TraceEvent {
    let names = |nodes: &[NodeId]| {
        nodes
            .iter()
            .map(|&node| task.kg.name(node))
            .collect::<Vec<_>>()
    };
    TraceEvent::Observe(Box::new(Opening {
        version: TRACE_VERSION,
        agent: agent.name().to_owned(),
        options: agent.options(),
        model_knowledge: task.model_knowledge,
        question: task.question.to_owned(),
        entities: names(&task.linked.entities),
        kg_hash: task.kg.content_hash().to_owned(),
        template_hash: task.template.hash(),
        prompts: agent.prompts_hash(false).unwrap_or_default(),
        layout: task.template.layout,
        planner: task.planner_name.to_owned(),
        exclude: (
            names(&task.options.exclude.nodes),
            task.options.exclude.when,
        ),
        without: task
            .options
            .without
            .iter()
            .map(|relation| task.kg.name(relation.node()))
            .collect(),
        ranker: task.options.ranker.name(),
        words: words.to_owned(),
    }))
}
