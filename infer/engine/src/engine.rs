//! A loaded model, shared between threads.

use std::sync::Arc;

use burn::tensor::Device;
use model::{ModelConfig, WeightSource};

use crate::backend::Backend;
use crate::device::{self, DeviceLlama, EngineDevice};
use crate::{EngineError, PackedLlama};

/// A loaded model. Cheap to clone and to share between threads.
#[derive(Clone)]
pub struct Engine(Arc<Backend>);

impl Engine {
    /// Loads the model onto the CPU from its configuration and named weights.
    ///
    /// # Errors
    /// As [`PackedLlama::new`].
    pub fn new(config: ModelConfig, source: &dyn WeightSource) -> Result<Self, EngineError> {
        Self::on(EngineDevice::Cpu, config, source)
    }

    /// Loads the model onto `device`.
    ///
    /// # Errors
    /// As [`PackedLlama::new`], and if the device is unavailable or not supported by this build.
    pub fn on(
        device: EngineDevice,
        config: ModelConfig,
        source: &dyn WeightSource,
    ) -> Result<Self, EngineError> {
        let tensors =
            |device| DeviceLlama::new(config.clone(), source, device).map(Backend::Tensors);
        let backend = match device {
            EngineDevice::Cpu => Backend::Packed(PackedLlama::new(config, source)?),
            EngineDevice::Cuda => tensors(device::cuda()?)?,
            EngineDevice::Tensors => tensors(Device::flex())?,
        };
        Ok(Self(Arc::new(backend)))
    }

    /// Whether the model computes in tensors of burn, as on a GPU. Sessions on separate threads then
    /// run faster only by sharing steps.
    #[must_use]
    pub fn is_on_device(&self) -> bool {
        matches!(*self.0, Backend::Tensors(_))
    }

    /// Bytes of the model's matrices, which decoding one token reads.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    pub(crate) fn backend(&self) -> &Backend {
        &self.0
    }

    /// Maximum number of tokens of a conversation: the model's, or fewer if the memory for it would
    /// be too large.
    #[must_use]
    pub fn context(&self) -> usize {
        self.0.context()
    }

    /// The model's configuration.
    #[must_use]
    pub fn config(&self) -> &ModelConfig {
        self.0.config()
    }
}
