//! The interface to a graph.

use std::borrow::Cow;

use spargebra::Query;

use crate::label::language_rank;
use crate::names::{is_wikibase_property, wikibase_property};
use crate::readable::{is_readable, is_statement_iri};
use crate::schema::Schema;
use crate::search::{LabelIndex, SearchError};
use crate::sparql::{QueryAnswer, QueryError, QueryLimits};
use crate::term::{NodeId, RelId, Term};

/// Read access to a graph. Node and relation ids are dense, stable for the life of the value, and
/// ordered by term, so sorting by id is deterministic whatever the load order was. All sets are
/// sorted and free of duplicates.
pub trait Kg: Send + Sync {
    /// Number of triples.
    fn len(&self) -> usize;
    /// Whether the graph has no triples.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// SHA-256 (hex) over the sorted terms and triples of the graph: equal graphs have equal
    /// hashes.
    fn content_hash(&self) -> &str;
    /// What answers depend on: the content, the owner's settings and the hidden relations.
    fn fingerprint(&self) -> String {
        let schema = self.schema();
        let settings = format!("{:?} {:?}", schema.settings, schema.hidden);
        let settings = common::hash::number(0, "settings", &settings);
        format!("{} {settings:016x}", self.content_hash())
    }
    /// The term behind an id.
    fn term(&self, node: NodeId) -> Term;
    /// The id of a term; `None` if the graph does not contain it.
    fn find(&self, term: &Term) -> Option<NodeId>;
    /// The IRI of a node, if it is one.
    fn iri(&self, node: NodeId) -> Option<String> {
        match self.term(node) {
            Term::Iri(iri) => Some(iri),
            Term::Blank(_) | Term::Literal(_) => None,
        }
    }
    /// Whether the text of some literal starts with `text`. May return true without a check, if the
    /// check would cost more than a full lookup.
    fn begins_literal(&self, text: &str) -> bool;
    /// Whether nodes may come from plain text formats, where a name may also be a number or a date.
    fn has_texts(&self) -> bool {
        true
    }
    /// The short unique name of a node in calls and prompts (`m.02xt6q`, `dbr:Lisbon`); for a
    /// literal, its N-Triples form.
    fn name(&self, node: NodeId) -> String;
    /// The node with this name, as printed by [`Kg::name`], or with this full IRI, with or without
    /// angle brackets.
    fn by_name(&self, name: &str) -> Option<NodeId>;
    /// The display label on one clean line; `None` if there is no label (a CVT node, rule R22). For
    /// a literal, its lexical form.
    fn label(&self, node: NodeId) -> Option<String>;
    /// The node that the labels and aliases of a relation belong to: in a Wikibase the property
    /// (`wd:P19` for `wdt:P19`), else the relation itself.
    fn property_of(&self, relation: RelId) -> NodeId {
        self.iri(relation.node())
            .and_then(|iri| self.find(&Term::Iri(wikibase_property(&iri)?)))
            .unwrap_or(relation.node())
    }
    /// Whether a node is a property of a Wikibase, or describes one (`p:P19`, `wd:P19`).
    fn is_property(&self, node: NodeId) -> bool {
        self.iri(node).is_some_and(|iri| is_wikibase_property(&iri))
    }
    /// Whether a node has a [`Kg::label`].
    fn has_label(&self, node: NodeId) -> bool {
        self.label(node).is_some()
    }
    /// Whether a node has labels, but none without a language or in one that the owner wants.
    fn is_labelled_in_another_language(&self, node: NodeId) -> bool {
        let schema = self.schema();
        let wanted = schema.settings.languages.len();
        let mut labels = (schema.label_relations.iter())
            .flat_map(|&relation| self.tails(node, relation).into_owned())
            .filter_map(|label| self.term(label).as_literal().cloned())
            .peekable();
        labels.peek().is_some()
            && labels.all(|label| {
                let language = label.lang.as_deref().unwrap_or("");
                language_rank(language, &schema.settings.languages).0 > 2 * wanted
            })
    }
    /// Whether a node has a label of its own. A name made from its IRI counts only if the whole graph is named
    /// so.
    fn has_own_label(&self, node: NodeId) -> bool {
        self.has_label(node)
    }
    /// Tails `t` of `(s, r, t)`. In an ontology a class has no unnamed wider classes here; what these state are triples
    /// of their own ([`Kg::is_axiom`]).
    fn tails(&self, s: NodeId, r: RelId) -> Cow<'_, [NodeId]>;
    /// Heads `h` of `(h, r, o)`.
    fn heads(&self, r: RelId, o: NodeId) -> Cow<'_, [NodeId]>;
    /// Whether the triple is in the graph.
    fn has(&self, s: NodeId, r: RelId, o: NodeId) -> bool;
    /// Whether no triple of the sources but an axiom states this triple: `crop partOf digestiveTract`, read from
    /// a restriction (someValuesFrom, hasValue, allValuesFrom) or an intersection.
    fn is_axiom(&self, _s: NodeId, _r: RelId, _o: NodeId) -> bool {
        false
    }
    /// Relations leaving `node`, without the schema's hidden ones (rule R4).
    fn out_relations(&self, node: NodeId) -> Vec<RelId>;
    /// Relations entering `node`, without the schema's hidden ones (rule R4).
    fn in_relations(&self, node: NodeId) -> Vec<RelId>;
    /// Outgoing and incoming relations of a set of nodes, sorted, without the schema's hidden ones
    /// (rule R4). Each relation comes with the first of the nodes that has it.
    fn relations_of(&self, nodes: &[NodeId]) -> [Vec<(RelId, NodeId)>; 2];
    /// Every relation of the graph, including hidden ones, sorted.
    fn relations(&self) -> &[RelId];
    /// The ids of all IRIs and blank nodes. Literals have higher ids.
    fn resources(&self) -> std::ops::Range<u32>;
    /// Number of triples with the node as head or tail: a measure of popularity.
    fn degree(&self, node: NodeId) -> usize;
    /// Number of triples of a relation.
    fn uses(&self, r: RelId) -> usize;
    /// Calls `visit` with the head and tail of each triple of a relation, ordered by tail, then
    /// head, until it returns false.
    fn each_pair(&self, r: RelId, visit: &mut dyn FnMut(NodeId, NodeId) -> bool);
    /// Whether a node is a statement rather than a thing: a Freebase CVT node, a Wikidata
    /// statement, a blank node with facts (rule R22). Such a node has no name, at least two edges,
    /// and at least one outgoing edge.
    fn is_statement(&self, node: NodeId) -> bool {
        match self.term(node) {
            Term::Literal(_) => return false,
            Term::Iri(iri) if is_statement_iri(&iri) => return true,
            Term::Iri(iri) if is_readable(&iri) => return false,
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
    /// The index of the graph's names, from the graph folder or built in memory at the first call.
    ///
    /// # Errors
    /// If the index is damaged.
    fn label_index(&self) -> Result<&LabelIndex, SearchError>;
    /// Every class that has an instance; with [`crate::Settings::subclasses`], also their
    /// superclasses.
    fn classes(&self) -> &[NodeId];
    /// Every class that has a direct instance.
    fn direct_classes(&self) -> &[NodeId];
    /// Instances of a class through any of the schema's type relations; with
    /// [`crate::Settings::subclasses`], also those of its subclasses.
    fn instances(&self, class: NodeId) -> Cow<'_, [NodeId]>;
    /// Classes of a node; with [`crate::Settings::subclasses`], also their superclasses.
    fn types(&self, node: NodeId) -> Vec<NodeId>;
    /// Classes that say what a node is: [`Kg::types`], or in an ontology, whose things are classes, the named classes
    /// above it.
    fn kinds(&self, node: NodeId) -> Vec<NodeId> {
        self.types(node)
    }
    /// Every node with this label: exact matches if there are any, else case-insensitive ones.
    fn by_label(&self, label: &str) -> Vec<NodeId>;
    /// Whether the graph was loaded from files with named graphs: FROM and GRAPH then choose among
    /// its triples.
    fn has_named_graphs(&self) -> bool {
        false
    }
    /// Whether the default graph of a query is the whole graph, although FROM may choose a part of
    /// it.
    fn reads_all(&self, _query: &Query) -> bool {
        true
    }
    /// The schema of the graph.
    fn schema(&self) -> &Schema;
    /// Runs a gold query with a deadline and a row limit; never panics.
    ///
    /// # Errors
    /// [`QueryError`] if the query is invalid, not allowed, or exceeds a limit.
    fn query(&self, query: &Query, limits: QueryLimits) -> Result<QueryAnswer, QueryError>;
}
