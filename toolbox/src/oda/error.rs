//! Why a turn cannot be taken; every message names what would be right.

use crate::call::ParseError;
use crate::exec::ToolError;

/// Why a turn cannot be taken. The run stays as it was, except for variables that were already assigned.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OdaError {
    /// The text is no turn of the kind that is awaited.
    #[error("`{given}` is no {awaited}; {right}")]
    Unreadable {
        /// The text.
        given: String,
        /// What was awaited.
        awaited: &'static str,
        /// What would be right.
        right: &'static str,
    },
    /// An action that was taken before.
    #[error("`{0}` was done before; choose another action, or answer")]
    Repeated(String),
    /// An action behind the last iteration.
    #[error("{0} actions are over; only an answer can follow")]
    Over(usize),
    /// A group that the action did not find.
    #[error("`{0}` is not among what the last action found")]
    NotFound(String),
    /// A truth was asked for of a set that was not narrowed by a comparison.
    #[error("`{0}` was not narrowed by a comparison, so there is nothing to judge")]
    NoComparison(String),
    /// A path between sets.
    #[error("`{0}` is not one entity; a path leads from one entity to one")]
    NotOne(String),
    /// A call does not read.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// A tool refuses.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The question is answered already.
    #[error("the question is answered")]
    Ended,
}
