//! `report.json`: the questions that a run read, kept and refused.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::question::GoldQuestion;
use crate::record::{QuestionOutcome, Record};
use crate::select::{Fate, Selection};

/// Counts of a run or of one of its sources. `verified` plus `refused` equals `questions`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Questions read.
    pub questions: usize,
    /// Questions whose query converted to a program.
    pub converted: usize,
    /// Questions kept: program and gold query agree on the graph.
    pub verified: usize,
    /// Questions refused, by reason.
    pub refused: BTreeMap<String, usize>,
    /// Examples written.
    pub examples: usize,
    /// Examples written, by agent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_agent: BTreeMap<String, usize>,
    /// Calls in the examples, which are the trained turns.
    pub steps: usize,
    /// Elapsed seconds in the totals; work summed over threads in a source.
    pub seconds: f64,
    /// Questions not read because they share an entity with a held-out question.
    #[serde(default)]
    pub held_out: usize,
    /// Abstention examples among the examples.
    #[serde(default)]
    pub abstain: usize,
    /// Literals of programs that do not occur in their question.
    #[serde(default)]
    pub values_added: usize,
    /// Questions kept although the gold query returns one of several tied extremes.
    #[serde(default)]
    pub ties: usize,
    /// Verified questions dropped as duplicates of earlier ones.
    #[serde(default)]
    pub duplicates: usize,
    /// Verified questions that the mixture left out.
    #[serde(default)]
    pub not_drawn: usize,
    /// Questions read and kept, by hops if the source states them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_hops: BTreeMap<u32, HopCounts>,
}

/// Questions of one number of hops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HopCounts {
    /// Questions read.
    pub questions: usize,
    /// Questions kept.
    pub verified: usize,
}

/// Counts in total and by source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Totals of the run.
    #[serde(flatten)]
    pub total: Counts,
    /// By the format of the source.
    pub sources: BTreeMap<String, Counts>,
    /// How verified questions were selected and split.
    #[serde(default)]
    pub selection: Selection,
    /// Lengths of the examples, by [`toolbox::tokens::estimate`].
    #[serde(default)]
    pub tokens: Lengths,
    /// Questions taken over from an interrupted run.
    #[serde(skip)]
    pub resumed: usize,
    /// Coverage of the graph by synthesised questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<crate::synth::Coverage>,
    /// What became of the rewordings of a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reworded: Option<crate::reword::RewordCounts>,
}

/// Lengths of the examples in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lengths {
    /// Sum.
    pub total: usize,
    /// Median.
    pub median: usize,
    /// 95th percentile.
    pub p95: usize,
    /// Maximum.
    pub max: usize,
}

impl Lengths {
    pub(crate) fn of(mut lengths: Vec<usize>) -> Self {
        lengths.sort_unstable();
        // The smallest length that at least `percent` of the examples do not exceed.
        let at = |percent: usize| {
            lengths
                .get((lengths.len() * percent).div_ceil(100).saturating_sub(1))
                .copied()
                .unwrap_or(0)
        };
        Self {
            total: lengths.iter().sum(),
            median: at(50),
            p95: at(95),
            max: at(100),
        }
    }
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

    /// Counts a processed question.
    pub(crate) fn count(&mut self, question: &GoldQuestion, record: &Record, fate: Option<Fate>) {
        self.add(&question.source, |counts| {
            counts.questions += 1;
            counts.converted += usize::from(record.converted);
            counts.seconds += record.seconds;
            let kept = matches!(record.outcome, QuestionOutcome::Kept(..));
            if let Some(hops) = question.hops {
                let by = counts.by_hops.entry(hops).or_default();
                by.questions += 1;
                by.verified += usize::from(kept);
            }
            match &record.outcome {
                QuestionOutcome::Kept(_, sizes) => {
                    counts.verified += 1;
                    counts.values_added += record.values_added;
                    counts.ties += usize::from(record.ties);
                    match fate {
                        Some(Fate::Written(_)) => {
                            counts.examples += sizes.len();
                            for size in sizes {
                                *counts
                                    .by_agent
                                    .entry(size.agent.name().to_owned())
                                    .or_default() += 1;
                            }
                            counts.steps += sizes.iter().map(|size| size.steps).sum::<usize>();
                            counts.abstain += sizes.iter().filter(|size| size.abstain).count();
                        }
                        Some(Fate::Duplicate) => counts.duplicates += 1,
                        Some(Fate::NotDrawn) | None => counts.not_drawn += 1,
                    }
                }
                QuestionOutcome::Refused(refused) => {
                    *counts.refused.entry(refused.reason.name()).or_default() += 1;
                }
            }
        });
    }
}
