//! LLaMA-family training: from scratch, full fine-tuning or LoRA, on packed sequences, with
//! checkpoints. A resumed run produces the same bytes as an uninterrupted one.
//!
//! ```text
//! model::Dataset ─▶ batch (prefetch) ─▶ llama, forward ─▶ optim ─▶ checkpoint, model::ModelFolder
//!                                       fused: kernels | reference_ops
//!                  └────────────── trainer: the loop ──────────────┘
//! ```
//!
//! [`ranker`] trains cross-encoders, which score candidates for a question, on the same kernels.
//!
//! Invariants: does not depend on a graph; prints nothing, but reports to a [`TrainProgress`]; the
//! same inputs, seed and version give the same weights, regardless of the number of threads.

mod allocator;
mod base;
mod batch;
mod checkpoint;
pub mod config;
pub mod device;
mod dropout;
pub mod error;
pub mod estimate;
mod estimator;
mod flat;
mod forward;
mod fused;
mod grads;
pub mod inspect;
mod kernels;
mod llama;
mod optim;
mod pace;
mod prefetch;
pub mod progress;
pub mod ranker;
mod reference_ops;
mod replicas;
mod report;
mod score;
mod svg;
mod tensorboard;
mod trainer;

pub use base::{Base, tokenizer};
pub use config::{Algorithm, LoraConfig, Method, TooLong, TrainConfig};
pub use device::{Precision, Processor};
pub use error::TrainError;
pub use estimate::{Estimate, Memory};
pub use inspect::{Inspected, inspect};
pub use llama::fresh_weights;
pub use progress::{Silent, StepReport, Summary, ToolScore, TrainEvent, TrainProgress, Validation};
pub use trainer::{check_out, dry_run, partial_folder, train};

/// The numbers and instructions with which this processor multiplies the matrices of larger models.
#[must_use]
pub fn products() -> &'static str {
    match (kernels::tiles::are_fast(), kernels::tiles::have_registers()) {
        (true, true) => "bf16 (AMX)",
        (true, false) => "bf16 (AVX-512)",
        (false, _) => "f32",
    }
}

#[cfg(test)]
mod tests;
