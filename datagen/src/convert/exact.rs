//! Checks on a graph that the tools compare as SPARQL does. The tools (rules R8 to R13) compare by
//! kind, by time span and without case; SPARQL compares by datatype. So the query's own tests are
//! run on the sets that the program compares. If a tool keeps other members than the query would,
//! the query is refused, even if the answers happen to be equal.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use kg::spargebra::algebra::{Expression, GraphPattern};
use kg::spargebra::term::{GroundTerm, Literal, Variable};
use kg::term::{NodeId, RelId, Term};
use kg::value::{Extreme, order_key};
use kg::{Kg, QueryAnswer, QueryLimits};
use toolbox::call::Arg;
use toolbox::exec::{EntSet, Value};

use crate::algebra as query;
use crate::graph::{TimeInterval, Var, algebra};
use crate::refusal::Refusal;

/// One comparison of a program.
#[derive(Clone, Debug)]
pub(super) struct ComparisonCheck {
    /// The set that is compared.
    pub input: Arg,
    /// The members kept. For an extreme that is itself the answer: the values.
    pub output: Arg,
    /// The relation's IRI.
    pub relation: String,
    /// What the query requires.
    pub requirement: ComparisonRequirement,
}

/// What the query requires of the members that a comparison keeps.
#[derive(Clone, Debug)]
pub(super) enum ComparisonRequirement {
    /// One tail `?t` passes all tests; some compare it with the value of another set.
    Tests {
        tests: Vec<Expression>,
        others: Vec<(Var, Arg)>,
    },
    /// One tail is exactly this term.
    Term(Term),
    /// The interval's tests hold.
    Interval(Box<TimeInterval>),
    /// One tail is an extreme.
    Extreme(ExtremeRequirement),
}

/// The tail is the extreme among the tails that pass the tests.
#[derive(Clone, Debug)]
pub(super) struct ExtremeRequirement {
    pub extreme: Extreme,
    pub order: ExtremeOrder,
    pub tests: Vec<Expression>,
    /// Whether the tails are the answer.
    pub asked: bool,
}

/// What decides which tail is the extreme.
#[derive(Clone, Debug)]
pub(super) enum ExtremeOrder {
    /// ORDER BY on the tail.
    Tail,
    /// ORDER BY on an expression.
    Key(Expression),
    /// `MAX` or `MIN`, which give a term.
    Aggregate,
}

/// A member of a set and one of its tails.
type Pair = (NodeId, NodeId);

/// The results of a program on a graph.
pub(super) struct Execution<'a> {
    pub kg: &'a dyn Kg,
    /// The answer.
    pub value: Value,
    /// The values assigned, by variable.
    pub variables: Vec<Value>,
}

impl Execution<'_> {
    /// The set that an argument denotes.
    pub(super) fn set(&self, arg: &Arg) -> Option<EntSet> {
        match arg {
            Arg::Var(index) => match self.variables.get(*index as usize)? {
                Value::Set(set) => Some(set.clone()),
                Value::Int(_) | Value::Bool(_) | Value::Table(_) => None,
            },
            Arg::Name(name) => Some([self.kg.by_name(name)?].into()),
            _ => None,
        }
    }

    /// Whether every comparison kept the members that the query keeps.
    pub(super) fn satisfies(&self, checks: &[ComparisonCheck]) -> Result<bool, Refusal> {
        for check in checks {
            if !self.satisfies_one(check)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn satisfies_one(&self, check: &ComparisonCheck) -> Result<bool, Refusal> {
        let (Some(input), Some(relation)) =
            (self.set(&check.input), self.relation(&check.relation))
        else {
            return Ok(false);
        };
        let Some(wanted) = self.wanted(check, &input, relation)? else {
            return Ok(false);
        };
        let Some(got) = self.set(&check.output) else {
            // A judgement: true if something is left.
            return Ok(match &check.output {
                Arg::Var(index) => {
                    self.variables.get(*index as usize) == Some(&Value::Bool(!wanted.is_empty()))
                }
                _ => false,
            });
        };
        Ok(got.iter().copied().eq(wanted))
    }

    /// The members of a comparison's input that the query keeps; `None` if the comparison is not
    /// exact.
    fn wanted(
        &self,
        check: &ComparisonCheck,
        input: &EntSet,
        relation: RelId,
    ) -> Result<Option<BTreeSet<NodeId>>, Refusal> {
        let pairs = || self.tails(input, relation);
        match &check.requirement {
            ComparisonRequirement::Term(term) => {
                let wanted = self.kg.find(term);
                Ok(Some(owners(pairs(), |tail| Some(tail) == wanted)))
            }
            ComparisonRequirement::Tests { tests, others } => {
                let single = self.set(&check.output).is_some();
                let Some(bound) = self.bound(others, single) else {
                    return Ok(None);
                };
                let pairs = pairs();
                let passing = passing_with(self.kg, tails(&pairs), tests, &bound)?;
                Ok(Some(owners(pairs, |tail| passing.contains(&tail))))
            }
            ComparisonRequirement::Interval(interval) => {
                self.overlapping(input, interval).map(Some)
            }
            ComparisonRequirement::Extreme(requirement) => {
                self.extreme(pairs(), requirement).map(Some)
            }
        }
    }

    /// The values of other sets that a test compares with. They are bound by VALUES because date
    /// constants in a filter parse differently from dates of the graph. Only a judgement may
    /// compare with several values.
    fn bound(
        &self,
        others: &[(Var, Arg)],
        single: bool,
    ) -> Option<Vec<(Variable, Vec<GroundTerm>)>> {
        let values = |(var, arg): &(Var, Arg)| {
            let set = self.set(arg).filter(|set| set.len() == 1 || !single)?;
            let constants: Option<Vec<GroundTerm>> = set
                .iter()
                .map(|&node| algebra::ground(&self.kg.term(node)))
                .collect();
            Some((algebra::variable(*var), constants?))
        };
        others.iter().map(values).collect()
    }

    /// The members whose interval overlaps.
    fn overlapping(
        &self,
        input: &EntSet,
        interval: &TimeInterval,
    ) -> Result<BTreeSet<NodeId>, Refusal> {
        let mut kept: BTreeSet<NodeId> = input.iter().copied().collect();
        for (relation, test) in [
            (&interval.from, &interval.starts),
            (&interval.to, &interval.ends),
        ] {
            // A relation that the graph does not have leaves this end open everywhere.
            let Some(relation) = self.relation(relation) else {
                continue;
            };
            let pairs = self.tails(input, relation);
            let passing = passing(self.kg, tails(&pairs), std::slice::from_ref(test))?;
            let mut bounded: BTreeMap<NodeId, bool> = BTreeMap::new();
            for (owner, tail) in pairs {
                *bounded.entry(owner).or_default() |= passing.contains(&tail);
            }
            kept.retain(|node| bounded.get(node).copied().unwrap_or(true));
        }
        Ok(kept)
    }

    /// The owners of the extreme tails, or the tails themselves if they are the answer.
    fn extreme(
        &self,
        mut pairs: Vec<Pair>,
        requirement: &ExtremeRequirement,
    ) -> Result<BTreeSet<NodeId>, Refusal> {
        let extreme = requirement.extreme;
        if !requirement.tests.is_empty() {
            let passing = passing(self.kg, tails(&pairs), &requirement.tests)?;
            pairs.retain(|(_, tail)| passing.contains(tail));
        }
        let best = match &requirement.order {
            ExtremeOrder::Aggregate => self.aggregate(&pairs, extreme)?,
            ExtremeOrder::Key(key) => self.computed(&pairs, key, extreme)?,
            ExtremeOrder::Tail => self.ordered(&pairs, extreme),
        };
        Ok(if requirement.asked {
            tails(&pairs).filter(|tail| best.contains(tail)).collect()
        } else {
            owners(pairs, |tail| best.contains(&tail))
        })
    }

    fn tails(&self, set: &[NodeId], relation: RelId) -> Vec<Pair> {
        let tails = |&node: &NodeId| {
            let tails = self.kg.tails(node, relation).into_owned();
            tails.into_iter().map(move |tail| (node, tail))
        };
        set.iter().flat_map(tails).collect()
    }

    fn relation(&self, iri: &str) -> Option<RelId> {
        self.kg
            .find(&Term::Iri(iri.to_owned()))
            .map(NodeId::relation)
    }

    /// The tails whose computed key ORDER BY puts last or first; a key that fails sorts before all
    /// others.
    fn computed(
        &self,
        pairs: &[Pair],
        key: &Expression,
        extreme: Extreme,
    ) -> Result<BTreeSet<NodeId>, Refusal> {
        let constants = constants(self.kg, tails(pairs));
        let variable = algebra::variable(0);
        let extend = GraphPattern::Extend {
            inner: Box::new(values(&constants)),
            variable: variable.clone(),
            expression: key.clone(),
        };
        let query = query::select(query::project(extend, vec![algebra::tail(), variable]));
        let Ok(QueryAnswer::Rows { rows, .. }) = self.kg.query(&query, QueryLimits::default())
        else {
            return Err(Refusal::QueryFailed);
        };
        let mut keys: BTreeMap<NodeId, Option<String>> = BTreeMap::new();
        for row in rows {
            if let [Some(tail), key] = row.as_slice()
                && let Some(&node) = constants.get(tail)
            {
                keys.insert(node, key.as_ref().map(order_key));
            }
        }
        Ok(at_the_end(&keys, extreme))
    }

    /// The tails that ORDER BY puts last or first.
    fn ordered(&self, pairs: &[Pair], extreme: Extreme) -> BTreeSet<NodeId> {
        let keys: BTreeMap<NodeId, String> = tails(pairs)
            .map(|tail| (tail, order_key(&self.kg.term(tail))))
            .collect();
        at_the_end(&keys, extreme)
    }

    /// The tail that MAX or MIN gives.
    fn aggregate(&self, pairs: &[Pair], extreme: Extreme) -> Result<BTreeSet<NodeId>, Refusal> {
        let nodes: BTreeSet<NodeId> = tails(pairs).collect();
        let terms = nodes
            .iter()
            .filter_map(|&tail| algebra::ground(&self.kg.term(tail)));
        let values = algebra::values_of(algebra::tail(), terms);
        let function = query::extreme_function(extreme);
        let aggregate = query::aggregate_call(function, algebra::tail().into(), false);
        let output = algebra::variable(0);
        let group = query::group_all(values, vec![(output.clone(), aggregate)]);
        Ok(select(self.kg, group, output)?
            .iter()
            .filter_map(|term| self.kg.find(term))
            .collect())
    }
}

fn tails(pairs: &[Pair]) -> impl Iterator<Item = NodeId> + '_ {
    pairs.iter().map(|(_, tail)| *tail)
}

/// The owners of the tails that are kept.
fn owners(pairs: Vec<Pair>, keeps: impl Fn(NodeId) -> bool) -> BTreeSet<NodeId> {
    pairs
        .into_iter()
        .filter(|(_, tail)| keeps(*tail))
        .map(|(owner, _)| owner)
        .collect()
}

/// The nodes that pass all tests, as the evaluator sees them.
pub(super) fn passing(
    kg: &dyn Kg,
    nodes: impl Iterator<Item = NodeId>,
    tests: &[Expression],
) -> Result<HashSet<NodeId>, Refusal> {
    passing_with(kg, nodes, tests, &[])
}

/// Like [`passing`], with values for other variables of the tests.
pub(super) fn passing_with(
    kg: &dyn Kg,
    nodes: impl Iterator<Item = NodeId>,
    tests: &[Expression],
    bound: &[(Variable, Vec<GroundTerm>)],
) -> Result<HashSet<NodeId>, Refusal> {
    let mut constants = constants(kg, nodes);
    // VALUES compares terms; a filter with a date constant compares the dates that they mean.
    let terms: Vec<&Literal> = tests.iter().filter_map(algebra::same_literal).collect();
    constants.retain(|term, _| {
        terms.iter().all(|wanted| {
            term.as_literal()
                .is_some_and(|literal| algebra::rdf_literal(literal) == **wanted)
        })
    });
    if constants.is_empty() {
        return Ok(HashSet::new());
    }
    let mut pattern = values(&constants);
    for (variable, constants) in bound {
        let others = algebra::values_of(variable.clone(), constants.iter().cloned());
        pattern = algebra::join(pattern, others);
    }
    for test in tests
        .iter()
        .filter(|test| algebra::same_literal(test).is_none())
    {
        pattern = algebra::filter(pattern, test.clone());
    }
    let rows = select(kg, pattern, algebra::tail())?;
    Ok(rows
        .iter()
        .filter_map(|term| constants.get(term).copied())
        .collect())
}

/// Nodes by the term that represents them in a query.
fn constants(kg: &dyn Kg, nodes: impl Iterator<Item = NodeId>) -> BTreeMap<Term, NodeId> {
    let nodes: BTreeSet<NodeId> = nodes.collect();
    // A query cannot name a blank node, and only isIRI distinguishes one from an IRI.
    let named = |node: NodeId| match kg.term(node) {
        Term::Blank(label) => Term::Iri(format!("urn:kgagent:blank:{label}")),
        term => term,
    };
    nodes.into_iter().map(|node| (named(node), node)).collect()
}

/// The constants as values of the tail's variable.
fn values(constants: &BTreeMap<Term, NodeId>) -> GraphPattern {
    algebra::values_of(
        algebra::tail(),
        constants.keys().filter_map(algebra::ground),
    )
}

/// The nodes with the greatest or the least key.
fn at_the_end<K: Ord>(keys: &BTreeMap<NodeId, K>, extreme: Extreme) -> BTreeSet<NodeId> {
    let best = match extreme {
        Extreme::Max => keys.values().max(),
        Extreme::Min => keys.values().min(),
    };
    keys.iter()
        .filter(|(_, key)| Some(*key) == best)
        .map(|(node, _)| *node)
        .collect()
}

/// The distinct values of a variable of a pattern.
pub(super) fn select(
    kg: &dyn Kg,
    pattern: GraphPattern,
    variable: Variable,
) -> Result<BTreeSet<Term>, Refusal> {
    let query = query::select(query::distinct_values(pattern, variable));
    match kg.query(&query, QueryLimits::default()) {
        Ok(QueryAnswer::Rows { rows, .. }) => Ok(rows
            .into_iter()
            .filter_map(|row| row.into_iter().next().flatten())
            .collect()),
        Ok(QueryAnswer::Bool(_)) | Err(_) => Err(Refusal::QueryFailed),
    }
}

/// Whether a pattern has a solution.
pub(super) fn exists(kg: &dyn Kg, pattern: GraphPattern) -> Result<bool, Refusal> {
    let query = query::ask(query::project(pattern, Vec::new()));
    match kg.query(&query, QueryLimits::default()) {
        Ok(QueryAnswer::Bool(truth)) => Ok(truth),
        Ok(QueryAnswer::Rows { .. }) | Err(_) => Err(Refusal::QueryFailed),
    }
}
