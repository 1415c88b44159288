//! Words of calls that have one spelling: variables, handles and columns.

use super::ast::{Handle, HandleKind};

/// A variable, `v3`.
pub(super) fn variable(word: &str) -> Option<u32> {
    number(word.strip_prefix('v')?)
}

pub(super) fn handle(word: &str, kind: HandleKind) -> Option<Handle> {
    number(word.strip_prefix(kind.letter())?).map(|index| Handle { kind, index })
}

/// A column of a table, `v3.k0`.
pub(super) fn column(word: &str) -> Option<(u32, u32)> {
    let (table, column) = word.split_once('.')?;
    Some((variable(table)?, key(column)?))
}

/// A column of the table that a call reads, `k0`.
pub(super) fn key(word: &str) -> Option<u32> {
    number(word.strip_prefix('k')?)
}

/// Digits without a leading zero, so that every number has one spelling.
pub(super) fn number(digits: &str) -> Option<u32> {
    let plain = !digits.is_empty()
        && digits.bytes().all(|b| b.is_ascii_digit())
        && (digits == "0" || !digits.starts_with('0'));
    if plain { digits.parse().ok() } else { None }
}
