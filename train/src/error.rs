//! The one error type of this crate.

use std::path::PathBuf;

use model::ModelError;

use crate::estimate::Memory;

fn gb(bytes: u64) -> f64 {
    bytes as f64 / 1e9
}

/// What can stop a training run.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// The configuration asks for something impossible.
    #[error("training configuration: {0}")]
    Config(String),
    /// The device that was asked for is not there or cannot do what the run needs.
    #[error("{0}")]
    Device(String),
    /// A model folder, dataset or checkpoint could not be read or written.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The run to be continued is another one.
    #[error("{checkpoint} was made with {other}; continue it with what it was made with, or start over", checkpoint = checkpoint.display())]
    Another {
        /// The checkpoint.
        checkpoint: PathBuf,
        /// What differs: "other data", "another `key`".
        other: String,
    },
    /// The data leaves nothing to train on.
    #[error("training data: {0}")]
    Data(String),
    /// The operating system gives no more threads.
    #[error("no worker threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// The estimate of what the run needs is above what it may have.
    #[error(
        "the run needs about {:.2} GB of memory and {:.2} GB are to be had: weights {:.2}, gradients {:.2}, optimizer {:.2}, activations {:.2}; \
         fewer `micro_tokens` or `gradient_checkpointing` need fewer activations, LoRA needs next to no gradients and optimizer",
        gb(needs.peak()), gb(*limit), gb(needs.weights), gb(needs.gradients), gb(needs.optimizer), gb(needs.activations)
    )]
    Memory {
        /// What it needs.
        needs: Memory,
        /// What it may have.
        limit: u64,
    },
    /// The loss is no longer a number.
    #[error("step {step}: the loss is {loss}; try a lower learning rate or more warm-up")]
    Diverged {
        /// The step.
        step: usize,
        /// The loss.
        loss: f64,
    },
    /// The run was asked to stop; its state is saved.
    #[error("interrupted after step {step}; what was done is in {checkpoint}", checkpoint = checkpoint.display())]
    Interrupted {
        /// Steps done.
        step: usize,
        /// The checkpoint that holds them.
        checkpoint: PathBuf,
    },
}

impl From<common::fs::FsError> for TrainError {
    fn from(error: common::fs::FsError) -> Self {
        Self::Model(error.into())
    }
}
