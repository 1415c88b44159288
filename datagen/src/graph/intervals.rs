//! Pairs the bounds of the from/to pattern into intervals (rule R11).

use kg::INTERVAL_ENDS;
use kg::term::Literal;
use kg::value::Op;

use super::query_graph::{IntervalBound, PatternGroup, TimeInterval};
use crate::refusal::Refusal;

/// Pairs the bounds of a group; an unpaired bound refuses the query.
pub(super) fn fold_bounds(group: &mut PatternGroup) -> Result<(), Refusal> {
    let mut bounds = std::mem::take(&mut group.bounds);
    while let Some(bound) = bounds.pop() {
        let paired = bounds.iter().enumerate().find_map(|(place, other)| {
            let pair = pair(&bound, other).filter(|_| other.node == bound.node)?;
            Some((place, pair))
        });
        let (place, (from, to)) = paired.ok_or(Refusal::Minus)?;
        let interval = TimeInterval {
            node: bound.node.clone(),
            from: from.relation.clone(),
            to: to.relation.clone(),
            value: span(&from.value, &to.value).ok_or(Refusal::Filter)?,
            starts: from.test.clone(),
            ends: to.test.clone(),
        };
        group.intervals.insert(0, interval);
        bounds.remove(place);
    }
    Ok(())
}

/// The start and the end bound, if the two bounds are the two ends of one interval.
fn pair<'h>(
    a: &'h IntervalBound,
    b: &'h IntervalBound,
) -> Option<(&'h IntervalBound, &'h IntervalBound)> {
    let (from, to) = match (a.op, b.op) {
        (Op::Le, Op::Ge) => (a, b),
        (Op::Ge, Op::Le) => (b, a),
        _ => return None,
    };
    let stem = |ends: &&(&str, &str)| {
        from.relation
            .strip_suffix(ends.0)
            .is_some_and(|stem| to.relation.strip_suffix(ends.1) == Some(stem))
    };
    INTERVAL_ENDS
        .iter()
        .any(|ends| stem(&ends))
        .then_some((from, to))
}

/// The year, month or day from `start` (compared with the end) to `end` (compared with the start).
fn span(end: &Literal, start: &Literal) -> Option<Literal> {
    let (start, end) = (day(&start.lexical)?, day(&end.lexical)?);
    let (year, month) = (&start[..start.len() - 6], &start[..start.len() - 3]);
    if start == end {
        return Some(Literal::plain(start));
    }
    if end == format!("{year}-12-31") && start == format!("{year}-01-01") {
        return Some(Literal::plain(year));
    }
    let last = ["28", "29", "30", "31"]
        .iter()
        .any(|last| end == format!("{month}-{last}"));
    (last && start.ends_with("-01")).then(|| Literal::plain(month))
}

/// The date part of a date or date-time.
fn day(lexical: &str) -> Option<String> {
    let date = lexical.split('T').next()?;
    let digits: Vec<&str> = date.rsplitn(3, '-').collect();
    match digits.as_slice() {
        [day, month, year] if day.len() == 2 && month.len() == 2 && year.len() >= 4 => {
            Some(date.to_owned())
        }
        _ => None,
    }
}
