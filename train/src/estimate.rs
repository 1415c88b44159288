//! The estimate of a run: steps, memory, arithmetic and time.

use serde::{Deserialize, Serialize};

/// The code that a run touches, and the stacks and buffers of its threads.
const PROGRAM: u64 = 16 << 20;

/// Estimate of a run's peak memory in bytes, by purpose: on the CPU for all devices, on GPUs for the
/// first. `train/tests/memory.rs` compares it with what runs allocate on the CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Parameters.
    pub weights: u64,
    /// Gradients, including those being summed.
    pub gradients: u64,
    /// State of the optimizer.
    pub optimizer: u64,
    /// Activations kept for the backward pass in the largest forward pass of the run.
    pub activations: u64,
    /// The part of the gradients that exists when the activations are at their most.
    #[serde(default)]
    pub early_gradients: u64,
    /// New values of the trained weights during an optimizer step, while the old ones are still
    /// there.
    #[serde(default)]
    pub updating: u64,
    /// A copy of the weights or the optimizer's state during a checkpoint, or of a matrix when the
    /// model is written, when there are no activations.
    pub saving: u64,
}

impl Memory {
    /// Peak memory in bytes: of the passes, of the optimizer's step after them, or of saving, when
    /// there are neither activations nor gradients.
    #[must_use]
    pub fn peak(&self) -> u64 {
        let passes = self.activations + self.early_gradients;
        let step = self.gradients + self.updating;
        self.weights + self.optimizer + passes.max(step).max(self.saving) + PROGRAM
    }

    /// Bytes of the passes that the optimizer's step after them does not need.
    pub(crate) fn left_by_step(&self) -> usize {
        let passes = self.activations + self.early_gradients;
        passes.saturating_sub(self.gradients + self.updating) as usize
    }
}

/// The estimate of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Parameters of the model, including corrections.
    pub parameters: usize,
    /// Trained parameters.
    pub trained_parameters: usize,
    /// Training examples.
    pub examples: usize,
    /// Held-out examples.
    pub valid: usize,
    /// Tokens of one epoch.
    pub tokens: usize,
    /// Tokens of one epoch in the loss.
    pub trained: usize,
    /// Tokens of the longest example.
    pub longest: usize,
    /// Examples skipped because they are too long.
    pub too_long: usize,
    /// Examples skipped because they contain no trained turn.
    pub untrained: usize,
    /// Optimizer steps of the whole run.
    pub steps: usize,
    /// Tokens of the whole run.
    pub total_tokens: usize,
    /// Floating-point operations of the whole run.
    pub operations: f64,
    /// Memory in bytes.
    pub memory: Memory,
    /// Seconds of the whole run, extrapolated from a measured layer of the same width, excluding
    /// the exchange of weights and gradients between GPUs; `None` if not measured.
    pub seconds: Option<f64>,
}
