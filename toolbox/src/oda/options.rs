//! Options of ODA.

use serde::{Deserialize, Serialize};

use crate::observe::ObserveOptions;

/// How a reflection chooses among the triples of an action (ODA table 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reflection {
    /// The model chooses.
    #[default]
    Model,
    /// The groups most similar to the question.
    Similarity,
    /// A random choice that depends on the seed.
    Random,
    /// No choice: the model writes facts that it knows.
    GeneratedFact,
}

/// Options of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OdaOptions {
    /// Whether observations are made.
    pub observation: bool,
    /// Range and size of observations.
    pub observe: ObserveOptions,
    /// Token budget of a shown observation, by estimate ([`crate::tokens`]).
    pub observation_tokens: usize,
    /// Token budget of the triples that an action finds, by estimate, best first
    /// ([`crate::published::oda`] only).
    pub triple_tokens: usize,
    /// How reflections are made.
    pub reflection: Reflection,
    /// Number of actions before an answer is forced.
    pub iterations: usize,
    /// Maximum number of groups kept per action, K in the paper.
    pub kept: usize,
    /// Seed of random reflections.
    pub seed: u64,
}

impl Default for OdaOptions {
    fn default() -> Self {
        Self {
            observation: true,
            observe: ObserveOptions::default(),
            observation_tokens: crate::observe::shown::TOKENS,
            triple_tokens: 4_000,
            reflection: Reflection::Model,
            iterations: 8,
            kept: 15,
            seed: 0,
        }
    }
}

impl OdaOptions {
    /// The published values (rules B.1 and B.4): heads to tails only, and room for whole
    /// observations in a prompt.
    #[must_use]
    pub fn published() -> Self {
        Self {
            observe: ObserveOptions {
                both_directions: false,
                ..ObserveOptions::default()
            },
            observation_tokens: 4_000,
            ..Self::default()
        }
    }
}
