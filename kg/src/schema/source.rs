//! The access to a graph that reading its schema needs.

use crate::term::{NodeId, RelId, Term};

/// A graph, complete or still being frozen.
pub(crate) trait Vocabulary {
    /// Every relation with its IRI and its printed name, ordered by id.
    fn relations(&self) -> Vec<(RelId, String, String)>;
    /// Heads and tails of the first `limit` triples of a relation.
    fn pairs(&self, relation: RelId, limit: usize) -> Vec<(NodeId, NodeId)>;
    /// What the triples of `relation` say about the relations `about`, which are sorted.
    fn about_relations(&self, relation: RelId, about: &[RelId]) -> Vec<(RelId, NodeId)>;
    /// The term of an id.
    fn term(&self, node: NodeId) -> Term;
    /// The id of an IRI.
    fn find_iri(&self, iri: &str) -> Option<NodeId>;
}
