//! Tokens of one conversation on their way through the layers, and their rotary angles.

use crate::cache::KvCache;

/// Tokens of one conversation within a block; a block can hold segments of several conversations.
pub(crate) struct TokenSegment<'a> {
    pub(crate) ids: &'a [u32],
    pub(crate) cache: &'a mut KvCache,
    /// Receives the logits after the last token, or with `every` those after each token, appended.
    pub(crate) logits: Option<&'a mut Vec<f32>>,
    pub(crate) every: bool,
}

impl TokenSegment<'_> {
    /// Leading rows whose logits are not read.
    pub(crate) fn unread_rows(&self) -> usize {
        match self.logits {
            Some(_) if self.every => 0,
            Some(_) => self.ids.len() - 1,
            None => self.ids.len(),
        }
    }
}

/// Appends the cosine and sine of every position and frequency. The angle is an f32 product, as in
/// transformers.
pub(crate) fn angles(
    frequencies: &[f32],
    amplitude: f32,
    first: usize,
    rows: usize,
    out: &mut Vec<(f32, f32)>,
) {
    for position in first..first + rows {
        out.extend(frequencies.iter().map(|&f| {
            let (sin, cos) = (position as f32 * f).sin_cos();
            (cos * amplitude, sin * amplitude)
        }));
    }
}
