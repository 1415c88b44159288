//! Reports of a run: steps, validations, events and the summary.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;

/// One optimizer step: a line of `metrics.jsonl`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Tokens in the loss of this step.
    pub trained: usize,
    /// Tokens read per second, averaged over the last steps.
    pub tokens_per_second: f64,
    /// Seconds since the start, including earlier parts of a resumed run.
    pub seconds: f64,
    /// Remaining seconds at the current speed.
    pub seconds_left: f64,
}

/// Score of the calls of one tool in the held-out examples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolScore {
    /// Calls.
    pub calls: usize,
    /// Calls of which every token, including the end of the turn, is the model's first choice.
    pub exact: usize,
}

impl ToolScore {
    /// Share of exact calls.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.exact as f64 / self.calls.max(1) as f64
    }
}

/// Score of the held-out examples, with teacher forcing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// Steps done.
    pub step: usize,
    /// Mean cross-entropy of trained tokens.
    pub loss: f64,
    /// Share of trained tokens that are the model's first choice.
    pub accuracy: f64,
    /// Trained tokens.
    pub tokens: usize,
    /// Scores of trained turns by the called tool.
    #[serde(default)]
    pub tools: BTreeMap<String, ToolScore>,
    /// The abstention threshold for inference: in all but one of fifty held-out turns the model
    /// gives every token at least a probability of one minus this threshold. `None` if there are
    /// too few turns.
    #[serde(rename = "doubt", default, skip_serializing_if = "Option::is_none")]
    pub abstention_threshold: Option<f64>,
}

impl Validation {
    /// Share of exact calls over all tools; `None` without calls.
    #[must_use]
    pub fn exact(&self) -> Option<f64> {
        let all = self
            .tools
            .values()
            .fold(ToolScore::default(), |a, b| ToolScore {
                calls: a.calls + b.calls,
                exact: a.exact + b.exact,
            });
        (all.calls > 0).then(|| all.share())
    }
}

/// The result of a finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Steps.
    pub steps: usize,
    /// Parameters of the model, including corrections.
    pub parameters: usize,
    /// Trained parameters.
    pub trained_parameters: usize,
    /// Training examples.
    pub examples: usize,
    /// Tokens read in total.
    pub tokens: usize,
    /// Mean loss of the last tenth of the steps.
    pub loss: f64,
    /// Score of the held-out examples, if there are any.
    pub validation: Option<Validation>,
    /// Seconds of training.
    pub seconds: f64,
    /// Tokens per second over the whole run.
    pub tokens_per_second: f64,
}

/// An event of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum TrainEvent {
    /// A message for the user.
    Note(String),
    /// The data is ready; an estimate of the run.
    Plan(Estimate),
    /// A step is complete.
    Step(StepReport),
    /// The held-out examples are scored.
    Validation(Validation),
    /// A checkpoint is written.
    Saved(PathBuf),
}

/// Receives the events of a run.
pub trait TrainProgress {
    /// Called for every event, on the training thread.
    fn event(&mut self, event: &TrainEvent);
}

/// Ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl TrainProgress for Silent {
    fn event(&mut self, _: &TrainEvent) {}
}
