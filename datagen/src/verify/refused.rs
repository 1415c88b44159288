//! Why a question is not used.

use crate::{Refusal, limits};

/// Why a question is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The reason, from the closed list.
    pub reason: Refusal,
    /// The details.
    pub detail: String,
    /// Whether the query was converted into a program.
    pub converted: bool,
}

impl Refused {
    /// A refusal before conversion succeeded.
    pub(super) fn before(reason: Refusal, detail: impl Into<String>) -> Self {
        Self {
            reason,
            detail: shorten(&detail.into()),
            converted: false,
        }
    }

    /// A refusal after conversion.
    pub(super) fn after(reason: Refusal, detail: impl Into<String>) -> Self {
        Self {
            reason,
            detail: shorten(&detail.into()),
            converted: true,
        }
    }
}

/// Truncates a text for reports.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(limits::DETAIL_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
