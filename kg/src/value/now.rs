//! The word NOW (rule R12).

use crate::term::Literal;

/// The date of NOW for Freebase (rule R12): the day of its last dump.
pub const FREEBASE_NOW: &str = "2015-08-10";

/// Rule R12: `now` for the word NOW, else the value.
#[must_use]
pub fn resolve_now<'a>(value: &'a Literal, now: &'a Literal) -> &'a Literal {
    if value.datatype.is_none() && value.lang.is_none() && value.lexical == "NOW" {
        now
    } else {
        value
    }
}
