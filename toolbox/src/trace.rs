//! Traces: one question as JSONL events, enough to run it again.

use std::io::{BufRead, Write};

use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::exec::{Observation, Session, Step, Value};
use common::transcript::Turn;

/// Version of the event format; readers refuse others.
pub const TRACE_VERSION: u32 = 2;

/// One event of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    /// What was asked, over which graph, of which agent and planner.
    Observe(Box<Opening>),
    /// The programs of a beam after one more call, likeliest first.
    Beam {
        /// All of them.
        ranked: Vec<Ranked>,
    },
    /// The turns given to the planner since the last prompt.
    Prompt {
        /// The turns.
        turns: Vec<Turn>,
    },
    /// What the model decoded.
    Tokens {
        /// Tokens of the prompt that are new in this question, the opening that all questions share left out.
        read: usize,
        /// Tokens chosen by the model.
        decided: usize,
        /// Tokens that could not have been others.
        forced: usize,
        /// Log-probability of the chosen ones under the constraint.
        logprob: f64,
    },
    /// A call as the planner wrote it.
    Call {
        /// Step from 1.
        step: usize,
        /// The text.
        text: String,
    },
    /// What the call gave.
    Result {
        /// The call with full names.
        call: String,
        /// The result in short.
        result: ResultText,
    },
    /// A call that could not be executed.
    Error {
        /// What was wrong.
        message: String,
    },
    /// The knowledge memory after the step: the history program.
    Memory {
        /// Executed calls.
        history: Vec<String>,
    },
    /// The answer.
    Answer {
        /// With program and evidence.
        answer: Box<Answer>,
    },
    /// How long it took; the only event that differs between runs.
    Timing {
        /// Seconds in the graph.
        kg: f64,
        /// Seconds in the model.
        model: f64,
    },
}

/// What a trace begins with: all that a replay has to know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opening {
    /// [`TRACE_VERSION`].
    pub version: u32,
    /// The agent.
    pub agent: String,
    /// Its options; null for an agent that has none.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub options: serde_json::Value,
    /// Whether the model's own knowledge was allowed where the graph has no answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub model_knowledge: bool,
    /// The question.
    pub question: String,
    /// Linked entities by name.
    pub entities: Vec<String>,
    /// Content hash of the graph.
    pub kg_hash: String,
    /// Hash of the prompt template.
    pub template_hash: String,
    /// `dialogue` or `paper`.
    pub layout: crate::prompt::Layout,
    /// The planner.
    pub planner: String,
    /// Entities kept out of answers, and where.
    pub exclude: (Vec<String>, crate::exec::ExcludeWhen),
    /// Relations hidden from the agent, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// What ranked relations and classes; empty in traces of earlier versions, which do not say it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ranker: String,
}

/// A program in a beam.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ranked {
    /// Its last call.
    pub call: String,
    /// Log-probability of its calls under the constraint, to four digits.
    pub logprob: f64,
    /// Whether it goes on.
    pub kept: bool,
}

/// A result in a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResultText {
    /// Relations shown.
    Relations {
        /// Leaving the set.
        out: Vec<String>,
        /// Entering it.
        r#in: Vec<String>,
    },
    /// Size of a set and its first members by name.
    Set {
        /// How many.
        size: usize,
        /// The first ones.
        first: Vec<String>,
    },
    /// A number.
    Number(u64),
    /// A truth value.
    Truth(bool),
}

/// Members of a set that a trace names.
const TRACE_MEMBERS: usize = 10;

impl ResultText {
    /// The result of a step.
    #[must_use]
    pub fn of(session: &Session<'_>, step: &Step) -> Self {
        match &step.observation {
            Observation::Relations(shown) => Self::Relations {
                out: shown
                    .out
                    .iter()
                    .map(|&relation| session.relation_name(relation))
                    .collect(),
                r#in: shown
                    .incoming
                    .iter()
                    .map(|&relation| session.relation_name(relation))
                    .collect(),
            },
            Observation::Value(value) | Observation::Answer(value) => match value {
                Value::Set(set) => Self::Set {
                    size: set.len(),
                    first: set
                        .iter()
                        .take(TRACE_MEMBERS)
                        .map(|&node| session.kg().name(node))
                        .collect(),
                },
                Value::Int(number) => Self::Number(*number),
                Value::Bool(truth) => Self::Truth(*truth),
            },
        }
    }
}

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be read.
    #[error("cannot read the trace: {0}")]
    Io(#[from] std::io::Error),
    /// A line is no event.
    #[error("line {line} is no trace event: {message}")]
    Line {
        /// From 1.
        line: usize,
        /// What the JSON reader said.
        message: String,
    },
    /// The trace does not begin with an `observe` event of this version.
    #[error(
        "this is no trace of version {TRACE_VERSION}: the first line must be an `observe` event with that version"
    )]
    Version,
}

/// Writes events, one a line.
///
/// # Errors
/// When the writer fails.
pub fn write(events: &[Event], mut to: impl Write) -> std::io::Result<()> {
    for event in events {
        serde_json::to_writer(&mut to, event)?;
        to.write_all(b"\n")?;
    }
    Ok(())
}

/// Reads a trace.
///
/// # Errors
/// [`TraceError`] with the line.
pub fn read(from: impl BufRead) -> Result<Vec<Event>, TraceError> {
    let mut events = Vec::new();
    for (i, line) in from.lines().enumerate() {
        let event = serde_json::from_str(&line?).map_err(|error| TraceError::Line {
            line: i + 1,
            message: error.to_string(),
        })?;
        events.push(event);
    }
    match events.first() {
        Some(Event::Observe(opening)) if opening.version == TRACE_VERSION => Ok(events),
        _ => Err(TraceError::Version),
    }
}
