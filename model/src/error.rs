//! The error type of this crate.

use std::path::{Path, PathBuf};

/// An error in a model folder, a dataset or a tokenizer.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A folder that holds something else.
    #[error("{} is not a {what} folder: {message}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
        /// What is missing, and what to do.
        message: String,
    },
    /// A model folder without weights that can be read.
    #[error("{} cannot be used: {message}", path.display())]
    NoWeights {
        /// The folder.
        path: PathBuf,
        /// What is missing, and what to do.
        message: String,
    },
    /// A model that is not in the hub's cache, or is not clear there.
    #[error("{0}")]
    Cache(String),
    /// A JSON file with missing or invalid content.
    #[error("{path}: {message}")]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        message: String,
    },
    /// A model configuration that is invalid or not supported.
    #[error("model configuration: {0}")]
    Config(String),
    /// A weight file that is damaged or declares invalid sizes.
    #[error("{path}: {message}")]
    Weights {
        /// The weight file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// A tensor that is missing or does not have the configured shape.
    #[error("tensor `{name}`: {message}")]
    Tensor {
        /// The tensor's name.
        name: String,
        /// What is wrong with it.
        message: String,
    },
    /// An invalid line of a dataset.
    #[error("{path}:{line}: {message}")]
    Line {
        /// The file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
    /// The dataset and the model, or two parts of a dataset, use different templates.
    #[error(
        "template hash `{found}` ({place}) does not match `{expected}`: another version of the template rendered the data; generate it again"
    )]
    Template {
        /// The expected hash.
        expected: String,
        /// The hash found.
        found: String,
        /// Where it was found.
        place: String,
    },
    /// The model was not trained for the agent.
    #[error(
        "{place} was trained for {known}, not for {agent}; train it on data made with `--agent {agent}` or use another agent"
    )]
    Agent {
        /// The requested agent.
        agent: String,
        /// The agents that the model was trained for.
        known: String,
        /// The model.
        place: String,
    },
    /// The tokenizer failed or is invalid.
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
    /// An I/O error at `path`.
    pub fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |source| Self::Io { path, source }
    }

    /// Checks that a folder has the file by which folders of its kind are known.
    ///
    /// # Errors
    /// [`ModelError::Folder`] if it has not.
    pub(crate) fn expect(
        path: &Path,
        what: &'static str,
        file: &'static str,
        by: &'static str,
    ) -> Result<(), Self> {
        let found = path.join(file).exists();
        found.then_some(()).ok_or_else(|| Self::Folder {
            path: path.to_owned(),
            what,
            message: format!("it has no {file}; `{by}` writes one"),
        })
    }

    /// An error in the JSON file `path`.
    pub fn json(path: &Path, message: impl Into<String>) -> Self {
        Self::Json {
            path: path.to_path_buf(),
            message: message.into(),
        }
    }

    /// An error in the weight file `path`.
    pub fn weights(path: &Path, message: impl Into<String>) -> Self {
        Self::Weights {
            path: path.to_path_buf(),
            message: message.into(),
        }
    }

    /// An error in the tensor `name`.
    pub fn tensor(name: &str, message: impl Into<String>) -> Self {
        Self::Tensor {
            name: name.to_owned(),
            message: message.into(),
        }
    }

    /// The tensor `name` has shape `found` instead of `expected`.
    pub(crate) fn shape(name: &str, found: &[usize], expected: &[usize]) -> Self {
        let message = format!("has shape {found:?}, but the configuration requires {expected:?}");
        Self::tensor(name, message)
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
