//! The same model in candle tensors, for devices that our kernels do not run on.
//!
//! Sessions share steps as on the CPU: all rows go through the products together, so that weights
//! are read once; attention is computed per session over buffers that stay on the device. Logits
//! equal those of the CPU up to rounding, and rounding depends on which sessions share a step.

mod forward;
mod ops;
mod weights;

use candle_core::Device;

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
    /// The first NVIDIA GPU listed by the driver, in builds with the feature `cuda`: f32 if the
    /// weights are f32, otherwise bf16.
    Cuda,
    /// The GPU's computation on the CPU: slow, for comparison with [`Cpu`](Self::Cpu).
    Tensors,
}

fn device_error(error: impl std::fmt::Display) -> EngineError {
    EngineError::Device(error.to_string())
}

/// The first GPU.
#[cfg(feature = "cuda")]
pub(crate) fn cuda() -> Result<Device, EngineError> {
    Device::new_cuda(0).map_err(|error| {
        device_error(format!(
            "the GPU cannot be used ({error}); `nvidia-smi` lists what the driver shows"
        ))
    })
}

/// Not in this build.
#[cfg(not(feature = "cuda"))]
pub(crate) fn cuda() -> Result<Device, EngineError> {
    Err(device_error(
        "this build answers on the CPU only; build with `cargo build --release --features \
         cuda-infer` to answer on NVIDIA GPUs",
    ))
}
