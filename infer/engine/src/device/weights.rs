//! The model's weights as tensors on a device.

use burn::tensor::{DType, Device, FloatDType, Tensor, TensorData};
use model::gguf::BlockFormat;
use model::{ModelConfig, WeightSource};

use crate::EngineError;
use crate::layer::LayerWeights;
use crate::tensors::{open, values};

pub(super) type DeviceLayer = LayerWeights<DeviceLinear, Tensor<1>>;

/// A model ready to run on a device; see [`PackedLlama`](crate::PackedLlama) for the computation.
pub(crate) struct DeviceLlama {
    pub(super) config: ModelConfig,
    pub(super) device: Device,
    pub(super) dtype: FloatDType,
    /// `[vocabulary, hidden]`.
    pub(super) embeddings: Tensor<2>,
    pub(super) layers: Vec<DeviceLayer>,
    pub(super) norm: Tensor<1>,
    pub(super) head: DeviceLinear,
    pub(super) frequencies: Vec<f32>,
}

/// `y = x Wᵀ (+ b)`.
pub(super) struct DeviceLinear {
    /// `[outputs, inputs]`.
    pub(super) weight: Tensor<2>,
    pub(super) bias: Option<Tensor<1>>,
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
            FloatDType::F32
        } else {
            FloatDType::BF16
        };
        // Only one tensor at a time is held in f32 in main memory.
        let data = |name: &str, shape: &[usize]| -> Result<TensorData, EngineError> {
            Ok(TensorData::new(values(source, name, shape)?, shape).convert_dtype(dtype.into()))
        };
        let tensor = |name: &str, shape: [usize; 2]| -> Result<Tensor<2>, EngineError> {
            Ok(Tensor::from_data(
                data(name, &shape)?,
                (&device, dtype.into()),
            ))
        };
        let row = |name: &str, width: usize| -> Result<Tensor<1>, EngineError> {
            Ok(Tensor::from_data(
                data(name, &[width])?,
                (&device, dtype.into()),
            ))
        };
        let layer = |index| {
            LayerWeights::load(
                &config,
                index,
                |linear| {
                    let (mut weights, mut biases) = (Vec::new(), Vec::new());
                    for (name, rows) in &linear.matrices {
                        weights.push(tensor(&format!("{name}.weight"), [*rows, linear.inputs])?);
                        if linear.biased {
                            biases.push(row(&format!("{name}.bias"), *rows)?);
                        }
                    }
                    let bias = linear.biased.then(|| Tensor::cat(biases, 0));
                    let weight = Tensor::cat(weights, 0);
                    Ok(DeviceLinear { weight, bias })
                },
                row,
            )
        };
        let layers = (0..config.num_hidden_layers)
            .map(layer)
            .collect::<Result<Vec<_>, _>>()?;
        let norm = row("model.norm.weight", hidden)?;
        let embeddings = tensor(table, [vocab, hidden])?;
        let weight = if config.tie_word_embeddings {
            embeddings.clone()
        } else {
            tensor("lm_head.weight", [vocab, hidden])?
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
        let size = DType::from(self.dtype).size();
        let of = |tensor: &Tensor<2>| tensor.shape().num_elements() * size;
        let layers = self.layers.iter().flat_map(LayerWeights::linears);
        let table = if self.config.tie_word_embeddings {
            0
        } else {
            of(&self.embeddings)
        };
        layers.map(|linear| of(&linear.weight)).sum::<usize>() + of(&self.head.weight) + table
    }
}
