//! Spellings of a comparison: filters that may have the meaning of a tool's comparison, the
//! plainest first.

use kg::spargebra::algebra::{Expression, Function};
use kg::spargebra::term::{Literal as RdfLiteral, NamedNode};
use kg::term::{Literal, XSD};
use kg::value::{Op, TimeSpan, normalise};

use crate::algebra::{and, compare, or};
use crate::graph::algebra;

/// The expression to compare instead of a value.
pub(super) type KeyFunction<'w> = &'w dyn Fn(&Expression) -> Expression;

pub(super) fn typed(lexical: &str, local: &str) -> Expression {
    RdfLiteral::new_typed_literal(lexical, NamedNode::new_unchecked(format!("{XSD}{local}"))).into()
}

pub(super) fn cast(local: &str, inner: Expression) -> Expression {
    Expression::FunctionCall(
        Function::Custom(NamedNode::new_unchecked(format!("{XSD}{local}"))),
        vec![inner],
    )
}

pub(super) fn text(inner: Expression) -> Expression {
    Expression::FunctionCall(Function::Str, vec![inner])
}

/// The number that a literal's text denotes.
pub(super) fn number(inner: &Expression) -> Expression {
    Expression::Coalesce(vec![
        cast("decimal", text(inner.clone())),
        cast("double", text(inner.clone())),
    ])
}

/// A text folded as rule R8 compares it: lower case, with underscores and runs of white space as
/// one space.
pub(super) fn folded(inner: &Expression) -> Expression {
    let plain = |text: &str| Expression::Literal(RdfLiteral::new_simple_literal(text));
    let replaced = |e, from: &str, to: &str| {
        Expression::FunctionCall(Function::Replace, vec![e, plain(from), plain(to)])
    };
    let lower = Expression::FunctionCall(Function::LCase, vec![text(inner.clone())]);
    replaced(replaced(lower, "[_\\s]+", " "), "^ | $", "")
}

/// The first and the last instant of a partial date, as `xsd:dateTime` texts.
pub(super) fn bounds(lexical: &str) -> Option<(String, String)> {
    let span = TimeSpan::parse(lexical)?;
    let last = TimeSpan {
        lo: span.hi,
        hi: span.hi,
    };
    Some((span.start_date_time(), last.start_date_time()))
}

/// Filters over `?t` that may mean `?t op value`, the plainest first.
pub(super) fn spellings(op: Op, value: &Literal) -> Vec<Expression> {
    let tail = || Expression::from(algebra::tail());
    let lexical = value.lexical.trim().trim_matches('"');
    let mut all = Vec::new();
    if value.datatype.is_some() || value.lang.is_some() {
        all.push(compare(tail(), op, algebra::rdf_literal(value).into()));
    }
    if let Some(local) = numeric_type(lexical) {
        for number in [tail(), cast("decimal", tail()), number(&tail())] {
            all.push(compare(number, op, typed(lexical, local)));
        }
    }
    all.extend(date_spellings(op, lexical));
    let plain = |text: &str| Expression::from(RdfLiteral::new_simple_literal(text));
    all.push(compare(tail(), op, plain(&value.lexical)));
    all.push(compare(text(tail()), op, plain(&value.lexical)));
    all.push(compare(
        folded(&tail()),
        op,
        plain(&normalise(&value.lexical)),
    ));
    all
}

/// Whether a text is a sign and digits.
fn is_whole(lexical: &str) -> bool {
    let digits = lexical.strip_prefix(['-', '+']).unwrap_or(lexical);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

/// The numeric datatype that a text fits.
fn numeric_type(lexical: &str) -> Option<&'static str> {
    let unsigned = lexical.strip_prefix(['-', '+']).unwrap_or(lexical);
    if is_whole(lexical) {
        Some("integer")
    } else if lexical.parse::<f64>().is_err() {
        None
    } else if unsigned.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        Some("decimal")
    } else {
        Some("double")
    }
}

/// Comparisons with a year, month, day or time.
fn date_spellings(op: Op, lexical: &str) -> Vec<Expression> {
    let tail = || Expression::from(algebra::tail());
    let mut all = Vec::new();
    let Some((first, last)) = bounds(lexical) else {
        return all;
    };
    let (first, last) = (typed(&first, "dateTime"), typed(&last, "dateTime"));
    if lexical.len() == 10 {
        all.push(compare(tail(), op, typed(lexical, "date")));
    }
    if is_whole(lexical) && lexical.len() == 4 {
        let year = Expression::FunctionCall(Function::Year, vec![tail()]);
        let number = typed(lexical.trim_start_matches('0'), "integer");
        all.push(compare(year, op, number));
        all.push(compare(tail(), op, typed(lexical, "gYear")));
    }
    let time = || cast("dateTime", tail());
    all.push(match op {
        Op::Eq => and(
            compare(time(), Op::Ge, first),
            compare(time(), Op::Le, last),
        ),
        Op::Ne => or(
            compare(time(), Op::Lt, first),
            compare(time(), Op::Gt, last),
        ),
        Op::Lt | Op::Ge => compare(time(), op, first),
        Op::Le | Op::Gt => compare(time(), op, last),
    });
    all
}
