//! The part of a graph that is needed to read its schema.

use crate::term::{NodeId, RelId, Term};

/// A relation of a graph.
pub(crate) struct NamedRelation {
    pub id: RelId,
    pub iri: String,
    /// The printed name.
    pub name: String,
}

/// A graph, complete or still being frozen.
pub(crate) trait SchemaSource {
    /// Every relation, ordered by id.
    fn relations(&self) -> Vec<NamedRelation>;
    /// Heads and tails of the first `limit` triples of a relation.
    fn pairs(&self, relation: RelId, limit: usize) -> Vec<(NodeId, NodeId)>;
    /// Heads and tails of at most `most` triples of a relation, evenly spaced in the order of their tails.
    fn sample(&self, relation: RelId, most: usize) -> Vec<(NodeId, NodeId)>;
    /// The first tail of a head and a relation.
    fn tail(&self, head: NodeId, relation: RelId) -> Option<NodeId>;
    /// The triples of `relation` whose subject is one of the relations in `about`, which is sorted.
    fn about_relations(&self, relation: RelId, about: &[RelId]) -> Vec<(RelId, NodeId)>;
    /// Names or IRIs of relations whose texts its owner wants as labels, best first.
    fn given_labels(&self) -> &[String];
    /// Whether the things of the graph are its classes, if that is known already.
    fn is_ontology(&self) -> Option<bool>;
    /// The term of an id.
    fn term(&self, node: NodeId) -> Term;
    /// The id of an IRI.
    fn find_iri(&self, iri: &str) -> Option<NodeId>;
}
