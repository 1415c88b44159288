//! Limits the texts that an expression builds and the values that an aggregate keeps: the evaluator
//! would build them as a whole before anything is counted.

use oxigraph::model::{Literal as OxLiteral, NamedNode};
use spargebra::algebra::{AggregateExpression, AggregateFunction, Expression, Function};

use super::functions::{HELD, REPLACEABLE, SHORT};
use super::query::QueryError;

/// A call of one of our functions.
pub(super) fn call(function: &str, arguments: Vec<Expression>) -> Expression {
    Expression::FunctionCall(
        Function::Custom(NamedNode::new_unchecked(function)),
        arguments,
    )
}

/// `CONCAT` of two texts at a time, each result checked. Joining texts is associative, also for
/// their languages.
pub(super) fn concat(mut arguments: Vec<Expression>) -> Expression {
    if arguments.len() <= 2 {
        let joined = Expression::FunctionCall(Function::Concat, arguments);
        return call(SHORT, vec![joined]);
    }
    let second = arguments.split_off(arguments.len() / 2);
    concat(vec![concat(arguments), concat(second)])
}

/// Checks the text of a `REPLACE` against its replacement.
///
/// # Errors
/// [`QueryError::Refused`] for a replacement that is neither a constant nor a variable: it would
/// have to be evaluated twice.
pub(super) fn replace(arguments: &mut [Expression]) -> Result<(), QueryError> {
    let [text, _, replacement, ..] = arguments else {
        return Ok(());
    };
    if !matches!(
        replacement,
        Expression::Literal(_) | Expression::Variable(_)
    ) {
        return Err(QueryError::Refused(
            "REPLACE with a computed replacement".to_owned(),
        ));
    }
    let inner = std::mem::replace(text, replacement.clone());
    *text = call(REPLACEABLE, vec![inner, replacement.clone()]);
    Ok(())
}

/// Counts the values that an aggregate keeps.
pub(super) fn aggregate(aggregate: &mut AggregateExpression) {
    let AggregateExpression::FunctionCall {
        name,
        expr,
        distinct,
    } = aggregate
    else {
        return;
    };
    let separator = match name {
        // The evaluator counts distinct variables as terms, and these are counted.
        AggregateFunction::Count if matches!(expr, Expression::Variable(_)) => return,
        AggregateFunction::Count | AggregateFunction::Sum | AggregateFunction::Avg
            if !*distinct =>
        {
            return;
        }
        AggregateFunction::GroupConcat { separator } => separator.clone(),
        _ => None,
    };
    let value = std::mem::replace(expr, Expression::Coalesce(Vec::new()));
    let separator = separator.map(|text| Expression::Literal(OxLiteral::new_simple_literal(text)));
    *expr = call(HELD, std::iter::once(value).chain(separator).collect());
}
