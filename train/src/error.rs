//! The error type of this crate.

use std::path::PathBuf;

use model::ModelError;

use crate::estimate::Memory;

fn gb(bytes: u64) -> f64 {
    bytes as f64 / 1e9
}

/// An error of a training run.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// The configuration is invalid.
    #[error("training configuration: {0}")]
    Config(String),
    /// The device is missing or does not support the run.
    #[error("{0}")]
    Device(String),
    /// A model folder, dataset or checkpoint cannot be read or written.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The checkpoint belongs to another run.
    #[error("{checkpoint} was made with {other}; continue with the original, or start over", checkpoint = checkpoint.display())]
    Another {
        /// The checkpoint.
        checkpoint: PathBuf,
        /// The difference: "other data", "another `key`".
        other: String,
    },
    /// The data is not usable for training.
    #[error("training data: {0}")]
    Data(String),
    /// The operating system cannot start threads.
    #[error("worker threads cannot be started: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// The estimated memory is above the limit.
    #[error(
        "the run needs about {:.2} GB of memory, but {:.2} GB are available: weights {:.2}, gradients {:.2}, optimizer {:.2}, activations {:.2}; \
         fewer `--micro-tokens` or `--gradient-checkpointing` reduce the activations, `--method lora` the gradients and the optimizer",
        gb(needs.peak()), gb(*limit), gb(needs.weights), gb(needs.gradients), gb(needs.optimizer), gb(needs.activations)
    )]
    Memory {
        /// The estimate.
        needs: Memory,
        /// The limit in bytes.
        limit: u64,
    },
    /// The loss is not finite.
    #[error("step {step}: the loss is {loss}; try a lower learning rate or more warm-up")]
    Diverged {
        /// The step.
        step: usize,
        /// The loss.
        loss: f64,
    },
    /// The run was stopped on request; its state is saved.
    #[error("interrupted after step {step}; the state is saved in {checkpoint}", checkpoint = checkpoint.display())]
    Interrupted {
        /// Completed steps.
        step: usize,
        /// The checkpoint.
        checkpoint: PathBuf,
    },
}

impl From<common::fs::FsError> for TrainError {
    fn from(error: common::fs::FsError) -> Self {
        Self::Model(error.into())
    }
}
