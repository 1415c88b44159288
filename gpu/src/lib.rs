//! The NVIDIA GPUs of this machine, as devices of burn, for training and for answering. CUDA's libraries
//! are loaded when a GPU is first opened, so that a program built with the feature `cuda` starts
//! anywhere and says what is missing.
//!
//! Errors are sentences for the user.

mod adamw;
#[cfg(feature = "cuda")]
mod kernels;
pub mod ops;

use burn::tensor::Device;

/// Whether this build can use GPUs.
pub const BUILT: bool = cfg!(feature = "cuda");

/// Opens the first `count` GPUs in the driver's order and tests each.
///
/// # Errors
/// A build without the feature `cuda`; what is missing on this machine; fewer GPUs than `count`.
pub fn open(count: usize) -> Result<Vec<Device>, String> {
    cuda::open(count)
}

/// Bytes of memory that a run can use on each of the first `count` GPUs, if the driver says so.
///
/// # Errors
/// As [`open`].
pub fn memory(count: usize) -> Result<Option<u64>, String> {
    cuda::memory(count)
}

#[cfg(not(feature = "cuda"))]
mod cuda {
    use burn::tensor::Device;

    pub(super) fn open(_: usize) -> Result<Vec<Device>, String> {
        Err(
            "this build runs on the CPU only; for NVIDIA GPUs use `cargo build --release --features cuda`"
                .to_owned(),
        )
    }

    pub(super) fn memory(count: usize) -> Result<Option<u64>, String> {
        open(count).map(|_| None)
    }
}

#[cfg(feature = "cuda")]
mod cuda {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use burn::tensor::{Device, DeviceType, Tensor};
    use cubecl::cuda::{CudaDevice, install};

    /// Share of the GPU's memory available to a run; the rest is for the driver, kernels and
    /// fragmentation. A run with an estimate of 34.5 GB took 41.3 GB (H200).
    const SHARE: f64 = 0.8;

    /// cubecl panics if a dependency is missing, hence the checks before the first use and the
    /// caught panic.
    pub(super) fn open(count: usize) -> Result<Vec<Device>, String> {
        let mut devices = Device::enumerate(DeviceType::Cuda).into_vec();
        if devices.is_empty() {
            return Err(
                "no NVIDIA GPU found: the driver is not installed or lists no GPU (see `nvidia-smi`)"
                    .to_owned(),
            );
        }
        if devices.len() < count {
            let found = devices.len();
            return Err(format!(
                "`devices` is {count}, but the driver lists {found} GPUs (see `nvidia-smi`)"
            ));
        }
        devices.truncate(count);
        if install::cuda_path().is_none() {
            return Err(
                "kernels for the GPU are compiled with the CUDA toolkit (headers and NVRTC): install it or set CUDA_PATH"
                    .to_owned(),
            );
        }
        for (index, device) in devices.iter().enumerate() {
            let test = || -> Option<Vec<f32>> {
                let ones = Tensor::<2>::ones([16, 16], device);
                ones.clone().matmul(ones).try_into_vec_as::<f32>().ok()
            };
            if !matches!(catch_unwind(AssertUnwindSafe(test)), Ok(Some(product)) if product.iter().all(|x| (x - 16.0).abs() < 0.1))
            {
                return Err(format!(
                    "GPU {index} failed to multiply two small matrices; check that the CUDA toolkit (libnvrtc) matches the driver"
                ));
            }
        }
        Ok(devices)
    }

    pub(super) fn memory(count: usize) -> Result<Option<u64>, String> {
        let whole = |index: usize| {
            cubecl::Device::Cuda(CudaDevice::new(index))
                .client()
                .properties()
                .memory
                .max_memory()
        };
        let least = (0..open(count)?.len()).filter_map(whole).min();
        Ok(least.map(|bytes| (bytes as f64 * SHARE) as u64))
    }
}
