//! Spans of words with their candidates, and the choice of spans that do not overlap.

use kg::search::LabelMatch;

use super::words::Word;

/// Number of words of the longest mention.
pub(super) const LONGEST: usize = 14;
/// Number of nodes with one name that are compared with the question, by degree.
pub(super) const CHOICES: usize = 12;

/// A span of words with its candidates.
pub(super) struct Span {
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) weight: f32,
    pub(super) found: Vec<LabelMatch>,
}

impl Span {
    /// The byte range in the question.
    pub(super) fn range(&self, words: &[Word]) -> (usize, usize) {
        (words[self.first].start, words[self.last].end)
    }

    /// Whether the span contains a word.
    pub(super) fn covers(&self, word: usize) -> bool {
        (self.first..=self.last).contains(&word)
    }
}

/// Adds candidates to the span of these words, which is made if it is absent.
pub(super) fn add(
    spans: &mut Vec<Span>,
    first: usize,
    last: usize,
    weight: f32,
    found: LabelMatch,
) {
    let known = spans
        .iter_mut()
        .find(|span| (span.first, span.last) == (first, last));
    match known {
        Some(span) => {
            span.weight = span.weight.max(weight);
            match span.found.iter_mut().find(|other| other.node == found.node) {
                Some(other) if other.score >= found.score => {}
                Some(other) => *other = found,
                None => span.found.push(found),
            }
        }
        None => spans.push(Span {
            first,
            last,
            weight,
            found: vec![found],
        }),
    }
}

/// The best spans that do not overlap, by decreasing weight.
pub(super) fn best_first(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by(|a, b| {
        b.weight
            .total_cmp(&a.weight)
            .then(a.first.cmp(&b.first))
            .then(b.last.cmp(&a.last))
    });
    let mut kept: Vec<Span> = Vec::new();
    for span in spans {
        if kept
            .iter()
            .all(|other| span.last < other.first || span.first > other.last)
        {
            kept.push(span);
        }
    }
    kept
}
