//! Bootstrap confidence intervals with a fixed seed.

use common::rng::Rng;
use serde::{Deserialize, Serialize};

use super::score::{SCORES, Scores};

const RESAMPLES: usize = 1000;
/// Share of the resampled means outside the interval on each side; the interval covers 95 %.
const TAIL: f64 = 0.025;

/// Lower and upper bound.
pub type ConfidenceInterval = [f64; 2];

/// The 95 % percentile interval of each score's mean over questions sampled with replacement.
#[must_use]
pub fn intervals(questions: &[Scores], seed: u64) -> IntervalsOf {
    let values: Vec<[f64; SCORES.len()]> = questions.iter().map(Scores::values).collect();
    let means = resampled(&values, seed);
    let mut intervals = [[0.0; 2]; SCORES.len()];
    for (score, interval) in intervals.iter_mut().enumerate() {
        *interval = percentile(means.iter().map(|mean| mean[score]).collect());
    }
    IntervalsOf(intervals)
}

/// The 95 % interval of the difference of one score's means, `a - b`, over the same questions.
/// Resampling them in pairs keeps questions that are hard for both systems from blurring the
/// difference.
#[must_use]
pub fn difference(a: &[f64], b: &[f64], seed: u64) -> ConfidenceInterval {
    let values: Vec<[f64; 1]> = a.iter().zip(b).map(|(a, b)| [a - b]).collect();
    percentile(
        resampled(&values, seed)
            .into_iter()
            .map(|[mean]| mean)
            .collect(),
    )
}

fn resampled<const N: usize>(values: &[[f64; N]], seed: u64) -> Vec<[f64; N]> {
    if values.is_empty() {
        return Vec::new();
    }
    let mut rng = Rng::new(seed);
    let one = |_| {
        let mut sum = [0.0; N];
        for _ in 0..values.len() {
            let sampled = &values[rng.below(values.len())];
            for (total, value) in sum.iter_mut().zip(sampled) {
                *total += value;
            }
        }
        sum.map(|total| total / values.len() as f64)
    };
    (0..RESAMPLES).map(one).collect()
}

fn percentile(mut means: Vec<f64>) -> ConfidenceInterval {
    means.sort_by(f64::total_cmp);
    let Some(last) = means.len().checked_sub(1) else {
        return [0.0; 2];
    };
    let at = |share: f64| means[(share * last as f64).round() as usize];
    [at(TAIL), at(1.0 - TAIL)]
}

/// An interval for every score; a map by score name in JSON.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalsOf([ConfidenceInterval; SCORES.len()]);

impl IntervalsOf {
    /// The interval of a score.
    #[must_use]
    pub fn get(&self, score: &str) -> Option<ConfidenceInterval> {
        SCORES
            .iter()
            .position(|name| *name == score)
            .map(|index| self.0[index])
    }
}

impl Serialize for IntervalsOf {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(SCORES.iter().zip(&self.0))
    }
}

impl<'de> Deserialize<'de> for IntervalsOf {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map =
            std::collections::BTreeMap::<String, ConfidenceInterval>::deserialize(deserializer)?;
        Ok(Self(
            SCORES.map(|name| map.get(name).copied().unwrap_or_default()),
        ))
    }
}
