//! Recall of a ranker: the rank of the gold relation in its candidate list.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use kg::Kg;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::choice::{Choice, ProgramChoices, choices};
use crate::question::GoldQuestion;
use crate::verify::{self, Refused, VerifyOptions};
use crate::{Error, Refusal, limits, thread_pool};

/// List lengths at which recall is reported.
pub const CUTS: [usize; 5] = [1, 5, 10, 20, 40];

/// Sums over choices; [`Recall::at`], [`Recall::mrr`] and [`Recall::mean_length`] give the means.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recall {
    /// Choices: calls that follow a relation.
    pub choices: usize,
    /// Choices whose gold relation is within each of [`CUTS`].
    pub within: [usize; CUTS.len()],
    /// Sum of 1 / rank.
    pub reciprocal: f64,
    /// Sum of list lengths, both directions together.
    pub listed: usize,
    /// The longest list.
    pub longest: usize,
}

impl Recall {
    /// Adds one choice.
    pub fn add(&mut self, rank: usize, listed: usize) {
        self.choices += 1;
        for (within, cut) in self.within.iter_mut().zip(CUTS) {
            *within += usize::from(rank <= cut);
        }
        self.reciprocal += 1.0 / rank as f64;
        self.listed += listed;
        self.longest = self.longest.max(listed);
    }

    fn share(&self, sum: f64) -> f64 {
        if self.choices == 0 {
            0.0
        } else {
            sum / self.choices as f64
        }
    }

    /// Recall at each of [`CUTS`].
    #[must_use]
    pub fn at(&self) -> [f64; CUTS.len()] {
        self.within.map(|within| self.share(within as f64))
    }

    /// Mean reciprocal rank.
    #[must_use]
    pub fn mrr(&self) -> f64 {
        self.share(self.reciprocal)
    }

    /// Mean number of relations listed.
    #[must_use]
    pub fn mean_length(&self) -> f64 {
        self.share(self.listed as f64)
    }
}

/// Recall of one source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SourceRecall {
    /// All choices.
    pub all: Recall,
    /// Those from heads to tails.
    pub out: Recall,
    /// Those from tails to heads.
    #[serde(rename = "in")]
    pub incoming: Recall,
    /// Questions measured.
    pub questions: usize,
    /// Questions left out: refused, or with a program that does not choose from lists.
    pub left_out: usize,
    /// Seconds of ranking, summed over threads.
    pub ranking_seconds: f64,
}

/// Recall by source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecallReport {
    /// The ranker.
    pub ranker: String,
    /// By the format of the source.
    pub sources: BTreeMap<String, SourceRecall>,
}

/// Measures the choices of all questions that verify and passes them to `sink` in order of the
/// questions. `progress` is called with the number of questions done; setting `stop` ends the run.
///
/// # Errors
/// [`Error::Stopped`], [`Error::Threads`], and the errors of `sink`.
pub fn recall(
    questions: &[GoldQuestion],
    kg: &dyn Kg,
    options: &VerifyOptions,
    threads: usize,
    progress: &(dyn Fn(usize) + Sync),
    stop: &AtomicBool,
    sink: &mut dyn FnMut(&Choice) -> Result<(), Error>,
) -> Result<RecallReport, Error> {
    let pool = thread_pool(threads)?;
    let mut report = RecallReport {
        ranker: options.ranker.name(),
        ..RecallReport::default()
    };
    let done = AtomicUsize::new(0);
    for block in questions.chunks(limits::BLOCK) {
        let work = |question: &GoldQuestion| {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            let found = verify::verify(kg, question, options)
                .and_then(|verified| choices(kg, question, &verified, options));
            progress(done.fetch_add(1, Ordering::Relaxed) + 1);
            Some(found)
        };
        let results: Vec<Option<Result<ProgramChoices, Refused>>> =
            pool.install(|| block.par_iter().map(work).collect());
        for (question, result) in block.iter().zip(results) {
            let Some(found) = result else {
                return Err(Error::Stopped {
                    done: done.load(Ordering::Relaxed),
                    total: questions.len(),
                });
            };
            let source = report.sources.entry(question.source.clone()).or_default();
            let found = match found {
                Ok(found) => found,
                Err(refused) if refused.reason == Refusal::RankerFailed => {
                    return Err(Error::Ranker(refused.detail));
                }
                Err(_) => {
                    source.left_out += 1;
                    continue;
                }
            };
            source.questions += 1;
            source.ranking_seconds += found.took.as_secs_f64();
            for choice in &found.choices {
                source.all.add(choice.rank, choice.candidates.len());
                let direction = if choice.out {
                    &mut source.out
                } else {
                    &mut source.incoming
                };
                direction.add(choice.rank, choice.candidates.len());
                sink(choice)?;
            }
        }
    }
    Ok(report)
}
