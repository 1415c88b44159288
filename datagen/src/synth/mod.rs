//! Synthesis of questions and gold queries from a graph.
//!
//! ```text
//! profile ──▶ sample ──▶ plan ──▶ query (algebra) ──▶ verify
//! relations,  a shape    a tree ╲
//! classes     around an          ╲──▶ verbalize ──▶ wording ──▶ linked as at inference
//!             edge
//! ```
//! Every question is verified like those of a dataset, and kept only if linking finds in its
//! wording everything that its program needs. Equal inputs and seeds give equal questions on any
//! number of threads.

mod candidate;
mod coverage;
mod lexicon;
mod options;
mod plan;
mod profile;
mod sample;
mod steering;
mod tail;
mod verbalize;
mod wording;
mod words;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use common::hash;
use kg::Kg;
use rayon::prelude::*;

pub use coverage::{Coverage, Uncovered};
pub use options::SynthOptions;

use crate::question::GoldQuestion;
use crate::{Error, thread_pool};
use candidate::{Slot, SlotResult, candidate};
use lexicon::Lexicon;
use profile::GraphProfile;
use steering::Steering;

/// The source of synthesised questions.
pub(crate) const SOURCE: &str = "synth";

/// Consecutive rounds with almost no new question after which synthesis ends.
const IDLE: usize = 6;

/// Questions about a graph and their coverage.
#[derive(Clone, Debug)]
pub struct Synthesis {
    /// The questions, each with its query as algebra.
    pub questions: Vec<GoldQuestion>,
    /// Their coverage of the graph.
    pub coverage: Coverage,
}

/// Additional outputs of synthesis, written with the data.
#[derive(Clone, Debug)]
pub struct SynthExtras {
    /// Coverage of the questions, for the report.
    pub coverage: Coverage,
    /// Questions held back from the data for evaluation.
    pub held_back: Vec<GoldQuestion>,
}

impl Synthesis {
    /// Splits the questions into those for training data and a share (0 to 1) for evaluation, by a
    /// hash of their queries: different wordings of a query are on the same side.
    #[must_use]
    pub fn split(self, share: f64, seed: u64) -> (Vec<GoldQuestion>, SynthExtras) {
        let held = |question: &GoldQuestion| {
            hash::falls_into(share, seed, "held-back", &question.query.text())
        };
        let (held_back, data) = self.questions.into_iter().partition(held);
        (
            data,
            SynthExtras {
                coverage: self.coverage,
                held_back,
            },
        )
    }
}

/// Makes questions about a graph. `progress` is called with the number of questions made and the
/// number wanted; setting `stop` ends the run.
///
/// # Errors
/// [`Error::Stopped`] and [`Error::Threads`]; [`Error::Unaskable`] if no question is possible.
/// Fewer questions than wanted are not an error; the coverage states their number.
pub fn synthesise(
    kg: &dyn Kg,
    options: &SynthOptions,
    progress: &(dyn Fn(usize, usize) + Sync),
    stop: &AtomicBool,
) -> Result<Synthesis, Error> {
    let begun = Instant::now();
    let pool = thread_pool(options.threads)?;
    let lexicon = Lexicon::new();
    let profile = GraphProfile::new(kg, &lexicon);
    let mut steering = Steering::new(&profile, options);
    let mut idle = 0;
    for round in 0.. {
        if steering.kept.len() >= options.count || idle >= IDLE {
            break;
        }
        let slots = steering.slots(round);
        if slots.is_empty() {
            break;
        }
        let work = |slot: &Slot| {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            Some(candidate(&profile, options, slot))
        };
        let results: Vec<Option<SlotResult>> =
            pool.install(|| slots.par_iter().map(work).collect());
        let before = steering.kept.len();
        for (slot, result) in slots.iter().zip(results) {
            let Some(result) = result else {
                return Err(Error::Stopped {
                    done: steering.kept.len(),
                    total: options.count,
                });
            };
            steering.take(slot, result);
        }
        progress(steering.kept.len(), options.count);
        // The last rounds are small and add few questions each.
        idle = if steering.kept.len() - before < (slots.len() / 200).max(1) {
            idle + 1
        } else {
            0
        };
    }
    if steering.kept.is_empty() {
        return Err(Error::Unaskable);
    }
    let coverage = steering.coverage(begun.elapsed().as_secs_f64());
    Ok(Synthesis {
        questions: steering
            .kept
            .into_iter()
            .map(|candidate| candidate.question)
            .collect(),
        coverage,
    })
}
