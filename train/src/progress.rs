//! What a run tells whoever watches it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;

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

/// Calls of one tool in the held-out examples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolScore {
    /// Calls.
    pub calls: usize,
    /// Calls of which every token, the end of the turn included, is the one predicted first.
    pub exact: usize,
}

impl ToolScore {
    /// Share of exact calls.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.exact as f64 / self.calls.max(1) as f64
    }
}

/// How well held-out examples are predicted, every token behind the right ones before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// Steps done.
    pub step: usize,
    /// Mean cross-entropy of trained tokens.
    pub loss: f64,
    /// Share of trained tokens predicted first.
    pub accuracy: f64,
    /// Trained tokens.
    pub tokens: usize,
    /// Trained turns by the tool they call.
    #[serde(default)]
    pub tools: BTreeMap<String, ToolScore>,
    /// The doubt that the model may be left when it is asked: all but one in fifty of these turns have no token to which it gives less than what this
    /// leaves of one. `None` where there are too few turns to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<f64>,
}

impl Validation {
    /// Share of exact calls over all tools; `None` without any.
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

/// What happens during a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Something the user should know.
    Note(String),
    /// The data is ready, and this is what the run will need.
    Plan(Estimate),
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
