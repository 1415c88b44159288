//! How values compare: rules R8–R13 of the specification.
//!
//! Numbers compare exactly, by their digits, whatever their size or datatype. Times are intervals: `2011` is the whole year, `2011-05-01`
//! a day, a date-time the moment it names. A zone shifts a moment to UTC; a value without a time of day keeps the date as written.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::term::{Literal, XSD};

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
        Self::ALL.into_iter().find(|op| op.symbol() == text).ok_or_else(|| UnknownOp(text.to_owned()))
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
        let Some(local) = literal.datatype.as_deref().and_then(|iri| iri.strip_prefix(XSD)) else { return Self::Text };
        match local {
            "integer" | "int" | "long" | "short" | "byte" | "nonNegativeInteger" | "positiveInteger" | "nonPositiveInteger"
            | "negativeInteger" | "unsignedInt" | "unsignedLong" | "unsignedShort" | "unsignedByte" => Self::Int,
            "decimal" | "double" | "float" => Self::Float,
            "date" | "dateTime" | "dateTimeStamp" | "gYear" | "gYearMonth" | "datetime" => Self::Time,
            _ => Self::Text,
        }
    }

    /// The kind of most tails (rule R8); a tie goes to the more general number, then to time, then to text. Untyped tails that are all
    /// numbers count as numbers (rule R13). No tails at all are [`Kind::Text`].
    #[must_use]
    pub fn majority<'a>(tails: impl IntoIterator<Item = &'a Literal>) -> Self {
        let mut counts = [(0usize, Self::Int), (0, Self::Float), (0, Self::Time), (0, Self::Text)];
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
        let order = [Self::Text, Self::Time, Self::Int, Self::Float];
        let most = order.into_iter().max_by_key(|kind| counts[*kind as usize].0).unwrap_or(Self::Text);
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

/// An exact decimal number: `sign × 0.d₁d₂d₃… × 10^exponent`. Infinity has the greatest exponent and no digits.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Number {
    sign: i8,
    exponent: i64,
    /// Without leading or trailing zeros.
    digits: Vec<u8>,
}

impl Number {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (sign, rest) = match text.strip_prefix(['-', '+']) {
            Some(rest) => (if text.starts_with('-') { -1 } else { 1 }, rest),
            None => (1, text),
        };
        if rest == "INF" {
            return Some(Self { sign, exponent: i64::MAX, digits: Vec::new() });
        }
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok().filter(|e| e.abs() < 1 << 40)?),
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if whole.is_empty() && fraction.is_empty() || !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) {
            return None;
        }
        let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let Some(first) = all.iter().position(|&b| b != b'0') else { return Some(Self { sign: 0, exponent: 0, digits: Vec::new() }) };
        let last = all.iter().rposition(|&b| b != b'0')?;
        let exponent = exponent + i64::try_from(whole.len()).ok()? - i64::try_from(first).ok()?;
        Some(Self { sign, exponent, digits: all[first..=last].to_vec() })
    }

    fn is_whole(&self) -> bool {
        i64::try_from(self.digits.len()).is_ok_and(|n| n <= self.exponent.max(0)) && self.exponent != i64::MAX
    }

    /// A text that sorts as the number does, for evaluators that can only sort texts.
    fn sort_key(&self) -> String {
        let exponent = i128::from(self.exponent) - i128::from(i64::MIN);
        let complement = |text: String| text.bytes().map(|b| char::from(b'0' + b'9' - b)).collect::<String>();
        let magnitude = format!("{exponent:020}{}", self.digits.iter().map(|&d| char::from(d)).collect::<String>());
        match self.sign {
            0 => "1".to_owned(),
            // A shorter run of digits is the smaller number, and so the greater negative one: `~` is greater than every digit.
            -1 => format!("0{}~", complement(magnitude)),
            _ => format!("2{magnitude}"),
        }
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        self.sign.cmp(&other.sign).then_with(|| {
            let magnitude = (self.exponent, &self.digits).cmp(&(other.exponent, &other.digits));
            if self.sign < 0 { magnitude.reverse() } else { magnitude }
        })
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Nanoseconds in a second.
const SECOND: i128 = 1_000_000_000;
/// Nanoseconds in a day.
const DAY: i128 = 86_400 * SECOND;

/// Makes every moment positive in sort keys: years have at most nine digits, so moments stay below 4 × 10²⁵.
const EPOCH_SHIFT: i128 = 100_000_000_000_000_000_000_000_000;

/// A span of time: first and last nanosecond since 1970-01-01, both inside. Years are astronomical as in XML Schema 1.1; under 1.0, where
/// there is no year 0, BCE years keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// First nanosecond.
    pub lo: i128,
    /// Last nanosecond.
    pub hi: i128,
}

impl Span {
    /// Reads a year, year-month, date or date-time, BCE ones with a leading `-`, each with or without a zone; `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (date, time) = match rest.split_once(['T', 't']) {
            Some((date, time)) => (date, Some(time)),
            None => (rest, None),
        };
        let date = if time.is_none() { strip_zone(date)?.0 } else { date };
        let mut parts = date.split('-');
        let year = number(parts.next()?, 1, 9)?;
        let year = if negative { -year } else { year };
        let month = parts.next().map(|m| number(m, 1, 2).filter(|m| (1..=12).contains(m)));
        let day = parts.next().map(|d| number(d, 1, 2));
        if parts.next().is_some() {
            return None;
        }
        match (month, day, time) {
            (None, _, None) => Some(Self { lo: start(year, 1, 1), hi: start(year + 1, 1, 1) - 1 }),
            (Some(month), None, None) => {
                let month = month?;
                let (next_year, next_month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
                Some(Self { lo: start(year, month, 1), hi: start(next_year, next_month, 1) - 1 })
            }
            (Some(month), Some(day), time) => {
                let (month, day) = (month?, day?);
                if !(1..=days_in_month(year, month)).contains(&day) {
                    return None;
                }
                let lo = start(year, month, day);
                match time {
                    // `2011-05-01T` occurs; the day is all it says.
                    None | Some("") => Some(Self { lo, hi: lo + DAY - 1 }),
                    Some(time) => time_of_day(time).map(|(from, length)| Self { lo: lo + from, hi: lo + from + length - 1 }),
                }
            }
            // `2011T00:00:00`, `2011-05T08:00`: the rule says to cut at T.
            (None | Some(_), _, Some(_)) => Self::parse(&text[..text.len() - time.map_or(0, str::len) - 1]),
        }
    }
}

impl Span {
    /// The first moment as the lexical form of an `xsd:dateTime` without zone.
    #[must_use]
    pub fn start_date_time(self) -> String {
        let (days, nanos) = (self.lo.div_euclid(DAY), self.lo.rem_euclid(DAY));
        let (year, month, day) = civil(i64::try_from(days).unwrap_or(0));
        let (seconds, fraction) = (nanos / SECOND, nanos % SECOND);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let sign = if year < 0 { "-" } else { "" };
        let fraction = if fraction == 0 { String::new() } else { format!(".{fraction:09}") };
        format!("{sign}{:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}", year.abs())
    }
}

/// The year, month and day that begin `days` days after 1970-01-01.
fn civil(days: i64) -> (i64, i64, i64) {
    // The mean year has 365.2425 days: the estimate is off by one at most, and the loops put it right.
    let mut year = 1970 + (i128::from(days) * 10_000).div_euclid(3_652_425) as i64;
    let first = |year: i64| (start(year, 1, 1) / DAY) as i64;
    while first(year) > days {
        year -= 1;
    }
    while first(year + 1) <= days {
        year += 1;
    }
    let mut rest = days - first(year);
    let mut month = 1;
    while rest >= days_in_month(year, month) {
        rest -= days_in_month(year, month);
        month += 1;
    }
    (year, month, rest + 1)
}

/// Cuts a zone (`Z`, `+01:00`, `-08:00`) off the end; the zone in nanoseconds, if there is one.
fn strip_zone(text: &str) -> Option<(&str, Option<i128>)> {
    if let Some(rest) = text.strip_suffix(['Z', 'z']) {
        return Some((rest, Some(0)));
    }
    let zone = text.len().checked_sub(6).and_then(|at| text.get(at..)).filter(|zone| zone.as_bytes()[3] == b':');
    let Some(zone) = zone.filter(|zone| zone.starts_with(['+', '-'])) else { return Some((text, None)) };
    let (hours, minutes) = (number(&zone[1..3], 2, 2)?, number(&zone[4..], 2, 2)?);
    let offset = i128::from(hours * 60 + minutes) * 60 * SECOND;
    Some((&text[..text.len() - 6], Some(if zone.starts_with('-') { -offset } else { offset })))
}

/// Start and length of a time of day in nanoseconds, shifted to UTC when it has a zone.
fn time_of_day(text: &str) -> Option<(i128, i128)> {
    let (clock, zone) = strip_zone(text)?;
    let mut parts = clock.split(':');
    let hour = number(parts.next()?, 1, 2).filter(|h| *h <= 24)?;
    let minute = number(parts.next()?, 1, 2).filter(|m| *m < 60)?;
    let (second, length) = match parts.next() {
        None => (0, 60 * SECOND),
        Some(seconds) => {
            let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
            let whole = number(whole, 1, 2).filter(|s| *s < 60)?;
            if !fraction.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            let nanos = fraction.bytes().chain(std::iter::repeat(b'0')).take(9).fold(0, |n, b| n * 10 + i128::from(b - b'0'));
            (i128::from(whole) * SECOND + nanos, 1)
        }
    };
    if parts.next().is_some() || (hour == 24 && (minute > 0 || second > 0)) {
        return None;
    }
    Some((i128::from(hour * 60 + minute) * 60 * SECOND + second - zone.unwrap_or(0), length))
}

fn number(text: &str, least: usize, most: usize) -> Option<i64> {
    ((least..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

fn is_leap(year: i64) -> bool {
    year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// First nanosecond of a day of the proleptic Gregorian calendar.
fn start(year: i64, month: i64, day: i64) -> i128 {
    let before = year - 1;
    let days_before_year = before * 365 + before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400);
    let days_before_month: i64 = (1..month).map(|m| days_in_month(year, m)).sum();
    // 719,162 days lie between 0001-01-01 and 1970-01-01.
    i128::from(days_before_year + days_before_month + day - 1 - 719_162) * DAY
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
        Kind::Int | Kind::Float => match (Number::parse(&tail.lexical), Number::parse(unquote(value))) {
            (Some(tail), Some(value)) => holds(tail.cmp(&value)),
            _ => false,
        },
        Kind::Text => holds(normalise(&tail.lexical).cmp(&normalise(&value.lexical))),
        Kind::Time => match (Span::parse(&tail.lexical), Span::parse(unquote(value))) {
            (Some(tail), Some(value)) => compare_spans(tail, op, value),
            _ => false,
        },
    }
}

/// A value as a model may write it: in quotes although it is a number or a date.
fn unquote(value: &Literal) -> &str {
    value.lexical.trim().trim_matches('"')
}

/// Rule R10: equality is containment, order is that of the ends.
#[must_use]
pub fn compare_spans(tail: Span, op: Op, value: Span) -> bool {
    let equal = (value.lo <= tail.lo && tail.hi <= value.hi) || (tail.lo <= value.lo && value.hi <= tail.hi);
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
    let Some(value) = Span::parse(unquote(value)) else { return false };
    bound_fits(from, |from| from.lo <= value.hi) && bound_fits(to, |to| to.hi >= value.lo)
}

fn bound_fits<'a>(tails: impl IntoIterator<Item = &'a Literal>, fits: impl Fn(Span) -> bool) -> bool {
    let mut tails = tails.into_iter().peekable();
    tails.peek().is_none() || tails.any(|tail| Span::parse(&tail.lexical).is_some_and(&fits))
}

/// Rule R12: the value itself, or `now` when it is the word NOW.
#[must_use]
pub fn resolve_now<'a>(value: &'a Literal, now: &'a Literal) -> &'a Literal {
    if value.datatype.is_none() && value.lang.is_none() && value.lexical == "NOW" { now } else { value }
}

/// Rule R13: the indices of the tails that attain the extreme, ties included, under the tails' own [`Kind::majority`]. Times compare by
/// their first moment. Tails that do not parse are ignored; `None` when none parses.
#[must_use]
pub fn extreme(tails: &[&Literal], wanted: Extreme) -> Option<Vec<usize>> {
    match Kind::majority(tails.iter().copied()) {
        Kind::Int | Kind::Float => extreme_by(tails, wanted, |tail| Number::parse(&tail.lexical)),
        Kind::Time => extreme_by(tails, wanted, |tail| Span::parse(&tail.lexical).map(|span| span.lo)),
        Kind::Text => extreme_by(tails, wanted, |tail| Some(normalise(&tail.lexical))),
    }
}

fn extreme_by<T: Ord>(tails: &[&Literal], wanted: Extreme, key: impl Fn(&Literal) -> Option<T>) -> Option<Vec<usize>> {
    let keys: Vec<(usize, T)> = tails.iter().enumerate().filter_map(|(i, tail)| Some((i, key(tail)?))).collect();
    let all = keys.iter().map(|(_, key)| key);
    let best = match wanted {
        Extreme::Max => all.max(),
        Extreme::Min => all.min(),
    }?;
    Some(keys.iter().filter(|(_, key)| key == best).map(|(i, _)| *i).collect())
}

/// A text that sorts as the literal does among literals of its own kind, kinds apart: the order that ORDER BY needs and that no datatype
/// mixture can make inconsistent. Untyped numbers stay texts.
#[must_use]
pub fn sort_key(literal: &Literal) -> String {
    match Kind::of(literal) {
        Kind::Int | Kind::Float => Number::parse(&literal.lexical).map(|number| format!("1{}", number.sort_key())),
        Kind::Time => Span::parse(&literal.lexical).map(|span| format!("2{:030}", span.lo + EPOCH_SHIFT)),
        Kind::Text => None,
    }
    .unwrap_or_else(|| {
        format!("3{}\0{}\0{}", literal.lexical, literal.datatype.as_deref().unwrap_or(""), literal.lang.as_deref().unwrap_or(""))
    })
}
