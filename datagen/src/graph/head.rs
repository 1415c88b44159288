//! What stands around the WHERE clause of a SELECT: the modifiers that become the form, the extreme and the count.

use kg::spargebra::algebra::{
    AggregateExpression, AggregateFunction, Expression, GraphPattern, OrderExpression,
};
use kg::value::Extreme;

use super::read::{Operand, operand};
use crate::refusal::Refusal;

/// What stands around the WHERE clause.
pub(super) struct Head<'q> {
    pub(super) answer: Option<String>,
    pub(super) count: bool,
    pub(super) extreme: Option<(String, Extreme)>,
    pub(super) key: Option<&'q Expression>,
    pub(super) aggregated: bool,
    pub(super) rows: bool,
    pub(super) body: &'q GraphPattern,
}

impl<'q> Head<'q> {
    /// Peels the modifiers off a SELECT.
    pub(super) fn of(pattern: &'q GraphPattern) -> Result<Self, Refusal> {
        let mut answer: Option<String> = None;
        let (mut count, mut one, mut projected) = (false, false, false);
        let (mut aggregated, mut rows, mut key) = (false, false, None);
        let mut extreme = None;
        let mut at = pattern;
        loop {
            match at {
                GraphPattern::Slice { start, .. } if *start > 0 => return Err(Refusal::Offset),
                GraphPattern::Slice { inner, length, .. } => {
                    match length {
                        Some(1) if !count => one = true,
                        Some(_) => return Err(Refusal::Limit),
                        None => {}
                    }
                    at = inner;
                }
                GraphPattern::Distinct { inner } | GraphPattern::Reduced { inner } => at = inner,
                GraphPattern::Project { inner, variables } => {
                    if let Some(answer) = &answer {
                        if !count && !variables.iter().any(|variable| variable.as_str() == answer) {
                            return Err(Refusal::Unsupported);
                        }
                    } else {
                        match variables.as_slice() {
                            [only] => answer = Some(only.as_str().to_owned()),
                            _ if projected => {}
                            _ => return Err(Refusal::SeveralAnswers),
                        }
                    }
                    projected = true;
                    at = inner;
                }
                GraphPattern::OrderBy { inner, expression } => {
                    if one {
                        extreme = Some(order(expression)?);
                        key = expression
                            .first()
                            .map(|(OrderExpression::Asc(key) | OrderExpression::Desc(key))| key);
                        key = key.filter(|key| !matches!(key, Expression::Variable(_)));
                        one = false;
                    }
                    at = inner;
                }
                GraphPattern::Extend {
                    inner,
                    variable,
                    expression,
                } if answer.as_deref() == Some(variable.as_str()) => {
                    match expression {
                        Expression::Variable(inner) => answer = Some(inner.as_str().to_owned()),
                        _ => return Err(Refusal::Filter),
                    }
                    at = inner;
                }
                GraphPattern::Group {
                    inner,
                    variables,
                    aggregates,
                } => {
                    if !variables.is_empty() {
                        return Err(Refusal::GroupBy);
                    }
                    let [(_, aggregate)] = aggregates.as_slice() else {
                        return Err(Refusal::Aggregate);
                    };
                    if one {
                        // One row is all there is: the limit says nothing.
                        one = false;
                    }
                    match aggregate {
                        AggregateExpression::CountSolutions { .. } => {
                            count = true;
                            rows = true;
                            answer = None;
                        }
                        AggregateExpression::FunctionCall {
                            name,
                            expr,
                            distinct,
                        } => {
                            rows = !distinct;
                            aggregated = !matches!(name, AggregateFunction::Count);
                            // What is cast before it is counted or compared is no longer a term of the graph.
                            let Expression::Variable(variable) = expr else {
                                return Err(Refusal::Aggregate);
                            };
                            answer = Some(variable.as_str().to_owned());
                            match name {
                                AggregateFunction::Count => count = true,
                                AggregateFunction::Max => {
                                    extreme = Some((variable.as_str().to_owned(), Extreme::Max))
                                }
                                AggregateFunction::Min => {
                                    extreme = Some((variable.as_str().to_owned(), Extreme::Min))
                                }
                                _ => return Err(Refusal::Aggregate),
                            }
                        }
                    }
                    at = inner;
                }
                GraphPattern::Filter { inner, .. }
                    if matches!(**inner, GraphPattern::Group { .. }) =>
                {
                    return Err(Refusal::GroupBy);
                }
                body => {
                    if one {
                        return Err(Refusal::Limit);
                    }
                    return Ok(Self {
                        answer,
                        count,
                        extreme,
                        key,
                        aggregated,
                        rows: rows && count,
                        body,
                    });
                }
            }
        }
    }
}

/// The pattern behind modifiers that change no set.
pub(super) fn unwrapped(pattern: &GraphPattern) -> &GraphPattern {
    match pattern {
        GraphPattern::Project { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner } => unwrapped(inner),
        other => other,
    }
}

/// `ORDER BY` on one attribute.
fn order(keys: &[OrderExpression]) -> Result<(String, Extreme), Refusal> {
    let (expression, extreme) = match keys {
        [OrderExpression::Asc(expression)] => (expression, Extreme::Min),
        [OrderExpression::Desc(expression)] => (expression, Extreme::Max),
        _ => return Err(Refusal::OrderBy),
    };
    match operand(expression) {
        Ok(Operand::Var(variable) | Operand::Year(variable)) => {
            Ok((variable.as_str().to_owned(), extreme))
        }
        _ => Err(Refusal::OrderBy),
    }
}

/// `SELECT (MAX(?b) AS ?n) WHERE …`: output and input variable, which end, the pattern.
pub(super) fn aggregate(
    pattern: &GraphPattern,
) -> Option<(String, String, Extreme, &GraphPattern)> {
    let (renamed, group) = match pattern {
        GraphPattern::Extend {
            inner,
            variable,
            expression: Expression::Variable(of),
        } => (Some((variable, of)), inner.as_ref()),
        other => (None, other),
    };
    let GraphPattern::Group {
        inner,
        variables,
        aggregates,
    } = group
    else {
        return None;
    };
    let [(output, AggregateExpression::FunctionCall { name, expr, .. })] = aggregates.as_slice()
    else {
        return None;
    };
    let output = match renamed {
        Some((variable, of)) if of == output => variable,
        Some(_) => return None,
        None => output,
    };
    let extreme = match name {
        AggregateFunction::Max => Extreme::Max,
        AggregateFunction::Min => Extreme::Min,
        _ => return None,
    };
    match expr {
        Expression::Variable(input) if variables.is_empty() => Some((
            output.as_str().to_owned(),
            input.as_str().to_owned(),
            extreme,
            unwrapped(inner),
        )),
        _ => None,
    }
}
