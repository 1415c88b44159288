//! The model's weights as tensors on a device.
use super::super::EngineError;
use super::super::llama::{stored, vector};
use super::failed;
use candle_core::{DType, Device, Tensor};
use model::gguf::Format;
use model::{ModelConfig, WeightSource};

/// A model ready to run; see [`super::super::Llama`] for what it computes.
pub(crate) struct Llama {
    pub(super) config: ModelConfig,
    pub(super) device: Device,
    pub(super) dtype: DType,
    /// `[vocabulary, hidden]`.
    pub(super) embeddings: Tensor,
    pub(super) layers: Vec<Layer>,
    pub(super) norm: Tensor,
    pub(super) head: Linear,
    pub(super) frequencies: Vec<f32>,
}

pub(super) struct Layer {
    pub(super) input_norm: Tensor,
    /// Queries, keys and values on top of each other.
    pub(super) qkv: Linear,
    /// Weights of the norms of a head of q and of k.
    pub(super) head_norms: Option<(Tensor, Tensor)>,
    pub(super) o: Linear,
    pub(super) post_norm: Tensor,
    pub(super) gate_up: Linear,
    pub(super) down: Linear,
}

/// `y = x Wᵀ (+ b)`.
pub(super) struct Linear {
    /// `[outputs, inputs]`.
    pub(super) weight: Tensor,
    pub(super) bias: Option<Tensor>,
}

impl Llama {
    /// Builds the model as [`super::super::Llama::new`] does. It computes in f32 where the embeddings are stored so, else in bf16: what is stored in
    /// less is widened.
    ///
    /// # Errors
    /// A configuration that makes no model; a weight that is missing, has another shape or is not finite; a device that is full.
    pub(crate) fn new(
        config: ModelConfig,
        source: &dyn WeightSource,
        device: Device,
    ) -> Result<Self, EngineError> {
        config
            .check()
            .map_err(|error| EngineError::Config(error.to_string()))?;
        let c = &config;
        let (hidden, inter) = (c.hidden_size, c.intermediate_size);
        let (q_width, kv_width) = (
            c.num_attention_heads * c.head_dim,
            c.num_key_value_heads * c.head_dim,
        );
        let table = "model.embed_tokens.weight";
        let dtype = if stored(source, table, &[c.vocab_size, hidden])?.format == Format::F32 {
            DType::F32
        } else {
            DType::BF16
        };
        // One tensor at a time stands in the machine's own memory in f32.
        let place = |values: Vec<f32>, shape: &[usize]| -> Result<Tensor, EngineError> {
            let tensor = Tensor::from_vec(values, shape, &Device::Cpu)
                .and_then(|tensor| tensor.to_dtype(dtype)?.to_device(&device));
            tensor.map_err(failed)
        };
        let row = |name: &str, width: usize| place(vector(source, name, &[width])?, &[width]);
        let matrix = |name: &str, rows: usize, columns: usize| {
            place(vector(source, name, &[rows, columns])?, &[rows, columns])
        };
        let layer = |i: usize| -> Result<Layer, EngineError> {
            let at = |name: &str| format!("model.layers.{i}.{name}");
            let linear = |parts: &[(&str, usize)],
                          inputs: usize,
                          biased: bool|
             -> Result<Linear, EngineError> {
                let joined = |all: Vec<Tensor>| Tensor::cat(&all, 0).map_err(failed);
                let weight = |&(name, rows): &(&str, usize)| {
                    matrix(&at(&format!("{name}.weight")), rows, inputs)
                };
                let bias = |&(name, rows): &(&str, usize)| row(&at(&format!("{name}.bias")), rows);
                let bias = || joined(parts.iter().map(bias).collect::<Result<_, _>>()?);
                Ok(Linear {
                    weight: joined(parts.iter().map(weight).collect::<Result<_, _>>()?)?,
                    bias: biased.then(bias).transpose()?,
                })
            };
            let head_norm = |name: &str| c.qk_norm.then(|| row(&at(name), c.head_dim)).transpose();
            let qkv = [
                ("self_attn.q_proj", q_width),
                ("self_attn.k_proj", kv_width),
                ("self_attn.v_proj", kv_width),
            ];
            Ok(Layer {
                input_norm: row(&at("input_layernorm.weight"), hidden)?,
                qkv: linear(&qkv, hidden, c.qkv_bias)?,
                head_norms: head_norm("self_attn.q_norm.weight")?
                    .zip(head_norm("self_attn.k_norm.weight")?),
                o: linear(&[("self_attn.o_proj", hidden)], q_width, c.o_bias)?,
                post_norm: row(&at("post_attention_layernorm.weight"), hidden)?,
                gate_up: linear(
                    &[("mlp.gate_proj", inter), ("mlp.up_proj", inter)],
                    hidden,
                    c.mlp_bias,
                )?,
                down: linear(&[("mlp.down_proj", hidden)], inter, c.mlp_bias)?,
            })
        };
        let layers = (0..c.num_hidden_layers)
            .map(layer)
            .collect::<Result<Vec<_>, _>>()?;
        let norm = row("model.norm.weight", hidden)?;
        let embeddings = matrix(table, c.vocab_size, hidden)?;
        let head = if c.tie_word_embeddings {
            embeddings.clone()
        } else {
            matrix("lm_head.weight", c.vocab_size, hidden)?
        };
        let (frequencies, head) = (
            config.inv_freq(),
            Linear {
                weight: head,
                bias: None,
            },
        );
        Ok(Self {
            config,
            device,
            dtype,
            embeddings,
            layers,
            norm,
            head,
            frequencies,
        })
    }

    /// The shape of the model.
    pub(crate) fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Bytes of all matrices.
    pub(crate) fn bytes(&self) -> usize {
        let of = |tensor: &Tensor| tensor.elem_count() * self.dtype.size_in_bytes();
        let layer = |l: &Layer| {
            [&l.qkv, &l.o, &l.gate_up, &l.down]
                .map(|linear| of(&linear.weight))
                .iter()
                .sum::<usize>()
        };
        let table = if self.config.tie_word_embeddings {
            0
        } else {
            of(&self.embeddings)
        };
        self.layers.iter().map(layer).sum::<usize>() + of(&self.head.weight) + table
    }
}
