//! Extremes: `argmax` and `argmin` as sub-queries or as ORDER BY with LIMIT 1.

use kg::spargebra::algebra::{Expression, GraphPattern};
use kg::spargebra::term::Variable;
use kg::value::{Extreme, Op};
use toolbox::call::{Arg, Call};
use toolbox::exec::EntSet;

use super::error::Inexpressible;
use super::spelling::{KeyFunction, cast, folded, number};
use super::writer::{QueryWriter, WalkedRelation};
use crate::algebra::{
    aggregate_call, compare, distinct_values, extreme_function, first, group_all, order_by,
    project, same_term,
};
use crate::graph::algebra;

impl QueryWriter<'_> {
    /// The members with an extreme value; a sub-query computes the value.
    pub(super) fn extreme(
        &mut self,
        call: &Call,
        walk: &WalkedRelation,
        extreme: Extreme,
        kept: &EntSet,
        base: GraphPattern,
        out: &Variable,
    ) -> Result<GraphPattern, Inexpressible> {
        let invalid = || Inexpressible::Argument(call.to_string());
        let input = self.members(call.args.first().ok_or_else(invalid)?)?;
        let pairs = self.pairs(&input, walk.id, walk.forward);
        let (values, tails) = self.values(&pairs);
        let step = walk.step();
        let (other, inner, best, tail) = (self.fresh(), self.fresh(), self.fresh(), self.fresh());
        let again = algebra::join(
            self.argument(call, 0, &other)?,
            algebra::along(other.into(), &step, inner.clone().into()),
        );
        let block = |pattern: GraphPattern, expr: Expression| {
            let aggregate = aggregate_call(extreme_function(extreme), expr, false);
            let group = group_all(pattern, vec![(best.clone(), aggregate)]);
            project(group, vec![best.clone()])
        };
        // First the value itself, then other keys to sort it by.
        let keys: [Option<KeyFunction<'_>>; 4] = [
            None,
            Some(&|e| cast("dateTime", e.clone())),
            Some(&|e| number(e)),
            Some(&|e| folded(e)),
        ];
        for key in keys {
            let of = |e: Expression| key.map_or(e.clone(), |key| key(&e));
            let is_best = |e: Expression| match key {
                None => same_term(e, best.clone()),
                Some(key) => compare(key(&e), Op::Eq, best.clone().into()),
            };
            let inner_values = rename_values(&values, &inner);
            let best_value = block(inner_values, of(inner.clone().into()));
            let tried = algebra::filter(
                algebra::join(values.clone(), best_value),
                is_best(algebra::tail().into()),
            );
            if self
                .owners(&pairs, tried, &tails)
                .is_none_or(|owners| owners[..] != kept[..])
            {
                continue;
            }
            let value = if key.is_none() { &best } else { &tail };
            let edge = algebra::along(out.clone().into(), &step, value.clone().into());
            let whole = algebra::join(
                algebra::join(base, edge),
                block(again, of(inner.clone().into())),
            );
            return Ok(match key {
                None => whole,
                Some(_) => algebra::filter(whole, is_best(tail.clone().into())),
            });
        }
        Err(Inexpressible::Comparison(call.to_string()))
    }

    /// `ORDER BY … LIMIT 1`, if the last call is an extreme with one member.
    pub(super) fn first_in_order(
        &mut self,
        call: &Call,
        kept: &EntSet,
        out: &Variable,
    ) -> Result<Option<GraphPattern>, Inexpressible> {
        let (Some(Arg::Extreme(extreme)), 1, Some(set)) =
            (call.args.get(2), kept.len(), call.args.first())
        else {
            return Ok(None);
        };
        let walk = self.walk(call)?;
        let pairs = self.pairs(&self.members(set)?, walk.id, walk.forward);
        let (values, tails) = self.values(&pairs);
        let tried = first(order_by(values, algebra::tail().into(), *extreme));
        if self
            .owners(&pairs, tried, &tails)
            .is_none_or(|owners| owners[..] != kept[..])
        {
            return Ok(None);
        }
        let tail = self.fresh();
        let whole = algebra::join(
            self.argument(call, 0, out)?,
            algebra::along(out.clone().into(), &walk.step(), tail.clone().into()),
        );
        let ordered = order_by(whole, tail.into(), *extreme);
        Ok(Some(first(distinct_values(ordered, out.clone()))))
    }
}

/// The same values of another variable.
fn rename_values(values: &GraphPattern, variable: &Variable) -> GraphPattern {
    match values {
        GraphPattern::Values { bindings, .. } => GraphPattern::Values {
            variables: vec![variable.clone()],
            bindings: bindings.clone(),
        },
        other => other.clone(),
    }
}
