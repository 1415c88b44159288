//! Query graphs (spec A.2.2): what a gold query asks for, as nodes, edges and annotations, free of SPARQL's algebra.
//!
//! ```text
//! algebra ──read──▶ Group of edges, values, comparisons, unions ──normalise──▶ QueryGraph
//! ```
//! Boilerplate is stripped on the way: language filters, inequalities between variables, nested SELECTs that only rename, labels that are
//! only shown. What no query graph holds is refused with its reason.

mod block;
mod expression;
mod normal;
mod read;
mod vocabulary;

pub(crate) use expression::mirrored;
pub(crate) use normal::{bare, uses};
pub use read::read_query;
pub(crate) use read::term_literal as own_literal;
pub use vocabulary::Vocabulary;

use toolbox::term::{Literal, Term};
use toolbox::value::Extreme;
use toolbox::value::Op;

/// A variable of a query graph; numbers are unique across sub-queries and union branches.
pub type Var = usize;

/// An end of an edge.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// A variable.
    Var(Var),
    /// An entity constant, by IRI.
    Entity(String),
    /// A literal constant.
    Literal(Literal),
}

impl Node {
    /// The variable, if it is one.
    #[must_use]
    pub fn var(&self) -> Option<Var> {
        match self {
            Self::Var(var) => Some(*var),
            Self::Entity(_) | Self::Literal(_) => None,
        }
    }
}

/// One way along an edge.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Step {
    /// The relation's IRI.
    pub relation: String,
    /// Whether the edge's subject is the triple's subject.
    pub forward: bool,
}

/// Two nodes that at least one of several steps joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// One end.
    pub subject: Node,
    /// The other end.
    pub object: Node,
    /// The alternatives; empty where the predicate is the variable `predicate`.
    pub steps: Vec<Step>,
    /// The predicate's variable, to be grounded in a graph.
    pub predicate: Option<Var>,
    /// Place in the query, which stands for the order of mention.
    pub order: usize,
}

/// `var op value`, where `var` is an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The attribute's variable.
    pub var: Var,
    /// The comparison.
    pub op: Op,
    /// What it is compared with.
    pub value: Literal,
}

/// The node's interval from `from` to `to` overlaps `value`, a missing end counting as open (rule R11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The node that carries both ends.
    pub node: Node,
    /// The relation to the start.
    pub from: String,
    /// The relation to the end.
    pub to: String,
    /// A year, month or day.
    pub value: Literal,
}

/// One half of the from/to pattern: the node has no `relation`, or one that compares so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Half {
    pub node: Node,
    pub relation: String,
    pub op: Op,
    pub value: Literal,
}

/// `left op right` between two attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ordered {
    /// The left variable.
    pub left: Var,
    /// The comparison.
    pub op: Op,
    /// The right variable.
    pub right: Var,
}

/// An inner `SELECT (MAX(?b) AS ?n)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub var: Var,
    pub inner: Var,
    pub extreme: Extreme,
    pub group: Group,
}

/// Patterns that hold together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Edges in order of mention.
    pub edges: Vec<Edge>,
    /// Attribute comparisons.
    pub comparisons: Vec<Comparison>,
    /// Interval constraints.
    pub intervals: Vec<Interval>,
    /// Nodes and the class (IRI) that they are of.
    pub classes: Vec<(Node, String)>,
    /// Variables and the constants that they may be.
    pub values: Vec<(Var, Vec<Term>)>,
    /// Variables and the label that they bear.
    pub labels: Vec<(Var, Literal)>,
    /// Alternatives, each of which holds in one of its groups.
    pub unions: Vec<Vec<Group>>,
    /// Variables and a constant that they are not.
    pub differ: Vec<(Var, Term)>,
    /// Comparisons between variables.
    pub ordered: Vec<Ordered>,
    /// Inequalities between variables, left to verification.
    pub unequal: Vec<(Var, Var)>,
    pub(crate) halves: Vec<Half>,
    pub(crate) blocks: Vec<Block>,
    /// Variables bound by OPTIONAL only.
    pub(crate) optional: Vec<Var>,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The values of a variable.
    Select(Var),
    /// How many values a variable has.
    Count(Var),
    /// Whether there is a solution.
    Ask,
}

impl Form {
    /// The variable asked for.
    #[must_use]
    pub fn answer(self) -> Option<Var> {
        match self {
            Self::Select(var) | Self::Count(var) => Some(var),
            Self::Ask => None,
        }
    }
}

/// What a query asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryGraph {
    /// The form.
    pub form: Form,
    /// The patterns.
    pub group: Group,
    /// Only solutions with the extreme value of this attribute count.
    pub extreme: Option<(Var, Extreme)>,
}
