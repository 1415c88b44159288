//! The same model in tensors of burn, for devices that our kernels do not run on.
//!
//! Sessions share steps as on the CPU: all rows go through the products together, so that weights
//! are read once; attention is computed for all sessions at once while they decode, otherwise per
//! session, over buffers that stay on the device. Logits equal those of the CPU up to rounding, and
//! rounding depends on which sessions share a step.

mod forward;
mod weights;

use burn::tensor::Device;

use crate::EngineError;

pub(crate) use weights::DeviceLlama;

/// Rows of a prompt in one block: enough to fill a GPU, few enough for the scores to fit.
pub(crate) const PREFILL_ROWS: usize = 512;

/// The device a model runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineDevice {
    /// The CPU, with our own kernels, in the format of the weights.
    #[default]
    Cpu,
    /// The first NVIDIA GPU listed by the driver, in builds with the feature `cuda` of the crate
    /// `gpu`: f32 if the weights are f32, otherwise bf16.
    Cuda,
    /// The GPU's computation on the CPU: slow, for comparison with [`Cpu`](Self::Cpu).
    Tensors,
}

fn device_error(error: impl std::fmt::Display) -> EngineError {
    EngineError::Device(error.to_string())
}

/// The first GPU.
pub(crate) fn cuda() -> Result<Device, EngineError> {
    let mut devices = gpu::open(1).map_err(EngineError::Device)?;
    devices
        .pop()
        .ok_or_else(|| device_error("no GPU was opened"))
}
