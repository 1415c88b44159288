//! What can go wrong in the engine.

/// Why the engine could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A size in the configuration makes no model.
    #[error("model configuration: {0}")]
    Config(String),
    /// A weight is missing, has another shape than the configuration says, or cannot be read as numbers.
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
        /// Tokens asked for.
        needed: usize,
        /// Positions there are.
        max: usize,
    },
    /// There is nothing to predict from.
    #[error("the prompt is empty")]
    EmptyPrompt,
    /// Neither a token nor the end may follow: the acceptor has a state that cannot be completed, or the vocabulary lacks a byte it needs.
    #[error("after {text:?} no token of the vocabulary may follow and the text may not end")]
    Stuck {
        /// What had been written.
        text: String,
    },
    /// Not even the shortest text that the acceptor allows fits into the budget.
    #[error("the shortest allowed text needs {needed} tokens, the budget is {budget}")]
    Budget {
        /// Tokens of the shortest text found; 0 where none was found.
        needed: usize,
        /// Tokens allowed.
        budget: usize,
    },
    /// The acceptor let through bytes that are no UTF-8.
    #[error("the acceptor allowed bytes that are not UTF-8: {0:?}")]
    NotUtf8(Vec<u8>),
    /// A step for several sessions failed.
    #[error("the step that this session shared with others failed: {0}")]
    Batch(String),
    /// The device that was asked for is not there, or could not do what it was told.
    #[error("{0}")]
    Device(String),
}
