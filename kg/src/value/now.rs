//! The word NOW (rule R12).

use crate::term::Literal;

/// The date that NOW means on Freebase (rule R12): the day of its last dump.
pub const FREEBASE_NOW: &str = "2015-08-10";

/// Rule R12: the value itself, or `now` when it is the word NOW.
#[must_use]
pub fn resolve_now<'a>(value: &'a Literal, now: &'a Literal) -> &'a Literal {
    if value.datatype.is_none() && value.lang.is_none() && value.lexical == "NOW" {
        now
    } else {
        value
    }
}
