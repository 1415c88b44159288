//! Why a question is not used.

use toolbox::exec::ToolError;
use toolbox::rank::RankError;

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

impl Refused {
    /// A program that cannot be rendered as examples.
    pub(crate) fn rendering(detail: impl Into<String>) -> Self {
        Self {
            reason: Refusal::ProgramFailed,
            detail: detail.into(),
            converted: true,
        }
    }

    /// A call or turn that fails.
    pub(crate) fn failed(written: impl std::fmt::Display, error: ToolError) -> Self {
        match error.recoverable() {
            Ok(error) => Self::rendering(format!("`{written}`: {error}")),
            Err(error) => error.into(),
        }
    }
}

impl From<RankError> for Refused {
    fn from(error: RankError) -> Self {
        Self {
            reason: Refusal::RankerFailed,
            ..Self::rendering(error.to_string())
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
