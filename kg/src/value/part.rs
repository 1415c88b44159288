//! Parts of dates, as SPARQL's YEAR, MONTH and DAY compute them.

use oxsdatatypes::{Date, DateTime, GYear, GYearMonth};

use crate::term::{Literal, XSD};

/// A part of a date, as a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DatePart {
    /// The year.
    Year,
    /// The month, 1 to 12.
    Month,
    /// The day of the month, 1 to 31.
    Day,
}

impl DatePart {
    /// Every part.
    pub const ALL: [Self; 3] = [Self::Year, Self::Month, Self::Day];

    /// The word in calls.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Year => "year",
            Self::Month => "month",
            Self::Day => "day",
        }
    }

    /// The part of a literal, an `xsd:integer`; `None` if its datatype is not a date, or if its date
    /// has no such part.
    #[must_use]
    pub fn of(self, literal: &Literal) -> Option<Literal> {
        let local = literal.datatype.as_deref()?.strip_prefix(XSD)?;
        let text = literal.lexical.as_str();
        let (year, month, day) = match local {
            "dateTime" | "dateTimeStamp" => {
                let moment: DateTime = text.parse().ok()?;
                (moment.year(), Some(moment.month()), Some(moment.day()))
            }
            "date" => {
                let date: Date = text.parse().ok()?;
                (date.year(), Some(date.month()), Some(date.day()))
            }
            "gYearMonth" => {
                let month: GYearMonth = text.parse().ok()?;
                (month.year(), Some(month.month()), None)
            }
            "gYear" => (text.parse::<GYear>().ok()?.year(), None, None),
            _ => return None,
        };
        let part = match self {
            Self::Year => year,
            Self::Month => i64::from(month?),
            Self::Day => i64::from(day?),
        };
        Some(Literal::xsd(part.to_string(), "integer"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_has_the_parts_that_its_datatype_has() {
        let parts = |text: &str, local: &str| {
            let literal = Literal::xsd(text, local);
            DatePart::ALL.map(|part| part.of(&literal).map(|found| found.lexical))
        };
        let some = |text: &str| Some(text.to_owned());
        let whole = [some("2011"), some("5"), some("3")];
        assert_eq!(parts("2011-05-03", "date"), whole);
        assert_eq!(parts("2011-05-03T10:00:00Z", "dateTime"), whole);
        assert_eq!(
            parts("2011-05", "gYearMonth"),
            [some("2011"), some("5"), None]
        );
        assert_eq!(parts("-0044", "gYear"), [some("-44"), None, None]);
        for (text, local) in [
            ("2011", "integer"),
            ("soon", "date"),
            ("2011-05-03", "string"),
        ] {
            assert_eq!(parts(text, local), [None, None, None], "{text}");
        }
    }
}
