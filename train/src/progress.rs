//! What a run tells whoever watches it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One optimizer step: a line of `metrics.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    /// Steps done, from 1.
    pub step: usize,
    /// Steps in all.
    pub total: usize,
    /// Epoch, from 1.
    pub epoch: usize,
    /// Mean cross-entropy of the step's trained tokens.
    pub loss: f64,
    /// Learning rate.
    pub rate: f64,
    /// Global gradient norm before clipping.
    pub norm: f64,
    /// Tokens read in this step.
    pub tokens: usize,
    /// Tokens trained on in this step.
    pub trained: usize,
    /// Tokens read a second, over the last steps.
    pub tokens_per_second: f64,
    /// Seconds since the run began, earlier parts of a resumed run included.
    pub seconds: f64,
    /// Seconds left at the present speed.
    pub seconds_left: f64,
}

/// How well held-out examples are predicted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// Steps done.
    pub step: usize,
    /// Mean cross-entropy of trained tokens.
    pub loss: f64,
    /// Share of trained tokens predicted first.
    pub accuracy: f64,
    /// Trained tokens.
    pub tokens: usize,
}

/// What happens during a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Something the user should know.
    Note(String),
    /// The data is ready.
    Data {
        /// Examples trained on.
        examples: usize,
        /// Held-out examples.
        valid: usize,
        /// Tokens of one epoch.
        tokens: usize,
        /// Of these, trained on.
        trained: usize,
        /// Examples left out because they are too long.
        too_long: usize,
        /// Examples left out because nothing in them is trained.
        untrained: usize,
        /// Parameters of the model.
        parameters: usize,
        /// Steps of the whole run.
        steps: usize,
    },
    /// A step was done.
    Step(StepReport),
    /// Held-out examples were scored.
    Validation(Validation),
    /// A checkpoint was written.
    Saved(PathBuf),
}

/// Whoever watches.
pub trait Progress {
    /// Called for every event, on the training thread.
    fn event(&mut self, event: &Event);
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn event(&mut self, _: &Event) {}
}
