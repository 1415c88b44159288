//! Comparisons: the filter is the first spelling that keeps the same members as the tool.

use std::collections::{BTreeMap, BTreeSet};

use kg::spargebra::algebra::{Expression, GraphPattern};
use kg::spargebra::term::{GroundTerm, Variable};
use kg::term::{Literal, NodeId, RelId, Term};
use kg::value::Op;
use kg::{QueryAnswer, QueryLimits};
use toolbox::call::{Arg, Call};
use toolbox::exec::EntSet;

use super::error::Inexpressible;
use super::spelling::{KeyFunction, bounds, cast, folded, number, spellings, text, typed};
use super::writer::{QueryWriter, WalkedRelation, pattern_of};
use crate::algebra::{and, compare, exists, not, or, project, same_term, select};
use crate::graph::{PathStep, algebra};

/// A member and one of its values.
type Pair = (NodeId, NodeId);
/// Decides whether a filter keeps the right owners.
type Same<'s> = &'s dyn Fn(&[NodeId]) -> bool;

impl QueryWriter<'_> {
    /// The members that a constraint keeps.
    pub(super) fn constrained(
        &mut self,
        call: &Call,
        kept: &EntSet,
        out: &Variable,
    ) -> Result<GraphPattern, Inexpressible> {
        let walk = self.walk(call)?;
        let base = self.argument(call, 0, out)?;
        if let Some(Arg::Extreme(extreme)) = call.args.get(2) {
            return self.extreme(call, &walk, *extreme, kept, base, out);
        }
        let pattern = self.compared(call, &walk, out, &|owners| owners == &kept[..])?;
        Ok(pattern.behind(base))
    }

    /// The pattern whose existence is the judgement.
    pub(super) fn judged(
        &mut self,
        call: &Call,
        truth: bool,
        out: &Variable,
    ) -> Result<GraphPattern, Inexpressible> {
        let walk = self.walk(call)?;
        let pattern = self.compared(call, &walk, out, &|owners| owners.is_empty() != truth)?;
        Ok(pattern.behind(self.argument(call, 0, out)?))
    }

    /// The pattern and filter of a comparison on `out`.
    fn compared(
        &mut self,
        call: &Call,
        walk: &WalkedRelation,
        out: &Variable,
        same: Same<'_>,
    ) -> Result<Compared, Inexpressible> {
        let invalid = || Inexpressible::Argument(call.to_string());
        let differs = || Inexpressible::Comparison(call.to_string());
        let Some(Arg::Op(op)) = call.args.get(2) else {
            return Err(invalid());
        };
        let (step, tail) = (walk.step(), self.fresh());
        let edge = algebra::along(out.clone().into(), &step, tail.clone().into());
        match call.args.get(3).ok_or_else(invalid)? {
            Arg::Literal(literal) => {
                let input = self.members(call.args.first().ok_or_else(invalid)?)?;
                if let (Some(ends), Op::Eq) = (walk.interval, op) {
                    let filter = self.overlaps(&input, ends, literal, out, same);
                    return Ok(Compared {
                        pattern: algebra::nothing(),
                        filter: Some(filter.ok_or_else(differs)?),
                    });
                }
                let pairs = self.pairs(&input, walk.id, walk.forward);
                let test = self
                    .spelled(&pairs, *op, literal, same)
                    .ok_or_else(differs)?;
                Ok(Compared {
                    pattern: edge,
                    filter: Some(algebra::replace(&test, &mut |_| tail.clone().into())),
                })
            }
            Arg::Name(name) if name != "NOW" => {
                let value = self.constant(name)?;
                if *op == Op::Eq {
                    return Ok(Compared {
                        pattern: algebra::along(out.clone().into(), &step, pattern_of(value)),
                        filter: None,
                    });
                }
                let value: Expression = match value {
                    GroundTerm::NamedNode(node) => node.into(),
                    GroundTerm::Literal(literal) => literal.into(),
                };
                Ok(Compared {
                    pattern: edge,
                    filter: Some(not(same_term(tail, value))),
                })
            }
            Arg::Var(index) => {
                let value = self.fresh();
                let other = self.assigned(*index, &value)?;
                let filter = self.against_set(call, walk, (*op, *index), (&tail, &value), same)?;
                Ok(Compared {
                    pattern: algebra::join(edge, other),
                    filter: Some(filter),
                })
            }
            other => Err(Inexpressible::Argument(other.to_string())),
        }
    }

    /// The filter of a comparison with the values of another set.
    fn against_set(
        &self,
        call: &Call,
        walk: &WalkedRelation,
        (op, index): (Op, u32),
        (tail, value): (&Variable, &Variable),
        same: Same<'_>,
    ) -> Result<Expression, Inexpressible> {
        let first = call.args.first();
        let input =
            self.members(first.ok_or_else(|| Inexpressible::Argument(call.to_string()))?)?;
        let set = self.members(&Arg::Var(index))?;
        let is_literal = |node: &&NodeId| matches!(self.kg.term(**node), Term::Literal(_));
        let Some(&only) = set.iter().find(is_literal) else {
            let equal = same_term(tail.clone(), value.clone());
            return Ok(if op == Op::Eq { equal } else { not(equal) });
        };
        let differs = || Inexpressible::Comparison(call.to_string());
        // A spelling that fits one value need not fit another.
        if set.len() != 1 {
            return Err(differs());
        }
        let pairs = self.pairs(&input, walk.id, walk.forward);
        let test = self.against(&pairs, op, only, value, same);
        Ok(algebra::replace(&test.ok_or_else(differs)?, &mut |old| {
            if *old == algebra::tail() {
                tail.clone().into()
            } else {
                old.clone().into()
            }
        }))
    }

    /// The members of a set with their values along one relation.
    pub(super) fn pairs(&self, set: &EntSet, relation: RelId, forward: bool) -> Vec<Pair> {
        let step = |node: NodeId| {
            if forward {
                self.kg.tails(node, relation)
            } else {
                self.kg.heads(relation, node)
            }
        };
        let pairs = |&node: &NodeId| {
            let tails = step(node).into_owned();
            tails.into_iter().map(move |tail| (node, tail))
        };
        set.iter().flat_map(pairs).collect()
    }

    /// Values as `VALUES ?t`.
    pub(super) fn values(&self, pairs: &[Pair]) -> (GraphPattern, BTreeMap<Term, NodeId>) {
        let tails: BTreeMap<Term, NodeId> = pairs
            .iter()
            .map(|(_, tail)| (self.kg.term(*tail), *tail))
            .collect();
        let terms = tails.keys().filter_map(algebra::ground);
        (algebra::values_of(algebra::tail(), terms), tails)
    }

    /// The owners of the values that a pattern keeps.
    pub(super) fn owners(
        &self,
        pairs: &[Pair],
        pattern: GraphPattern,
        tails: &BTreeMap<Term, NodeId>,
    ) -> Option<Vec<NodeId>> {
        let query = select(project(pattern, vec![algebra::tail()]));
        let Ok(QueryAnswer::Rows { rows, .. }) = self.kg.query(&query, QueryLimits::default())
        else {
            return None;
        };
        let kept: BTreeSet<NodeId> = rows
            .iter()
            .filter_map(|row| tails.get(row.first()?.as_ref()?).copied())
            .collect();
        let owners: BTreeSet<NodeId> = pairs
            .iter()
            .filter(|(_, tail)| kept.contains(tail))
            .map(|(owner, _)| *owner)
            .collect();
        Some(owners.into_iter().collect())
    }

    /// The first spelling of a comparison that keeps the right owners.
    pub(super) fn spelled(
        &self,
        pairs: &[Pair],
        op: Op,
        value: &Literal,
        same: Same<'_>,
    ) -> Option<Expression> {
        let (values, tails) = self.values(pairs);
        let keeps = |test: &Expression| {
            self.owners(pairs, algebra::filter(values.clone(), test.clone()), &tails)
                .is_some_and(|owners| same(&owners))
        };
        spellings(op, value).into_iter().find(keeps)
    }

    /// The first spelling of a comparison with a value from another set.
    pub(super) fn against(
        &self,
        pairs: &[Pair],
        op: Op,
        only: NodeId,
        value: &Variable,
        same: Same<'_>,
    ) -> Option<Expression> {
        let (values, tails) = self.values(pairs);
        let only = algebra::ground(&self.kg.term(only));
        let values = algebra::join(values, algebra::values_of(value.clone(), only));
        let (tail, other) = (
            Expression::from(algebra::tail()),
            Expression::from(value.clone()),
        );
        let ways: [KeyFunction<'_>; 5] = [
            &Expression::clone,
            &|e| cast("dateTime", e.clone()),
            &|e| number(e),
            &|e| text(e.clone()),
            &|e| folded(e),
        ];
        let tests = ways.iter().map(|way| compare(way(&tail), op, way(&other)));
        let keeps = |test: &Expression| {
            self.owners(pairs, algebra::filter(values.clone(), test.clone()), &tails)
                .is_some_and(|owners| same(&owners))
        };
        tests.into_iter().find(keeps)
    }

    /// Rule R11 on a variable: no start or an early enough one, no end or a late enough one.
    pub(super) fn overlaps(
        &mut self,
        input: &EntSet,
        (from, to): (RelId, RelId),
        value: &Literal,
        out: &Variable,
        same: Same<'_>,
    ) -> Option<Expression> {
        let (first, last) = bounds(value.lexical.trim().trim_matches('"'))?;
        let time = |op: Op, bound: &str| {
            compare(
                cast("dateTime", algebra::tail().into()),
                op,
                typed(bound, "dateTime"),
            )
        };
        // Published queries compare with days if the graph has only days.
        let day = |bound: &str| bound.split('T').next().unwrap_or(bound).to_owned();
        let ways = [
            (time(Op::Le, &day(&last)), time(Op::Ge, &day(&first))),
            (time(Op::Le, &last), time(Op::Ge, &first)),
        ];
        let ways = ways.into_iter().find(|(starts, ends)| {
            let mut kept: Vec<NodeId> = input.to_vec();
            for (relation, test) in [(from, starts), (to, ends)] {
                let pairs = self.pairs(input, relation, true);
                let (values, tails) = self.values(&pairs);
                let Some(fit) = self.owners(&pairs, algebra::filter(values, test.clone()), &tails)
                else {
                    return false;
                };
                kept.retain(|node| {
                    fit.contains(node) || !pairs.iter().any(|(owner, _)| owner == node)
                });
            }
            same(&kept)
        });
        let (starts, ends) = ways?;
        let mut side = |relation: RelId, test: Expression| {
            let Term::Iri(relation) = self.kg.term(relation.node()) else {
                return None;
            };
            let step = [PathStep::forward(relation)];
            let (absent, present) = (self.fresh(), self.fresh());
            let absent = algebra::along(out.clone().into(), &step, absent.into());
            let test = algebra::replace(&test, &mut |_| present.clone().into());
            let present = algebra::filter(
                algebra::along(out.clone().into(), &step, present.into()),
                test,
            );
            Some(or(not(exists(absent)), exists(present)))
        };
        Some(and(side(from, starts)?, side(to, ends)?))
    }
}

/// The pattern and the filter of a comparison.
struct Compared {
    pattern: GraphPattern,
    filter: Option<Expression>,
}

impl Compared {
    /// The comparison joined with the set that it compares.
    fn behind(self, base: GraphPattern) -> GraphPattern {
        let whole = algebra::join(base, self.pattern);
        match self.filter {
            Some(filter) => algebra::filter(whole, filter),
            None => whole,
        }
    }
}
