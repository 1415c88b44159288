//! What a search returns, and why it fails.

use std::path::PathBuf;

use crate::term::NodeId;

/// How a candidate's name matches a mention, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MatchKind {
    /// Letter for letter.
    Exact,
    /// In normal form, or in a weaker form of it.
    Normalised,
    /// With a few edits.
    Fuzzy,
    /// In some words or most trigrams.
    Partial,
}

/// What a name is of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NameKind {
    /// A label.
    Label,
    /// An alias.
    Alias,
    /// A name without what distinguishes it from others: `Titanic` of `Titanic (1997 film)`.
    Short,
}

/// What a node is in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeRole {
    /// Something that questions are about.
    Entity,
    /// A class of entities.
    Class,
    /// A relation and nothing else.
    Relation,
}

/// A node that a mention may mean.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelMatch {
    /// The node.
    pub node: NodeId,
    /// The name that matched.
    pub label: String,
    /// How well it matches, in `(0, 1]`; comparable within a kind of match only.
    pub score: f32,
    /// How it matches.
    pub how: MatchKind,
    /// What the name is.
    pub kind: NameKind,
    /// Triples that leave or enter the node: how well known it is.
    pub degree: u64,
}

/// Why an index cannot be built, opened or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// A file cannot be read or written.
    #[error("label index {}: {why}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// What went wrong.
        why: String,
    },
    /// Written by another version of this program, or for another graph.
    #[error("label index {}: {why}; load the sources again", path.display())]
    Stale {
        /// The folder.
        path: PathBuf,
        /// What does not fit.
        why: String,
    },
    /// The index is damaged, or does not fit into memory.
    #[error("the label index cannot be read: {0}")]
    Damaged(String),
}

impl From<tantivy::TantivyError> for SearchError {
    fn from(error: tantivy::TantivyError) -> Self {
        Self::Damaged(error.to_string())
    }
}
