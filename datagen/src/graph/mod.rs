//! Query graphs (spec A.2.2): what a gold query asks for, as nodes, edges and annotations, free of SPARQL's algebra.
//!
//! ```text
//! algebra ──read──▶ PatternGroup of edges, values, comparisons, unions ──normalise──▶ QueryGraph
//! ```
//! Boilerplate is stripped on the way: language filters, inequalities between variables, nested SELECTs that only rename, labels that are
//! only shown. What no query graph holds is refused with its reason.

pub(crate) mod algebra;
mod block;
mod expression;
mod head;
mod normal;
mod read;
mod vocabulary;

pub(crate) use expression::mirrored;
pub(crate) use normal::{bare, uses};
pub use read::read_query;
pub(crate) use read::term_literal as own_literal;
pub use vocabulary::Vocabulary;

use kg::spargebra::algebra::Expression;
use kg::term::{Literal, Term};
use kg::value::Extreme;
use kg::value::Op;

/// A variable of a query graph; numbers are unique across sub-queries and union branches.
pub type Var = usize;

/// An end of an edge.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GraphNode {
    /// A variable.
    Var(Var),
    /// An entity constant, by IRI.
    Entity(String),
    /// A literal constant.
    Literal(Literal),
}

impl GraphNode {
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
pub struct PathStep {
    /// The relation's IRI.
    pub relation: String,
    /// Whether the edge's subject is the triple's subject.
    pub forward: bool,
}

/// Two nodes that at least one of several steps joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// One end.
    pub subject: GraphNode,
    /// The other end.
    pub object: GraphNode,
    /// The alternatives; empty where the predicate is the variable `predicate`.
    pub steps: Vec<PathStep>,
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
    /// The test as the query writes it, over numbered variables: what the tools' comparison is held to on a graph.
    pub test: Expression,
}

/// The node's interval from `from` to `to` overlaps `value`, a missing end counting as open (rule R11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeInterval {
    /// The node that carries both ends.
    pub node: GraphNode,
    /// The relation to the start.
    pub from: String,
    /// The relation to the end.
    pub to: String,
    /// A year, month or day.
    pub value: Literal,
    /// The query's test of a start `?t`.
    pub starts: Expression,
    /// The query's test of an end `?t`.
    pub ends: Expression,
}

/// One half of the from/to pattern: the node has no `relation`, or one that compares so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IntervalBound {
    pub node: GraphNode,
    pub relation: String,
    pub op: Op,
    pub value: Literal,
    pub test: Expression,
}

/// `left op right` between two attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableComparison {
    /// The left variable.
    pub left: Var,
    /// The comparison.
    pub op: Op,
    /// The right variable.
    pub right: Var,
    /// The test as the query writes it, over numbered variables.
    pub test: Expression,
}

/// An inner `SELECT (MAX(?b) AS ?n)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExtremeBlock {
    pub var: Var,
    pub inner: Var,
    pub extreme: Extreme,
    pub group: PatternGroup,
}

/// Patterns that hold together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatternGroup {
    /// Edges in order of mention.
    pub edges: Vec<Edge>,
    /// Attribute comparisons.
    pub comparisons: Vec<Comparison>,
    /// TimeInterval constraints.
    pub intervals: Vec<TimeInterval>,
    /// Nodes and the class (IRI) that they are of.
    pub classes: Vec<(GraphNode, String)>,
    /// Variables and the constants that they may be.
    pub values: Vec<(Var, Vec<Term>)>,
    /// Variables and the label that they bear.
    pub labels: Vec<(Var, Literal)>,
    /// Attributes of which one of several comparisons holds.
    pub choices: Vec<(Var, Vec<Comparison>)>,
    /// Alternatives, each of which holds in one of its groups.
    pub unions: Vec<Vec<PatternGroup>>,
    /// Variables and a constant that they are not.
    pub differ: Vec<(Var, Term)>,
    /// Comparisons between variables.
    pub ordered: Vec<VariableComparison>,
    /// Inequalities between variables: no tool says them, so a graph has to show that they take nothing away, or that one side is a constant.
    pub unequal: Vec<(Var, Var)>,
    /// Tests that no tool says (of languages, of literals), over numbered variables: a graph has to show that they take nothing away.
    pub tests: Vec<Expression>,
    /// GraphNode, relation and class of every class constraint: a graph may know more than one relation to classes.
    pub typed: Vec<(GraphNode, String, String)>,
    /// Variables that `=` makes one: of literals it says less than that they are the same term.
    pub same: Vec<(Var, Var)>,
    /// Classes of which also the instances of the classes below count, and the relation to the class above.
    pub above: Vec<(String, String)>,
    /// Steps along relations that planners never see, by the order of the edge whose predicate is a variable.
    pub unseen: Vec<(usize, Vec<PathStep>)>,
    pub(crate) halves: Vec<IntervalBound>,
    pub(crate) blocks: Vec<ExtremeBlock>,
    /// Variables bound by OPTIONAL only.
    pub(crate) optional: Vec<Var>,
}

impl PatternGroup {
    /// Adds all that another group says.
    pub(crate) fn absorb(&mut self, other: Self) {
        let Self {
            edges,
            comparisons,
            intervals,
            classes,
            values,
            labels,
            choices,
            unions,
            differ,
            ordered,
            unequal,
            tests,
            typed,
            same,
            above,
            unseen,
            ..
        } = other;
        self.edges.extend(edges);
        self.comparisons.extend(comparisons);
        self.intervals.extend(intervals);
        self.classes.extend(classes);
        self.values.extend(values);
        self.labels.extend(labels);
        self.choices.extend(choices);
        self.unions.extend(unions);
        self.differ.extend(differ);
        self.ordered.extend(ordered);
        self.unequal.extend(unequal);
        self.tests.extend(tests);
        self.typed.extend(typed);
        self.same.extend(same);
        self.above.extend(above);
        self.unseen.extend(unseen);
    }
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryForm {
    /// The values of a variable.
    Select(Var),
    /// How many values a variable has.
    Count(Var),
    /// Whether there is a solution.
    Ask,
}

impl QueryForm {
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
    pub form: QueryForm,
    /// The patterns.
    pub group: PatternGroup,
    /// Only solutions with the extreme value of this attribute count.
    pub extreme: Option<(Var, Extreme)>,
    /// What ORDER BY sorts by, over numbered variables, where it is more than the attribute itself: `xsd:integer(?n)`.
    pub key: Option<Expression>,
    /// Whether the extreme is what `MAX` or `MIN` gives, not what ORDER BY puts first.
    pub aggregated: bool,
    /// The variable whose values are counted once for every solution, not once for every different value.
    pub rows: Option<String>,
}
