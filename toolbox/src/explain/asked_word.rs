//! The words of a question that relations and classes explain.

use super::adjective::Adjective;

/// A content word of a question.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AskedWord {
    /// Its stem, or a mark.
    pub(super) stem: String,
    /// The word as written, in lower case.
    pub(super) word: String,
    /// The byte offset in the question at which it stands.
    pub(super) at: usize,
    /// The value of the question that it belongs to.
    pub(super) value: Option<usize>,
    /// It has a capital, as names have.
    pub(super) named: bool,
    /// Its meaning as an adjective of degree.
    pub(super) adjective: Option<&'static Adjective>,
}

impl AskedWord {
    /// Whether it is the mark of a question word.
    pub(super) fn is_mark(&self) -> bool {
        self.stem.starts_with('#')
    }

    /// Whether it stands directly before another word.
    pub(super) fn is_before(&self, next: &Self) -> bool {
        next.at == self.at + self.word.len() + 1
    }
}
