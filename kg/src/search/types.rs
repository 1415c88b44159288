//! Results and errors of a search.

use std::path::PathBuf;

use crate::term::NodeId;

/// How a name matches a mention, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MatchKind {
    /// Identical text.
    Exact,
    /// Identical normal form, or a weaker form of it.
    Normalised,
    /// Within a few edits.
    Fuzzy,
    /// Shared words or most trigrams.
    Partial,
}

/// The kind of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NameKind {
    /// A label.
    Label,
    /// An alias.
    Alias,
    /// A name without its distinguishing part: `Titanic` for `Titanic (1997 film)`.
    Short,
}

/// The role of a node in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeRole {
    /// A node that questions may be about.
    Entity,
    /// A class of entities.
    Class,
    /// A node that is only used as a relation.
    Relation,
}

/// A node that a mention may refer to.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelMatch {
    /// The node.
    pub node: NodeId,
    /// The name that matched.
    pub label: String,
    /// Score in `(0, 1]`, comparable only within a kind of match.
    pub score: f32,
    /// The kind of match.
    pub how: MatchKind,
    /// The kind of name.
    pub kind: NameKind,
    /// Number of triples with the node as head or tail.
    pub degree: u64,
}

/// The index cannot be built, opened or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// I/O error.
    #[error("label index {}: {why}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// The error.
        why: String,
    },
    /// The index belongs to another version of this program or to another graph.
    #[error("label index {}: {why}; load the sources again", path.display())]
    Stale {
        /// The folder.
        path: PathBuf,
        /// The mismatch.
        why: String,
    },
    /// The index is damaged, or memory is exhausted.
    #[error("the label index cannot be read: {0}")]
    Damaged(String),
}

/// The names that a search finds, the best first.
pub type FoundLabels = Result<Vec<LabelMatch>, SearchError>;

impl From<serde_json::Error> for SearchError {
    fn from(error: serde_json::Error) -> Self {
        Self::Damaged(error.to_string())
    }
}

impl From<std::io::Error> for SearchError {
    fn from(error: std::io::Error) -> Self {
        Self::Damaged(error.to_string())
    }
}

impl From<tantivy::TantivyError> for SearchError {
    fn from(error: tantivy::TantivyError) -> Self {
        Self::Damaged(error.to_string())
    }
}
