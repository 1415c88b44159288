//! Equal forms of a pattern that are easier to follow, with the same solutions, as often:
//!
//! - `OPTIONAL { … } FILTER(!BOUND(?x))` as NOT EXISTS;
//! - VALUES of texts or of several variables as a test;
//! - arithmetic in a test, an order or an aggregate as a variable of its own;
//! - a group with a union as a union of groups.

use std::cell::Cell;

use kg::spargebra::algebra::{AggregateExpression, Expression, GraphPattern, OrderExpression};
use kg::spargebra::term::{GroundTerm, Variable};
use kg::value::Op;

use super::body::{always_bound, is_arithmetic};
use super::visible;
use crate::algebra::{and, compare, exists, join, not, or, union};
use crate::graph::algebra::filter;
use crate::graph::term_literal;

/// A pattern without `!BOUND`, and with arithmetic only in BIND.
pub(super) fn normal(pattern: &GraphPattern) -> GraphPattern {
    Rewriter::default().normal(pattern)
}

/// Numbers the variables that it makes.
#[derive(Default)]
struct Rewriter {
    made: Cell<usize>,
}

impl Rewriter {
    fn normal(&self, pattern: &GraphPattern) -> GraphPattern {
        use GraphPattern as P;
        let boxed = |pattern: &GraphPattern| Box::new(self.normal(pattern));
        match pattern {
            P::Join { left, right } => {
                let apart = listed(left, right).or_else(|| listed(right, left));
                match apart {
                    Some((inner, test)) => filter(self.normal(inner), test),
                    None => P::Join {
                        left: boxed(left),
                        right: boxed(right),
                    },
                }
            }
            P::Union { left, right } => P::Union {
                left: boxed(left),
                right: boxed(right),
            },
            P::Minus { left, right } => P::Minus {
                left: boxed(left),
                right: boxed(right),
            },
            P::LeftJoin {
                left,
                right,
                expression,
            } => P::LeftJoin {
                left: boxed(left),
                right: boxed(right),
                expression: expression.as_ref().map(|one| self.expression(one)),
            },
            P::Filter { expr, inner } => {
                let (inner, tests) = unbound(inner, expr);
                let mut inner = self.normal(&inner);
                for test in &tests {
                    let test = self.expression(&self.apart(test, &mut inner));
                    inner = filter(inner, test);
                }
                inner
            }
            P::Extend {
                inner,
                variable,
                expression,
            } => P::Extend {
                inner: boxed(inner),
                variable: variable.clone(),
                expression: self.expression(expression),
            },
            P::OrderBy { inner, expression } => {
                let mut inner = self.normal(inner);
                let keys = expression.iter().map(|key| self.key(key, &mut inner));
                let expression = keys.collect();
                P::OrderBy {
                    inner: Box::new(inner),
                    expression,
                }
            }
            P::Project { inner, variables } => P::Project {
                inner: boxed(inner),
                variables: variables.clone(),
            },
            P::Distinct { inner } => P::Distinct {
                inner: boxed(inner),
            },
            P::Reduced { inner } => P::Reduced {
                inner: boxed(inner),
            },
            P::Slice {
                inner,
                start,
                length,
            } => P::Slice {
                inner: boxed(inner),
                start: *start,
                length: *length,
            },
            P::Group {
                inner,
                variables,
                aggregates,
            } => {
                let mut inner = self.normal(inner);
                let of = aggregates.iter().map(|(output, aggregate)| {
                    (output.clone(), self.aggregate(aggregate, &mut inner))
                });
                let aggregates = of.collect();
                P::Group {
                    inner: Box::new(inner),
                    variables: variables.clone(),
                    aggregates,
                }
            }
            other => other.clone(),
        }
    }

    /// A key of an order, with a variable in place of its arithmetic.
    fn key(&self, key: &OrderExpression, pattern: &mut GraphPattern) -> OrderExpression {
        match key {
            OrderExpression::Asc(key) => OrderExpression::Asc(self.apart(key, pattern)),
            OrderExpression::Desc(key) => OrderExpression::Desc(self.apart(key, pattern)),
        }
    }

    /// An aggregate with a variable in place of its arithmetic.
    fn aggregate(
        &self,
        aggregate: &AggregateExpression,
        pattern: &mut GraphPattern,
    ) -> AggregateExpression {
        match aggregate {
            AggregateExpression::FunctionCall {
                name,
                expr,
                distinct,
            } => AggregateExpression::FunctionCall {
                name: name.clone(),
                expr: self.apart(expr, pattern),
                distinct: *distinct,
            },
            other => other.clone(),
        }
    }

    /// A filter with the patterns of EXISTS rewritten.
    fn expression(&self, expression: &Expression) -> Expression {
        match expression {
            Expression::Exists(pattern) => exists(self.normal(pattern)),
            other => crate::algebra::map_parts(other, &mut |part| self.expression(part)),
        }
    }

    /// An expression with a variable in place of its arithmetic, which the pattern then binds.
    fn apart(&self, expression: &Expression, pattern: &mut GraphPattern) -> Expression {
        match expression {
            Expression::Exists(_) => expression.clone(),
            arithmetic if is_arithmetic(arithmetic) => {
                self.made.set(self.made.get() + 1);
                let variable = Variable::new_unchecked(format!("computed_{}", self.made.get()));
                let inner = std::mem::take(pattern);
                *pattern = GraphPattern::Extend {
                    inner: Box::new(inner),
                    variable: variable.clone(),
                    expression: arithmetic.clone(),
                };
                variable.into()
            }
            other => crate::algebra::map_parts(other, &mut |part| self.apart(part, pattern)),
        }
    }
}

/// A pattern with the test that stands for VALUES beside it: for several variables, or for texts,
/// from which no table starts. Rows that are there twice would repeat solutions.
fn listed<'p>(
    values: &GraphPattern,
    pattern: &'p GraphPattern,
) -> Option<(&'p GraphPattern, Expression)> {
    let GraphPattern::Values {
        variables,
        bindings,
    } = values
    else {
        return None;
    };
    let known = visible(pattern);
    let text = |term: &Option<GroundTerm>| matches!(term, Some(GroundTerm::Literal(_)));
    let apart = variables.len() > 1 || bindings.iter().flatten().any(text);
    let unique = (bindings.iter().enumerate()).all(|(at, row)| !bindings[..at].contains(row));
    let bound = variables
        .iter()
        .all(|one| known.iter().any(|name| name == one.as_str()));
    if !apart || !unique || !bound || bindings.is_empty() {
        return None;
    }
    let cell = |(variable, term): (&Variable, &Option<GroundTerm>)| {
        let term: Expression = match term.as_ref()? {
            GroundTerm::NamedNode(iri) => iri.clone().into(),
            // `=` compares other literals by value.
            GroundTerm::Literal(literal)
                if term_literal(literal)
                    .datatype
                    .is_none_or(|datatype| datatype.ends_with("#string")) =>
            {
                literal.clone().into()
            }
            _ => return None,
        };
        Some(compare(variable.clone().into(), Op::Eq, term))
    };
    let row = |row: &Vec<Option<GroundTerm>>| {
        let cells = variables.iter().zip(row).map(cell);
        cells.collect::<Option<Vec<_>>>()?.into_iter().reduce(and)
    };
    let rows = bindings.iter().map(row).collect::<Option<Vec<_>>>()?;
    Some((pattern, rows.into_iter().reduce(or)?))
}

/// A filtered pattern and its tests, with NOT EXISTS for an OPTIONAL whose variable must not be
/// bound.
fn unbound(inner: &GraphPattern, test: &Expression) -> (GraphPattern, Vec<Expression>) {
    let mut tests = Vec::new();
    conjuncts(test, &mut tests);
    let GraphPattern::LeftJoin {
        left,
        right,
        expression,
    } = inner
    else {
        return (inner.clone(), tests);
    };
    let known = visible(left);
    let always = always_bound(right);
    let absent = |test: &Expression| match test {
        Expression::Not(inner) => match inner.as_ref() {
            Expression::Bound(variable) => {
                let name = variable.as_str();
                always.iter().any(|one| one == name) && !known.iter().any(|one| one == name)
            }
            _ => false,
        },
        _ => false,
    };
    let Some(place) = tests.iter().position(absent) else {
        return (inner.clone(), tests);
    };
    tests.remove(place);
    let mut right = right.as_ref().clone();
    if let Some(condition) = expression {
        right = filter(right, condition.clone());
    }
    tests.push(not(exists(right)));
    let tests = tests.into_iter().reduce(and).into_iter().collect();
    (left.as_ref().clone(), tests)
}

fn conjuncts(test: &Expression, into: &mut Vec<Expression>) {
    match test {
        Expression::And(a, b) => {
            conjuncts(a, into);
            conjuncts(b, into);
        }
        other => into.push(other.clone()),
    }
}

/// A group with a union as a union of groups; `None` if the group has no union, or nothing else.
pub(super) fn distributed(pattern: &GraphPattern) -> Option<GraphPattern> {
    match pattern {
        GraphPattern::Join { left, right } => {
            if let GraphPattern::Union { left: a, right: b } = right.as_ref() {
                let with = |side: &GraphPattern| join(left.as_ref().clone(), side.clone());
                return Some(union([with(a), with(b)]));
            }
            if let GraphPattern::Union { left: a, right: b } = left.as_ref() {
                let with = |side: &GraphPattern| join(side.clone(), right.as_ref().clone());
                return Some(union([with(a), with(b)]));
            }
            let rebuilt = |left: GraphPattern, right: GraphPattern| {
                distributed(&GraphPattern::Join {
                    left: Box::new(left),
                    right: Box::new(right),
                })
            };
            match (distributed(left), distributed(right)) {
                (Some(left), _) => rebuilt(left, right.as_ref().clone()),
                (None, Some(right)) => rebuilt(left.as_ref().clone(), right),
                (None, None) => None,
            }
        }
        GraphPattern::Filter { expr, inner } => {
            let inner = match inner.as_ref() {
                GraphPattern::Union { .. } => inner.as_ref().clone(),
                other => distributed(other)?,
            };
            let GraphPattern::Union { left, right } = inner else {
                return None;
            };
            Some(union([
                filter(*left, expr.clone()),
                filter(*right, expr.clone()),
            ]))
        }
        _ => None,
    }
}
