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
    /// The fused kernels, with products in this precision: CPU only.
    Fused(Precision),
    /// burn's operations, with products in this precision: any device.
    Stock(Precision),
}

impl Compute {
    /// The number format of products.
    pub(crate) fn precision(self) -> Precision {
        match self {
            Self::Fused(precision) | Self::Stock(precision) => precision,
        }
    }
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
        Processor::Cuda => gpu::open(count).map_err(TrainError::Device)?,
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
        Processor::Cuda => gpu::memory(devices).map_err(TrainError::Device),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::TrainConfig;
    use crate::kernels::tiles;

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
        assert_eq!(
            with(Processor::Cpu, None, false),
            (Compute::Fused(Precision::F32), true)
        );
        assert_eq!(
            with(Processor::Cpu, Some(Precision::Bf16), false),
            (Compute::Fused(Precision::Bf16), tiles::are_fast())
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
                assert!(gpu::BUILT && devices.len() == 1 && devices[0].is_autodiff());
            }
            Err(error) => {
                let says = if gpu::BUILT { "GPU" } else { "--features cuda" };
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
