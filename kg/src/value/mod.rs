//! Comparison of values (rules R8 to R13).
//!
//! Numbers compare exactly, by their digits, whatever their size or datatype. Times are intervals:
//! `2011` is the whole year, `2011-05-01` a day, a date-time a moment. A zone converts a moment to
//! UTC; a value without a time of day keeps its date.

mod arithmetic;
mod compare;
mod extreme;
mod kind;
mod number;
mod op;
mod part;
mod quantity;
mod sum;
mod time;

pub use arithmetic::Sign;
pub use compare::{compare, compare_spans, interval_contains};
pub use extreme::{Extreme, extreme, order_key, sort_key};
pub use kind::Kind;
pub(crate) use kind::is_time;
pub use op::{Op, UnknownOp};
pub use part::DatePart;
pub use quantity::{amount_in, normalise};
pub use sum::{Sum, is_number};
pub use time::TimeSpan;
pub(crate) use time::today;

/// The namespace of Freebase.
pub(crate) const FREEBASE: &str = "http://rdf.freebase.com/ns/";

/// The date of NOW for Freebase (rule R12): the day of its last dump.
pub const FREEBASE_NOW: &str = "2015-08-10";
