//! Execution of instantiated queries: an index join over the graph's sorted sets under a deadline
//! and a row limit; then conditions, extremes and projection under the same rules as the tools (R8
//! to R13); and the matching triples as evidence.

mod evidence;
mod filter;
mod join;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use super::fill::{FilledQuery, Pattern, Place};
use super::template::AnswerType;
use crate::exec::{ExcludeWhen, Relation, Session, Value};
use kg::term::{Literal, NodeId, RelId};
use kg::value::{self, Extreme};

/// Bounds of one run.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The deadline.
    pub until: Instant,
    /// Maximum rows of any intermediate result.
    pub rows: usize,
}

/// Why a query has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsolved {
    /// The deadline passed, or the question was cancelled.
    #[error("the query ran past the question's deadline")]
    Deadline,
    /// An intermediate result was too large.
    #[error("the query gives more than {0} rows")]
    Rows(usize),
}

/// The result of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solved {
    /// The answer.
    pub value: Value,
    /// Whether there is a solution. Counts and truth values are answers even without one; a
    /// selection without solutions is not worth offering.
    pub matched: bool,
    /// The matching triples, sorted: the query gives the same answer on these alone.
    pub evidence: Vec<(NodeId, RelId, NodeId)>,
}

/// Represents the missing start of an interval.
const OPEN: NodeId = NodeId(u32::MAX);
/// Maximum number of solutions shown as evidence of an extreme or a negative answer.
const COMPARED: usize = 20;
/// Rows between two checks of the deadline.
const TICKS: usize = 1024;

type Row = Vec<NodeId>;

/// Runs a query.
///
/// # Errors
/// Returns [`Unsolved`] when a bound is reached.
pub fn solve(
    session: &Session<'_>,
    query: &FilledQuery,
    bounds: Bounds,
) -> Result<Solved, Unsolved> {
    let mut solver = Solver {
        session,
        query,
        bounds,
        done: 0,
        branches: Vec::new(),
    };
    for patterns in &query.branches {
        let branch = solver.join(patterns)?;
        solver.branches.push(branch);
    }
    Ok(solver.answer())
}

/// The solutions of one alternative.
struct Branch<'q> {
    patterns: &'q [Pattern],
    vars: Vec<&'q str>,
    /// One node per variable.
    rows: Vec<Row>,
    /// Indices of the rows that satisfy the conditions.
    passed: Vec<usize>,
}

impl Branch<'_> {
    fn column(&self, var: &str) -> Option<usize> {
        self.vars.iter().position(|name| *name == var)
    }
}

struct Solver<'s, 'g, 'q> {
    session: &'s Session<'g>,
    query: &'q FilledQuery,
    bounds: Bounds,
    done: usize,
    branches: Vec<Branch<'q>>,
}

/// The value of a place in a row, if it is bound.
fn get(place: &Place, vars: &[&str], row: &Row) -> Option<NodeId> {
    match place {
        Place::Node(node) => Some(*node),
        Place::Var(name) => vars
            .iter()
            .position(|var| var == name)
            .map(|column| row[column]),
    }
}

impl<'q> Solver<'_, '_, 'q> {
    fn tick(&mut self, rows: usize) -> Result<(), Unsolved> {
        self.done += 1;
        if rows > self.bounds.rows {
            return Err(Unsolved::Rows(self.bounds.rows));
        }
        if self.done.is_multiple_of(TICKS) {
            self.in_time()?;
        }
        Ok(())
    }

    fn in_time(&self) -> Result<(), Unsolved> {
        let cancelled = self.session.options().cancel.check().is_err();
        if cancelled || Instant::now() > self.bounds.until {
            return Err(Unsolved::Deadline);
        }
        Ok(())
    }

    /// The stored relation that a relation follows.
    fn relation(&self, relation: Relation) -> Option<RelId> {
        match relation {
            Relation::Plain(id) => Some(id),
            Relation::Interval(index) => self
                .session
                .kg()
                .schema()
                .intervals
                .get(index)
                .map(|interval| interval.from),
        }
    }

    fn step(&self, node: NodeId, relation: Relation, forward: bool) -> Cow<'_, [NodeId]> {
        match self
            .relation(relation)
            .filter(|id| self.session.sees(*id) && node != OPEN)
        {
            Some(id) if forward => self.session.kg().tails(node, id),
            Some(id) => self.session.kg().heads(id, node),
            None => Vec::new().into(),
        }
    }

    fn literal(&self, node: NodeId) -> Option<Literal> {
        if node == OPEN {
            None
        } else {
            self.session.literals(&[node]).pop()
        }
    }

    /// The literals of a column, by node.
    fn literals(&self, rows: &[Row], column: usize) -> BTreeMap<NodeId, Literal> {
        let nodes: BTreeSet<NodeId> = rows.iter().map(|row| row[column]).collect();
        nodes
            .into_iter()
            .filter_map(|node| Some((node, self.literal(node)?)))
            .collect()
    }

    /// The rows with the extreme value over all alternatives, as pairs of alternative and row.
    fn extremes(&self, var: &str, wanted: Extreme) -> Vec<(usize, usize)> {
        let mut places = Vec::new();
        let mut literals = Vec::new();
        for (at, branch) in self.branches.iter().enumerate() {
            let Some(column) = branch.column(var) else {
                continue;
            };
            let known = self.literals(&branch.rows, column);
            for &row in &branch.passed {
                if let Some(literal) = known.get(&branch.rows[row][column]) {
                    places.push((at, row));
                    literals.push(literal.clone());
                }
            }
        }
        let tails: Vec<&Literal> = literals.iter().collect();
        value::extreme(&tails, wanted)
            .unwrap_or_default()
            .into_iter()
            .map(|i| places[i])
            .collect()
    }

    fn answer(&self) -> Solved {
        let all: Vec<(usize, usize)> = self
            .branches
            .iter()
            .enumerate()
            .flat_map(|(at, branch)| branch.passed.iter().map(move |&row| (at, row)))
            .collect();
        let kept = match &self.query.extreme {
            Some((var, extreme)) => self.extremes(var, *extreme),
            None => all.clone(),
        };
        let answer = self.query.answer.as_deref();
        // One solution per answer; taking the first keeps the choice deterministic.
        let mut by: BTreeMap<NodeId, (usize, usize)> = BTreeMap::new();
        for &(at, row) in &kept {
            let branch = &self.branches[at];
            let node = answer
                .and_then(|var| branch.column(var))
                .map_or(OPEN, |column| branch.rows[row][column]);
            if node != OPEN || answer.is_none() {
                by.entry(node).or_insert((at, row));
            }
        }
        let matched = !by.is_empty();
        let exclude = &self.session.options().exclude;
        if self.query.kind == AnswerType::Select {
            let drop =
                |when: ExcludeWhen| when == ExcludeWhen::Answer || when == ExcludeWhen::EveryStep;
            let others = by.keys().any(|node| !exclude.nodes.contains(node));
            if drop(exclude.when) || (exclude.when == ExcludeWhen::Others && others) {
                by.retain(|node, _| !exclude.nodes.contains(node));
            }
        }
        let mut shown: Vec<(usize, usize)> = by.values().copied().collect();
        if self.query.extreme.is_some() && all.len() <= COMPARED {
            shown.extend(&all);
        }
        let mut triples = BTreeSet::new();
        for &(at, row) in &shown {
            let branch = &self.branches[at];
            self.prove(branch, &branch.rows[row], &mut triples);
        }
        let value = match self.query.kind {
            AnswerType::Select => Value::Set(by.keys().copied().collect::<Vec<_>>().into()),
            AnswerType::Count => Value::Int(by.len() as u64),
            AnswerType::Ask => {
                if !matched {
                    self.disprove(&mut triples);
                }
                Value::Bool(matched)
            }
        };
        Solved {
            value,
            matched,
            evidence: triples.into_iter().collect(),
        }
    }
}
