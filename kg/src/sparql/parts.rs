//! What a walk over a query's algebra visits next, so that no walk lists all patterns and
//! expressions itself.

use spargebra::algebra::{AggregateExpression, Expression, GraphPattern, OrderExpression};

/// A part directly in a pattern.
pub enum PatternPart<'q> {
    /// A pattern.
    Pattern(&'q mut GraphPattern),
    /// A condition, an assigned value, a sort key or what an aggregate takes.
    Expression(&'q mut Expression),
}

/// The parts directly in a pattern: expressions first, except that the condition of OPTIONAL is last.
pub fn parts(pattern: &mut GraphPattern) -> Vec<PatternPart<'_>> {
    use PatternPart::{Expression as E, Pattern as P};
    match pattern {
        GraphPattern::Bgp { .. } | GraphPattern::Path { .. } | GraphPattern::Values { .. } => {
            Vec::new()
        }
        GraphPattern::Join { left, right }
        | GraphPattern::Lateral { left, right }
        | GraphPattern::Union { left, right }
        | GraphPattern::Minus { left, right } => vec![P(left), P(right)],
        GraphPattern::LeftJoin {
            left,
            right,
            expression,
        } => {
            let condition = expression.as_mut().map(E);
            [P(left), P(right)].into_iter().chain(condition).collect()
        }
        GraphPattern::Filter { expr, inner } => vec![E(expr), P(inner)],
        GraphPattern::Extend {
            inner, expression, ..
        } => vec![E(expression), P(inner)],
        GraphPattern::OrderBy { inner, expression } => {
            let keys = expression.iter_mut().map(|key| {
                let (OrderExpression::Asc(value) | OrderExpression::Desc(value)) = key;
                E(value)
            });
            keys.chain([P(inner)]).collect()
        }
        GraphPattern::Group {
            inner, aggregates, ..
        } => {
            let taken = aggregates
                .iter_mut()
                .filter_map(|(_, aggregate)| match aggregate {
                    AggregateExpression::FunctionCall { expr, .. } => Some(E(expr)),
                    AggregateExpression::CountSolutions { .. } => None,
                });
            taken.chain([P(inner)]).collect()
        }
        GraphPattern::Graph { inner, .. }
        | GraphPattern::Project { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::Slice { inner, .. }
        | GraphPattern::Service { inner, .. } => vec![P(inner)],
    }
}

/// Whether a test holds for a pattern or any pattern in it, also in EXISTS.
pub(crate) fn any_pattern(
    pattern: &mut GraphPattern,
    test: &dyn Fn(&GraphPattern) -> bool,
) -> bool {
    test(pattern)
        || parts(pattern).into_iter().any(|part| match part {
            PatternPart::Pattern(inner) => any_pattern(inner, test),
            PatternPart::Expression(inner) => any_in_expression(inner, test),
        })
}

fn any_in_expression(expression: &mut Expression, test: &dyn Fn(&GraphPattern) -> bool) -> bool {
    match expression {
        Expression::Exists(inner) => any_pattern(inner, test),
        _ => operands(expression)
            .into_iter()
            .any(|operand| any_in_expression(operand, test)),
    }
}

/// The expressions directly in an expression. The pattern of EXISTS is not one.
pub fn operands(expression: &mut Expression) -> Vec<&mut Expression> {
    match expression {
        Expression::NamedNode(_)
        | Expression::Literal(_)
        | Expression::Variable(_)
        | Expression::Bound(_)
        | Expression::Exists(_) => Vec::new(),
        Expression::Or(a, b)
        | Expression::And(a, b)
        | Expression::Equal(a, b)
        | Expression::SameTerm(a, b)
        | Expression::Greater(a, b)
        | Expression::GreaterOrEqual(a, b)
        | Expression::Less(a, b)
        | Expression::LessOrEqual(a, b)
        | Expression::Add(a, b)
        | Expression::Subtract(a, b)
        | Expression::Multiply(a, b)
        | Expression::Divide(a, b) => vec![a, b],
        Expression::UnaryPlus(a) | Expression::UnaryMinus(a) | Expression::Not(a) => vec![a],
        Expression::If(a, b, c) => vec![a, b, c],
        Expression::In(a, list) => std::iter::once(a.as_mut()).chain(list).collect(),
        Expression::Coalesce(list) | Expression::FunctionCall(_, list) => list.iter_mut().collect(),
    }
}
