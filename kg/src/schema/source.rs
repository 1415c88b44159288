//! What the schema is read from.

use crate::term::{NodeId, RelId, Term};

/// What the schema is read from: a graph, whole or still being made.
pub(crate) trait Vocabulary {
    /// Every relation with its IRI and its printed name, in order of id.
    fn relations(&self) -> Vec<(RelId, String, String)>;
    /// Heads and tails of the triples of a relation, at most `limit` of them.
    fn pairs(&self, relation: RelId, limit: usize) -> Vec<(NodeId, NodeId)>;
    /// The term of an id.
    fn term(&self, node: NodeId) -> Term;
    /// The id of an IRI.
    fn find_iri(&self, iri: &str) -> Option<NodeId>;
}
