//! The devices of a run, its number format and its implementation of the operations.

use burn::tensor::{Device, FloatDType};
use serde::{Deserialize, Serialize};

use crate::TrainError;

/// The kind of device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Processor {
    /// The CPU, with the kernels of this crate.
    #[default]
    Cpu,
    /// NVIDIA GPUs in the driver's order, with burn's operations. Needs the feature `cuda`.
    Cuda,
}

/// Number format of matrix products and of the values between them. Trained weights, the optimizer,
/// norms, softmax and the loss always use f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32 bits.
    F32,
    /// bfloat16: f32 with 8 bits of significand.
    Bf16,
}

impl Precision {
    /// The same in burn.
    pub(crate) fn dtype(self) -> FloatDType {
        match self {
            Self::F32 => FloatDType::F32,
            Self::Bf16 => FloatDType::BF16,
        }
    }
    pub(crate) fn bytes(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::Bf16 => 2,
        }
    }
}

/// The implementation of the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compute {
    /// The fused kernels: CPU only, f32.
    Fused,
    /// burn's operations, with products in this precision: any device.
    Stock(Precision),
}

/// Opens `count` devices with automatic differentiation.
///
/// # Errors
/// When a device is missing or does not support the precision.
pub(crate) fn open(
    processor: Processor,
    count: usize,
    compute: Compute,
) -> Result<Vec<Device>, TrainError> {
    let devices = match processor {
        // Replicas on the CPU are threads, of which there can be any number.
        Processor::Cpu => vec![Device::flex(); count],
        Processor::Cuda => cuda::open(count)?,
    };
    if compute == Compute::Stock(Precision::Bf16)
        && !devices
            .iter()
            .all(|device| device.supports_dtype(FloatDType::BF16))
    {
        return Err(TrainError::Device(
            "this GPU does not support bf16 (GPUs since Ampere do); use `--precision f32`"
                .to_owned(),
        ));
    }
    Ok(devices.into_iter().map(Device::autodiff).collect())
}

/// Bytes of device memory that a run can use on each of its devices; `None` for the CPU, which uses
/// main memory.
///
/// # Errors
/// When a device is missing.
pub fn memory(processor: Processor, devices: usize) -> Result<Option<u64>, TrainError> {
    match processor {
        Processor::Cpu => Ok(None),
        Processor::Cuda => cuda::memory(devices),
    }
}

#[cfg(not(feature = "cuda"))]
mod cuda {
    use super::*;

    fn missing() -> TrainError {
        TrainError::Device(
            "this build trains on the CPU only; for NVIDIA GPUs use `cargo build --release --features cuda`".to_owned(),
        )
    }
    pub(super) fn open(_: usize) -> Result<Vec<Device>, TrainError> {
        Err(missing())
    }
    pub(super) fn memory(_: usize) -> Result<Option<u64>, TrainError> {
        Err(missing())
    }
}

#[cfg(feature = "cuda")]
mod cuda {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use burn::tensor::{DeviceType, Tensor};
    use cubecl::cuda::{CudaDevice, install};

    use super::*;

    /// Share of the GPU's memory available to a run; the rest is for the driver, kernels and
    /// fragmentation.
    const SHARE: f64 = 0.92;

    /// Opens the first `count` devices and tests each. cubecl panics if a dependency is missing,
    /// hence the checks before the first use and the caught panic.
    pub(super) fn open(count: usize) -> Result<Vec<Device>, TrainError> {
        let missing = |what: &str| TrainError::Device(what.to_owned());
        let mut devices = Device::enumerate(DeviceType::Cuda).into_vec();
        if devices.is_empty() {
            return Err(missing(
                "no NVIDIA GPU found: the driver is not installed or lists no GPU (see `nvidia-smi`)",
            ));
        }
        if devices.len() < count {
            let found = devices.len();
            return Err(TrainError::Device(format!(
                "`devices` is {count}, but the driver lists {found} GPUs (see `nvidia-smi`)"
            )));
        }
        devices.truncate(count);
        if install::cuda_path().is_none() {
            return Err(missing(
                "training compiles kernels with the CUDA toolkit (headers and NVRTC): install it or set CUDA_PATH",
            ));
        }
        for (index, device) in devices.iter().enumerate() {
            let test = || -> Option<Vec<f32>> {
                let ones = Tensor::<2>::ones([16, 16], device);
                ones.clone().matmul(ones).try_into_vec_as::<f32>().ok()
            };
            if !matches!(catch_unwind(AssertUnwindSafe(test)), Ok(Some(product)) if product.iter().all(|x| (x - 16.0).abs() < 0.1))
            {
                return Err(TrainError::Device(format!(
                    "GPU {index} failed to multiply two small matrices; check that the CUDA toolkit (libnvrtc) matches the driver"
                )));
            }
        }
        Ok(devices)
    }

    pub(super) fn memory(count: usize) -> Result<Option<u64>, TrainError> {
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::TrainConfig;

    #[test]
    fn the_processor_decides_operations_and_precision() {
        let with = |processor, precision, stock_ops| {
            let config = TrainConfig {
                processor,
                precision,
                stock_ops,
                ..TrainConfig::default()
            };
            (config.compute(), config.check().is_ok())
        };
        assert_eq!(with(Processor::Cpu, None, false), (Compute::Fused, true));
        assert_eq!(
            with(Processor::Cpu, Some(Precision::Bf16), false),
            (Compute::Fused, false)
        );
        assert_eq!(
            with(Processor::Cpu, Some(Precision::Bf16), true),
            (Compute::Stock(Precision::Bf16), true)
        );
        assert_eq!(
            with(Processor::Cuda, None, false),
            (Compute::Stock(Precision::Bf16), true)
        );
        assert_eq!(
            with(Processor::Cuda, Some(Precision::F32), false),
            (Compute::Stock(Precision::F32), true)
        );
    }

    /// With and without the feature.
    #[test]
    fn a_missing_gpu_is_an_error_with_a_remedy() {
        let open = |count| super::open(Processor::Cuda, count, Compute::Stock(Precision::Bf16));
        match open(1) {
            Ok(devices) => {
                assert!(cfg!(feature = "cuda") && devices.len() == 1 && devices[0].is_autodiff());
            }
            Err(error) => {
                let says = if cfg!(feature = "cuda") {
                    "GPU"
                } else {
                    "--features cuda"
                };
                assert!(error.to_string().contains(says), "{error}");
                assert_eq!(
                    memory(Processor::Cuda, 1).unwrap_err().to_string(),
                    error.to_string()
                );
            }
        }
        assert_eq!(memory(Processor::Cpu, 1).unwrap(), None);
        // More than any machine has.
        assert!(open(1000).is_err() && memory(Processor::Cuda, 1000).is_err());
    }
}
