//! Why data could not be made; every message names the place and the offending value.

use std::path::{Path, PathBuf};

/// Why data could not be made. A single question that cannot be used is no error: it is refused, with a [`crate::Refusal`].
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file is not in the format it was given as.
    #[error("{}{place}: {message}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// `:LINE`, ` record N`, or nothing where the whole file is meant.
        place: String,
        /// What is wrong there, what it looks like, and what would be right.
        message: String,
    },
    /// The ranker failed: lists would be in no order.
    #[error("the relation lists could not be ranked: {0}")]
    Ranker(String),
    /// `--source` names no format.
    #[error("`{given}` is no source; write FORMAT=PATH with one of: {known}")]
    Source {
        /// What was given.
        given: String,
        /// The formats there are.
        known: String,
    },
    /// `--source` asks a format for what it has not.
    #[error("`{format}:{option}` is no source: {known}")]
    SourceOption {
        /// The format.
        format: String,
        /// What stands behind its colon.
        option: String,
        /// What could stand there.
        known: String,
    },
    /// The format needs a graph and there is none.
    #[error("a source of format `{0}` is filled from a graph; give one with --kg")]
    NeedsGraph(&'static str),
    /// No examples can be made for this agent.
    #[error("no examples can be made for the agent `{0}`")]
    Agent(&'static str),
    /// The mixture does not fit the sources.
    #[error("{0}")]
    Mix(String),
    /// The questions cannot be split as asked.
    #[error("{0}")]
    Split(String),
    /// The parts share what they must not share.
    #[error("the parts of the data leak into each other: {0}")]
    Leakage(String),
    /// What an earlier run left behind cannot be used.
    #[error(transparent)]
    Journal(#[from] common::journal::JournalError),
    /// The run was stopped from outside.
    #[error("stopped after {done} of {total} questions")]
    Stopped {
        /// Questions done.
        done: usize,
        /// Questions in all.
        total: usize,
    },
    /// The graph has nothing to make questions of.
    #[error(
        "no question can be made of this graph: its nodes have neither labels nor attributes that planners see"
    )]
    Unaskable,
    /// No worker threads could be started.
    #[error("no worker threads: {0}")]
    Threads(String),
}

impl Error {
    /// Wraps an input or output error with its path.
    pub fn io(path: &Path) -> impl Fn(std::io::Error) -> Self + '_ {
        move |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn line(path: &Path, line: usize, message: impl Into<String>) -> Self {
        Self::Format {
            path: path.to_owned(),
            place: format!(":{line}"),
            message: message.into(),
        }
    }

    pub(crate) fn record(path: &Path, record: usize, message: impl Into<String>) -> Self {
        Self::Format {
            path: path.to_owned(),
            place: format!(" record {record}"),
            message: message.into(),
        }
    }

    pub(crate) fn file(path: &Path, message: impl Into<String>) -> Self {
        Self::Format {
            path: path.to_owned(),
            place: String::new(),
            message: message.into(),
        }
    }
}
