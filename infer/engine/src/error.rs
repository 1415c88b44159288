//! Errors of the engine.

use common::cancel::Cancelled;

/// Why the engine failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The configuration is inconsistent.
    #[error("model configuration: {0}")]
    Config(String),
    /// A weight is missing, has an unexpected shape, or cannot be read as numbers.
    #[error("weight {name}: {reason}")]
    Weight {
        /// Its name in the folder.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A token id outside the model's vocabulary.
    #[error("token {id} is outside the model's vocabulary of {vocab}")]
    Token {
        /// The id.
        id: u32,
        /// Size of the vocabulary.
        vocab: usize,
    },
    /// More tokens than the model has positions for.
    #[error("{needed} tokens do not fit into the context of {max}")]
    Context {
        /// Tokens requested.
        needed: usize,
        /// Positions available.
        max: usize,
    },
    /// The prompt is empty.
    #[error("the prompt is empty")]
    EmptyPrompt,
    /// No token may follow and the text may not end: the acceptor has a dead end, or the vocabulary
    /// lacks a byte that the acceptor needs.
    #[error("after {text:?} no token of the vocabulary may follow and the text may not end")]
    Stuck {
        /// The text so far.
        text: String,
    },
    /// Even the shortest text that the acceptor accepts exceeds the budget.
    #[error("the shortest allowed text needs {needed} tokens, the budget is {budget}")]
    Budget {
        /// Tokens of the shortest text found; 0 if none was found.
        needed: usize,
        /// Tokens allowed.
        budget: usize,
    },
    /// The acceptor accepted bytes that are not UTF-8.
    #[error("the acceptor allowed bytes that are not UTF-8: {0:?}")]
    NotUtf8(Vec<u8>),
    /// A step shared by several sessions failed.
    #[error("the step that this session shared with others failed: {0}")]
    Batch(String),
    /// The caller cancelled the question.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The requested device is unavailable, or an operation on it failed.
    #[error("{0}")]
    Device(String),
}
