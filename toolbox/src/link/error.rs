//! Why a question cannot be linked.

use common::cancel::Cancelled;

use crate::rank::RankError;
use kg::search::SearchError;

/// A question with more characters than [`QUESTION_CHARS`](crate::limits::QUESTION_CHARS).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the question has {chars} characters, the limit is {limit}; ask for one thing in a few sentences"
)]
pub struct QuestionTooLong {
    /// Its characters.
    pub chars: usize,
    /// The limit.
    pub limit: usize,
}

/// Checks the length of a question.
///
/// # Errors
/// [`QuestionTooLong`].
pub fn check_question(question: &str) -> Result<(), QuestionTooLong> {
    let (chars, limit) = (question.chars().count(), crate::limits::QUESTION_CHARS);
    if chars > limit {
        return Err(QuestionTooLong { chars, limit });
    }
    Ok(())
}

/// Why a question cannot be linked.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The label index cannot be read.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// The question is too long.
    #[error(transparent)]
    TooLong(#[from] QuestionTooLong),
    /// The ranker failed.
    #[error(transparent)]
    Rank(RankError),
    /// The question was cancelled, or ran past its deadline.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// A given topic entity is not in the graph.
    #[error("the graph has no entity `{0}`; give an id or a label as shown by `kg query`")]
    Unknown(String),
}

impl From<RankError> for LinkError {
    fn from(error: RankError) -> Self {
        match error {
            RankError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            failed @ RankError::Failed { .. } => Self::Rank(failed),
        }
    }
}
