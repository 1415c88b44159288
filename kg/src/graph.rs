//! The interface to a graph: everything that the rest of the program may ask of it.

use std::borrow::Cow;

use spargebra::Query;

use crate::readable::{is_statement_iri, readable_name};
use crate::schema::Schema;
use crate::search::{LabelIndex, SearchError};
use crate::sparql::{QueryAnswer, QueryError, QueryLimits};
use crate::term::{NodeId, RelId, Term};

/// What a graph answers. Node and relation ids are dense, stable for the life of the value, and ordered by term, so that sorting by id is
/// deterministic whatever the load order was. All sets come back sorted and without duplicates.
pub trait Kg: Send + Sync {
    /// Number of triples.
    fn len(&self) -> usize;
    /// Whether there is no triple at all.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// SHA-256 (hex) over the sorted terms and triples of the graph: equal graphs have equal hashes.
    fn content_hash(&self) -> &str;
    /// The term behind an id.
    fn term(&self, node: NodeId) -> Term;
    /// The id of a term, if the graph holds it.
    fn find(&self, term: &Term) -> Option<NodeId>;
    /// Whether the text of some literal begins so; true where it would cost more to know than to look the whole text up.
    fn begins_literal(&self, text: &str) -> bool;
    /// Whether nodes may come from plain text formats, where names stand for numbers and dates too.
    fn has_texts(&self) -> bool {
        true
    }
    /// The short unique name of a node in calls and prompts (`m.02xt6q`, `dbr:Lisbon`); for a literal its N-Triples form.
    fn name(&self, node: NodeId) -> String;
    /// The node of a name as [`Kg::name`] prints it, or of a full IRI with or without angle brackets.
    fn by_name(&self, name: &str) -> Option<NodeId>;
    /// The display label, one clean line; `None` for nodes without one (a CVT node, rule R22). For a literal its lexical form.
    fn label(&self, node: NodeId) -> Option<String>;
    /// Whether a node has a [`Kg::label`].
    fn has_label(&self, node: NodeId) -> bool {
        self.label(node).is_some()
    }
    /// Tails `t` of `(s, r, t)`.
    fn tails(&self, s: NodeId, r: RelId) -> Cow<'_, [NodeId]>;
    /// Heads `h` of `(h, r, o)`.
    fn heads(&self, r: RelId, o: NodeId) -> Cow<'_, [NodeId]>;
    /// Whether the triple is in the graph.
    fn has(&self, s: NodeId, r: RelId, o: NodeId) -> bool;
    /// Relations leaving `node`, without the schema's hidden ones (rule R4).
    fn out_relations(&self, node: NodeId) -> Vec<RelId>;
    /// Relations entering `node`, without the schema's hidden ones (rule R4).
    fn in_relations(&self, node: NodeId) -> Vec<RelId>;
    /// Relations leaving and relations entering any of the nodes, sorted, without the schema's hidden ones (rule R4), each with the first of
    /// the nodes that has it.
    fn relations_of(&self, nodes: &[NodeId]) -> [Vec<(RelId, NodeId)>; 2];
    /// Every relation of the graph, the hidden ones too, sorted.
    fn relations(&self) -> &[RelId];
    /// Ids of all IRIs and blank nodes; literals have higher ones.
    fn resources(&self) -> std::ops::Range<u32>;
    /// Number of triples in which the node stands as head or tail: how popular it is.
    fn degree(&self, node: NodeId) -> usize;
    /// Number of triples of a relation.
    fn uses(&self, r: RelId) -> usize;
    /// Calls `visit` with head and tail of each triple of a relation, in order of tail and head, while it returns true.
    fn each_pair(&self, r: RelId, visit: &mut dyn FnMut(NodeId, NodeId) -> bool);
    /// Whether a node stands for a statement and not for a thing: a Freebase CVT node, a Wikidata statement, a blank node with facts of its
    /// own (rule R22). Such a node has no name and at least two edges, one of them leaving it.
    fn is_statement(&self, node: NodeId) -> bool {
        match self.term(node) {
            Term::Literal(_) => return false,
            Term::Iri(iri) if is_statement_iri(&iri) => return true,
            Term::Iri(iri) if readable_name(&iri).is_some() => return false,
            Term::Blank(_) | Term::Iri(_) => {}
        }
        if self.label(node).is_some()
            || self.classes().binary_search(&node).is_ok()
            || self.uses(node.relation()) > 0
        {
            return false;
        }
        let mut leaving = 0;
        for relation in self.out_relations(node) {
            leaving += self.tails(node, relation).len();
            if leaving >= 2 {
                return true;
            }
        }
        leaving == 1 && !self.in_relations(node).is_empty()
    }
    /// The names of the graph's nodes. Read from the graph's folder, or made in memory when it is first asked for.
    ///
    /// # Errors
    /// When the index is damaged.
    fn label_index(&self) -> Result<&LabelIndex, SearchError>;
    /// Every class that some node is an instance of; with [`Settings::subclasses`] their wider classes too.
    fn classes(&self) -> &[NodeId];
    /// Every class that some node is directly an instance of.
    fn direct_classes(&self) -> &[NodeId];
    /// Instances of a class, through any of the schema's type relations; with [`Settings::subclasses`] those of narrower classes too.
    fn instances(&self, class: NodeId) -> Cow<'_, [NodeId]>;
    /// Classes of a node; with [`Settings::subclasses`] the wider ones too.
    fn types(&self, node: NodeId) -> Vec<NodeId>;
    /// Every node that has this label (exact match first, else case-insensitive), for [`crate::link`].
    fn by_label(&self, label: &str) -> Vec<NodeId>;
    /// What is known about the graph's vocabulary.
    fn schema(&self) -> &Schema;
    /// Runs a gold query under a deadline and a row limit; never panics, never runs on.
    ///
    /// # Errors
    /// [`QueryError`] says whether the query is wrong, uses what is refused, or ran out of time or rows.
    fn query(&self, query: &Query, limits: QueryLimits) -> Result<QueryAnswer, QueryError>;
}
