//! The part around the WHERE clause of a SELECT: the modifiers that become the form, the extreme
//! and the count.

use kg::spargebra::algebra::{
    AggregateExpression, AggregateFunction, Expression, GraphPattern, OrderExpression,
};
use kg::spargebra::term::Variable;
use kg::value::Extreme;

use super::operand::{Operand, operand};
use crate::refusal::Refusal;

/// The modifiers of a SELECT and its body.
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
    /// Strips the modifiers off a SELECT.
    pub(super) fn of(pattern: &'q GraphPattern) -> Result<Self, Refusal> {
        let mut head = Self {
            answer: None,
            count: false,
            extreme: None,
            key: None,
            aggregated: false,
            rows: false,
            body: pattern,
        };
        // Whether a LIMIT 1 still needs its ORDER BY, and whether a projection was read.
        let (mut one, mut projected) = (false, false);
        loop {
            head.body = match head.body {
                GraphPattern::Slice { start, .. } if *start > 0 => return Err(Refusal::Offset),
                GraphPattern::Slice { inner, length, .. } => {
                    match length {
                        Some(1) if !head.count => one = true,
                        Some(_) => return Err(Refusal::Limit),
                        None => {}
                    }
                    inner
                }
                GraphPattern::Distinct { inner } | GraphPattern::Reduced { inner } => inner,
                GraphPattern::Project { inner, variables } => {
                    head.project(variables, projected)?;
                    projected = true;
                    inner
                }
                GraphPattern::OrderBy { inner, expression } => {
                    if std::mem::take(&mut one) {
                        head.extreme = Some(order(expression)?);
                        head.key = expression
                            .first()
                            .map(|(OrderExpression::Asc(key) | OrderExpression::Desc(key))| key)
                            .filter(|key| !matches!(key, Expression::Variable(_)));
                    }
                    inner
                }
                GraphPattern::Extend {
                    inner,
                    variable,
                    expression,
                } if head.answer.as_deref() == Some(variable.as_str()) => {
                    let Expression::Variable(renamed) = expression else {
                        return Err(Refusal::Filter);
                    };
                    head.answer = Some(renamed.as_str().to_owned());
                    inner
                }
                GraphPattern::Group {
                    inner,
                    variables,
                    aggregates,
                } => {
                    head.aggregate(variables, aggregates)?;
                    // An aggregate over all solutions has one row, so LIMIT 1 changes nothing.
                    one = false;
                    inner
                }
                GraphPattern::Filter { inner, .. }
                    if matches!(**inner, GraphPattern::Group { .. }) =>
                {
                    return Err(Refusal::GroupBy);
                }
                _ if one => return Err(Refusal::Limit),
                _ => {
                    head.rows &= head.count;
                    return Ok(head);
                }
            };
        }
    }

    /// Reads a projection. The outermost one names the answer; inner ones must keep it.
    fn project(&mut self, variables: &[Variable], projected: bool) -> Result<(), Refusal> {
        match (&self.answer, variables) {
            (Some(answer), _) => {
                if self.count || variables.iter().any(|variable| variable.as_str() == answer) {
                    Ok(())
                } else {
                    Err(Refusal::Unsupported)
                }
            }
            (None, [only]) => {
                self.answer = Some(only.as_str().to_owned());
                Ok(())
            }
            (None, _) if projected => Ok(()),
            (None, _) => Err(Refusal::SeveralAnswers),
        }
    }

    /// Reads the only aggregate of a query: COUNT, MAX or MIN.
    fn aggregate(
        &mut self,
        variables: &[Variable],
        aggregates: &[(Variable, AggregateExpression)],
    ) -> Result<(), Refusal> {
        if !variables.is_empty() {
            return Err(Refusal::GroupBy);
        }
        match aggregates {
            [(_, AggregateExpression::CountSolutions { .. })] => {
                (self.count, self.rows) = (true, true);
                self.answer = None;
            }
            [
                (
                    _,
                    AggregateExpression::FunctionCall {
                        name,
                        // A value that is cast before it is counted or compared is not a term of
                        // the graph.
                        expr: Expression::Variable(variable),
                        distinct,
                    },
                ),
            ] => {
                let input = variable.as_str().to_owned();
                self.rows = !distinct;
                self.aggregated = !matches!(name, AggregateFunction::Count);
                match name {
                    AggregateFunction::Count => self.count = true,
                    AggregateFunction::Max => self.extreme = Some((input.clone(), Extreme::Max)),
                    AggregateFunction::Min => self.extreme = Some((input.clone(), Extreme::Min)),
                    _ => return Err(Refusal::Aggregate),
                }
                self.answer = Some(input);
            }
            _ => return Err(Refusal::Aggregate),
        }
        Ok(())
    }
}

/// The pattern inside modifiers that change no set.
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

/// `SELECT (MAX(?b) AS ?n) WHERE …`: output variable, input variable, extreme, pattern.
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
