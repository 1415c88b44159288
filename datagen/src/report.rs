//! What a run read, kept and refused: `report.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Refusal;
use crate::pipeline::{Outcome, Record};
use crate::question::GoldQuestion;
use crate::select::{Fate, Selection};

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
    /// Examples written, by agent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_agent: BTreeMap<String, usize>,
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
    /// Questions verified and dropped as duplicates of earlier ones.
    #[serde(default)]
    pub duplicates: usize,
    /// Questions verified that the mixture left out.
    #[serde(default)]
    pub not_drawn: usize,
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
    /// What was chosen among verified questions, and how it was split.
    #[serde(default)]
    pub selection: Selection,
    /// How long the examples are, by [`toolbox::tokens::estimate`].
    #[serde(default)]
    pub tokens: Lengths,
    /// Questions that an interrupted run had already done.
    #[serde(skip)]
    pub resumed: usize,
    /// What questions made from the graph itself cover of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<crate::synth::Coverage>,
}

/// How long examples are, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lengths {
    /// All together.
    pub total: usize,
    /// Half of them are at most this long.
    pub median: usize,
    /// 95 of 100 are at most this long.
    pub p95: usize,
    /// The longest.
    pub max: usize,
}

impl Lengths {
    pub(crate) fn of(mut lengths: Vec<usize>) -> Self {
        lengths.sort_unstable();
        // The smallest length that at least this share of the examples does not exceed.
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

    /// Counts a question that was worked on.
    pub(crate) fn count(&mut self, question: &GoldQuestion, record: &Record, fate: Option<Fate>) {
        self.add(&question.source, |counts| {
            counts.questions += 1;
            counts.converted += usize::from(record.converted);
            counts.seconds += record.seconds;
            let kept = matches!(record.outcome, Outcome::Kept(..));
            if let Some(hops) = question.hops {
                let by = counts.by_hops.entry(hops).or_default();
                by.questions += 1;
                by.verified += usize::from(kept);
            }
            match &record.outcome {
                Outcome::Kept(_, sizes) => {
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
                Outcome::Refused(refused) => {
                    *counts.refused.entry(refused.reason.name()).or_default() += 1
                }
            }
        });
    }
}
