//! Errors of ODA turns. Every message states what would be right.

use crate::call::ParseError;
use crate::exec::ToolError;
use crate::rank::RankError;

/// Why a turn cannot be taken. The run is unchanged, except that variables may already have been
/// assigned.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OdaError {
    /// The text is not a turn of the awaited kind.
    #[error("`{given}` is no {awaited}; {right}")]
    Unreadable {
        /// The text.
        given: String,
        /// What was awaited.
        awaited: &'static str,
        /// The expected form.
        right: &'static str,
    },
    /// An action that was taken before.
    #[error("`{0}` was done before; choose another action, or answer")]
    Repeated(String),
    /// An action after the last iteration.
    #[error("{0} actions are over; only an answer can follow")]
    Over(usize),
    /// A group that the last action did not find.
    #[error("`{0}` is not among what the last action found")]
    NotFound(String),
    /// `judge` on a set that was not narrowed by a comparison.
    #[error("`{0}` was not narrowed by a comparison, so there is nothing to judge")]
    NoComparison(String),
    /// A path between sets.
    #[error("`{0}` is not one entity; a path leads from one entity to one")]
    NotOne(String),
    /// A call that does not parse.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// A failed tool.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The ranker failed.
    #[error(transparent)]
    Rank(#[from] RankError),
    /// The question is already answered.
    #[error("the question is answered")]
    Ended,
}

impl OdaError {
    /// Separates failures of the ranker, which end a run, from errors that a model can correct.
    ///
    /// # Errors
    /// Returns the failure of the ranker.
    pub fn recoverable(self) -> Result<Self, RankError> {
        match self {
            Self::Rank(error) | Self::Tool(ToolError::Rank(error)) => Err(error),
            other => Ok(other),
        }
    }
}
