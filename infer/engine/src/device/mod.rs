//! The same model in candle's tensors, for devices that our kernels do not run on.
//!
//! Sessions share a step as on the CPU: all rows go through the products together, so that weights are read once, and attention is computed session by
//! session over buffers that stay on the device. Logits are those of the CPU but for rounding, and for rounding they depend on what shares a step.
mod cache;
mod forward;
mod ops;
mod weights;

pub(crate) use cache::Buffers;
pub(crate) use weights::Llama;

use super::EngineError;
use candle_core::Device;

/// Rows of a prompt that go through the layers together: enough to fill a GPU, few enough that their scores fit.
pub(crate) const PREFILL_ROWS: usize = 512;

/// What computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Processor {
    /// The CPU, with kernels of our own, in the format of the weights.
    #[default]
    Cpu,
    /// The first NVIDIA GPU that the driver shows, in builds with the feature `cuda`: f32 where the weights are, else bf16.
    Cuda,
    /// The CPU with what a GPU computes: slow, and there to be compared with [`Cpu`](Self::Cpu).
    Tensors,
}

pub(super) fn failed(error: impl std::fmt::Display) -> EngineError {
    EngineError::Device(error.to_string())
}

/// The first GPU.
#[cfg(feature = "cuda")]
pub(super) fn cuda() -> Result<Device, EngineError> {
    Device::new_cuda(0).map_err(|error| {
        failed(format!(
            "the GPU cannot be used ({error}); `nvidia-smi` lists what the driver shows"
        ))
    })
}

/// Not in this build.
#[cfg(not(feature = "cuda"))]
pub(super) fn cuda() -> Result<Device, EngineError> {
    Err(failed(
        "this build answers on the CPU only; `cargo build --release --features cuda-infer` makes one that answers on NVIDIA GPUs",
    ))
}
