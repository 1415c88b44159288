//! Errors of data generation; every message names the place and the offending value.

use std::path::{Path, PathBuf};

/// Why data could not be generated. A single unusable question is not an error: it is refused, with
/// a [`crate::Refusal`].
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file is not in the given format.
    #[error("{}{place}: {message}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// `:LINE`, ` record N`, or empty for the whole file.
        place: String,
        /// The problem, the format that the file looks like, and the right one.
        message: String,
    },
    /// The ranker failed, so relation lists have no order.
    #[error("the relation lists could not be ranked: {0}")]
    Ranker(String),
    /// The model that rewords questions fails at every one.
    #[error("no question could be reworded: {0}")]
    Reworder(String),
    /// `--source` does not name a format.
    #[error("`{given}` is not a source; write FORMAT=PATH, where FORMAT is one of: {known}")]
    Source {
        /// The given text.
        given: String,
        /// The known formats.
        known: String,
    },
    /// `--source` gives a format an option that it does not have.
    #[error("`{format}:{option}` is not a source: {known}")]
    SourceOption {
        /// The format.
        format: String,
        /// The text after the colon.
        option: String,
        /// The options that the format has.
        known: String,
    },
    /// The format needs a graph, and no graph was given.
    #[error("format `{0}` needs a graph; give one with --kg")]
    NeedsGraph(&'static str),
    /// The agent has no training examples.
    #[error("the agent `{0}` has no training examples")]
    Agent(&'static str),
    /// The mixture does not fit the sources.
    #[error("{0}")]
    Mix(String),
    /// The questions cannot be split as requested.
    #[error("{0}")]
    Split(String),
    /// The parts of the data share questions that they must not share.
    #[error("the parts of the data leak into each other: {0}")]
    Leakage(String),
    /// The state of an earlier run cannot be used.
    #[error(transparent)]
    Journal(#[from] common::journal::JournalError),
    /// The run was stopped from outside.
    #[error("stopped after {done} of {total} questions")]
    Stopped {
        /// Questions done.
        done: usize,
        /// Questions in total.
        total: usize,
    },
    /// No question about the graph is possible.
    #[error(
        "this graph gives no questions: its nodes have neither labels nor attributes that planners see"
    )]
    Unaskable,
    /// No worker threads could be started.
    #[error("cannot start worker threads: {0}")]
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

/// A pool of threads; 0 means one for each core.
pub(crate) fn thread_pool(threads: usize) -> Result<rayon::ThreadPool, Error> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| Error::Threads(error.to_string()))
}
