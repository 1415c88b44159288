//! Building a model from weights, and adding LoRA factors.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use burn::module::{Module, Param};
use burn::tensor::{DType, Device, FloatDType, Tensor, TensorData};
use common::rng::Rng;
use model::adapter::{BaseName, TARGETS};
use model::gguf::{BlockFormat, blocks};
use model::{ModelConfig, ModelError, WeightSource, Weights};

use super::net::{
    Attention, Body, Embedding, FrozenBlocks, Layer, Linear, Llama, Matrix, Mlp, Net, Norm,
};
use crate::TrainError;
use crate::config::LoraConfig;
use crate::device::Compute;
use crate::kernels::attention::{MAX_HEAD, RopeTable};
use crate::kernels::blocks::BlockMatrix;

/// A frozen base, whose matrices stay in blocks.
pub(crate) struct FrozenBase<'a> {
    pub(crate) source: &'a dyn WeightSource,
    /// The formats of its matrices.
    pub(crate) formats: &'a BTreeMap<String, BlockFormat>,
    /// Rows of the embedding that come from the base.
    pub(crate) rows: usize,
}

impl FrozenBase<'_> {
    /// The matrix `name` with `rows` rows.
    fn matrix(&self, name: &str, rows: usize) -> Result<Matrix, TrainError> {
        let format = self.formats.get(name).copied();
        let missing = || ModelError::tensor(name, "is missing");
        let stored = self.source.open(name)?;
        let blocks = BlockMatrix::read(name, &stored, rows, format.ok_or_else(missing)?)?;
        let blocks = Arc::new(blocks);
        Ok(Matrix::Blocks(FrozenBlocks { blocks }))
    }

    /// The mean of the base's rows of a matrix, for the rows of new tokens.
    fn mean_row(&self, name: &str) -> Result<Vec<f32>, TrainError> {
        let stored = self.source.open(name)?;
        let width = stored.shape.last().copied().unwrap_or(0);
        let (mut mean, mut row, mut raw) = (vec![0.0_f64; width], vec![0.0; width], Vec::new());
        for index in 0..self.rows {
            raw.clear();
            stored.rows(index, 1, &mut raw)?;
            blocks::dequantise(stored.format, &raw, &mut row);
            let each = mean.iter_mut().zip(&row);
            each.for_each(|(sum, x)| *sum += f64::from(*x) / self.rows as f64);
        }
        Ok(mean.into_iter().map(|x| x as f32).collect())
    }
}

/// Where the tensors of a model come from.
enum Origin<'a> {
    /// Weights, which are moved one by one, so that they are not in memory twice.
    Weights(RefCell<Weights>),
    Frozen(&'a FrozenBase<'a>),
}

/// Moves weights to a device.
struct NetBuilder<'a> {
    config: &'a ModelConfig,
    origin: Origin<'a>,
    device: &'a Device,
    /// Format of matrices.
    format: FloatDType,
}

impl NetBuilder<'_> {
    fn tensor<const D: usize>(
        &self,
        name: &str,
        shape: [usize; D],
        format: FloatDType,
    ) -> Result<Param<Tensor<D>>, TrainError> {
        let data = match &self.origin {
            Origin::Weights(weights) => {
                weights.borrow().get(name, &shape)?;
                let tensor = weights.borrow_mut().take(name);
                tensor.map(|tensor| tensor.data).unwrap_or_default()
            }
            Origin::Frozen(base) => base.source.open(name)?.values()?,
        };
        let options = (self.device, DType::from(format));
        let tensor = Tensor::from_data(TensorData::new(data, shape), options);
        Ok(Param::from_tensor(tensor))
    }

    fn matrix(&self, name: &str, rows: usize, columns: usize) -> Result<Matrix, TrainError> {
        let numbers = || self.tensor(name, [rows, columns], self.format);
        match self.origin {
            Origin::Weights(_) => Ok(Matrix::Numbers(numbers()?)),
            Origin::Frozen(base) => base.matrix(name, rows),
        }
    }

    /// The rows of tokens that a frozen base lacks in the matrix `name`.
    fn new_rows(&self, name: &str) -> Result<Option<Param<Tensor<2>>>, TrainError> {
        let (Origin::Frozen(base), [vocab, hidden]) = (&self.origin, self.table()) else {
            return Ok(None);
        };
        let count = vocab - base.rows;
        if count == 0 {
            return Ok(None);
        }
        let data = TensorData::new(base.mean_row(name)?.repeat(count), [count, hidden]);
        Ok(Some(Param::from_tensor(Tensor::from_data(
            data,
            self.device,
        ))))
    }

    /// The shape of the embedding.
    fn table(&self) -> [usize; 2] {
        [self.config.vocab_size, self.config.hidden_size]
    }

    fn vector(&self, name: &str, width: usize) -> Result<Param<Tensor<1>>, TrainError> {
        self.tensor(name, [width], FloatDType::F32)
    }

    fn linear(
        &self,
        name: &str,
        rows: usize,
        columns: usize,
        bias: bool,
    ) -> Result<Linear, TrainError> {
        let bias = bias.then(|| self.vector(&format!("{name}.bias"), rows));
        Ok(Linear {
            bias: bias.transpose()?,
            weight: self.matrix(&format!("{name}.weight"), rows, columns)?,
            lora_a: None,
            lora_b: None,
        })
    }

    fn norm(&self, name: &str, width: usize) -> Result<Norm, TrainError> {
        Ok(Norm {
            weight: self.vector(&format!("{name}.weight"), width)?,
        })
    }

    fn layer(&self, index: usize) -> Result<Layer, TrainError> {
        let config = self.config;
        let (hidden, ff) = (config.hidden_size, config.intermediate_size);
        let (q, kv) = (
            config.num_attention_heads * config.head_dim,
            config.num_key_value_heads * config.head_dim,
        );
        let name = |part: &str| format!("model.layers.{index}.{part}");
        let linear = |part: &str, rows: usize, columns: usize, bias: bool| {
            self.linear(&name(part), rows, columns, bias)
        };
        let head_norm = |part: &str| {
            let norm = || self.norm(&name(part), config.head_dim);
            config.qk_norm.then(norm).transpose()
        };
        let (qkv_bias, mlp_bias) = (config.qkv_bias, config.mlp_bias);
        Ok(Layer {
            input_layernorm: self.norm(&name("input_layernorm"), hidden)?,
            self_attn: Attention {
                q_proj: linear("self_attn.q_proj", q, hidden, qkv_bias)?,
                k_proj: linear("self_attn.k_proj", kv, hidden, qkv_bias)?,
                v_proj: linear("self_attn.v_proj", kv, hidden, qkv_bias)?,
                o_proj: linear("self_attn.o_proj", hidden, q, config.o_bias)?,
                q_norm: head_norm("self_attn.q_norm")?,
                k_norm: head_norm("self_attn.k_norm")?,
            },
            post_attention_layernorm: self.norm(&name("post_attention_layernorm"), hidden)?,
            mlp: Mlp {
                gate_proj: linear("mlp.gate_proj", ff, hidden, mlp_bias)?,
                up_proj: linear("mlp.up_proj", ff, hidden, mlp_bias)?,
                down_proj: linear("mlp.down_proj", hidden, ff, mlp_bias)?,
            },
        })
    }

    fn net(&self) -> Result<Net, TrainError> {
        let [vocab, hidden] = self.table();
        let rows = match &self.origin {
            Origin::Weights(_) => vocab,
            Origin::Frozen(base) => base.rows,
        };
        let layers = (0..self.config.num_hidden_layers).map(|index| self.layer(index));
        let body = Body {
            layers: layers.collect::<Result<_, _>>()?,
            embed_tokens: Embedding {
                weight: self.matrix("model.embed_tokens.weight", rows, hidden)?,
                extra: self.new_rows("model.embed_tokens.weight")?,
            },
            norm: self.norm("model.norm", hidden)?,
        };
        let (lm_head, lm_extra) = if self.config.tie_word_embeddings {
            (None, None)
        } else {
            let head = self.linear("lm_head", rows, hidden, false)?;
            (Some(head), self.new_rows("lm_head.weight")?)
        };
        Ok(Net {
            model: body,
            lm_head,
            lm_extra,
        })
    }
}

impl Llama {
    /// Builds a model for sequences of up to `positions` tokens.
    ///
    /// # Errors
    /// When a tensor is missing or has the wrong shape.
    pub(crate) fn from_weights(
        config: &ModelConfig,
        weights: Weights,
        compute: Compute,
        positions: usize,
        device: &Device,
    ) -> Result<Self, TrainError> {
        let origin = Origin::Weights(RefCell::new(weights));
        Self::build(config, origin, compute, positions, device, FloatDType::F32)
    }

    /// Builds a frozen base whose matrices stay in blocks.
    ///
    /// # Errors
    /// When a tensor is missing, cannot be read or has rows that are not whole blocks.
    pub(crate) fn from_blocks(
        config: &ModelConfig,
        base: &FrozenBase<'_>,
        compute: Compute,
        positions: usize,
        device: &Device,
    ) -> Result<Self, TrainError> {
        let origin = Origin::Frozen(base);
        Self::build(config, origin, compute, positions, device, FloatDType::F32)
    }

    /// Builds a frozen base, whose matrices are in the precision of the run.
    ///
    /// # Errors
    /// As [`Llama::from_weights`].
    pub(crate) fn from_frozen(
        config: &ModelConfig,
        weights: Weights,
        compute: Compute,
        positions: usize,
        device: &Device,
    ) -> Result<Self, TrainError> {
        let format = match compute {
            Compute::Stock(precision) => precision.dtype(),
            Compute::Fused(_) => FloatDType::F32,
        };
        let origin = Origin::Weights(RefCell::new(weights));
        Self::build(config, origin, compute, positions, device, format)
    }

    fn build(
        config: &ModelConfig,
        origin: Origin<'_>,
        compute: Compute,
        positions: usize,
        device: &Device,
        format: FloatDType,
    ) -> Result<Self, TrainError> {
        if config.head_dim > MAX_HEAD {
            let width = config.head_dim;
            return Err(TrainError::Config(format!(
                "head_dim is {width}, but the kernels support up to {MAX_HEAD}"
            )));
        }
        let builder = NetBuilder {
            config,
            origin,
            device,
            format,
        };
        let (frequencies, amplitude) = (config.inv_freq(), config.rope.amplitude());
        Ok(Self {
            net: builder.net()?,
            config: config.clone(),
            rope: Arc::new(RopeTable::new(&frequencies, amplitude, positions)),
            compute,
            lora_scale: 0.0,
            lora_dropout: 0.0,
        })
    }

    /// Freezes the model and adds LoRA factors to the chosen projections of every layer. `a` is
    /// random and `b` zero, so that the output does not change. Rows of the embedding from
    /// `base_rows` on belong to new tokens and remain trainable.
    pub(crate) fn with_lora(
        mut self,
        lora: &LoraConfig,
        base_rows: usize,
        seed: u64,
        device: &Device,
    ) -> Self {
        self.net = self.net.no_grad();
        self.lora_scale = lora.adapter(&BaseName::default()).scale();
        self.lora_dropout = lora.dropout;
        let mut rng = Rng::new(seed);
        for layer in &mut self.net.model.layers {
            let (attn, mlp) = (&mut layer.self_attn, &mut layer.mlp);
            let all = [
                &mut attn.q_proj,
                &mut attn.k_proj,
                &mut attn.v_proj,
                &mut attn.o_proj,
            ];
            let all =
                all.into_iter()
                    .chain([&mut mlp.gate_proj, &mut mlp.up_proj, &mut mlp.down_proj]);
            for (linear, _) in all
                .zip(TARGETS)
                .filter(|(_, name)| lora.targets.iter().any(|target| target == name))
            {
                let [out, input] = linear.weight.dims();
                // PEFT's initialisation: uniform in +-1/sqrt(in).
                let bound = 1.0 / (input as f32).sqrt();
                let a = (0..lora.rank * input)
                    .map(|_| (rng.uniform() * 2.0 - 1.0) * bound)
                    .collect::<Vec<f32>>();
                let tensor = |data: Vec<f32>, shape: [usize; 2]| {
                    Param::from_tensor(Tensor::from_data(TensorData::new(data, shape), device))
                };
                linear.lora_a = Some(tensor(a, [lora.rank, input]));
                linear.lora_b = Some(tensor(vec![0.0; out * lora.rank], [out, lora.rank]));
            }
        }
        let vocab = self.config.vocab_size;
        if base_rows < vocab {
            let split_off_new = |weight: &mut Matrix, new: &mut Option<Param<Tensor<2>>>| {
                let Matrix::Numbers(numbers) = weight else {
                    // The rows of new tokens were never part of the blocks.
                    *new = new.take().map(|rows| Param::from_tensor(rows.val()));
                    return;
                };
                let all = numbers.val();
                let part = |from: usize, rows: usize, kind: DType| {
                    Tensor::from_data(
                        all.clone().narrow(0, from, rows).into_data(),
                        (device, kind),
                    )
                };
                *numbers = Param::from_tensor(part(0, base_rows, all.dtype())).no_grad();
                let rows = part(base_rows, vocab - base_rows, DType::F32);
                *new = Some(Param::from_tensor(rows));
            };
            let embedding = &mut self.net.model.embed_tokens;
            split_off_new(&mut embedding.weight, &mut embedding.extra);
            if let Some(head) = &mut self.net.lm_head {
                split_off_new(&mut head.weight, &mut self.net.lm_extra);
            }
        }
        self
    }
}
