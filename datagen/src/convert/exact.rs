//! What the tools say otherwise than SPARQL, checked on a graph: rules R8 to R13 compare by kind, by span and without regard to case, SPARQL
//! by datatype. A program is requirement to the query's own tests on the sets that it really runs over; where a tool keeps other members than the
//! query, the query is refused, whatever the answers happen to be.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use kg::spargebra::Query;
use kg::spargebra::algebra::{AggregateExpression, AggregateFunction, Expression, GraphPattern};
use kg::spargebra::term::{GroundTerm, Literal, Variable};
use kg::term::{NodeId, RelId, Term};
use kg::value::{Extreme, sort_key};
use kg::{Kg, QueryAnswer, QueryLimits};
use toolbox::call::Arg;
use toolbox::exec::{EntSet, Value};

use crate::graph::{TimeInterval, Var, algebra};
use crate::refusal::Refusal;

/// One comparison of a program.
#[derive(Clone, Debug)]
pub(super) struct ComparisonCheck {
    /// The set that is compared.
    pub input: Arg,
    /// What is left of it, or for an extreme that is asked for, the values.
    pub output: Arg,
    /// The relation's IRI.
    pub relation: String,
    /// What the query says.
    pub requirement: ComparisonRequirement,
}

/// What the query says of a comparison.
#[derive(Clone, Debug)]
pub(super) enum ComparisonRequirement {
    /// All tests hold of one tail `?t`; some speak of the one value of another set.
    Tests {
        tests: Vec<Expression>,
        others: Vec<(Var, Arg)>,
    },
    /// A tail is this very term.
    Term(Term),
    /// The interval's tests hold.
    TimeInterval(Box<TimeInterval>),
    /// The tail is the first or last in SPARQL's order among those for which the tests hold; `asked`: the tails are the answer.
    /// `key` is what is sorted, where it is not the tail itself.
    Extreme {
        extreme: Extreme,
        key: Option<Expression>,
        tests: Vec<Expression>,
        asked: bool,
    },
    /// As before, for `MAX` and `MIN`, which give a term.
    Aggregate {
        extreme: Extreme,
        tests: Vec<Expression>,
        asked: bool,
    },
}

/// What a program assigned, by variable.
pub(super) struct Run<'a> {
    pub kg: &'a dyn Kg,
    pub variables: &'a [Value],
}

impl Run<'_> {
    pub(super) fn set(&self, arg: &Arg) -> Option<EntSet> {
        match arg {
            Arg::Var(index) => match self.variables.get(*index as usize)? {
                Value::Set(set) => Some(set.clone()),
                Value::Int(_) | Value::Bool(_) => None,
            },
            Arg::Name(name) => Some([self.kg.by_name(name)?].into()),
            _ => None,
        }
    }

    fn tails(&self, set: &[NodeId], relation: RelId) -> Vec<(NodeId, NodeId)> {
        set.iter()
            .flat_map(|&node| {
                self.kg
                    .tails(node, relation)
                    .into_owned()
                    .into_iter()
                    .map(move |tail| (node, tail))
            })
            .collect()
    }

    /// Whether every comparison kept what the query keeps.
    pub(super) fn holds(&self, checks: &[ComparisonCheck]) -> Result<bool, Refusal> {
        for check in checks {
            if !self.check(check)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn check(&self, check: &ComparisonCheck) -> Result<bool, Refusal> {
        let (Some(input), Some(relation)) =
            (self.set(&check.input), self.relation(&check.relation))
        else {
            return Ok(false);
        };
        let pairs = || self.tails(&input, relation);
        let owners = |pairs: Vec<(NodeId, NodeId)>| {
            pairs
                .into_iter()
                .map(|(owner, _)| owner)
                .collect::<BTreeSet<_>>()
        };
        let wanted: BTreeSet<NodeId> = match &check.requirement {
            ComparisonRequirement::Term(term) => {
                let wanted = self.kg.find(term);
                owners(
                    pairs()
                        .into_iter()
                        .filter(|(_, tail)| Some(*tail) == wanted)
                        .collect(),
                )
            }
            ComparisonRequirement::Tests { tests, others } => {
                // Bound, not put in as constants: those of dates are read otherwise than dates of the graph.
                let mut bound = Vec::new();
                for (var, arg) in others {
                    let Some(set) = self.set(arg) else {
                        return Ok(false);
                    };
                    // Only a judgement is of any of several values.
                    if set.len() != 1 && self.set(&check.output).is_some() {
                        return Ok(false);
                    }
                    let constants: Option<Vec<GroundTerm>> = set
                        .iter()
                        .map(|&node| algebra::ground(&self.kg.term(node)))
                        .collect();
                    let Some(constants) = constants else {
                        return Ok(false);
                    };
                    bound.push((algebra::variable(*var), constants));
                }
                let pairs = pairs();
                let passing =
                    self.passing_with(pairs.iter().map(|(_, tail)| *tail), tests, &bound)?;
                owners(
                    pairs
                        .into_iter()
                        .filter(|(_, tail)| passing.contains(tail))
                        .collect(),
                )
            }
            ComparisonRequirement::Interval(interval) => {
                let mut kept: BTreeSet<NodeId> = input.iter().copied().collect();
                for (relation, test) in [
                    (&interval.from, &interval.starts),
                    (&interval.to, &interval.ends),
                ] {
                    // A relation that the graph does not hold is missing everywhere: the bound is open.
                    let Some(relation) = self.relation(relation) else {
                        continue;
                    };
                    let pairs = self.tails(&input, relation);
                    let passing = self.passing(
                        pairs.iter().map(|(_, tail)| *tail),
                        std::slice::from_ref(test),
                    )?;
                    let mut bounded: BTreeMap<NodeId, bool> = BTreeMap::new();
                    for (owner, tail) in pairs {
                        *bounded.entry(owner).or_default() |= passing.contains(&tail);
                    }
                    kept.retain(|node| bounded.get(node).copied().unwrap_or(true));
                }
                kept
            }
            ComparisonRequirement::Extreme {
                extreme,
                tests,
                asked,
                ..
            }
            | ComparisonRequirement::Aggregate {
                extreme,
                tests,
                asked,
            } => {
                let mut pairs = pairs();
                if !tests.is_empty() {
                    let passing = self.passing(pairs.iter().map(|(_, tail)| *tail), tests)?;
                    pairs.retain(|(_, tail)| passing.contains(tail));
                }
                let best = match &check.requirement {
                    ComparisonRequirement::Aggregate { .. } => self.aggregate(&pairs, *extreme)?,
                    ComparisonRequirement::Extreme { key: Some(key), .. } => {
                        self.computed(&pairs, key, *extreme)?
                    }
                    _ => self.ordered(&pairs, *extreme),
                };
                let best = pairs.into_iter().filter(|(_, tail)| best.contains(tail));
                if *asked {
                    best.map(|(_, tail)| tail).collect()
                } else {
                    owners(best.collect())
                }
            }
        };
        let Some(got) = self.set(&check.output) else {
            // A judgement: true where something is left.
            return Ok(match &check.output {
                Arg::Var(index) => {
                    self.variables.get(*index as usize) == Some(&Value::Bool(!wanted.is_empty()))
                }
                _ => false,
            });
        };
        Ok(got.iter().copied().eq(wanted))
    }

    fn relation(&self, iri: &str) -> Option<RelId> {
        self.kg
            .find(&Term::Iri(iri.to_owned()))
            .map(NodeId::relation)
    }

    /// The nodes of which all tests hold, as the evaluator sees it.
    pub(super) fn passing(
        &self,
        nodes: impl Iterator<Item = NodeId>,
        tests: &[Expression],
    ) -> Result<HashSet<NodeId>, Refusal> {
        self.passing_with(nodes, tests, &[])
    }

    fn passing_with(
        &self,
        nodes: impl Iterator<Item = NodeId>,
        tests: &[Expression],
        bound: &[(Variable, Vec<GroundTerm>)],
    ) -> Result<HashSet<NodeId>, Refusal> {
        let mut constants = self.constants(nodes);
        // VALUES ask for a term, not for what a date constant of a filter stands for.
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
            let bindings = constants
                .iter()
                .map(|constant| vec![Some(constant.clone())])
                .collect();
            pattern = algebra::join(
                pattern,
                GraphPattern::Values {
                    variables: vec![variable.clone()],
                    bindings,
                },
            );
        }
        for test in tests
            .iter()
            .filter(|test| algebra::same_literal(test).is_none())
        {
            pattern = algebra::filter(pattern, test.clone());
        }
        let rows = select(self.kg, pattern, algebra::tail())?;
        Ok(rows
            .iter()
            .filter_map(|term| constants.get(term).copied())
            .collect())
    }

    /// Nodes by what stands for them in a query.
    fn constants(&self, nodes: impl Iterator<Item = NodeId>) -> BTreeMap<Term, NodeId> {
        let nodes: BTreeSet<NodeId> = nodes.collect();
        // No query can name a blank node, and no test but isIRI tells one from an IRI.
        let named = |node: NodeId| match self.kg.term(node) {
            Term::Blank(label) => Term::Iri(format!("urn:kgagent:blank:{label}")),
            term => term,
        };
        nodes.into_iter().map(|node| (named(node), node)).collect()
    }

    /// The tails of which a computed key comes last or first under ORDER BY; a key that cannot be computed comes first of all.
    fn computed(
        &self,
        pairs: &[(NodeId, NodeId)],
        key: &Expression,
        extreme: Extreme,
    ) -> Result<BTreeSet<NodeId>, Refusal> {
        let constants = self.constants(pairs.iter().map(|(_, tail)| *tail));
        let variable = algebra::variable(0);
        let inner = Box::new(values(&constants));
        let extend = GraphPattern::Extend {
            inner,
            variable: variable.clone(),
            expression: key.clone(),
        };
        let pattern = GraphPattern::Project {
            inner: Box::new(extend),
            variables: vec![algebra::tail(), variable],
        };
        let query = Query::Select {
            dataset: None,
            pattern,
            base_iri: None,
        };
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

    /// The tails that come last or first under ORDER BY.
    fn ordered(&self, pairs: &[(NodeId, NodeId)], extreme: Extreme) -> BTreeSet<NodeId> {
        let keys: BTreeMap<NodeId, String> = pairs
            .iter()
            .map(|(_, tail)| (*tail, order_key(&self.kg.term(*tail))))
            .collect();
        at_the_end(&keys, extreme)
    }

    /// The tail that MAX or MIN gives.
    fn aggregate(
        &self,
        pairs: &[(NodeId, NodeId)],
        extreme: Extreme,
    ) -> Result<BTreeSet<NodeId>, Refusal> {
        let tails: BTreeSet<NodeId> = pairs.iter().map(|(_, tail)| *tail).collect();
        let bindings = tails
            .iter()
            .filter_map(|tail| algebra::ground(&self.kg.term(*tail)))
            .map(|term| vec![Some(term)])
            .collect();
        let values = GraphPattern::Values {
            variables: vec![algebra::tail()],
            bindings,
        };
        let name = if extreme == Extreme::Max {
            AggregateFunction::Max
        } else {
            AggregateFunction::Min
        };
        let aggregate = AggregateExpression::FunctionCall {
            name,
            expr: algebra::tail().into(),
            distinct: false,
        };
        let output = algebra::variable(0);
        let group = GraphPattern::Group {
            inner: Box::new(values),
            variables: Vec::new(),
            aggregates: vec![(output.clone(), aggregate)],
        };
        Ok(select(self.kg, group, output)?
            .iter()
            .filter_map(|term| self.kg.find(term))
            .collect())
    }
}

/// The constants as values of the tail's variable.
fn values(constants: &BTreeMap<Term, NodeId>) -> GraphPattern {
    let bindings = constants
        .keys()
        .map(|term| vec![algebra::ground(term)])
        .collect();
    GraphPattern::Values {
        variables: vec![algebra::tail()],
        bindings,
    }
}

/// The text by which a term is sorted.
fn order_key(term: &Term) -> String {
    match term {
        Term::Blank(label) => format!("a{label}"),
        Term::Iri(iri) => format!("b{iri}"),
        Term::Literal(literal) => format!("c{}", sort_key(literal)),
    }
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

/// The values of a variable of a pattern.
pub(super) fn select(
    kg: &dyn Kg,
    pattern: GraphPattern,
    variable: Variable,
) -> Result<BTreeSet<Term>, Refusal> {
    let project = GraphPattern::Project {
        inner: Box::new(pattern),
        variables: vec![variable],
    };
    let pattern = GraphPattern::Distinct {
        inner: Box::new(project),
    };
    match kg.query(
        &Query::Select {
            dataset: None,
            pattern,
            base_iri: None,
        },
        QueryLimits::default(),
    ) {
        Ok(QueryAnswer::Rows { rows, .. }) => Ok(rows
            .into_iter()
            .filter_map(|row| row.into_iter().next().flatten())
            .collect()),
        Ok(QueryAnswer::Bool(_)) | Err(_) => Err(Refusal::QueryFailed),
    }
}

/// Whether a pattern has a solution.
pub(super) fn exists(kg: &dyn Kg, pattern: GraphPattern) -> Result<bool, Refusal> {
    let pattern = GraphPattern::Project {
        inner: Box::new(pattern),
        variables: Vec::new(),
    };
    match kg.query(
        &Query::Ask {
            dataset: None,
            pattern,
            base_iri: None,
        },
        QueryLimits::default(),
    ) {
        Ok(QueryAnswer::Bool(truth)) => Ok(truth),
        Ok(QueryAnswer::Rows { .. }) | Err(_) => Err(Refusal::QueryFailed),
    }
}
