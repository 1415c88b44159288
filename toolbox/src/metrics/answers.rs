//! Answers in the form in which they are compared.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::reading::{Reading, ids_of};

/// A set of answers in the form used for comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answers {
    /// Exact terms, or folded labels if there are only labels.
    pub ids: BTreeSet<String>,
    /// The readable labels, one per answer, in order.
    pub labels: Vec<String>,
    /// For gold answers: other labels, each with the label that it is an alias of.
    #[serde(default)]
    pub aliases: BTreeMap<String, String>,
    /// The same answers as values, one row each, in order and with repetitions.
    #[serde(default)]
    pub readings: Vec<Vec<Reading>>,
    /// The texts of every row, in order and with repetitions.
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
        let readings = labels.iter().map(|label| vec![Reading::of_text(label)]);
        Self {
            rows: labels.iter().map(|label| vec![label.clone()]).collect(),
            ..Self::of_readings(readings.collect(), labels)
        }
    }

    /// Answers of values, one row each.
    #[must_use]
    pub fn of_readings(readings: Vec<Vec<Reading>>, labels: Vec<String>) -> Self {
        let ids = |row: &Vec<Reading>| row.iter().map(|cell| cell.id.clone()).collect();
        let rows: Vec<Vec<String>> = readings.iter().map(ids).collect();
        Self {
            ids: ids_of(&rows),
            labels,
            readings,
            ..Self::default()
        }
    }

    /// A number.
    #[must_use]
    pub fn of_number(number: u64) -> Self {
        Self {
            readings: vec![vec![Reading::of_number(number)]],
            ..Self::of_labels(vec![number.to_string()])
        }
    }

    /// A truth value.
    #[must_use]
    pub fn of_truth(truth: bool) -> Self {
        Self {
            truth: Some(truth),
            readings: vec![vec![Reading::of_truth(truth)]],
            ..Self::of_labels(vec![truth.to_string()])
        }
    }
}
