//! The types of a query graph.

use kg::spargebra::algebra::Expression;
use kg::term::{Literal, Term};
use kg::value::{Extreme, Op};

/// A variable of a query graph; numbers are unique across sub-queries and union branches.
pub(crate) type Var = usize;

/// An end of an edge.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum GraphNode {
    /// A variable.
    Var(Var),
    /// An entity constant, by IRI.
    Entity(String),
    /// A literal constant.
    Literal(Literal),
}

impl GraphNode {
    /// The variable, if the node is one.
    pub(crate) fn var(&self) -> Option<Var> {
        match self {
            Self::Var(var) => Some(*var),
            Self::Entity(_) | Self::Literal(_) => None,
        }
    }
}

/// One relation that an edge may follow, with its direction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PathStep {
    /// The relation's IRI.
    pub relation: String,
    /// Whether the edge's subject is the triple's subject.
    pub forward: bool,
}

impl PathStep {
    /// A step from the triple's subject to its object.
    pub(crate) fn forward(relation: impl Into<String>) -> Self {
        Self {
            relation: relation.into(),
            forward: true,
        }
    }
}

/// Two nodes joined by at least one of several steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    /// One end.
    pub subject: GraphNode,
    /// The other end.
    pub object: GraphNode,
    /// The alternatives; empty if the predicate is the variable `predicate`.
    pub steps: Vec<PathStep>,
    /// The predicate's variable, to be grounded in a graph.
    pub predicate: Option<Var>,
    /// Position in the query; serves as the order of mention.
    pub order: usize,
}

/// `var op value`, where `var` is an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Comparison {
    /// The attribute's variable.
    pub var: Var,
    /// The operator.
    pub op: Op,
    /// The value compared with.
    pub value: Literal,
    /// The query's own test, over numbered variables. On a graph the tools' comparison must agree
    /// with it.
    pub test: Expression,
}

/// The node's interval from `from` to `to` overlaps `value`; a missing end counts as open
/// (rule R11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TimeInterval {
    /// The node that has both ends.
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

/// One half of the from/to pattern: the node has no value for `relation`, or one that satisfies
/// the comparison.
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
pub(crate) struct VariableComparison {
    /// The left variable.
    pub left: Var,
    /// The operator.
    pub op: Op,
    /// The right variable.
    pub right: Var,
    /// The query's own test, over numbered variables.
    pub test: Expression,
}

impl VariableComparison {
    /// Whether either side is this variable.
    pub(crate) fn involves(&self, var: Var) -> bool {
        self.left == var || self.right == var
    }
}

/// An inner `SELECT (MAX(?inner) AS ?var)` with its own pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExtremeBlock {
    pub var: Var,
    pub inner: Var,
    pub extreme: Extreme,
    pub group: PatternGroup,
}

/// A conjunction of patterns, SPARQL's group graph pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PatternGroup {
    /// Edges in order of mention.
    pub edges: Vec<Edge>,
    /// Attribute comparisons.
    pub comparisons: Vec<Comparison>,
    /// Interval constraints.
    pub intervals: Vec<TimeInterval>,
    /// Nodes with the IRI of their class.
    pub classes: Vec<(GraphNode, String)>,
    /// Variables with the constants that they may equal.
    pub values: Vec<(Var, Vec<Term>)>,
    /// Variables with their label.
    pub labels: Vec<(Var, Literal)>,
    /// Attributes of which at least one of several comparisons holds.
    pub choices: Vec<(Var, Vec<Comparison>)>,
    /// Unions; each holds if one of its groups holds.
    pub unions: Vec<Vec<PatternGroup>>,
    /// Variables with a constant that they must not equal.
    pub differ: Vec<(Var, Term)>,
    /// Comparisons between variables.
    pub ordered: Vec<VariableComparison>,
    /// Inequalities between variables. No tool expresses them: the graph must show that they
    /// remove no solution, or that one side is a constant.
    pub unequal: Vec<(Var, Var)>,
    /// Tests that no tool expresses (of languages, of literals), over numbered variables. The graph
    /// must show that they remove no solution.
    pub tests: Vec<Expression>,
    /// Node, relation and class of every class constraint; a graph may have several class
    /// relations.
    pub typed: Vec<(GraphNode, String, String)>,
    /// Variables merged because of `=`. For literals `=` is weaker than being the same term.
    pub same: Vec<(Var, Var)>,
    /// Classes whose subclasses count too, with the relation to the superclass.
    pub above: Vec<(String, String)>,
    /// Steps along hidden relations, by the order of the edge whose predicate is a variable.
    pub unseen: Vec<(usize, Vec<PathStep>)>,
    /// Halves of the from/to pattern that are not paired yet.
    pub bounds: Vec<IntervalBound>,
    /// Inner extremes that are not folded yet.
    pub blocks: Vec<ExtremeBlock>,
    /// Variables bound only by OPTIONAL.
    pub optional: Vec<Var>,
}

impl PatternGroup {
    /// Adds everything that another normalised group requires.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.edges.extend(other.edges);
        self.comparisons.extend(other.comparisons);
        self.intervals.extend(other.intervals);
        self.classes.extend(other.classes);
        self.values.extend(other.values);
        self.labels.extend(other.labels);
        self.choices.extend(other.choices);
        self.unions.extend(other.unions);
        self.differ.extend(other.differ);
        self.ordered.extend(other.ordered);
        self.unequal.extend(other.unequal);
        self.tests.extend(other.tests);
        self.typed.extend(other.typed);
        self.same.extend(other.same);
        self.above.extend(other.above);
        self.unseen.extend(other.unseen);
    }

    /// Variables of the group's own patterns, with repetitions; without those of unions and of
    /// comparisons between variables.
    pub(crate) fn own_variables(&self) -> impl Iterator<Item = Var> + '_ {
        let ends = |edge: &Edge| [edge.subject.var(), edge.object.var(), edge.predicate];
        self.edges
            .iter()
            .flat_map(ends)
            .chain(self.classes.iter().map(|(node, _)| node.var()))
            .chain(self.intervals.iter().map(|interval| interval.node.var()))
            .chain(self.bounds.iter().map(|bound| bound.node.var()))
            .flatten()
            .chain(self.comparisons.iter().map(|comparison| comparison.var))
            .chain(self.choices.iter().map(|(var, _)| *var))
            .chain(self.values.iter().map(|(var, _)| *var))
            .chain(self.labels.iter().map(|(var, _)| *var))
    }

    /// Every variable that the group mentions, with repetitions.
    pub(crate) fn variables(&self) -> Box<dyn Iterator<Item = Var> + '_> {
        let compared = self.ordered.iter().flat_map(|pair| [pair.left, pair.right]);
        let branches = self.unions.iter().flatten();
        Box::new(
            self.own_variables()
                .chain(compared)
                .chain(branches.flat_map(Self::variables)),
        )
    }

    /// Whether the group mentions a variable.
    pub(crate) fn mentions(&self, var: Var) -> bool {
        self.variables().any(|mentioned| mentioned == var)
    }

    /// Nodes of the group's own patterns, unions excluded.
    pub(super) fn nodes_mut(&mut self) -> impl Iterator<Item = &mut GraphNode> {
        let edges = self.edges.iter_mut();
        edges
            .flat_map(|edge| [&mut edge.subject, &mut edge.object])
            .chain(self.classes.iter_mut().map(|(node, _)| node))
            .chain(self.intervals.iter_mut().map(|interval| &mut interval.node))
            .chain(self.bounds.iter_mut().map(|bound| &mut bound.node))
            .chain(self.typed.iter_mut().map(|(node, _, _)| node))
    }

    /// Whether the group consists of nothing but one union.
    pub(super) fn is_only_a_union(&self) -> bool {
        self.unions.len() == 1
            && *self
                == Self {
                    unions: self.unions.clone(),
                    ..Self::default()
                }
    }

    /// The group's only edge, if the group consists of nothing else.
    pub(super) fn only_edge(&self) -> Option<&Edge> {
        let [edge] = self.edges.as_slice() else {
            return None;
        };
        let alone = Self {
            edges: self.edges.clone(),
            ..Self::default()
        };
        (*self == alone).then_some(edge)
    }

    /// The group's only comparison, if the group consists of nothing else.
    pub(super) fn only_comparison(&self) -> Option<&Comparison> {
        let [comparison] = self.comparisons.as_slice() else {
            return None;
        };
        let alone = Self {
            comparisons: self.comparisons.clone(),
            ..Self::default()
        };
        (*self == alone).then_some(comparison)
    }
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueryForm {
    /// The values of a variable.
    Select(Var),
    /// The number of values of a variable.
    Count(Var),
    /// Whether there is a solution.
    Ask,
}

impl QueryForm {
    /// The variable asked for.
    pub(crate) fn answer(self) -> Option<Var> {
        match self {
            Self::Select(var) | Self::Count(var) => Some(var),
            Self::Ask => None,
        }
    }
}

/// A query, read and normalised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueryGraph {
    /// What is asked.
    pub form: QueryForm,
    /// The patterns.
    pub group: PatternGroup,
    /// Only solutions with the extreme value of this attribute count.
    pub extreme: Option<(Var, Extreme)>,
    /// The ORDER BY key over numbered variables, if it is more than the attribute itself:
    /// `xsd:integer(?n)`.
    pub key: Option<Expression>,
    /// Whether the extreme comes from `MAX` or `MIN` and not from ORDER BY.
    pub aggregated: bool,
    /// The variable whose values are counted once per solution, not once per distinct value.
    pub rows: Option<String>,
}
