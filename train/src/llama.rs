//! The LLaMA family in burn: grouped-query attention, rotary embedding, RMS norm, SwiGLU. Fields are named as Hugging Face names tensors
//! and hold them in its layout, so that a folder read and written again is the same bytes.
//!
//! This file has the tensors, from where they come and to where they go; [`crate::forward`] what is computed with them.

use std::cell::RefCell;
use std::sync::Arc;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{DType, Device, FloatDType, Tensor, TensorData};
use model::adapter::{TARGETS, merge};
use model::{ModelConfig, Weights};

use crate::TrainError;
use crate::config::LoraConfig;
use crate::kernels::attention::{MAX_HEAD, RopeTable};
use crate::ops::Compute;
use common::rng::Rng;

/// A matrix `[out, in]`, with a bias where the family has one and a low-rank correction where it is fine-tuned by LoRA.
#[derive(Module, Debug)]
pub struct Linear {
    pub(crate) weight: Param<Tensor<2>>,
    pub(crate) bias: Option<Param<Tensor<1>>>,
    pub(crate) lora_a: Option<Param<Tensor<2>>>,
    pub(crate) lora_b: Option<Param<Tensor<2>>>,
}

/// A norm's weight.
#[derive(Module, Debug)]
pub struct Norm {
    pub(crate) weight: Param<Tensor<1>>,
}

/// The embedding, `[vocab, hidden]`.
#[derive(Module, Debug)]
pub struct Embedding {
    pub(crate) weight: Param<Tensor<2>>,
    /// Rows of tokens that the base did not have: trained while the rest is frozen.
    pub(crate) extra: Option<Param<Tensor<2>>>,
}

/// Attention.
#[derive(Module, Debug)]
pub struct Attention {
    pub(crate) q_proj: Linear,
    pub(crate) k_proj: Linear,
    pub(crate) v_proj: Linear,
    pub(crate) o_proj: Linear,
    pub(crate) q_norm: Option<Norm>,
    pub(crate) k_norm: Option<Norm>,
}

/// Feed-forward part.
#[derive(Module, Debug)]
pub struct Mlp {
    pub(crate) gate_proj: Linear,
    pub(crate) up_proj: Linear,
    pub(crate) down_proj: Linear,
}

/// One decoder layer.
#[derive(Module, Debug)]
pub struct Layer {
    pub(crate) input_layernorm: Norm,
    pub(crate) self_attn: Attention,
    pub(crate) post_attention_layernorm: Norm,
    pub(crate) mlp: Mlp,
}

/// Everything below the output layer.
#[derive(Module, Debug)]
pub struct Body {
    pub(crate) embed_tokens: Embedding,
    pub(crate) layers: Vec<Layer>,
    pub(crate) norm: Norm,
}

/// The tensors of a model.
#[derive(Module, Debug)]
pub struct Net {
    pub(crate) model: Body,
    pub(crate) lm_head: Option<Linear>,
    /// Rows of the output layer for the tokens of [`Embedding::extra`], where it is not the embedding.
    pub(crate) lm_extra: Option<Param<Tensor<2>>>,
}

/// A model: its tensors and the constants that make them one.
#[derive(Clone, Debug)]
pub struct Llama {
    /// The tensors.
    pub net: Net,
    pub(crate) config: ModelConfig,
    pub(crate) rope: Arc<RopeTable>,
    pub(crate) compute: Compute,
    pub(crate) lora_scale: f32,
    pub(crate) lora_dropout: f32,
}

/// Sequences packed one after another, and the predictions to be made in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// Token ids of all sequences.
    pub ids: Vec<u32>,
    /// Lengths of the sequences.
    pub segments: Vec<usize>,
    /// Rows (positions in `ids`) whose next token is predicted, ascending.
    pub rows: Vec<u32>,
    /// That next token, for every row.
    pub targets: Arc<Vec<u32>>,
}

impl Llama {
    /// A model from weights, which it takes one by one so as not to hold them twice, for sequences of up to `positions` tokens.
    ///
    /// # Errors
    /// When a tensor is missing or has the wrong shape.
    pub fn from_weights(
        config: &ModelConfig,
        weights: Weights,
        compute: Compute,
        positions: usize,
        device: &Device,
    ) -> Result<Self, TrainError> {
        Self::build(config, weights, compute, positions, device, FloatDType::F32)
    }

    /// The same for a base that stays frozen: its matrices are held in the precision that they are multiplied in.
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
        let held = if let Compute::Stock(precision) = compute {
            precision.dtype()
        } else {
            FloatDType::F32
        };
        Self::build(config, weights, compute, positions, device, held)
    }

    fn build(
        config: &ModelConfig,
        weights: Weights,
        compute: Compute,
        positions: usize,
        device: &Device,
        held: FloatDType,
    ) -> Result<Self, TrainError> {
        if config.head_dim > MAX_HEAD {
            return Err(TrainError::Config(format!(
                "head_dim is {}, the kernels go to {MAX_HEAD}",
                config.head_dim
            )));
        }
        let weights = RefCell::new(weights);
        let take = |name: &str, shape: &[usize]| -> Result<Vec<f32>, TrainError> {
            weights.borrow().get(name, shape)?;
            Ok(weights
                .borrow_mut()
                .take(name)
                .map(|tensor| tensor.data)
                .unwrap_or_default())
        };
        let matrix = |name: &str, shape: [usize; 2]| -> Result<Param<Tensor<2>>, TrainError> {
            let data = take(name, &shape)?;
            Ok(Param::from_tensor(Tensor::from_data(
                TensorData::new(data, shape),
                (device, DType::from(held)),
            )))
        };
        let vector = |name: String, width: usize| -> Result<Param<Tensor<1>>, TrainError> {
            let data = take(&name, &[width])?;
            Ok(Param::from_tensor(Tensor::from_data(
                TensorData::new(data, [width]),
                device,
            )))
        };
        let linear =
            |name: String, rows: usize, cols: usize, bias: bool| -> Result<Linear, TrainError> {
                let bias = bias
                    .then(|| vector(format!("{name}.bias"), rows))
                    .transpose()?;
                Ok(Linear {
                    weight: matrix(&format!("{name}.weight"), [rows, cols])?,
                    bias,
                    lora_a: None,
                    lora_b: None,
                })
            };
        let hidden = config.hidden_size;
        let norm = |name: String, width: usize| -> Result<Norm, TrainError> {
            Ok(Norm {
                weight: vector(format!("{name}.weight"), width)?,
            })
        };
        let (q, kv, ff) = (
            config.num_attention_heads * config.head_dim,
            config.num_key_value_heads * config.head_dim,
            config.intermediate_size,
        );
        let head_norm = |name: String| {
            config
                .qk_norm
                .then(|| norm(name, config.head_dim))
                .transpose()
        };
        let (qkv_bias, o_bias, mlp_bias) = (config.qkv_bias, config.o_bias, config.mlp_bias);
        let layers: Result<Vec<Layer>, TrainError> = (0..config.num_hidden_layers)
            .map(|i| {
                let at = format!("model.layers.{i}");
                Ok(Layer {
                    input_layernorm: norm(format!("{at}.input_layernorm"), hidden)?,
                    self_attn: Attention {
                        q_proj: linear(format!("{at}.self_attn.q_proj"), q, hidden, qkv_bias)?,
                        k_proj: linear(format!("{at}.self_attn.k_proj"), kv, hidden, qkv_bias)?,
                        v_proj: linear(format!("{at}.self_attn.v_proj"), kv, hidden, qkv_bias)?,
                        o_proj: linear(format!("{at}.self_attn.o_proj"), hidden, q, o_bias)?,
                        q_norm: head_norm(format!("{at}.self_attn.q_norm"))?,
                        k_norm: head_norm(format!("{at}.self_attn.k_norm"))?,
                    },
                    post_attention_layernorm: norm(
                        format!("{at}.post_attention_layernorm"),
                        hidden,
                    )?,
                    mlp: Mlp {
                        gate_proj: linear(format!("{at}.mlp.gate_proj"), ff, hidden, mlp_bias)?,
                        up_proj: linear(format!("{at}.mlp.up_proj"), ff, hidden, mlp_bias)?,
                        down_proj: linear(format!("{at}.mlp.down_proj"), hidden, ff, mlp_bias)?,
                    },
                })
            })
            .collect();
        let body = Body {
            embed_tokens: Embedding {
                weight: matrix("model.embed_tokens.weight", [config.vocab_size, hidden])?,
                extra: None,
            },
            layers: layers?,
            norm: norm("model.norm".to_owned(), hidden)?,
        };
        let lm_head = if config.tie_word_embeddings {
            None
        } else {
            Some(linear(
                "lm_head".to_owned(),
                config.vocab_size,
                hidden,
                false,
            )?)
        };
        let rope = Arc::new(RopeTable::new(
            &config.inv_freq(),
            config.rope.amplitude(),
            positions,
        ));
        let net = Net {
            model: body,
            lm_head,
            lm_extra: None,
        };
        Ok(Self {
            net,
            config: config.clone(),
            rope,
            compute,
            lora_scale: 0.0,
            lora_dropout: 0.0,
        })
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Freeze everything and add LoRA factors to the chosen projections of every layer. `a` is random, `b` zero, so nothing changes yet.
    /// Rows of the embedding from `base_rows` on belong to tokens that the base has never seen: they stay trainable.
    #[must_use]
    pub fn with_lora(
        mut self,
        lora: &LoraConfig,
        base_rows: usize,
        seed: u64,
        device: &Device,
    ) -> Self {
        self.net = self.net.no_grad();
        self.lora_scale = lora.adapter("").scale();
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
                let [out, input] = linear.weight.val().dims();
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
            let split = |weight: &mut Param<Tensor<2>>| -> Param<Tensor<2>> {
                let all = weight.val();
                let part = |from: usize, rows: usize, kind: DType| {
                    Tensor::from_data(
                        all.clone().narrow(0, from, rows).into_data(),
                        (device, kind),
                    )
                };
                *weight = Param::from_tensor(part(0, base_rows, all.dtype())).no_grad();
                Param::from_tensor(part(base_rows, vocab - base_rows, DType::F32))
            };
            let embedding = &mut self.net.model.embed_tokens;
            embedding.extra = Some(split(&mut embedding.weight));
            self.net.lm_extra = self
                .net
                .lm_head
                .as_mut()
                .map(|head| split(&mut head.weight));
        }
        self
    }

    /// All tensors by their Hugging Face names, LoRA factors as `….lora_a` and `….lora_b`.
    #[must_use]
    pub fn tensors(&self) -> Weights {
        let mut reader = Reader::default();
        self.net.visit(&mut reader);
        reader.weights
    }

    /// The tensors of the embedding and the output layer with the rows of added tokens in their places, and LoRA factors as they are. A frozen
    /// base may be held in fewer bits than it came in: `base` has its tensors as they came.
    ///
    /// # Errors
    /// Never for a model of this type.
    pub fn whole_tensors(&self, base: Option<&Weights>) -> Result<Weights, TrainError> {
        let mut all = self.tensors();
        for (name, tensor) in base.into_iter().flat_map(Weights::iter) {
            if let Some(mut held) = all.take(name) {
                // Rows of added tokens come behind the base's.
                held.data = tensor
                    .data
                    .get(..held.data.len())
                    .unwrap_or(&held.data)
                    .to_vec();
                all.insert(name, held);
            }
        }
        for (extra, name) in [
            ("model.embed_tokens.extra", "model.embed_tokens.weight"),
            ("lm_extra", "lm_head.weight"),
        ] {
            let Some(rows) = all.take(extra) else {
                continue;
            };
            if let Some(mut tensor) = all.take(name) {
                tensor.data.extend(rows.data);
                all.insert(
                    name,
                    model::Tensor::new(
                        name,
                        vec![tensor.shape[0] + rows.shape[0], tensor.shape[1]],
                        tensor.data,
                    )?,
                );
            }
        }
        Ok(all)
    }

    /// The model's own tensors, LoRA factors multiplied out and added. `base` as in [`Llama::whole_tensors`].
    ///
    /// # Errors
    /// Never for a model of this type.
    pub fn merged(&self, base: Option<&Weights>) -> Result<Weights, TrainError> {
        let all = self.whole_tensors(base)?;
        let mut merged = Weights::default();
        for (name, shape) in self.config.tensors() {
            merged.insert(name.clone(), all.get(&name, &shape)?.clone());
        }
        merge(&mut merged, &all, self.lora_scale)?;
        Ok(merged)
    }

    /// Replace every tensor by the one of its name.
    ///
    /// # Errors
    /// When one is missing or has the wrong shape.
    pub fn load(&mut self, weights: &Weights) -> Result<(), TrainError> {
        let mut writer = Writer {
            path: Vec::new(),
            weights,
            error: None,
        };
        self.net = self.net.clone().map(&mut writer);
        writer.error.map_or(Ok(()), |error| Err(error.into()))
    }
}

/// In a visitor or mapper of a net: keeps in `self.path` which modules it is in.
macro_rules! keep_path {
    () => {
        fn enter_module(&mut self, name: &str, _: &str) {
            self.path.push(name.to_owned());
        }
        fn exit_module(&mut self, _: &str, _: &str) {
            self.path.pop();
        }
    };
}
pub(crate) use keep_path;

/// The name of a parameter from the modules it stands in.
pub(crate) fn name_of(path: &[String]) -> String {
    path.join(".")
}

#[derive(Default)]
struct Reader {
    path: Vec<String>,
    weights: Weights,
}

impl ModuleVisitor for Reader {
    keep_path!();
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let tensor = param.val();
        let shape = tensor.dims().to_vec();
        let data = tensor.try_into_vec_as::<f32>().unwrap_or_default();
        self.weights
            .insert(name_of(&self.path), model::Tensor { shape, data });
    }
}

struct Writer<'a> {
    path: Vec<String>,
    weights: &'a Weights,
    error: Option<model::ModelError>,
}

impl ModuleMapper for Writer<'_> {
    keep_path!();
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let name = name_of(&self.path);
        param.map(|old| match self.weights.get(&name, &old.dims()) {
            Ok(tensor) => {
                let tracked = old.is_require_grad();
                let data = TensorData::new(tensor.data.clone(), tensor.shape.clone());
                let new = Tensor::from_data(data, (&old.device(), old.dtype()));
                new.set_require_grad(tracked)
            }
            Err(error) => {
                self.error.get_or_insert(error);
                old
            }
        })
    }
}

/// Fresh weights: normal with the configuration's deviation, projections back into the residual stream smaller by the root of twice the
/// depth, norms one.
///
/// # Errors
/// Never for a configuration that was checked.
pub fn fresh_weights(config: &ModelConfig, seed: u64) -> Result<Weights, TrainError> {
    let mut weights = Weights::default();
    let mut rng = Rng::new(seed);
    for (name, shape) in config.tensors() {
        let n: usize = shape.iter().product();
        let back = name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight");
        let deviation = config.initializer_range
            / if back {
                (2.0 * config.num_hidden_layers as f64).sqrt()
            } else {
                1.0
            };
        let data = if name.ends_with(".bias") {
            vec![0.0; n]
        } else if shape.len() == 1 {
            vec![1.0; n]
        } else {
            (0..n).map(|_| rng.normal() * deviation as f32).collect()
        };
        weights.insert(name.clone(), model::Tensor::new(&name, shape, data)?);
    }
    Ok(weights)
}
