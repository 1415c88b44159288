//! Scores averaged over questions, in total and by group.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bootstrap::{IntervalsOf, intervals};
use super::score::Scores;

/// Seed of the confidence intervals.
const SEED: u64 = 1;

/// The data of one evaluated question that the averages need.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Scored {
    /// Its scores.
    pub scores: Scores,
    /// Whether the question was answered.
    pub answered: bool,
    /// Whether the answer comes from the model's own knowledge.
    pub from_model: bool,
    /// Number of calls.
    pub calls: usize,
    /// Calls that did not parse or failed.
    pub invalid_calls: usize,
    /// Number of model requests.
    pub asked: usize,
    /// Tokens read and written by the model.
    pub tokens: usize,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Seconds per phase, for agents with phases.
    pub phases: Vec<(String, f64)>,
    /// Why there is no answer, for agents that report it.
    pub failure: Option<String>,
    /// Gold items kept by each stage of linking: stage, kept, total.
    pub kept: Vec<(String, usize, usize)>,
    /// Whether the calls equal those of the gold program; `None` without a gold program.
    pub program: Option<bool>,
    /// The groups of the question: dimension (`hops`, `type`, `level`) and value.
    pub groups: Vec<(String, String)>,
}

/// The contents of `metrics.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Number of questions.
    pub n: usize,
    /// Mean scores.
    #[serde(flatten)]
    pub scores: Scores,
    /// 95 % bootstrap intervals of the mean scores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<IntervalsOf>,
    /// Mean scores if answers from the model's own knowledge count as missing; only present if
    /// there are such answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kg_only: Option<Scores>,
    /// The same metrics by group: dimension, value, metrics.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by: BTreeMap<String, BTreeMap<String, Metrics>>,
    /// Share of questions whose calls equal those of the gold program, among those that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<f64>,
    /// Questions with an answer.
    pub answered: usize,
    /// Questions without an answer.
    pub abstained: usize,
    /// Number of calls.
    pub calls: usize,
    /// Calls that did not parse or failed.
    pub invalid_calls: usize,
    /// Number of model requests.
    #[serde(default)]
    pub asked: usize,
    /// Tokens read and written by the model.
    pub tokens: usize,
    /// Wall-clock seconds, summed over questions.
    pub seconds: f64,
    /// Seconds by phase, summed over questions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub phases: BTreeMap<String, f64>,
    /// Questions without an answer, by cause.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failures: BTreeMap<String, usize>,
    /// Share of gold entities and relations that each stage of linking kept.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub linking_recall: BTreeMap<String, f64>,
}

impl Metrics {
    /// Averages over questions, in total and by group.
    #[must_use]
    pub fn of(questions: &[Scored]) -> Self {
        let mut metrics = Self::flat(&questions.iter().collect::<Vec<_>>());
        let mut groups: BTreeMap<&str, BTreeMap<&str, Vec<&Scored>>> = BTreeMap::new();
        for question in questions {
            for (dimension, value) in &question.groups {
                groups
                    .entry(dimension)
                    .or_default()
                    .entry(value)
                    .or_default()
                    .push(question);
            }
        }
        for (dimension, values) in groups {
            let by = metrics.by.entry(dimension.to_owned()).or_default();
            for (value, members) in values {
                by.insert(value.to_owned(), Self::flat(&members));
            }
        }
        metrics
    }

    fn flat(questions: &[&Scored]) -> Self {
        let mut metrics = Self {
            n: questions.len(),
            ..Self::default()
        };
        let (mut programs, mut same) = (0_usize, 0_usize);
        let mut stages: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for question in questions {
            programs += usize::from(question.program.is_some());
            same += usize::from(question.program == Some(true));
            metrics.answered += usize::from(question.answered);
            metrics.calls += question.calls;
            metrics.invalid_calls += question.invalid_calls;
            metrics.asked += question.asked;
            metrics.tokens += question.tokens;
            metrics.seconds += question.seconds;
            for (phase, seconds) in &question.phases {
                *metrics.phases.entry(phase.clone()).or_default() += seconds;
            }
            if let Some(cause) = &question.failure {
                *metrics.failures.entry(cause.clone()).or_default() += 1;
            }
            for (stage, kept, all) in &question.kept {
                let sum = stages.entry(stage).or_default();
                (sum.0, sum.1) = (sum.0 + kept, sum.1 + all);
            }
        }
        metrics.linking_recall = stages
            .into_iter()
            .filter(|(_, (_, all))| *all > 0)
            .map(|(stage, (kept, all))| (stage.to_owned(), kept as f64 / all as f64))
            .collect();
        metrics.program = (programs > 0).then(|| same as f64 / programs as f64);
        metrics.abstained = metrics.n - metrics.answered;
        let scores: Vec<Scores> = questions.iter().map(|question| question.scores).collect();
        metrics.scores = mean(&scores);
        metrics.interval = (!scores.is_empty()).then(|| intervals(&scores, SEED));
        if questions.iter().any(|question| question.from_model) {
            let without = |question: &&Scored| {
                if question.from_model {
                    Scores::default()
                } else {
                    question.scores
                }
            };
            metrics.kg_only = Some(mean(&questions.iter().map(without).collect::<Vec<_>>()));
        }
        metrics
    }
}

fn mean(questions: &[Scores]) -> Scores {
    let mut sum = Scores::default().values();
    for question in questions {
        for (total, one) in sum.iter_mut().zip(question.values()) {
            *total += one;
        }
    }
    Scores::from_values(sum.map(|total| total / questions.len().max(1) as f64))
}
