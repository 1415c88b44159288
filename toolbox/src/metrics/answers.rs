//! Answers in the form in which they are compared.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// A set of answers in the form used for comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answers {
    /// Comparable terms, or folded labels if there are only labels.
    pub ids: BTreeSet<String>,
    /// The readable labels, one per answer, in order.
    pub labels: Vec<String>,
    /// For gold answers: other labels, each with the label that it is an alias of.
    #[serde(default)]
    pub aliases: BTreeMap<String, String>,
    /// The values of every row, in order and with repetitions.
    #[serde(default)]
    pub rows: Vec<Vec<String>>,
    /// For gold answers whose order was asked for: the rank of every row. Rows with equal keys have
    /// the same rank.
    #[serde(default)]
    pub ranks: Vec<usize>,
    /// The truth value, if the answer is one.
    #[serde(default)]
    pub truth: Option<bool>,
}

impl Answers {
    /// Answers that are compared by their labels.
    #[must_use]
    pub fn of_labels(labels: Vec<String>) -> Self {
        Self {
            ids: labels.iter().cloned().collect(),
            rows: labels.iter().map(|label| vec![label.clone()]).collect(),
            labels,
            ..Self::default()
        }
    }

    /// A truth value.
    #[must_use]
    pub fn of_truth(truth: bool) -> Self {
        Self {
            truth: Some(truth),
            ..Self::of_labels(vec![truth.to_string()])
        }
    }
}
