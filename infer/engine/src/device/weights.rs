//! The model's weights as tensors on a device.

use candle_core::{DType, Device, Tensor};
use model::gguf::BlockFormat;
use model::{ModelConfig, WeightSource};

use super::device_error;
use crate::EngineError;
use crate::layer::LayerWeights;
use crate::tensors::{open, values};

pub(super) type DeviceLayer = LayerWeights<DeviceLinear, Tensor>;

/// A model ready to run on a device; see [`PackedLlama`](crate::PackedLlama) for the computation.
pub(crate) struct DeviceLlama {
    pub(super) config: ModelConfig,
    pub(super) device: Device,
    pub(super) dtype: DType,
    /// `[vocabulary, hidden]`.
    pub(super) embeddings: Tensor,
    pub(super) layers: Vec<DeviceLayer>,
    pub(super) norm: Tensor,
    pub(super) head: DeviceLinear,
    pub(super) frequencies: Vec<f32>,
}

/// `y = x Wᵀ (+ b)`.
pub(super) struct DeviceLinear {
    /// `[outputs, inputs]`.
    pub(super) weight: Tensor,
    pub(super) bias: Option<Tensor>,
}

impl DeviceLlama {
    /// Builds the model as [`PackedLlama::new`](crate::PackedLlama::new) does. It computes in f32
    /// if the embeddings are stored in f32, otherwise in bf16; smaller formats are widened.
    ///
    /// # Errors
    /// An inconsistent configuration; a weight that is missing, misshapen or not finite; a device
    /// without enough memory.
    pub(crate) fn new(
        config: ModelConfig,
        source: &dyn WeightSource,
        device: Device,
    ) -> Result<Self, EngineError> {
        config
            .check()
            .map_err(|error| EngineError::Config(error.to_string()))?;
        let (hidden, vocab) = (config.hidden_size, config.vocab_size);
        let table = "model.embed_tokens.weight";
        let dtype = if open(source, table, &[vocab, hidden])?.format == BlockFormat::F32 {
            DType::F32
        } else {
            DType::BF16
        };
        // Only one tensor at a time is held in f32 in main memory.
        let tensor = |name: &str, shape: &[usize]| -> Result<Tensor, EngineError> {
            Tensor::from_vec(values(source, name, shape)?, shape, &Device::Cpu)
                .and_then(|tensor| tensor.to_dtype(dtype)?.to_device(&device))
                .map_err(device_error)
        };
        let row = |name: &str, width: usize| tensor(name, &[width]);
        let stack = |parts: Vec<Tensor>| Tensor::cat(&parts, 0).map_err(device_error);
        let layer = |index| {
            LayerWeights::load(
                &config,
                index,
                |linear| {
                    let (mut weights, mut biases) = (Vec::new(), Vec::new());
                    for (name, rows) in &linear.matrices {
                        weights.push(tensor(&format!("{name}.weight"), &[*rows, linear.inputs])?);
                        if linear.biased {
                            biases.push(row(&format!("{name}.bias"), *rows)?);
                        }
                    }
                    let bias = linear.biased.then(|| stack(biases)).transpose()?;
                    let weight = stack(weights)?;
                    Ok(DeviceLinear { weight, bias })
                },
                row,
            )
        };
        let layers = (0..config.num_hidden_layers)
            .map(layer)
            .collect::<Result<Vec<_>, _>>()?;
        let norm = row("model.norm.weight", hidden)?;
        let embeddings = tensor(table, &[vocab, hidden])?;
        let weight = if config.tie_word_embeddings {
            embeddings.clone()
        } else {
            tensor("lm_head.weight", &[vocab, hidden])?
        };
        Ok(Self {
            head: DeviceLinear { weight, bias: None },
            frequencies: config.inv_freq(),
            config,
            device,
            dtype,
            embeddings,
            layers,
            norm,
        })
    }

    /// The model's configuration.
    pub(crate) fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Bytes of all matrices.
    pub(crate) fn bytes(&self) -> usize {
        let of = |tensor: &Tensor| tensor.elem_count() * self.dtype.size_in_bytes();
        let layers = self.layers.iter().flat_map(LayerWeights::linears);
        let table = if self.config.tie_word_embeddings {
            0
        } else {
            of(&self.embeddings)
        };
        layers.map(|linear| of(&linear.weight)).sum::<usize>() + of(&self.head.weight) + table
    }
}
