//! Texts and quantities in comparable form.

use super::kind::Kind;
use super::number::Decimal;
use crate::term::Literal;

/// The comparable form of a text (rule R8): without quotes and language tag, lower case,
/// underscores as spaces, white space collapsed.
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

/// The two parts of `NUMBER UNIT`; the unit may be empty.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    text.split_once(char::is_whitespace).unwrap_or((text, ""))
}

/// A number and its unit, which may be empty.
pub(super) fn quantity(text: &str) -> Option<(Decimal, String)> {
    let (number, unit) = split(text);
    Some((Decimal::parse(number)?, normalise(unit)))
}

/// The number of a quantity if it has this unit, for evaluators without units.
#[must_use]
pub fn amount_in<'q>(literal: &'q Literal, unit: &str) -> Option<&'q str> {
    let (number, own) = split(&literal.lexical);
    (Kind::of(literal) == Kind::Quantity && normalise(own) == normalise(unit)).then_some(number)
}
