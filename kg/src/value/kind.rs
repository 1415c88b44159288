//! The kind of a value, which determines its comparison (rules R8 and R13).

use serde::{Deserialize, Serialize};

use super::number::Decimal;
use super::time::TimeSpan;
use crate::term::{Literal, QUANTITY, XSD};

/// The kind of a relation's values.
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
    /// Numbers with a unit; they compare only if the units are equal.
    Quantity,
}

impl Kind {
    /// The kind of a single literal, by its datatype.
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

    /// The kind of most tails (rule R8). In a tie, the more general number wins, then time, then
    /// text. If all untyped tails are numbers, they count as numbers (rule R13), and if all are days
    /// such as `2011-05-01`, as times. Without tails the kind is [`Kind::Text`].
    #[must_use]
    pub fn majority<'a>(tails: impl IntoIterator<Item = &'a Literal>) -> Self {
        let mut counts = [0_usize; 5];
        let (mut numeric, mut whole, mut days) = (true, true, true);
        for tail in tails {
            let kind = Self::of(tail);
            counts[kind as usize] += 1;
            if kind == Self::Text {
                let plain = tail.datatype.is_none() && tail.lang.is_none();
                match Decimal::parse(&tail.lexical).filter(|_| plain) {
                    Some(number) => whole &= number.is_whole(),
                    None => numeric = false,
                }
                days &= plain && is_day(&tail.lexical);
            }
        }
        if counts == [0; 5] {
            return Self::Text;
        }
        // `max_by_key` returns the last maximum, so the weakest kind comes first.
        let order = [
            Self::Text,
            Self::Time,
            Self::Int,
            Self::Float,
            Self::Quantity,
        ];
        let most = order
            .into_iter()
            .max_by_key(|kind| counts[*kind as usize])
            .unwrap_or(Self::Text);
        if most != Self::Text {
            most
        } else if days {
            Self::Time
        } else if !numeric {
            Self::Text
        } else if whole && counts[Self::Float as usize] == 0 {
            Self::Int
        } else {
            Self::Float
        }
    }
}

/// Whether a text is a day of the calendar with a year of four digits, with or without a time of day, also before our era.
fn is_day(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let separators = [4, 7].map(|at| unsigned.as_bytes().get(at) == Some(&b'-'));
    separators == [true, true] && TimeSpan::parse(text).is_some()
}

/// Whether a literal denotes a time: by its datatype, or as a four-digit year or a date.
pub(crate) fn is_time(literal: &Literal) -> bool {
    let shape = literal.lexical.len() == 4 && literal.lexical.bytes().all(|b| b.is_ascii_digit())
        || literal.lexical.contains('-');
    TimeSpan::parse(&literal.lexical).is_some() && (shape || Kind::of(literal) == Kind::Time)
}
