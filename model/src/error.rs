//! The one error type of this crate.

use std::path::{Path, PathBuf};

/// What can be wrong with a model folder, a dataset or a tokenizer.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A JSON file that does not say what it should.
    #[error("{path}: {message}")]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        message: String,
    },
    /// A `config.json` this program cannot run.
    #[error("model configuration: {0}")]
    Config(String),
    /// A weight file that is damaged or declares impossible sizes.
    #[error("{path}: {message}")]
    Weights {
        /// The weight file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// A tensor that is missing or has another shape than the configuration asks for.
    #[error("tensor `{name}`: {message}")]
    Tensor {
        /// The tensor's name.
        name: String,
        /// What was expected and what was found.
        message: String,
    },
    /// A line of a dataset.
    #[error("{path}:{line}: {message}")]
    Line {
        /// The file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
    /// The dataset and the model, or two parts of a dataset, were rendered with different templates.
    #[error(
        "template hash `{found}` ({place}) does not match `{expected}`: the data was rendered by another version of the template; make it again"
    )]
    Template {
        /// The hash that was expected.
        expected: String,
        /// The hash that was found.
        found: String,
        /// Where it was found.
        place: String,
    },
    /// The model was not trained for the agent.
    #[error(
        "{place} was trained for {known}, not for {agent}; train it on data made with `--agent {agent}` or use another agent"
    )]
    Agent {
        /// The agent asked for.
        agent: String,
        /// The agents it was trained for.
        known: String,
        /// The model.
        place: String,
    },
    /// The tokenizer cannot do what is asked of it.
    #[error("tokenizer: {0}")]
    Tokenizer(String),
    /// Fetching from the hub failed.
    #[error("fetching `{repo}`: {message}")]
    Hub {
        /// The repository.
        repo: String,
        /// What went wrong.
        message: String,
    },
}

impl ModelError {
    /// An I/O error with its place.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |source| Self::Io { path, source }
    }
}

impl From<common::fs::FsError> for ModelError {
    fn from(error: common::fs::FsError) -> Self {
        Self::Io {
            path: error.path,
            source: error.source,
        }
    }
}
