//! Comparison of two values, and of an interval with a value (rules R8, R10 and R11).

use std::cmp::Ordering;

use super::kind::Kind;
use super::number::Decimal;
use super::op::Op;
use super::quantity::{normalise, quantity};
use super::time::TimeSpan;
use crate::term::Literal;

/// Whether `tail op value` holds under `kind`. If a side does not parse as that kind, every
/// comparison is false, even `!=`.
#[must_use]
pub fn compare(tail: &Literal, op: Op, value: &Literal, kind: Kind) -> bool {
    let holds = |ordering: Ordering| match op {
        Op::Eq => ordering.is_eq(),
        Op::Ne => ordering.is_ne(),
        Op::Lt => ordering.is_lt(),
        Op::Le => ordering.is_le(),
        Op::Gt => ordering.is_gt(),
        Op::Ge => ordering.is_ge(),
    };
    match kind {
        Kind::Int | Kind::Float => {
            match (
                Decimal::parse(&tail.lexical),
                Decimal::parse(unquote(value)),
            ) {
                (Some(tail), Some(value)) => holds(tail.cmp(&value)),
                _ => false,
            }
        }
        Kind::Quantity => match (quantity(&tail.lexical), quantity(unquote(value))) {
            (Some((tail, unit)), Some((value, other))) if unit == other => holds(tail.cmp(&value)),
            _ => false,
        },
        Kind::Text => holds(normalise(&tail.lexical).cmp(&normalise(&value.lexical))),
        Kind::Time => match (
            TimeSpan::parse(&tail.lexical),
            TimeSpan::parse(unquote(value)),
        ) {
            (Some(tail), Some(value)) => compare_spans(tail, op, value),
            _ => false,
        },
    }
}

/// The text of a value without quotes, which a model may put around a number or a date.
fn unquote(value: &Literal) -> &str {
    value.lexical.trim().trim_matches('"')
}

/// Rule R10: equality is containment; order compares the ends.
#[must_use]
pub fn compare_spans(tail: TimeSpan, op: Op, value: TimeSpan) -> bool {
    let equal = (value.lo <= tail.lo && tail.hi <= value.hi)
        || (tail.lo <= value.lo && value.hi <= tail.hi);
    match op {
        Op::Eq => equal,
        Op::Ne => !equal,
        Op::Lt => tail.hi < value.lo,
        Op::Le => tail.hi <= value.hi,
        Op::Gt => tail.lo > value.hi,
        Op::Ge => tail.lo >= value.lo,
    }
}

/// Rule R11 for `=`: whether the interval with these start and end tails overlaps `value`. A bound
/// without tails is open; with several tails, one must fit; tails that are not times never fit.
#[must_use]
pub fn interval_contains<'a>(
    from: impl IntoIterator<Item = &'a Literal>,
    to: impl IntoIterator<Item = &'a Literal>,
    value: &Literal,
) -> bool {
    let Some(value) = TimeSpan::parse(unquote(value)) else {
        return false;
    };
    bound_fits(from, |from| from.lo <= value.hi) && bound_fits(to, |to| to.hi >= value.lo)
}

fn bound_fits<'a>(
    tails: impl IntoIterator<Item = &'a Literal>,
    fits: impl Fn(TimeSpan) -> bool,
) -> bool {
    let mut tails = tails.into_iter().peekable();
    tails.peek().is_none() || tails.any(|tail| TimeSpan::parse(&tail.lexical).is_some_and(&fits))
}
