//! Errors in the texts that a model writes for Triad.

use crate::limits::MAX_TRIPLES;

/// Errors in what a model wrote.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TriadError {
    /// Not an end of a triple.
    #[error("`{0}` is no entity (e0), class (c0) or variable (?x)")]
    End(String),
    /// Not a triple.
    #[error("`{0}` is no triple <subject, relation, object>")]
    Triple(String),
    /// No triples, or too many.
    #[error("{0} triples; one to {max} are needed", max = MAX_TRIPLES)]
    Count(usize),
    /// Not an answer type.
    #[error("`{0}` is none of <count>, <select>, <yes or no>")]
    Type(String),
    /// A template that does not parse or refers to something undefined.
    #[error("template {0}")]
    Template(String),
    /// The template uses a triple without a selected relation.
    #[error("no relation was selected for {0}")]
    Unlinked(String),
    /// A selection that is not among the candidates.
    #[error("`{0}` is not among the candidates")]
    Selection(String),
}
