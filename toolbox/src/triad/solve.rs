//! Execution of instantiated queries: an index join over the graph's sorted sets under a deadline
//! and a row limit; then conditions, extremes and projection under the same rules as the tools (R8
//! to R13); and the matching triples as evidence.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use super::fill::{Bound, FilledQuery, Pattern, Place};
use super::template::AnswerType;
use crate::exec::{ExcludeWhen, Relation, Session, Value};
use kg::proof;
use kg::term::{Literal, NodeId, RelId};
use kg::value::{self, Extreme, Kind, Op};

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
    /// The deadline passed.
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
        if self.done.is_multiple_of(TICKS) && Instant::now() > self.bounds.until {
            Err(Unsolved::Deadline)
        } else {
            Ok(())
        }
    }

    fn join(&mut self, patterns: &'q [Pattern]) -> Result<Branch<'q>, Unsolved> {
        if Instant::now() > self.bounds.until {
            return Err(Unsolved::Deadline);
        }
        let mut branch = Branch {
            patterns,
            vars: Vec::new(),
            rows: vec![Row::new()],
            passed: Vec::new(),
        };
        let exclude = &self.session.options().exclude;
        let mut left: Vec<&Pattern> = patterns.iter().collect();
        while !left.is_empty() {
            let cost = |pattern: &&Pattern| {
                let open = pattern
                    .vars()
                    .filter(|var| !branch.vars.contains(var))
                    .count();
                match pattern {
                    Pattern::Walk {
                        relation: Relation::Plain(id),
                        ..
                    } if open == 2 => (3, self.session.kg().uses(*id)),
                    Pattern::Class { .. } if open == 1 => (2, 0),
                    Pattern::Same { .. } => (0, 0),
                    _ => (open, 0),
                }
            };
            let next = (0..left.len())
                .min_by_key(|&i| (cost(&left[i]), i))
                .unwrap_or(0);
            let pattern = left.remove(next);
            self.extend(&mut branch, pattern)?;
            if exclude.when == ExcludeWhen::EveryStep {
                branch
                    .rows
                    .retain(|row| !row.iter().any(|node| exclude.nodes.contains(node)));
            }
        }
        self.filter(&mut branch);
        Ok(branch)
    }

    /// Joins the rows with another pattern.
    fn extend(&mut self, branch: &mut Branch<'q>, pattern: &'q Pattern) -> Result<(), Unsolved> {
        let rows = std::mem::take(&mut branch.rows);
        let known = branch.vars.clone();
        let new: Vec<&'q str> = {
            let mut new: Vec<&'q str> = Vec::new();
            for name in pattern.vars() {
                if !known.contains(&name) && !new.contains(&name) {
                    new.push(name);
                }
            }
            new
        };
        branch.vars.extend(&new);
        for row in rows {
            self.tick(branch.rows.len())?;
            let add = |nodes: &[NodeId], to: &mut Vec<Row>| {
                let mut longer = row.clone();
                longer.extend_from_slice(nodes);
                to.push(longer);
            };
            match pattern {
                Pattern::Class { member, class } => {
                    let instances = self.session.kg().instances(*class);
                    match get(member, &known, &row) {
                        Some(node) if instances.binary_search(&node).is_ok() => {
                            add(&[], &mut branch.rows)
                        }
                        Some(_) => {}
                        None => instances
                            .iter()
                            .for_each(|&node| add(&[node], &mut branch.rows)),
                    }
                }
                Pattern::Same { var, node } => match known.iter().position(|name| name == var) {
                    Some(column) if row[column] == *node => add(&[], &mut branch.rows),
                    Some(_) => {}
                    None => add(&[*node], &mut branch.rows),
                },
                Pattern::Walk {
                    head,
                    relation,
                    tail,
                } => match (get(head, &known, &row), get(tail, &known, &row)) {
                    (Some(head), Some(tail)) => {
                        if self
                            .step(head, *relation, true)
                            .binary_search(&tail)
                            .is_ok()
                        {
                            add(&[], &mut branch.rows);
                        }
                    }
                    (Some(head), None) => {
                        let tails = self.step(head, *relation, true);
                        match relation {
                            Relation::Interval(_) if tails.is_empty() => {
                                add(&[OPEN], &mut branch.rows)
                            }
                            _ => tails
                                .iter()
                                .for_each(|&tail| add(&[tail], &mut branch.rows)),
                        }
                    }
                    (None, Some(tail)) => self
                        .step(tail, *relation, false)
                        .iter()
                        .for_each(|&head| add(&[head], &mut branch.rows)),
                    (None, None) => {
                        let Some(id) = self.relation(*relation).filter(|id| self.session.sees(*id))
                        else {
                            continue;
                        };
                        let same = new.len() == 1;
                        let limit = self.bounds.rows;
                        self.session.kg().each_pair(id, &mut |head, tail| {
                            if !same {
                                add(&[head, tail], &mut branch.rows);
                            } else if head == tail {
                                add(&[head], &mut branch.rows);
                            }
                            branch.rows.len() <= limit
                        });
                    }
                },
            }
        }
        self.tick(branch.rows.len())
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

    fn step(
        &self,
        node: NodeId,
        relation: Relation,
        forward: bool,
    ) -> std::borrow::Cow<'_, [NodeId]> {
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

    fn filter(&self, branch: &mut Branch<'q>) {
        branch.passed = (0..branch.rows.len()).collect();
        for (var, op, bound) in &self.query.filters {
            let Some(column) = branch.column(var) else {
                continue;
            };
            let literals = self.literals(&branch.rows, column);
            let kind = Kind::majority(
                branch
                    .rows
                    .iter()
                    .filter_map(|row| literals.get(&row[column])),
            );
            let interval = branch.patterns.iter().find_map(|pattern| match pattern {
                Pattern::Walk {
                    head,
                    relation: Relation::Interval(index),
                    tail: Place::Var(name),
                } if name == var => Some((head, *index)),
                _ => None,
            });
            let same = |node: NodeId, other: NodeId| match op {
                Op::Eq => node == other,
                Op::Ne => node != other,
                _ => false,
            };
            let holds = |row: &Row| match (bound, interval) {
                (Bound::Literal(value), Some((head, index))) if *op == Op::Eq => {
                    let Some(interval) = self.session.kg().schema().intervals.get(index) else {
                        return false;
                    };
                    let Some(owner) = get(head, &branch.vars, row) else {
                        return false;
                    };
                    let ends = |id: RelId| {
                        self.session
                            .literals(&self.step(owner, Relation::Plain(id), true))
                    };
                    value::interval_contains(&ends(interval.from), &ends(interval.to), value)
                }
                (Bound::Literal(value), _) => literals
                    .get(&row[column])
                    .is_some_and(|tail| value::compare(tail, *op, value, kind)),
                (Bound::Node(node), _) => same(row[column], *node),
                (Bound::Var(other), _) => {
                    let Some(other) = branch.column(other).map(|column| row[column]) else {
                        return false;
                    };
                    match (literals.get(&row[column]), self.literal(other)) {
                        (Some(left), Some(right)) => value::compare(left, *op, &right, kind),
                        (None, None) => same(row[column], other),
                        _ => false,
                    }
                }
            };
            let passed = branch
                .passed
                .iter()
                .copied()
                .filter(|&row| holds(&branch.rows[row]))
                .collect();
            branch.passed = passed;
        }
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
        shown.iter().for_each(|&(at, row)| {
            self.prove(
                &self.branches[at],
                &self.branches[at].rows[row],
                &mut triples,
            )
        });
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

    /// The triples of one solution.
    fn prove(
        &self,
        branch: &Branch<'_>,
        row: &Row,
        triples: &mut BTreeSet<(NodeId, RelId, NodeId)>,
    ) {
        let kg = self.session.kg();
        for pattern in branch.patterns {
            match pattern {
                Pattern::Same { .. } => {}
                Pattern::Class { member, class } => {
                    let member = get(member, &branch.vars, row);
                    triples.extend(
                        member
                            .map(|member| proof(kg, member, *class))
                            .unwrap_or_default(),
                    );
                }
                Pattern::Walk {
                    head,
                    relation,
                    tail,
                } => {
                    let (Some(head), Some(tail)) =
                        (get(head, &branch.vars, row), get(tail, &branch.vars, row))
                    else {
                        continue;
                    };
                    match relation {
                        Relation::Plain(id) => {
                            triples.insert((head, *id, tail));
                        }
                        Relation::Interval(index) => {
                            let Some(interval) = kg.schema().intervals.get(*index) else {
                                continue;
                            };
                            for id in [interval.from, interval.to] {
                                triples.extend(
                                    self.step(head, Relation::Plain(id), true)
                                        .iter()
                                        .map(|&tail| (head, id, tail)),
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    /// The evidence of a "no": the solutions that failed a condition, and the values that the
    /// entities have instead.
    fn disprove(&self, triples: &mut BTreeSet<(NodeId, RelId, NodeId)>) {
        for branch in &self.branches {
            branch
                .rows
                .iter()
                .take(COMPARED)
                .for_each(|row| self.prove(branch, row, triples));
            for pattern in branch.patterns {
                let Pattern::Walk {
                    head: Place::Node(head),
                    relation: Relation::Plain(id),
                    ..
                } = pattern
                else {
                    continue;
                };
                triples.extend(
                    self.step(*head, Relation::Plain(*id), true)
                        .iter()
                        .take(COMPARED)
                        .map(|&tail| (*head, *id, tail)),
                );
            }
        }
    }
}
