//! Why a question cannot be linked.

use crate::rank::RankError;
use kg::search::SearchError;

/// Why a question cannot be linked.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The label index cannot be read.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// The ranker failed.
    #[error(transparent)]
    Rank(#[from] RankError),
    /// A given topic entity is not in the graph.
    #[error("the graph has no entity `{0}`; give an id or a label as shown by `kg query`")]
    Unknown(String),
}
