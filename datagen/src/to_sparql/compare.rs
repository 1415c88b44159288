//! Spellings of a comparison: several filters that may say what a tool's comparison says, the plainest first, each tried on the values that
//! the program compares.

use std::collections::{BTreeMap, BTreeSet};

use kg::spargebra::Query;
use kg::spargebra::algebra::{
    AggregateExpression, Expression, Function, GraphPattern, OrderExpression,
};
use kg::spargebra::term::{Literal as RdfLiteral, NamedNode, Variable};
use kg::term::{Literal, NodeId, RelId, Term, XSD};
use kg::value::{Extreme, Op, TimeSpan, normalise};
use kg::{QueryAnswer, QueryLimits};
use toolbox::call::{Arg, Call};
use toolbox::exec::EntSet;

use super::{Back, Unsayable, Walk, aggregate_of};
use crate::algebra::compare;
use crate::graph::{Step, algebra};

/// A member and one of its values.
type Pair = (NodeId, NodeId);
/// What is compared in place of a value.
type Way<'w> = &'w dyn Fn(&Expression) -> Expression;

fn boxed(e: impl Into<Expression>) -> Box<Expression> {
    Box::new(e.into())
}

fn typed(lexical: &str, local: &str) -> Expression {
    RdfLiteral::new_typed_literal(lexical, NamedNode::new_unchecked(format!("{XSD}{local}"))).into()
}

fn cast(local: &str, inner: Expression) -> Expression {
    Expression::FunctionCall(
        Function::Custom(NamedNode::new_unchecked(format!("{XSD}{local}"))),
        vec![inner],
    )
}

fn text(inner: Expression) -> Expression {
    Expression::FunctionCall(Function::Str, vec![inner])
}

/// Any literal that reads as a number, as one.
fn number(inner: &Expression) -> Expression {
    Expression::Coalesce(vec![
        cast("decimal", text(inner.clone())),
        cast("double", text(inner.clone())),
    ])
}

/// A text as rule R8 compares it: lower case, underscores and runs of white space as one space.
fn folded(inner: &Expression) -> Expression {
    let plain = |text: &str| Expression::Literal(RdfLiteral::new_simple_literal(text));
    let replaced = |e, from: &str, to: &str| {
        Expression::FunctionCall(Function::Replace, vec![e, plain(from), plain(to)])
    };
    let lower = Expression::FunctionCall(Function::LCase, vec![text(inner.clone())]);
    replaced(replaced(lower, "[_\\s]+", " "), "^ | $", "")
}

fn and(left: Expression, right: Expression) -> Expression {
    Expression::And(Box::new(left), Box::new(right))
}

/// Filters over `?t` that may say `?t op value`, the plainest first.
fn spellings(op: Op, value: &Literal) -> Vec<Expression> {
    let tail = || Expression::from(algebra::tail());
    let lexical = value.lexical.trim().trim_matches('"');
    let mut all = Vec::new();
    if value.datatype.is_some() || value.lang.is_some() {
        all.push(compare(tail(), op, algebra::rdf_literal(value).into()));
    }
    let whole = lexical.strip_prefix(['-', '+']).unwrap_or(lexical);
    let digits = !whole.is_empty() && whole.bytes().all(|b| b.is_ascii_digit());
    let local = if digits {
        Some("integer")
    } else if whole.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        && lexical.parse::<f64>().is_ok()
    {
        Some("decimal")
    } else {
        lexical.parse::<f64>().is_ok().then_some("double")
    };
    if let Some(local) = local {
        all.push(compare(tail(), op, typed(lexical, local)));
        all.push(compare(cast("decimal", tail()), op, typed(lexical, local)));
        all.push(compare(number(&tail()), op, typed(lexical, local)));
    }
    if let Some(span) = TimeSpan::parse(lexical) {
        let (first, last) = (
            span.start_date_time(),
            TimeSpan {
                lo: span.hi,
                hi: span.hi,
            }
            .start_date_time(),
        );
        let (first, last) = (typed(&first, "dateTime"), typed(&last, "dateTime"));
        if lexical.len() == 10 {
            all.push(compare(tail(), op, typed(lexical, "date")));
        }
        if digits && lexical.len() == 4 {
            let year = Expression::FunctionCall(Function::Year, vec![tail()]);
            all.push(compare(
                year,
                op,
                typed(lexical.trim_start_matches('0'), "integer"),
            ));
            all.push(compare(tail(), op, typed(lexical, "gYear")));
        }
        let time = || cast("dateTime", tail());
        all.push(match op {
            Op::Eq => and(
                compare(time(), Op::Ge, first),
                compare(time(), Op::Le, last),
            ),
            Op::Ne => Expression::Or(
                Box::new(compare(time(), Op::Lt, first)),
                Box::new(compare(time(), Op::Gt, last)),
            ),
            Op::Lt | Op::Ge => compare(time(), op, first),
            Op::Le | Op::Gt => compare(time(), op, last),
        });
    }
    all.push(compare(
        tail(),
        op,
        RdfLiteral::new_simple_literal(&value.lexical).into(),
    ));
    all.push(compare(
        text(tail()),
        op,
        RdfLiteral::new_simple_literal(&value.lexical).into(),
    ));
    all.push(compare(
        folded(&tail()),
        op,
        RdfLiteral::new_simple_literal(normalise(&value.lexical)).into(),
    ));
    all
}

impl Back<'_> {
    pub(super) fn pairs(&self, set: &EntSet, walk: &Walk) -> Vec<Pair> {
        let step = |node: NodeId| {
            if walk.forward {
                self.kg.tails(node, walk.id)
            } else {
                self.kg.heads(walk.id, node)
            }
        };
        set.iter()
            .flat_map(|&node| {
                step(node)
                    .into_owned()
                    .into_iter()
                    .map(move |tail| (node, tail))
            })
            .collect()
    }

    fn along(&self, set: &EntSet, relation: RelId) -> Vec<Pair> {
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

    /// Values as `VALUES ?t`.
    fn values(&self, pairs: &[Pair]) -> (GraphPattern, BTreeMap<Term, NodeId>) {
        let tails: BTreeMap<Term, NodeId> = pairs
            .iter()
            .map(|(_, tail)| (self.kg.term(*tail), *tail))
            .collect();
        let bindings = tails
            .keys()
            .filter_map(algebra::ground)
            .map(|term| vec![Some(term)])
            .collect();
        (
            GraphPattern::Values {
                variables: vec![algebra::tail()],
                bindings,
            },
            tails,
        )
    }

    /// The owners of the values that a pattern keeps.
    fn owners(
        &self,
        pairs: &[Pair],
        pattern: GraphPattern,
        tails: &BTreeMap<Term, NodeId>,
    ) -> Option<Vec<NodeId>> {
        let pattern = GraphPattern::Project {
            inner: Box::new(pattern),
            variables: vec![algebra::tail()],
        };
        let query = Query::Select {
            dataset: None,
            pattern,
            base_iri: None,
        };
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
        same: &impl Fn(&[NodeId]) -> bool,
    ) -> Option<Expression> {
        let (values, tails) = self.values(pairs);
        let keeps = |test: &Expression| {
            self.owners(pairs, algebra::filter(values.clone(), test.clone()), &tails)
                .is_some_and(|owners| same(&owners))
        };
        spellings(op, value).into_iter().find(keeps)
    }

    /// The same with a value that another set holds.
    pub(super) fn against(
        &self,
        pairs: &[Pair],
        op: Op,
        only: NodeId,
        value: &Variable,
        same: &impl Fn(&[NodeId]) -> bool,
    ) -> Option<Expression> {
        let (values, tails) = self.values(pairs);
        let bindings = vec![vec![algebra::ground(&self.kg.term(only))]];
        let values = algebra::join(
            values,
            GraphPattern::Values {
                variables: vec![value.clone()],
                bindings,
            },
        );
        let (tail, other) = (
            Expression::from(algebra::tail()),
            Expression::from(value.clone()),
        );
        let ways: [Way<'_>; 5] = [
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

    /// Rule R11 on a variable: no start or one that is early enough, no end or one that is late enough.
    pub(super) fn overlaps(
        &mut self,
        input: &EntSet,
        (from, to): (RelId, RelId),
        value: &Literal,
        out: &Variable,
        same: &impl Fn(&[NodeId]) -> bool,
    ) -> Option<Expression> {
        let span = TimeSpan::parse(value.lexical.trim().trim_matches('"'))?;
        let (first, last) = (
            span.start_date_time(),
            TimeSpan {
                lo: span.hi,
                hi: span.hi,
            }
            .start_date_time(),
        );
        let time = |op: Op, bound: &str| {
            compare(
                cast("dateTime", algebra::tail().into()),
                op,
                typed(bound, "dateTime"),
            )
        };
        // Published queries compare with days, where a day is all that the graph knows.
        let day = |bound: &str| bound.split('T').next().unwrap_or(bound).to_owned();
        let ways = [
            (time(Op::Le, &day(&last)), time(Op::Ge, &day(&first))),
            (time(Op::Le, &last), time(Op::Ge, &first)),
        ];
        let ways = ways.into_iter().find(|(starts, ends)| {
            let mut kept: Vec<NodeId> = input.to_vec();
            for (relation, test) in [(from, starts), (to, ends)] {
                let pairs = self.along(input, relation);
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
            let step = [Step {
                relation,
                forward: true,
            }];
            let (absent, present) = (self.fresh(), self.fresh());
            let absent = algebra::along(out.clone().into(), &step, absent.into());
            let test = algebra::replace(&test, &mut |_| present.clone().into());
            let present = algebra::filter(
                algebra::along(out.clone().into(), &step, present.into()),
                test,
            );
            let absent = Expression::Not(boxed(Expression::Exists(Box::new(absent))));
            Some(Expression::Or(
                Box::new(absent),
                boxed(Expression::Exists(Box::new(present))),
            ))
        };
        Some(and(side(from, starts)?, side(to, ends)?))
    }

    /// The members with an extreme value, as a sub-query for the value.
    pub(super) fn extreme(
        &mut self,
        call: &Call,
        walk: &Walk,
        extreme: Extreme,
        kept: &EntSet,
        base: GraphPattern,
        out: &Variable,
    ) -> Result<GraphPattern, Unsayable> {
        let odd = || Unsayable::Argument(call.to_string());
        let input = self.members(call.args.first().ok_or_else(odd)?)?;
        let pairs = self.pairs(&input, walk);
        let step = [Step {
            relation: walk.iri.clone(),
            forward: walk.forward,
        }];
        let (other, inner, best, tail) = (self.fresh(), self.fresh(), self.fresh(), self.fresh());
        let again = algebra::join(
            self.argument(call, 0, &other)?,
            algebra::along(other.into(), &step, inner.clone().into()),
        );
        // The value itself, then what it is sorted by.
        let keys: [Option<Way<'_>>; 4] = [
            None,
            Some(&|e| cast("dateTime", e.clone())),
            Some(&|e| number(e)),
            Some(&|e| folded(e)),
        ];
        let block = |pattern: GraphPattern, expr: Expression| {
            let aggregate = AggregateExpression::FunctionCall {
                name: aggregate_of(extreme),
                expr,
                distinct: false,
            };
            let group = GraphPattern::Group {
                inner: Box::new(pattern),
                variables: Vec::new(),
                aggregates: vec![(best.clone(), aggregate)],
            };
            GraphPattern::Project {
                inner: Box::new(group),
                variables: vec![best.clone()],
            }
        };
        let (values, tails) = self.values(&pairs);
        for key in keys {
            let inner_values = rename_values(&values, &inner);
            let tail_is = Expression::from(algebra::tail());
            let tried = match key {
                None => {
                    let same = Expression::SameTerm(Box::new(tail_is), boxed(best.clone()));
                    algebra::filter(
                        algebra::join(values.clone(), block(inner_values, inner.clone().into())),
                        same,
                    )
                }
                Some(key) => {
                    let same = compare(key(&tail_is), Op::Eq, best.clone().into());
                    algebra::filter(
                        algebra::join(
                            values.clone(),
                            block(inner_values, key(&inner.clone().into())),
                        ),
                        same,
                    )
                }
            };
            if self
                .owners(&pairs, tried, &tails)
                .is_none_or(|owners| owners[..] != kept[..])
            {
                continue;
            }
            return Ok(match key {
                None => {
                    let edge = algebra::along(out.clone().into(), &step, best.clone().into());
                    algebra::join(algebra::join(base, edge), block(again, inner.into()))
                }
                Some(key) => {
                    let edge = algebra::along(out.clone().into(), &step, tail.clone().into());
                    let whole =
                        algebra::join(algebra::join(base, edge), block(again, key(&inner.into())));
                    algebra::filter(whole, compare(key(&tail.into()), Op::Eq, best.into()))
                }
            });
        }
        Err(Unsayable::Comparison(call.to_string()))
    }

    /// `ORDER BY … LIMIT 1` where the last call is an extreme that one member has.
    pub(super) fn first_in_order(
        &mut self,
        call: &Call,
        kept: &EntSet,
        out: &Variable,
    ) -> Result<Option<GraphPattern>, Unsayable> {
        let (Some(Arg::Extreme(extreme)), 1, Some(first)) =
            (call.args.get(2), kept.len(), call.args.first())
        else {
            return Ok(None);
        };
        let walk = self.walk(call)?;
        let pairs = self.pairs(&self.members(first)?, &walk);
        let (values, tails) = self.values(&pairs);
        let order = |pattern: GraphPattern, variable: &Variable| {
            let key = Expression::from(variable.clone());
            let key = if *extreme == Extreme::Max {
                OrderExpression::Desc(key)
            } else {
                OrderExpression::Asc(key)
            };
            GraphPattern::OrderBy {
                inner: Box::new(pattern),
                expression: vec![key],
            }
        };
        let slice = |pattern: GraphPattern| GraphPattern::Slice {
            inner: Box::new(pattern),
            start: 0,
            length: Some(1),
        };
        let tried = slice(order(values, &algebra::tail()));
        if self
            .owners(&pairs, tried, &tails)
            .is_none_or(|owners| owners[..] != kept[..])
        {
            return Ok(None);
        }
        let tail = self.fresh();
        let step = [Step {
            relation: walk.iri,
            forward: walk.forward,
        }];
        let whole = algebra::join(
            self.argument(call, 0, out)?,
            algebra::along(out.clone().into(), &step, tail.clone().into()),
        );
        let project = GraphPattern::Project {
            inner: Box::new(order(whole, &tail)),
            variables: vec![out.clone()],
        };
        Ok(Some(slice(GraphPattern::Distinct {
            inner: Box::new(project),
        })))
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
