//! The input and output of selection: a verified question and its fate.

use crate::fingerprint::Fingerprint;
use crate::question::GoldQuestion;

/// A verified question.
pub(crate) struct Item<'a> {
    pub(crate) question: &'a GoldQuestion,
    pub(crate) fingerprint: &'a Fingerprint,
    /// Calls in its examples.
    pub(crate) steps: usize,
}

/// A part of the written dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DatasetPart {
    /// `train.jsonl`
    Train,
    /// `valid.jsonl`
    Valid,
}

/// The fate of a verified question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Dropped as a duplicate of an earlier question.
    Duplicate,
    /// Left out by the mixture.
    NotDrawn,
    /// Written to a part of the dataset.
    Written(DatasetPart),
}
