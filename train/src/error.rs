//! The one error type of this crate.

use std::path::PathBuf;

use model::ModelError;

/// What can stop a training run.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// The configuration asks for something impossible.
    #[error("training configuration: {0}")]
    Config(String),
    /// A model folder, dataset or checkpoint could not be read or written.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The data leaves nothing to train on, or is not the data a checkpoint was made with.
    #[error("training data: {0}")]
    Data(String),
    /// The loss is no longer a number.
    #[error("step {step}: the loss is {loss}; try a lower learning rate or more warm-up")]
    Diverged {
        /// The step.
        step: usize,
        /// The loss.
        loss: f64,
    },
    /// The run was asked to stop; its state is saved.
    #[error("interrupted after step {step}; `--resume auto` continues from {checkpoint}", checkpoint = checkpoint.display())]
    Interrupted {
        /// Steps done.
        step: usize,
        /// The checkpoint that holds them.
        checkpoint: PathBuf,
    },
}
