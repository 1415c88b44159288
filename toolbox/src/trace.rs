//! Traces: one question as JSONL events, complete enough to replay it.

use std::io::{BufRead, Write};

use serde::{Deserialize, Serialize};

use crate::answer::{Answer, CELL_SEPARATOR};
use crate::exec::{Cell, Observation, Relation, Session, Step, Value};
use crate::usage::ServedUsage;
use common::transcript::Turn;

/// Version of the event format; readers reject other versions.
pub const TRACE_VERSION: u32 = 2;

/// One event of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum TraceEvent {
    /// The question, the graph, the agent and the planner.
    Observe(Box<Opening>),
    /// The turns given to the planner since the last prompt.
    Prompt {
        /// The turns.
        turns: Vec<Turn>,
    },
    /// What a served model replied besides the call.
    Reply(ServedReply),
    /// What the model decoded.
    Tokens {
        /// New prompt tokens of this question, without the opening shared by all questions.
        read: usize,
        /// Tokens that the model chose.
        decided: usize,
        /// Tokens that the constraint determined.
        forced: usize,
        /// Log-probability of the chosen tokens under the constraint.
        logprob: f64,
    },
    /// A call as the planner wrote it.
    Call {
        /// Step number, counting from 1.
        step: usize,
        /// The text.
        text: String,
    },
    /// The result of the call.
    Result {
        /// The call with full names.
        call: String,
        /// A summary of the result.
        result: ResultText,
    },
    /// A call that failed.
    Error {
        /// The error message.
        message: String,
    },
    /// The knowledge memory after the step: the history program.
    Memory {
        /// The executed calls.
        history: Vec<String>,
    },
    /// The candidates of a decision, in the order in which they were proposed.
    Decision {
        /// All candidates.
        candidates: Vec<DecidedCandidate>,
        /// Which part of a program explains which word: the chosen program, or the best rejected
        /// one if the decision is to give up. Empty in traces of earlier versions.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        why: Vec<crate::explain::WordReason>,
    },
    /// The answer.
    Answer {
        /// The answer with program and evidence.
        answer: Box<Answer>,
    },
    /// Elapsed time; the only event that differs between runs.
    Timing {
        /// Seconds spent in the graph.
        kg: f64,
        /// Seconds spent in the model.
        model: f64,
    },
}

/// A reply of a served model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServedReply {
    /// The whole reply; empty if it is just the call.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The model's thoughts, if the server returns them apart from the text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thought: String,
    /// Why nothing in it could be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// What the server counted.
    pub usage: ServedUsage,
}

/// The first event of a trace: everything that a replay needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opening {
    /// [`TRACE_VERSION`].
    pub version: u32,
    /// The agent.
    pub agent: String,
    /// The agent's options; null if it has none.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub options: serde_json::Value,
    /// Whether the model may answer from its own knowledge when the graph has no answer.
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
    /// Hash of the prompt files from which the agent's requests are made. Empty if the agent uses no
    /// prompt files.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompts: String,
    /// `dialogue` or `paper`.
    pub layout: crate::prompt::Layout,
    /// The planner.
    pub planner: String,
    /// Entities excluded from answers, and where.
    pub exclude: (Vec<String>, crate::exec::ExcludeWhen),
    /// Relations hidden from the agent, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// The ranker of relations and classes; empty in traces of earlier versions, which do not
    /// record it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ranker: String,
    /// The name of the translation tables of a decision, if they are not those that ship with the
    /// program ([`crate::explain::WordTables::name`]).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
}

/// A candidate program of a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecidedCandidate {
    /// The calls.
    pub program: Vec<String>,
    /// The weighted sum of its terms, rounded to four digits.
    pub score: f64,
    /// Whether it was chosen.
    pub chosen: bool,
    /// The model's log-probability, if there is a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<f64>,
    /// The terms that are not zero (see [`crate::explain::TERM_NAMES`]), rounded to four digits.
    pub terms: std::collections::BTreeMap<String, f64>,
}

/// A result in a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResultText {
    /// The relations shown.
    Relations {
        /// Relations leaving the set.
        out: Vec<String>,
        /// Relations entering the set.
        r#in: Vec<String>,
    },
    /// The size of a set and the names of its first members.
    Set {
        /// Number of members.
        size: usize,
        /// The first members.
        first: Vec<String>,
    },
    /// A number.
    Number(u64),
    /// A truth value.
    Truth(bool),
    /// The columns of a table, its number of rows, and the first rows.
    Table {
        /// The headings.
        columns: Vec<String>,
        /// Number of rows.
        size: usize,
        /// The first rows, by name.
        first: Vec<Vec<String>>,
    },
}

/// Number of set members or rows that a trace names.
const TRACE_MEMBERS: usize = 10;

impl ResultText {
    /// The result of a step.
    #[must_use]
    pub fn of(session: &Session<'_>, step: &Step) -> Self {
        match &step.observation {
            Observation::Relations(shown) => {
                let names = |relations: &[Relation]| {
                    relations
                        .iter()
                        .map(|&relation| session.relation_name(relation))
                        .collect()
                };
                Self::Relations {
                    out: names(&shown.out),
                    r#in: names(&shown.incoming),
                }
            }
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
                Value::Table(table) => {
                    let name = |cell: &Cell| match cell {
                        Cell::Node(node) => session.kg().name(*node),
                        Cell::Computed(value) => value.text(),
                        Cell::Empty => String::new(),
                    };
                    let columns = table.columns().iter();
                    let rows = table.rows().take(TRACE_MEMBERS);
                    Self::Table {
                        columns: columns.map(|column| column.heading.clone()).collect(),
                        size: table.len(),
                        first: rows.map(|row| row.iter().map(name).collect()).collect(),
                    }
                }
            },
        }
    }
}

/// The named rows of a table as lines, and `…` if the table has more.
#[must_use]
pub fn row_lines(size: usize, first: &[Vec<String>]) -> Vec<String> {
    let more = (first.len() < size).then(|| "…".to_owned());
    let rows = first.iter().map(|row| row.join(CELL_SEPARATOR));
    rows.chain(more).collect()
}

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be read.
    #[error("cannot read the trace: {0}")]
    Io(#[from] std::io::Error),
    /// A line is not an event.
    #[error("line {line} is not a trace event: {message}")]
    Line {
        /// Line number, counting from 1.
        line: usize,
        /// The message of the JSON parser.
        message: String,
    },
    /// The trace does not begin with an `observe` event of this version.
    #[error(
        "this is not a trace of version {TRACE_VERSION}: the first line must be an `observe` event with that version"
    )]
    Version,
}

/// Writes events, one per line.
///
/// # Errors
/// Returns the error of the writer.
pub fn write(events: &[TraceEvent], mut to: impl Write) -> std::io::Result<()> {
    for event in events {
        serde_json::to_writer(&mut to, event)?;
        to.write_all(b"\n")?;
    }
    Ok(())
}

/// Reads a trace.
///
/// # Errors
/// Returns [`TraceError`] with the line number.
pub fn read(from: impl BufRead) -> Result<Vec<TraceEvent>, TraceError> {
    let mut events = Vec::new();
    for (i, line) in from.lines().enumerate() {
        let event = serde_json::from_str(&line?).map_err(|error| TraceError::Line {
            line: i + 1,
            message: error.to_string(),
        })?;
        events.push(event);
    }
    match events.first() {
        Some(TraceEvent::Observe(opening)) if opening.version == TRACE_VERSION => Ok(events),
        _ => Err(TraceError::Version),
    }
}
