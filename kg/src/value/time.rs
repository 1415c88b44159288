//! Times as spans: years, months, days, moments.

/// Nanoseconds in a second.
const SECOND: i128 = 1_000_000_000;
/// Nanoseconds in a day.
const DAY: i128 = 86_400 * SECOND;

/// Makes every moment positive in sort keys. Years have at most nine digits, so moments are below 4
/// × 10²⁵.
pub(super) const EPOCH_SHIFT: i128 = 100_000_000_000_000_000_000_000_000;

/// A span of time: its first and last nanosecond since 1970-01-01, inclusive. Years are
/// astronomical as in XML Schema 1.1. Under 1.0, which has no year 0, BCE years keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeSpan {
    /// First nanosecond.
    pub lo: i128,
    /// Last nanosecond.
    pub hi: i128,
}

impl TimeSpan {
    /// Parses a year, year-month, date or date-time, with a leading `-` for BCE, with or without a
    /// zone; `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (negative, rest) = text
            .strip_prefix('-')
            .map_or((false, text), |rest| (true, rest));
        let (date, time) = match (rest.split_once(['T', 't']), rest.split_once(' ')) {
            (Some((date, time)), _) => (date, Some(time)),
            // SQL writes a space instead of T. Only a time of day may follow it: `2011 BC` and
            // `1999 people` are not times.
            (None, Some((date, time))) if date.len() >= 8 && time_of_day(time).is_some() => {
                (date, Some(time))
            }
            (None, Some(_)) => return None,
            (None, None) => (rest, None),
        };
        let date = if time.is_none() {
            strip_zone(date)?.0
        } else {
            date
        };
        let mut parts = date.split('-');
        let year = number(parts.next()?, 1, 9)?;
        let year = if negative { -year } else { year };
        let month = parts
            .next()
            .map(|m| number(m, 1, 2).filter(|m| (1..=12).contains(m)));
        let day = parts.next().map(|d| number(d, 1, 2));
        if parts.next().is_some() {
            return None;
        }
        match (month, day, time) {
            (None, _, None) => Some(Self {
                lo: start(year, 1, 1),
                hi: start(year + 1, 1, 1) - 1,
            }),
            (Some(month), None, None) => {
                let month = month?;
                let (next_year, next_month) = if month == 12 {
                    (year + 1, 1)
                } else {
                    (year, month + 1)
                };
                Some(Self {
                    lo: start(year, month, 1),
                    hi: start(next_year, next_month, 1) - 1,
                })
            }
            (Some(month), Some(day), time) => {
                let (month, day) = (month?, day?);
                if !(1..=days_in_month(year, month)).contains(&day) {
                    return None;
                }
                let lo = start(year, month, day);
                match time {
                    // `2011-05-01T` occurs in practice and means the day.
                    None | Some("") => Some(Self {
                        lo,
                        hi: lo + DAY - 1,
                    }),
                    Some(time) => time_of_day(time).map(|(from, length)| Self {
                        lo: lo + from,
                        hi: lo + from + length - 1,
                    }),
                }
            }
            // `2011T00:00:00` and `2011-05T08:00`: everything from the T on is cut off.
            (None | Some(_), _, Some(_)) => {
                Self::parse(&text[..text.len() - time.map_or(0, str::len) - 1])
            }
        }
    }
}

impl TimeSpan {
    /// The first moment as the lexical form of an `xsd:dateTime` without zone.
    #[must_use]
    pub fn start_date_time(self) -> String {
        let (days, nanos) = (self.lo.div_euclid(DAY), self.lo.rem_euclid(DAY));
        let (year, month, day) = civil(i64::try_from(days).unwrap_or(0));
        let (seconds, fraction) = (nanos / SECOND, nanos % SECOND);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let sign = if year < 0 { "-" } else { "" };
        let fraction = if fraction == 0 {
            String::new()
        } else {
            format!(".{fraction:09}")
        };
        format!(
            "{sign}{:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}",
            year.abs()
        )
    }
}

/// The day in UTC as the lexical form of an `xsd:date`.
pub(crate) fn today() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seconds = since.map_or(0, |since| since.as_secs());
    let (year, month, day) = civil((seconds / 86_400) as i64);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The date that is `days` days after 1970-01-01.
fn civil(days: i64) -> (i64, i64, i64) {
    // The mean year has 365.2425 days, so the estimate is off by at most one; the loops correct it.
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

/// Splits off a zone (`Z`, `+01:00`, `-08:00`) at the end; returns its offset in nanoseconds, if
/// any.
fn strip_zone(text: &str) -> Option<(&str, Option<i128>)> {
    if let Some(rest) = text.strip_suffix(['Z', 'z']) {
        return Some((rest, Some(0)));
    }
    let zone = text
        .len()
        .checked_sub(6)
        .and_then(|at| text.get(at..))
        .filter(|zone| zone.as_bytes()[3] == b':');
    let Some(zone) = zone.filter(|zone| zone.starts_with(['+', '-'])) else {
        return Some((text, None));
    };
    let (hours, minutes) = (number(&zone[1..3], 2, 2)?, number(&zone[4..], 2, 2)?);
    let offset = i128::from(hours * 60 + minutes) * 60 * SECOND;
    Some((
        &text[..text.len() - 6],
        Some(if zone.starts_with('-') {
            -offset
        } else {
            offset
        }),
    ))
}

/// Start and length of a time of day in nanoseconds, converted to UTC if it has a zone.
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
            let nanos = fraction
                .bytes()
                .chain(std::iter::repeat(b'0'))
                .take(9)
                .fold(0, |n, b| n * 10 + i128::from(b - b'0'));
            (i128::from(whole) * SECOND + nanos, 1)
        }
    };
    if parts.next().is_some() || (hour == 24 && (minute > 0 || second > 0)) {
        return None;
    }
    Some((
        i128::from(hour * 60 + minute) * 60 * SECOND + second - zone.unwrap_or(0),
        length,
    ))
}

fn number(text: &str, least: usize, most: usize) -> Option<i64> {
    ((least..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
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

/// First nanosecond of a day in the proleptic Gregorian calendar.
fn start(year: i64, month: i64, day: i64) -> i128 {
    let before = year - 1;
    let days_before_year =
        before * 365 + before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400);
    let days_before_month: i64 = (1..month).map(|m| days_in_month(year, m)).sum();
    // 719,162 days lie between 0001-01-01 and 1970-01-01.
    i128::from(days_before_year + days_before_month + day - 1 - 719_162) * DAY
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn span(text: &str) -> TimeSpan {
        TimeSpan::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn partial_dates_are_spans() {
        assert_eq!(
            span("1970"),
            TimeSpan {
                lo: 0,
                hi: 365 * DAY - 1
            }
        );
        assert_eq!(span("1970-01-01"), TimeSpan { lo: 0, hi: DAY - 1 });
        assert_eq!(span("2012-02").hi - span("2012-02").lo + 1, 29 * DAY);
        assert_eq!(
            span("1970-01-01T00:00:01"),
            TimeSpan {
                lo: SECOND,
                hi: SECOND
            }
        );
        assert_eq!(
            span("1970-01-01T00:01"),
            TimeSpan {
                lo: 60 * SECOND,
                hi: 120 * SECOND - 1
            }
        );
        assert_eq!(span("1969-12-31T24:00:00").lo, 0);
        assert_eq!(span("2011-05T08:00"), span("2011-05"));
        assert_eq!(span("2011T00:00:00"), span("2011"));
        assert_eq!(span("2011-05-01T"), span("2011-05-01"));
        assert_eq!(span("2018-03-15 19:10:02"), span("2018-03-15T19:10:02"));
        for no_time in ["2011 BC", "1999 people", "2011-05 08:00", "2011-05-01 soon"] {
            assert_eq!(TimeSpan::parse(no_time), None, "{no_time}");
        }
    }

    #[test]
    fn zones_shift_moments_and_not_dates() {
        for zoned in ["2011Z", "2011-08:00", "2011+14:00"] {
            assert_eq!(span(zoned), span("2011"));
        }
        assert_eq!(span("2011-05-08:00"), span("2011-05"));
        assert_eq!(span("2011-05-01-08:00"), span("2011-05-01"));
        assert_eq!(
            span("2011-05-01T12:00:00+02:00"),
            span("2011-05-01T10:00:00Z")
        );
        assert_eq!(
            span("2011-05-01T10:00:00Z"),
            span("2011-05-01T10:00:00.000")
        );
    }

    #[test]
    fn bce_years_keep_their_order() {
        let order = [
            "-0500",
            "-44-03-15",
            "-0044-03-16",
            "-0001",
            "0001",
            "0044",
            "476",
            "1066-10-14",
            "2015",
        ];
        for pair in order.windows(2) {
            assert!(span(pair[0]).hi < span(pair[1]).lo, "{pair:?}");
        }
    }

    #[test]
    fn invalid_times_are_rejected() {
        for bad in [
            "",
            "-",
            "x",
            "2011-13",
            "2011-00",
            "2011-02-29",
            "2011-5-",
            "2011-05-01-02",
            "2011-05-01T25:00",
            "2011-05-01T10:60",
            "20110501000",
            "é",
            "T",
            "2011-05-01T10:00:00.x",
        ] {
            assert_eq!(TimeSpan::parse(bad), None, "{bad}");
        }
        assert!(
            TimeSpan::parse("2012-02-29").is_some()
                && TimeSpan::parse("1900-02-29").is_none()
                && TimeSpan::parse("2000-02-29").is_some()
        );
    }

    proptest! {
        #[test]
        fn days_follow_each_other(year in -3000i64..4000, month in 1i64..=12, day in 1i64..=28) {
            prop_assert_eq!(start(year, month, day) + DAY, if day < days_in_month(year, month) { start(year, month, day + 1) } else { start(year, month + 1, 1) });
        }

        #[test]
        fn a_moment_prints_and_parses(lo in -10_i128.pow(20)..10_i128.pow(20)) {
            let printed = TimeSpan { lo, hi: lo }.start_date_time();
            prop_assert_eq!(TimeSpan::parse(&printed), Some(TimeSpan { lo, hi: lo }), "{}", printed);
        }

        #[test]
        fn a_part_is_inside_its_whole(year in -2000i64..3000, month in 1i64..=12, day in 1i64..=28) {
            let sign = if year < 0 { "-" } else { "" };
            let y = format!("{sign}{:04}", year.abs());
            let (m, d) = (format!("{y}-{month:02}"), format!("{y}-{month:02}-{day:02}"));
            let t = format!("{d}T13:14:15");
            for pair in [&y, &m, &d, &t].windows(2) {
                let (whole, part) = (span(pair[0]), span(pair[1]));
                prop_assert!(whole.lo <= part.lo && part.hi <= whole.hi);
            }
        }

        #[test]
        fn any_text_is_a_span_or_nothing(text in "\\PC*", date in "-?[0-9]{1,10}-[0-9]{0,3}-?[0-9]{0,3}T?[0-9:.Z+-]{0,12}") {
            for text in [&text, &date] {
                let Some(span) = TimeSpan::parse(text) else { continue };
                prop_assert!(span.lo <= span.hi, "{text}: {span:?}");
                prop_assert!(text.trim_start_matches(['-', ' ']).starts_with(|c: char| c.is_ascii_digit() || c.is_whitespace()), "{text}");
            }
        }
    }
}
