//! LLaMA-family training in burn: from scratch, full fine-tuning, LoRA; on packed sequences, with checkpoints that continue to the same bytes.
//!
//! ```text
//! model::Dataset ──▶ batch (ahead) ──▶ llama, forward (ops: kernels | stock) ──▶ optim ──▶ checkpoint, model::ModelFolder
//!                                   └───────── trainer: the loop ─────────┘
//! ```
//!
//! Invariants: knows no graph; prints nothing ([`Progress`] is told instead); the same inputs, seed and version give the same weights, whatever
//! the number of threads.

mod base;
mod batch;
mod checkpoint;
pub mod config;
pub mod device;
pub mod error;
pub mod estimate;
mod forward;
pub mod inspect;
mod kernels;
pub mod llama;
mod ops;
mod optim;
mod prefetch;
pub mod progress;
mod reference_ops;
mod replicas;
mod report;
mod score;
mod svg;
mod tensorboard;
mod trainer;

pub use base::Base;
pub use config::{Algorithm, LoraConfig, Method, TooLong, TrainConfig};
pub use device::{Precision, Processor};
pub use error::TrainError;
pub use estimate::{Estimate, Memory};
pub use inspect::{Inspected, inspect};
pub use llama::{Llama, Packed, fresh_weights};
pub use ops::Compute;
pub use progress::{Event, Progress, Silent, StepReport, ToolScore, Validation};
pub use trainer::{Summary, dry_run, partial_folder, train};

#[cfg(test)]
mod tests;
