//! How values compare: rules R8–R13 of the specification.
//!
//! Numbers compare exactly, by their digits, whatever their size or datatype. Times are intervals: `2011` is the whole year, `2011-05-01`
//! a day, a date-time the moment it names. A zone shifts a moment to UTC; a value without a time of day keeps the date as written.

mod number;
mod time;

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::term::{Literal, QUANTITY, XSD};
use number::Number;
pub use time::Span;

/// The date that NOW means on Freebase (rule R12): the day of its last dump.
pub const FREEBASE_NOW: &str = "2015-08-10";

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Op {
    /// `=`
    #[serde(rename = "=")]
    Eq,
    /// `!=`
    #[serde(rename = "!=")]
    Ne,
    /// `<`
    #[serde(rename = "<")]
    Lt,
    /// `<=`
    #[serde(rename = "<=")]
    Le,
    /// `>`
    #[serde(rename = ">")]
    Gt,
    /// `>=`
    #[serde(rename = ">=")]
    Ge,
}

impl Op {
    /// Every comparison.
    pub const ALL: [Self; 6] = [Self::Eq, Self::Ne, Self::Lt, Self::Le, Self::Gt, Self::Ge];

    /// As it is written.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Eq => "=",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.symbol())
    }
}

/// A text that is no comparison.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no comparison; use one of = != < <= > >=")]
pub struct UnknownOp(pub String);

impl FromStr for Op {
    type Err = UnknownOp;

    fn from_str(text: &str) -> Result<Self, UnknownOp> {
        Self::ALL
            .into_iter()
            .find(|op| op.symbol() == text)
            .ok_or_else(|| UnknownOp(text.to_owned()))
    }
}

/// How the values of a relation compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Whole numbers.
    Int,
    /// Numbers with a fraction or an exponent.
    Float,
    /// Dates, date-times, years, year-months.
    Time,
    /// Everything else.
    Text,
    /// Numbers with a unit; only those of one unit compare.
    Quantity,
}

/// Which end of an order is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Extreme {
    /// The greatest (`argmax`).
    Max,
    /// The smallest (`argmin`).
    Min,
}

impl Kind {
    /// The kind of one literal, by its datatype alone.
    #[must_use]
    pub fn of(literal: &Literal) -> Self {
        if literal.datatype.as_deref() == Some(QUANTITY) {
            return Self::Quantity;
        }
        let Some(local) = literal
            .datatype
            .as_deref()
            .and_then(|iri| iri.strip_prefix(XSD))
        else {
            return Self::Text;
        };
        match local {
            "integer" | "int" | "long" | "short" | "byte" | "nonNegativeInteger"
            | "positiveInteger" | "nonPositiveInteger" | "negativeInteger" | "unsignedInt"
            | "unsignedLong" | "unsignedShort" | "unsignedByte" => Self::Int,
            "decimal" | "double" | "float" => Self::Float,
            "date" | "dateTime" | "dateTimeStamp" | "gYear" | "gYearMonth" | "datetime" => {
                Self::Time
            }
            _ => Self::Text,
        }
    }

    /// The kind of most tails (rule R8); a tie goes to the more general number, then to time, then to text. Untyped tails that are all
    /// numbers count as numbers (rule R13). No tails at all are [`Kind::Text`].
    #[must_use]
    pub fn majority<'a>(tails: impl IntoIterator<Item = &'a Literal>) -> Self {
        let mut counts = [
            (0usize, Self::Int),
            (0, Self::Float),
            (0, Self::Time),
            (0, Self::Text),
            (0, Self::Quantity),
        ];
        let (mut numeric, mut whole) = (true, true);
        for tail in tails {
            let kind = Self::of(tail);
            counts[kind as usize].0 += 1;
            if kind == Self::Text {
                let plain = tail.datatype.is_none() && tail.lang.is_none();
                match Number::parse(&tail.lexical).filter(|_| plain) {
                    Some(number) => whole &= number.is_whole(),
                    None => numeric = false,
                }
            }
        }
        // `max_by_key` takes the last of equals, so the order of `counts` is the order of ties, reversed: text gives way to all others.
        let order = [
            Self::Text,
            Self::Time,
            Self::Int,
            Self::Float,
            Self::Quantity,
        ];
        let most = order
            .into_iter()
            .max_by_key(|kind| counts[*kind as usize].0)
            .unwrap_or(Self::Text);
        match most {
            Self::Text if numeric && counts[Self::Text as usize].0 > 0 => {
                if whole && counts[Self::Float as usize].0 == 0 {
                    Self::Int
                } else {
                    Self::Float
                }
            }
            _ if counts.iter().all(|(count, _)| *count == 0) => Self::Text,
            kind => kind,
        }
    }
}

/// A text as it compares (rule R8): without quotes and language tag, lower case, underscores as spaces, white space collapsed.
#[must_use]
pub fn normalise(text: &str) -> String {
    let text = text.trim();
    let inner = text.strip_prefix('"').and_then(|rest| {
        let (inside, after) = rest.rsplit_once('"')?;
        (after.is_empty() || after.starts_with('@') || after.starts_with("^^")).then_some(inside)
    });
    let lowered = inner.unwrap_or(text).to_lowercase().replace('_', " ");
    lowered.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether `tail op value` holds under a kind. A side that does not parse as that kind makes every comparison false, `!=` too.
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
            match (Number::parse(&tail.lexical), Number::parse(unquote(value))) {
                (Some(tail), Some(value)) => holds(tail.cmp(&value)),
                _ => false,
            }
        }
        Kind::Quantity => match (quantity(&tail.lexical), quantity(unquote(value))) {
            (Some((tail, unit)), Some((value, other))) if unit == other => holds(tail.cmp(&value)),
            _ => false,
        },
        Kind::Text => holds(normalise(&tail.lexical).cmp(&normalise(&value.lexical))),
        Kind::Time => match (Span::parse(&tail.lexical), Span::parse(unquote(value))) {
            (Some(tail), Some(value)) => compare_spans(tail, op, value),
            _ => false,
        },
    }
}

/// A number and its unit, which is empty where there is none.
fn quantity(text: &str) -> Option<(Number, String)> {
    let (number, unit) = text
        .trim()
        .split_once(char::is_whitespace)
        .unwrap_or((text.trim(), ""));
    Some((Number::parse(number)?, normalise(unit)))
}

/// The number of a quantity, if it is in this unit; for evaluators that know no units.
#[must_use]
pub fn amount_in<'q>(literal: &'q Literal, unit: &str) -> Option<&'q str> {
    let (number, own) = literal
        .lexical
        .trim()
        .split_once(char::is_whitespace)
        .unwrap_or((literal.lexical.trim(), ""));
    (Kind::of(literal) == Kind::Quantity && normalise(own) == normalise(unit)).then_some(number)
}

/// A value as a model may write it: in quotes although it is a number or a date.
fn unquote(value: &Literal) -> &str {
    value.lexical.trim().trim_matches('"')
}

/// Rule R10: equality is containment, order is that of the ends.
#[must_use]
pub fn compare_spans(tail: Span, op: Op, value: Span) -> bool {
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

/// Rule R11 with `=`: whether the interval given by its start and end tails overlaps `value`. A bound without any tail is open; several
/// tails count when one of them fits; tails that are no times do not fit.
#[must_use]
pub fn interval_contains<'a>(
    from: impl IntoIterator<Item = &'a Literal>,
    to: impl IntoIterator<Item = &'a Literal>,
    value: &Literal,
) -> bool {
    let Some(value) = Span::parse(unquote(value)) else {
        return false;
    };
    bound_fits(from, |from| from.lo <= value.hi) && bound_fits(to, |to| to.hi >= value.lo)
}

fn bound_fits<'a>(
    tails: impl IntoIterator<Item = &'a Literal>,
    fits: impl Fn(Span) -> bool,
) -> bool {
    let mut tails = tails.into_iter().peekable();
    tails.peek().is_none() || tails.any(|tail| Span::parse(&tail.lexical).is_some_and(&fits))
}

/// Rule R12: the value itself, or `now` when it is the word NOW.
#[must_use]
pub fn resolve_now<'a>(value: &'a Literal, now: &'a Literal) -> &'a Literal {
    if value.datatype.is_none() && value.lang.is_none() && value.lexical == "NOW" {
        now
    } else {
        value
    }
}

/// Rule R13: the indices of the tails that attain the extreme, ties included, under the tails' own [`Kind::majority`]. Times compare by
/// their first moment. Tails that do not parse are ignored; `None` when none parses.
#[must_use]
pub fn extreme(tails: &[&Literal], wanted: Extreme) -> Option<Vec<usize>> {
    match Kind::majority(tails.iter().copied()) {
        Kind::Int | Kind::Float => extreme_by(tails, wanted, |tail| Number::parse(&tail.lexical)),
        Kind::Time => extreme_by(tails, wanted, |tail| {
            Span::parse(&tail.lexical).map(|span| span.lo)
        }),
        Kind::Quantity => {
            // Of several units the most frequent counts, and of equally frequent ones the first by name.
            let parsed: Vec<Option<(Number, String)>> =
                tails.iter().map(|tail| quantity(&tail.lexical)).collect();
            let mut units: std::collections::BTreeMap<&str, usize> =
                std::collections::BTreeMap::new();
            parsed
                .iter()
                .flatten()
                .for_each(|(_, unit)| *units.entry(unit).or_default() += 1);
            let unit = units
                .into_iter()
                .max_by_key(|(unit, count)| (*count, std::cmp::Reverse(*unit)))?
                .0
                .to_owned();
            extreme_by(tails, wanted, |tail| {
                quantity(&tail.lexical)
                    .filter(|(_, own)| *own == unit)
                    .map(|(number, _)| number)
            })
        }
        Kind::Text => extreme_by(tails, wanted, |tail| Some(normalise(&tail.lexical))),
    }
}

fn extreme_by<T: Ord>(
    tails: &[&Literal],
    wanted: Extreme,
    key: impl Fn(&Literal) -> Option<T>,
) -> Option<Vec<usize>> {
    let keys: Vec<(usize, T)> = tails
        .iter()
        .enumerate()
        .filter_map(|(i, tail)| Some((i, key(tail)?)))
        .collect();
    let all = keys.iter().map(|(_, key)| key);
    let best = match wanted {
        Extreme::Max => all.max(),
        Extreme::Min => all.min(),
    }?;
    Some(
        keys.iter()
            .filter(|(_, key)| key == best)
            .map(|(i, _)| *i)
            .collect(),
    )
}

/// A text that sorts as the literal does among literals of its own kind, kinds apart: the order that ORDER BY needs and that no datatype
/// mixture can make inconsistent. Untyped numbers stay texts.
#[must_use]
pub fn sort_key(literal: &Literal) -> String {
    match Kind::of(literal) {
        Kind::Int | Kind::Float => {
            Number::parse(&literal.lexical).map(|number| format!("1{}", number.sort_key()))
        }
        Kind::Time => Span::parse(&literal.lexical)
            .map(|span| format!("2{:030}", span.lo + time::EPOCH_SHIFT)),
        Kind::Quantity => quantity(&literal.lexical)
            .map(|(number, unit)| format!("1{}\0{unit}", number.sort_key())),
        Kind::Text => None,
    }
    .unwrap_or_else(|| {
        format!(
            "3{}\0{}\0{}",
            literal.lexical,
            literal.datatype.as_deref().unwrap_or(""),
            literal.lang.as_deref().unwrap_or("")
        )
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lit(text: &str) -> Literal {
        match text.split_once("^^") {
            Some((lexical, local)) => Literal::xsd(lexical, local),
            None => Literal::plain(text),
        }
    }

    #[test]
    fn quantities_compare_within_their_unit() {
        let of = |text: &str| Literal {
            lexical: text.to_owned(),
            datatype: Some(QUANTITY.to_owned()),
            lang: None,
        };
        let holds = |tail: &str, op, value: &str| {
            compare(&of(tail), op, &Literal::plain(value), Kind::Quantity)
        };
        assert!(
            holds("1.70 metre", Op::Eq, "1.7 metre")
                && holds("10 metre", Op::Gt, "9.5 metre")
                && holds("-3 K", Op::Lt, "2 k")
        );
        assert!(
            !holds("10 metre", Op::Gt, "9 foot")
                && !holds("10 metre", Op::Ne, "9 foot")
                && !holds("10 metre", Op::Gt, "9")
        );
        let tails = [
            of("9 foot"),
            of("3 metre"),
            of("10 metre"),
            Literal::plain("tall"),
        ];
        let tails: Vec<&Literal> = tails.iter().collect();
        assert_eq!(Kind::majority(tails.iter().copied()), Kind::Quantity);
        assert_eq!(
            (extreme(&tails, Extreme::Max), extreme(&tails, Extreme::Min)),
            (Some(vec![2]), Some(vec![1]))
        );
        assert!(
            sort_key(&of("9 metre")) < sort_key(&of("10 metre"))
                && sort_key(&of("1.5 m")) < sort_key(&of("1.55 m"))
        );
        assert_eq!(
            (
                amount_in(&of("1.7  Metre"), "metre"),
                amount_in(&of("1.7 m"), "metre"),
                amount_in(&Literal::plain("1 m"), "m")
            ),
            (Some("1.7"), None, None)
        );
    }

    #[test]
    fn operators_print_and_parse() {
        for op in Op::ALL {
            assert_eq!(op.to_string().parse::<Op>(), Ok(op));
        }
        assert_eq!("==".parse::<Op>(), Err(UnknownOp("==".to_owned())));
    }

    /// tail, operator, value, kind, holds
    #[test]
    fn comparisons() {
        let table = [
            ("2011-05-01^^date", Op::Eq, "2011", Kind::Time, true),
            ("2011^^gYear", Op::Eq, "2011-05-01", Kind::Time, true),
            ("2012^^gYear", Op::Ne, "2011", Kind::Time, true),
            ("2011-05-01^^date", Op::Gt, "2011", Kind::Time, false),
            ("2011-05-01^^date", Op::Ge, "2011", Kind::Time, true),
            ("2011^^gYear", Op::Ge, "2011-05-01", Kind::Time, false),
            ("2011^^gYear", Op::Le, "2011-05-01", Kind::Time, false),
            ("-0044-03-15^^date", Op::Lt, "-0043", Kind::Time, true),
            ("-0044^^gYear", Op::Gt, "-0100", Kind::Time, true),
            ("50000^^integer", Op::Gt, "50000", Kind::Int, false),
            ("50000^^integer", Op::Eq, "5e4", Kind::Int, true),
            (
                "9007199254740993^^integer",
                Op::Gt,
                "9007199254740992",
                Kind::Int,
                true,
            ),
            (
                "0.30000000000000004^^double",
                Op::Eq,
                "0.3",
                Kind::Float,
                false,
            ),
            ("10", Op::Lt, "9", Kind::Text, true),
            ("10", Op::Lt, "9", Kind::Int, false),
            (
                "Young_Forrest",
                Op::Eq,
                "\"young  forrest\"@en",
                Kind::Text,
                true,
            ),
            ("n/a", Op::Ne, "5", Kind::Int, false),
            ("5^^integer", Op::Ne, "n/a", Kind::Int, false),
            ("2011^^gYear", Op::Eq, "\"2011\"", Kind::Time, true),
        ];
        for (tail, op, value, kind, holds) in table {
            assert_eq!(
                compare(&lit(tail), op, &lit(value), kind),
                holds,
                "{tail} {op} {value} as {kind:?}"
            );
        }
    }

    #[test]
    fn the_kind_is_that_of_most_tails() {
        let kind =
            |tails: &[&str]| Kind::majority(&tails.iter().map(|t| lit(t)).collect::<Vec<_>>());
        assert_eq!(kind(&[]), Kind::Text);
        assert_eq!(kind(&["1^^integer", "2^^long", "x"]), Kind::Int);
        assert_eq!(kind(&["1^^integer", "2.5^^double"]), Kind::Float);
        assert_eq!(
            kind(&["2011^^gYear", "2011-01-01^^date", "1^^integer"]),
            Kind::Time
        );
        assert_eq!(kind(&["10", "9"]), Kind::Int);
        assert_eq!(kind(&["10", "9.5"]), Kind::Float);
        assert_eq!(kind(&["10", "nine"]), Kind::Text);
    }

    #[test]
    fn extremes_keep_ties_and_ignore_what_does_not_parse() {
        let best = |tails: &[&str], wanted| {
            let tails: Vec<Literal> = tails.iter().map(|t| lit(t)).collect();
            extreme(&tails.iter().collect::<Vec<_>>(), wanted)
        };
        assert_eq!(best(&["9", "10", "10.0"], Extreme::Max), Some(vec![1, 2]));
        assert_eq!(
            best(
                &["9^^integer", "unknown^^integer", "8^^integer"],
                Extreme::Min
            ),
            Some(vec![2])
        );
        assert_eq!(
            best(
                &["-0100^^gYear", "0014^^gYear", "-0044^^gYear"],
                Extreme::Max
            ),
            Some(vec![1])
        );
        assert_eq!(
            best(&["-0100^^gYear", "-0044^^gYear"], Extreme::Max),
            Some(vec![1])
        );
        assert_eq!(
            best(
                &["-0100^^gYear", "-0044^^gYear", "2001^^gYear"],
                Extreme::Min
            ),
            Some(vec![0])
        );
        assert_eq!(best(&["x^^integer"], Extreme::Max), None);
        assert_eq!(best(&[], Extreme::Max), None);
        assert_eq!(best(&["b", "a"], Extreme::Min), Some(vec![1]));
    }

    #[test]
    fn intervals_overlap_and_missing_bounds_are_open() {
        let holds = |from: &[&str], to: &[&str], value: &str| {
            let all = |tails: &[&str]| tails.iter().map(|t| lit(t)).collect::<Vec<_>>();
            interval_contains(&all(from), &all(to), &lit(value))
        };
        assert!(holds(&["2008"], &["2012"], "2010"));
        assert!(
            holds(&["2010-06-01"], &[], "2010")
                && holds(&[], &["2010-06-01"], "2010")
                && holds(&[], &[], "2010")
        );
        assert!(!holds(&["2011"], &[], "2010") && !holds(&[], &["2009-12-31"], "2010"));
        assert!(!holds(&["soon"], &[], "2010") && !holds(&[], &[], "soon"));
        assert!(holds(&["2011", "2009"], &[], "2010"));
    }

    #[test]
    fn now_is_what_the_caller_says() {
        let now = Literal::xsd(FREEBASE_NOW, "date");
        assert_eq!(resolve_now(&lit("NOW"), &now), &now);
        assert_eq!(resolve_now(&lit("now"), &now), &lit("now"));
    }

    fn numbers() -> impl Strategy<Value = Literal> {
        "-?[0-9]{1,25}(\\.[0-9]{1,4})?".prop_map(|t| Literal::xsd(t, "decimal"))
    }

    fn times() -> impl Strategy<Value = Literal> {
        "-?(00|19|20)[0-9]{2}(-0[1-9](-[12][0-8](T1[0-9]:[0-5][0-9]:[0-5][0-9])?)?)?"
            .prop_map(|t| Literal::xsd(t, "dateTime"))
    }

    fn timeless_pair() -> impl Strategy<Value = (Literal, Literal, Kind)> {
        prop_oneof![
            (numbers(), numbers()).prop_map(|(a, b)| (a, b, Kind::Float)),
            ("[a-cA-C_ ]{0,4}", "[a-cA-C_ ]{0,4}").prop_map(|(a, b)| (
                Literal::plain(a),
                Literal::plain(b),
                Kind::Text
            )),
        ]
    }

    fn any_pair() -> impl Strategy<Value = (Literal, Literal, Kind)> {
        prop_oneof![
            timeless_pair(),
            (times(), times()).prop_map(|(a, b)| (a, b, Kind::Time))
        ]
    }

    proptest! {
        #[test]
        fn trichotomy_of_numbers_and_texts((a, b, kind) in timeless_pair()) {
            let held = [Op::Lt, Op::Eq, Op::Gt].iter().filter(|op| compare(&a, **op, &b, kind)).count();
            prop_assert_eq!(held, 1);
            prop_assert_eq!(compare(&a, Op::Le, &b, kind), !compare(&a, Op::Gt, &b, kind));
            prop_assert_eq!(compare(&a, Op::Ge, &b, kind), !compare(&a, Op::Lt, &b, kind));
        }

        #[test]
        fn laws_of_every_kind((a, b, kind) in any_pair()) {
            prop_assert_eq!(compare(&a, Op::Ne, &b, kind), !compare(&a, Op::Eq, &b, kind));
            prop_assert_eq!(compare(&a, Op::Eq, &b, kind), compare(&b, Op::Eq, &a, kind));
            prop_assert_eq!(compare(&a, Op::Lt, &b, kind), compare(&b, Op::Gt, &a, kind));
            prop_assert!(!compare(&a, Op::Lt, &b, kind) || (compare(&a, Op::Le, &b, kind) && compare(&a, Op::Ne, &b, kind)));
            prop_assert!(!compare(&a, Op::Gt, &b, kind) || (compare(&a, Op::Ge, &b, kind) && compare(&a, Op::Ne, &b, kind)));
            prop_assert!(compare(&a, Op::Eq, &a, kind));
            // at most one of before, equal, after: overlapping spans that contain each other are equal, no calendar spans overlap otherwise
            let held = [Op::Lt, Op::Eq, Op::Gt].iter().filter(|op| compare(&a, **op, &b, kind)).count();
            prop_assert_eq!(held, 1);
        }

        #[test]
        fn spans_compare_as_rule_r10_says(a in (-9i128..9, 0i128..5), b in (-9i128..9, 0i128..5)) {
            let (t, v) = (Span { lo: a.0, hi: a.0 + a.1 }, Span { lo: b.0, hi: b.0 + b.1 });
            let inside = |x: Span, y: Span| (x.lo..=x.hi).all(|m| (y.lo..=y.hi).contains(&m));
            prop_assert_eq!(compare_spans(t, Op::Eq, v), inside(t, v) || inside(v, t));
            prop_assert_eq!(compare_spans(t, Op::Lt, v), (t.lo..=t.hi).all(|x| (v.lo..=v.hi).all(|y| x < y)));
            prop_assert_eq!(compare_spans(t, Op::Gt, v), (t.lo..=t.hi).all(|x| (v.lo..=v.hi).all(|y| x > y)));
            prop_assert_eq!(compare_spans(t, Op::Le, v), (t.lo..=t.hi).all(|x| x <= v.hi));
            prop_assert_eq!(compare_spans(t, Op::Ge, v), (t.lo..=t.hi).all(|x| x >= v.lo));
        }

        #[test]
        fn an_extreme_is_one(tails in proptest::collection::vec(numbers(), 1..9)) {
            let refs: Vec<&Literal> = tails.iter().collect();
            for (wanted, op) in [(Extreme::Max, Op::Gt), (Extreme::Min, Op::Lt)] {
                let best = extreme(&refs, wanted).unwrap();
                prop_assert!(!best.is_empty());
                for (i, tail) in tails.iter().enumerate() {
                    prop_assert!(!compare(tail, op, &tails[best[0]], Kind::Float));
                    prop_assert_eq!(best.contains(&i), compare(tail, Op::Eq, &tails[best[0]], Kind::Float));
                }
            }
        }

        #[test]
        fn sort_keys_sort_as_values((a, b) in (numbers(), numbers())) {
            prop_assert_eq!(sort_key(&a) < sort_key(&b), compare(&a, Op::Lt, &b, Kind::Float));
        }
    }
}
