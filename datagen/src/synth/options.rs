//! Options of question synthesis.

use crate::verify::VerifyOptions;

/// Options of question synthesis.
#[derive(Clone)]
pub struct SynthOptions {
    /// Number of questions wanted.
    pub count: usize,
    /// Seed of every random choice.
    pub seed: u64,
    /// Worker threads; 0 means one per core.
    pub threads: usize,
    /// How questions are verified.
    pub verify: VerifyOptions,
    /// Share of the wordings with a misspelt word.
    pub typos: f64,
}

impl Default for SynthOptions {
    fn default() -> Self {
        Self {
            count: 10_000,
            seed: 1,
            threads: 0,
            verify: VerifyOptions::default(),
            typos: 0.02,
        }
    }
}
