//! The conditions of a query.

use super::{Branch, Row, Solver, get};
use crate::exec::Relation;
use crate::triad::fill::{Bound, Pattern, Place};
use kg::term::{NodeId, RelId};
use kg::value::{self, Kind, Op};

impl<'q> Solver<'_, '_, 'q> {
    pub(super) fn filter(&self, branch: &mut Branch<'q>) {
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
}
