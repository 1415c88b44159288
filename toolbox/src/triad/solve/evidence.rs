//! The evidence of a query's result.

use std::collections::BTreeSet;

use super::{Branch, COMPARED, Row, Solver, get};
use crate::exec::Relation;
use crate::triad::fill::{Pattern, Place};
use kg::proof;
use kg::term::{NodeId, RelId};

impl Solver<'_, '_, '_> {
    /// The triples of one solution.
    pub(super) fn prove(
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
    pub(super) fn disprove(&self, triples: &mut BTreeSet<(NodeId, RelId, NodeId)>) {
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
