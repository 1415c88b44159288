//! Errors of planners and agents.

use common::cancel::Cancelled;
use engine::EngineError;
use toolbox::explain::ProposeError;
use toolbox::link::{LinkError, QuestionTooLong};
use toolbox::rank::RankError;

/// Why a question could not be answered. A call that cannot be executed is not an error; it is
/// recorded in the trace.
#[derive(Debug, thiserror::Error)]
pub enum InferError {
    /// The engine failed.
    #[error(transparent)]
    Engine(EngineError),
    /// The question is too long.
    #[error(transparent)]
    Question(#[from] QuestionTooLong),
    /// The question was cancelled or ran past its deadline.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The model folder or its tokenizer failed.
    #[error(transparent)]
    Model(#[from] model::ModelError),
    /// A scripted planner has no texts left.
    #[error("the script has {given} calls and the question needs more; add calls or an end")]
    ScriptEnded {
        /// Texts in the script.
        given: usize,
    },
    /// The prompt does not fit the model.
    #[error(
        "the prompt of this question has {needed} tokens and the model takes {limit}; show fewer relations or use a model with a longer context"
    )]
    TooLong {
        /// Tokens needed.
        needed: usize,
        /// The model's context.
        limit: usize,
    },
    /// The worked examples of this crate are invalid.
    #[error("the worked examples are damaged: {0}")]
    Shots(String),
    /// The ranker failed.
    #[error(transparent)]
    Rank(RankError),
    /// A given entity is not in the graph, or the label index cannot be read.
    #[error(transparent)]
    Link(LinkError),
    /// The translation tables or wordings of a model folder are damaged.
    #[error("{}: {message}; train the model again, or remove the file", path.display())]
    Words {
        /// The file.
        path: std::path::PathBuf,
        /// What is wrong.
        message: String,
    },
    /// A server failed.
    #[error("{url}: {message}")]
    Remote {
        /// Its base address.
        url: String,
        /// What happened.
        message: String,
    },
}

impl From<EngineError> for InferError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            other => Self::Engine(other),
        }
    }
}

impl From<RankError> for InferError {
    fn from(error: RankError) -> Self {
        match error {
            RankError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            failed @ RankError::Failed { .. } => Self::Rank(failed),
        }
    }
}

impl From<LinkError> for InferError {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            LinkError::TooLong(error) => Self::Question(error),
            LinkError::Rank(error) => error.into(),
            other => Self::Link(other),
        }
    }
}

impl From<ProposeError> for InferError {
    fn from(error: ProposeError) -> Self {
        match error {
            ProposeError::Rank(error) => error.into(),
            ProposeError::Cancelled(cancelled) => Self::Cancelled(cancelled),
        }
    }
}
