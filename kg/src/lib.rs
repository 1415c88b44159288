//! Access to a knowledge graph: the [`Kg`] trait, the frozen graph behind it, loaders and the graph folder.
//!
//! This module and its children are the only code that names oxigraph.

mod dialect;
mod dictionary;
mod folder;
mod frozen;
mod hierarchy;
pub mod kqapro;
mod label;
pub mod limits;
mod load;
mod names;
mod pattern;
mod rewrite;
mod schema;
mod schema_learn;
pub mod search;
mod sparql;
mod statement;
pub mod subgraph;
pub mod term;
pub mod value;

pub use dialect::{normalise, parse_query};
pub use folder::{FolderError, GraphFolder, Manifest};
pub use frozen::{Damage, FreezeError, FrozenKg, NamedGraph};
pub use hierarchy::proof;
pub use label::{clean, fold, one_line, words};
pub use load::{Format, LoadError, LoadOptions, Progress, Source};
pub use names::TEXT_NAMESPACE;
pub use schema::{Settings, is_meta_class, why_hidden};
pub use schema_learn::learned;
pub use sparql::Evaluated;
pub use statement::readable_name;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::search::{LabelIndex, SearchError};
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
        statement::is_statement(self, node)
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
    fn query(
        &self,
        query: &spargebra::Query,
        limits: QueryLimits,
    ) -> Result<QueryAnswer, QueryError>;
}

/// What is known about a graph's vocabulary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    /// Relations that say what class a node is of (`rdf:type`, `type.object.type`, `wdt:P31`, …).
    pub type_relations: Vec<RelId>,
    /// Relations that carry names (`rdfs:label`, `type.object.name`, …).
    pub label_relations: Vec<RelId>,
    /// Relations that carry further names (`skos:altLabel`, `common.topic.alias`, nicknames, …); not hidden for that.
    #[serde(default)]
    pub alias_relations: Vec<RelId>,
    /// Relations from a page to the node it leads to: the page's title is an alias of that node.
    #[serde(default)]
    pub redirect_relations: Vec<RelId>,
    /// Relations from a class to a wider class.
    #[serde(default)]
    pub superclass_relations: Vec<RelId>,
    /// Relations never shown to a planner (rule R4): types, labels and meta relations.
    pub hidden: Vec<RelId>,
    /// Derived interval relations `X.from_to` of rule R11.
    pub intervals: Vec<Interval>,
    /// Relation and class of its heads, as the graph states it; sorted.
    #[serde(default)]
    pub domains: Vec<(RelId, NodeId)>,
    /// Relation and class or datatype of its tails, as the graph states it; sorted.
    #[serde(default)]
    pub ranges: Vec<(RelId, NodeId)>,
    /// Relation and its reverse, as the graph states it, both ways; sorted.
    #[serde(default)]
    pub reverses: Vec<(RelId, NodeId)>,
    /// What the graph's owner has set.
    #[serde(default)]
    pub settings: Settings,
}

impl Schema {
    /// Classes that the graph states as the domain of a relation.
    pub fn domain(&self, relation: RelId) -> impl Iterator<Item = NodeId> + '_ {
        of(&self.domains, relation)
    }

    /// Classes or datatypes that the graph states as the range of a relation.
    pub fn range(&self, relation: RelId) -> impl Iterator<Item = NodeId> + '_ {
        of(&self.ranges, relation)
    }

    /// Relations that the graph states as the reverse of a relation (rule R3).
    pub fn reverse(&self, relation: RelId) -> impl Iterator<Item = RelId> + '_ {
        of(&self.reverses, relation).map(NodeId::relation)
    }
}

/// What a sorted list says about a relation.
fn of(list: &[(RelId, NodeId)], relation: RelId) -> impl Iterator<Item = NodeId> + '_ {
    let start = list.partition_point(|&(r, _)| r < relation);
    list[start..]
        .iter()
        .take_while(move |&&(r, _)| r == relation)
        .map(|&(_, node)| node)
}

/// A derived interval relation (rule R11): a node is in it when it carries the start or the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// The printed name, such as `sports.stint.from_to`.
    pub name: String,
    /// The relation to the start of the interval.
    pub from: RelId,
    /// The relation to its end.
    pub to: RelId,
}

/// Limits of one query.
#[derive(Clone, Copy, Debug)]
pub struct QueryLimits {
    /// Wall-clock limit.
    pub deadline: std::time::Duration,
    /// Rows after which the query is given up.
    pub rows: usize,
}

impl Default for QueryLimits {
    fn default() -> Self {
        Self {
            deadline: crate::limits::QUERY_DEADLINE,
            rows: crate::limits::QUERY_ROWS,
        }
    }
}

/// The answer of a query.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryAnswer {
    /// A SELECT: variable names and rows; terms may be literals that the graph does not hold, such as a count.
    Rows {
        /// Projected variables, in order, without `?`.
        variables: Vec<String>,
        /// One row a solution.
        rows: Vec<Vec<Option<Term>>>,
    },
    /// An ASK.
    Bool(bool),
}

/// Why a query gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// The query text does not parse.
    #[error("the query does not parse: {0}")]
    Syntax(String),
    /// CONSTRUCT, DESCRIBE, SERVICE and the like.
    #[error("{0} is refused here")]
    Refused(String),
    /// It ran longer than its deadline.
    #[error("the query ran past its deadline of {0:?}")]
    Deadline(std::time::Duration),
    /// It produced more rows than its limit.
    #[error("the query gives more than {0} rows")]
    Rows(usize),
    /// The evaluator failed.
    #[error("the query could not be evaluated: {0}")]
    Evaluation(String),
}

/// The SPARQL algebra in which gold queries come, re-exported so that every crate speaks of one version of it.
pub use spargebra;
