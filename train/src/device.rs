//! Where a run computes, and in which numbers.

use burn::tensor::{Device, FloatDType};
use serde::{Deserialize, Serialize};

use crate::TrainError;
use crate::config::TrainConfig;
use crate::ops::Compute;

/// What computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Processor {
    /// The CPU, with kernels of our own.
    #[default]
    Cpu,
    /// The NVIDIA GPUs that the driver shows first, with burn's operations; in builds with the feature `cuda`.
    Cuda,
}

/// Numbers that matrix products and what lies between them are computed in. Trained weights, the optimizer, norms, softmax and the loss are f32
/// in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32 bits.
    F32,
    /// bfloat16: f32 with 8 bits of significand.
    Bf16,
}

impl Precision {
    /// burn's name for it.
    pub(crate) fn dtype(self) -> FloatDType {
        match self {
            Self::F32 => FloatDType::F32,
            Self::Bf16 => FloatDType::BF16,
        }
    }
    /// Bytes of a number.
    pub(crate) fn bytes(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::Bf16 => 2,
        }
    }
}

/// The operations that a run of `config` is made of, whether or not its device is there.
pub(crate) fn compute(config: &TrainConfig) -> Compute {
    match config.processor {
        Processor::Cpu if !config.stock_ops => Compute::Fused,
        Processor::Cpu => Compute::Stock(config.precision.unwrap_or(Precision::F32)),
        Processor::Cuda => Compute::Stock(config.precision.unwrap_or(Precision::Bf16)),
    }
}

/// The devices of a run, with automatic differentiation.
///
/// # Errors
/// When one of them is not there or does not compute in the run's precision.
pub(crate) fn open(config: &TrainConfig) -> Result<Vec<Device>, TrainError> {
    let devices = match config.processor {
        // Replicas on the CPU are threads: there are as many as are asked for.
        Processor::Cpu => vec![Device::flex(); config.devices()],
        Processor::Cuda => cuda::open(config.devices())?,
    };
    if compute(config) == Compute::Stock(Precision::Bf16)
        && !devices
            .iter()
            .all(|device| device.supports_dtype(FloatDType::BF16))
    {
        return Err(TrainError::Device(
            "this GPU does not compute in bf16 (cards since Ampere do); `--precision f32` trains on it in f32".to_owned(),
        ));
    }
    Ok(devices.into_iter().map(Device::autodiff).collect())
}

/// Bytes that a run may have in the own memory of each of its devices; `None` for the CPU, whose memory is the machine's.
///
/// # Errors
/// When a device is not there.
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
            "this build trains on the CPU only; `cargo build --release --features cuda` makes one that trains on NVIDIA GPUs".to_owned(),
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

    /// Share of the card's memory that a run may plan with: the driver, kernels and gaps between blocks have the rest.
    const SHARE: f64 = 0.92;

    /// The first `count` devices, tried out: cubecl panics where something that it needs is missing, so it is asked before and watched once.
    pub(super) fn open(count: usize) -> Result<Vec<Device>, TrainError> {
        let missing = |what: &str| TrainError::Device(what.to_owned());
        let mut devices = Device::enumerate(DeviceType::Cuda).into_vec();
        if devices.is_empty() {
            return Err(missing(
                "no NVIDIA GPU was found: the driver is not installed or shows none (`nvidia-smi` lists what it shows)",
            ));
        }
        if devices.len() < count {
            let there = devices.len();
            return Err(TrainError::Device(format!(
                "`devices` is {count}, and the driver shows {there} (`nvidia-smi` lists them)"
            )));
        }
        devices.truncate(count);
        if install::cuda_path().is_none() {
            return Err(missing(
                "kernels are compiled for the GPU while it trains, which takes the CUDA toolkit (headers and NVRTC): install it or set CUDA_PATH to it",
            ));
        }
        for (index, device) in devices.iter().enumerate() {
            let trial = || -> Option<Vec<f32>> {
                let ones = Tensor::<2>::ones([16, 16], device);
                ones.clone().matmul(ones).try_into_vec_as::<f32>().ok()
            };
            if !matches!(catch_unwind(AssertUnwindSafe(trial)), Ok(Some(product)) if product.iter().all(|x| (x - 16.0).abs() < 0.1))
            {
                return Err(TrainError::Device(format!(
                    "GPU {index} does not compute: a product of two small matrices failed on it; is the CUDA toolkit (libnvrtc) as old as the driver?"
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

    #[test]
    fn the_processor_decides_operations_and_precision() {
        let with = |processor, precision, stock_ops| {
            let config = TrainConfig {
                processor,
                precision,
                stock_ops,
                ..TrainConfig::default()
            };
            (compute(&config), config.check().is_ok())
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

    /// A machine without a GPU says so, in a build with the feature and in one without.
    #[test]
    fn a_gpu_that_is_not_there_is_an_error_that_says_what_to_do() {
        let config = TrainConfig {
            processor: Processor::Cuda,
            ..TrainConfig::default()
        };
        match open(&config) {
            Ok(devices) => {
                assert!(cfg!(feature = "cuda") && devices.len() == 1 && devices[0].is_autodiff())
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
        let many = TrainConfig {
            devices: Some(1000),
            ..config
        };
        assert!(open(&many).is_err() && memory(Processor::Cuda, 1000).is_err());
    }
}
