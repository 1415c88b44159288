//! What a run read, kept and refused: `report.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Refusal;

/// Counts of a run or of one source of it. `verified` and the refused make up `questions`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Questions read.
    pub questions: usize,
    /// Questions whose query became a program.
    pub converted: usize,
    /// Questions kept: program and gold query agree on the graph.
    pub verified: usize,
    /// Questions refused, by reason.
    pub refused: BTreeMap<String, usize>,
    /// Examples written.
    pub examples: usize,
    /// Calls in them: what a model is trained on.
    pub steps: usize,
    /// Seconds: of the run in the totals, of work (summed over threads) in a source.
    pub seconds: f64,
    /// Questions not read because they share an entity with a held-out question.
    #[serde(default)]
    pub held_out: usize,
    /// Examples of giving up among the examples.
    #[serde(default)]
    pub abstain: usize,
    /// Literals of programs that the question does not spell out.
    #[serde(default)]
    pub values_added: usize,
    /// Questions kept although the gold query names one of several extremes.
    #[serde(default)]
    pub ties: usize,
    /// Questions kept and read, by hops where the source says how many.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_hops: BTreeMap<u32, Kept>,
}

/// How many of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Questions read.
    pub questions: usize,
    /// Questions kept.
    pub verified: usize,
}

/// Counts in total and by source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Everything.
    #[serde(flatten)]
    pub total: Counts,
    /// By the format of the source.
    pub sources: BTreeMap<String, Counts>,
}

/// A refused question: a line of `refused.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedQuestion {
    /// The question's id.
    pub id: String,
    /// The source's format.
    pub source: String,
    /// The reason.
    pub reason: Refusal,
    /// What exactly.
    pub detail: String,
    /// The gold query.
    pub sparql: String,
}

impl Report {
    /// Applies a change to the totals and to a source.
    pub(crate) fn add(&mut self, source: &str, change: impl Fn(&mut Counts)) {
        change(&mut self.total);
        if !self.sources.contains_key(source) {
            self.sources.insert(source.to_owned(), Counts::default());
        }
        if let Some(counts) = self.sources.get_mut(source) {
            change(counts);
        }
    }
}
