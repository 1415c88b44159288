//! The LLaMA family in burn: grouped-query attention, rotary embedding, RMS norm, SwiGLU. Fields are named as Hugging Face names tensors
//! and hold them in its layout, so that a folder read and written again is the same bytes.
//!
//! Hidden states are flat, `[tokens, hidden]`: a batch is sequences packed one after another, and only attention knows where they end.

use std::sync::Arc;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Device, Int, Tensor, TensorData};
use model::{ModelConfig, Weights};

use crate::TrainError;
use crate::config::LoraConfig;
use crate::kernels::attention::{AttentionShape, MAX_HEAD, RopeTable};
use crate::ops::{self, Compute};
use crate::rng::Rng;

/// A matrix `[out, in]`, with a low-rank correction where it is fine-tuned by LoRA.
#[derive(Module, Debug)]
pub struct Linear {
    weight: Param<Tensor<2>>,
    lora_a: Option<Param<Tensor<2>>>,
    lora_b: Option<Param<Tensor<2>>>,
}

/// A norm's weight.
#[derive(Module, Debug)]
pub struct Norm {
    weight: Param<Tensor<1>>,
}

/// The embedding, `[vocab, hidden]`.
#[derive(Module, Debug)]
pub struct Embedding {
    weight: Param<Tensor<2>>,
}

/// Attention.
#[derive(Module, Debug)]
pub struct Attention {
    q_proj: Linear,
    k_proj: Linear,
    v_proj: Linear,
    o_proj: Linear,
}

/// Feed-forward part.
#[derive(Module, Debug)]
pub struct Mlp {
    gate_proj: Linear,
    up_proj: Linear,
    down_proj: Linear,
}

/// One decoder layer.
#[derive(Module, Debug)]
pub struct Layer {
    input_layernorm: Norm,
    self_attn: Attention,
    post_attention_layernorm: Norm,
    mlp: Mlp,
}

/// Everything below the output layer.
#[derive(Module, Debug)]
pub struct Body {
    embed_tokens: Embedding,
    layers: Vec<Layer>,
    norm: Norm,
}

/// The tensors of a model.
#[derive(Module, Debug)]
pub struct Net {
    model: Body,
    lm_head: Option<Linear>,
}

/// A model: its tensors and the constants that make them one.
#[derive(Clone, Debug)]
pub struct Llama {
    /// The tensors.
    pub net: Net,
    config: ModelConfig,
    rope: Arc<RopeTable>,
    compute: Compute,
    lora_scale: f32,
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
    /// A model from weights, for sequences of up to `positions` tokens.
    ///
    /// # Errors
    /// When a tensor is missing or has the wrong shape.
    pub fn from_weights(
        config: &ModelConfig,
        weights: &Weights,
        compute: Compute,
        positions: usize,
        device: &Device,
    ) -> Result<Self, TrainError> {
        if config.head_dim > MAX_HEAD {
            return Err(TrainError::Config(format!("head_dim is {}, the kernels go to {MAX_HEAD}", config.head_dim)));
        }
        let matrix = |name: &str, shape: [usize; 2]| -> Result<Param<Tensor<2>>, TrainError> {
            let data = weights.get(name, &shape)?.data.clone();
            Ok(Param::from_tensor(Tensor::from_data(TensorData::new(data, shape), device)))
        };
        let linear = |name: String, rows: usize, cols: usize| -> Result<Linear, TrainError> {
            Ok(Linear { weight: matrix(&format!("{name}.weight"), [rows, cols])?, lora_a: None, lora_b: None })
        };
        let hidden = config.hidden_size;
        let norm = |name: String| -> Result<Norm, TrainError> {
            let data = weights.get(&format!("{name}.weight"), &[hidden])?.data.clone();
            Ok(Norm { weight: Param::from_tensor(Tensor::from_data(TensorData::new(data, [hidden]), device)) })
        };
        let (q, kv, ff) =
            (config.num_attention_heads * config.head_dim, config.num_key_value_heads * config.head_dim, config.intermediate_size);
        let layers: Result<Vec<Layer>, TrainError> = (0..config.num_hidden_layers)
            .map(|i| {
                let at = format!("model.layers.{i}");
                Ok(Layer {
                    input_layernorm: norm(format!("{at}.input_layernorm"))?,
                    self_attn: Attention {
                        q_proj: linear(format!("{at}.self_attn.q_proj"), q, hidden)?,
                        k_proj: linear(format!("{at}.self_attn.k_proj"), kv, hidden)?,
                        v_proj: linear(format!("{at}.self_attn.v_proj"), kv, hidden)?,
                        o_proj: linear(format!("{at}.self_attn.o_proj"), hidden, q)?,
                    },
                    post_attention_layernorm: norm(format!("{at}.post_attention_layernorm"))?,
                    mlp: Mlp {
                        gate_proj: linear(format!("{at}.mlp.gate_proj"), ff, hidden)?,
                        up_proj: linear(format!("{at}.mlp.up_proj"), ff, hidden)?,
                        down_proj: linear(format!("{at}.mlp.down_proj"), hidden, ff)?,
                    },
                })
            })
            .collect();
        let body = Body {
            embed_tokens: Embedding { weight: matrix("model.embed_tokens.weight", [config.vocab_size, hidden])? },
            layers: layers?,
            norm: norm("model.norm".to_owned())?,
        };
        let lm_head = if config.tie_word_embeddings { None } else { Some(linear("lm_head".to_owned(), config.vocab_size, hidden)?) };
        let rope = Arc::new(RopeTable::new(&config.inv_freq(), positions));
        Ok(Self { net: Net { model: body, lm_head }, config: config.clone(), rope, compute, lora_scale: 0.0 })
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Freeze everything and add LoRA factors to the seven projections of every layer. `a` is random, `b` zero, so nothing changes yet.
    #[must_use]
    pub fn with_lora(mut self, lora: &LoraConfig, seed: u64, device: &Device) -> Self {
        self.net = self.net.no_grad();
        self.lora_scale = lora.alpha / lora.rank as f32;
        let mut rng = Rng::new(seed);
        for layer in &mut self.net.model.layers {
            let (attn, mlp) = (&mut layer.self_attn, &mut layer.mlp);
            let all = [&mut attn.q_proj, &mut attn.k_proj, &mut attn.v_proj, &mut attn.o_proj];
            for linear in all.into_iter().chain([&mut mlp.gate_proj, &mut mlp.up_proj, &mut mlp.down_proj]) {
                let [out, input] = linear.weight.val().dims();
                // PEFT's initialisation: uniform in +-1/sqrt(in).
                let bound = 1.0 / (input as f32).sqrt();
                let a = (0..lora.rank * input).map(|_| (rng.uniform() * 2.0 - 1.0) * bound).collect::<Vec<f32>>();
                let tensor =
                    |data: Vec<f32>, shape: [usize; 2]| Param::from_tensor(Tensor::from_data(TensorData::new(data, shape), device));
                linear.lora_a = Some(tensor(a, [lora.rank, input]));
                linear.lora_b = Some(tensor(vec![0.0; out * lora.rank], [out, lora.rank]));
            }
        }
        self
    }

    fn project(&self, x: &Tensor<2>, parts: &[&Linear]) -> Tensor<2> {
        let weights: Vec<Tensor<2>> = parts.iter().map(|linear| linear.weight.val()).collect();
        let weight = if let [one] = weights.as_slice() { one.clone() } else { Tensor::cat(weights, 0) };
        let y = ops::linear(self.compute, x.clone(), weight);
        let corrections: Vec<Tensor<2>> = parts
            .iter()
            .filter_map(|linear| Some((linear.lora_a.as_ref()?, linear.lora_b.as_ref()?)))
            .map(|(a, b)| ops::linear(self.compute, ops::linear(self.compute, x.clone(), a.val()), b.val()).mul_scalar(self.lora_scale))
            .collect();
        match corrections.len() {
            0 => y,
            1 => corrections.into_iter().fold(y, |y, c| y + c),
            _ => y + Tensor::cat(corrections, 1),
        }
    }

    /// Final hidden states of `rows` of a packed batch, normalised: `[rows, hidden]`.
    fn hidden(&self, batch: &Packed, device: &Device) -> Tensor<2> {
        let ids: Vec<i64> = batch.ids.iter().map(|id| i64::from(*id)).collect();
        let tokens = ids.len();
        let ids = Tensor::<1, Int>::from_data(TensorData::new(ids, [tokens]), device);
        let shape = Arc::new(AttentionShape {
            heads: self.config.num_attention_heads,
            kv_heads: self.config.num_key_value_heads,
            head_dim: self.config.head_dim,
            segments: batch.segments.clone(),
            rope: Arc::clone(&self.rope),
        });
        let eps = self.config.rms_norm_eps as f32;
        let norm = |x: Tensor<2>, norm: &Norm| ops::rms_norm(self.compute, x, norm.weight.val(), eps);
        let rows: Vec<i64> = batch.rows.iter().map(|row| i64::from(*row)).collect();
        let count = rows.len();
        let rows = Tensor::<1, Int>::from_data(TensorData::new(rows, [count]), device);
        let mut x = self.net.model.embed_tokens.weight.val().select(0, ids);
        let last = self.net.model.layers.len().saturating_sub(1);
        for (i, layer) in self.net.model.layers.iter().enumerate() {
            let (attn, mlp) = (&layer.self_attn, &layer.mlp);
            let y = norm(x.clone(), &layer.input_layernorm);
            let y = self.project(&y, &[&attn.q_proj, &attn.k_proj, &attn.v_proj]);
            let mut y = ops::attend(self.compute, y, &shape);
            if i == last {
                // Beyond the last attention a row feeds nothing but its own prediction.
                x = x.select(0, rows.clone());
                y = y.select(0, rows.clone());
            }
            x = x + self.project(&y, &[&attn.o_proj]);
            let y = norm(x.clone(), &layer.post_attention_layernorm);
            let y = ops::gated(self.compute, self.project(&y, &[&mlp.gate_proj, &mlp.up_proj]));
            x = x + self.project(&y, &[&mlp.down_proj]);
        }
        norm(x, &self.net.model.norm)
    }

    /// Logits of the batch's rows: `[rows, vocab]`.
    #[must_use]
    pub fn logits(&self, batch: &Packed, device: &Device) -> Tensor<2> {
        let hidden = self.hidden(batch, device);
        match &self.net.lm_head {
            Some(head) => self.project(&hidden, &[head]),
            None => ops::linear(self.compute, hidden, self.net.model.embed_tokens.weight.val()),
        }
    }

    /// `scale` times the summed cross-entropy of the batch's rows, as `[1]`.
    #[must_use]
    pub fn loss(&self, batch: &Packed, scale: f32, device: &Device) -> Tensor<1> {
        ops::cross_entropy_loss(self.compute, self.logits(batch, device), &batch.targets, scale)
    }

    /// All tensors by their Hugging Face names, LoRA factors as `….lora_a` and `….lora_b`.
    #[must_use]
    pub fn tensors(&self) -> Weights {
        let mut reader = Reader::default();
        self.net.visit(&mut reader);
        reader.weights
    }

    /// The model's own tensors, LoRA factors multiplied out and added.
    #[must_use]
    pub fn merged(&self) -> Weights {
        let mut all = self.tensors();
        let names: Vec<String> = all.iter().filter_map(|(name, _)| Some(name.strip_suffix(".lora_a")?.to_owned())).collect();
        for name in names {
            let (Some(a), Some(b)) = (all.take(&format!("{name}.lora_a")), all.take(&format!("{name}.lora_b"))) else { continue };
            let Some(mut weight) = all.take(&format!("{name}.weight")) else { continue };
            let (rank, input) = (a.shape[0], a.shape[1]);
            for (row, b) in weight.data.chunks_exact_mut(input).zip(b.data.chunks_exact(rank)) {
                for (b, a) in b.iter().zip(a.data.chunks_exact(input)) {
                    for (w, a) in row.iter_mut().zip(a) {
                        *w += self.lora_scale * b * a;
                    }
                }
            }
            all.insert(format!("{name}.weight"), weight);
        }
        all
    }

    /// Replace every tensor by the one of its name.
    ///
    /// # Errors
    /// When one is missing or has the wrong shape.
    pub fn load(&mut self, weights: &Weights) -> Result<(), TrainError> {
        let mut writer = Writer { path: Vec::new(), weights, error: None };
        self.net = self.net.clone().map(&mut writer);
        writer.error.map_or(Ok(()), |error| Err(error.into()))
    }
}

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
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }
    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let tensor = param.val();
        let shape = tensor.dims().to_vec();
        let data = tensor.into_data().try_to_vec::<f32>().unwrap_or_default();
        self.weights.insert(name_of(&self.path), model::Tensor { shape, data });
    }
}

struct Writer<'a> {
    path: Vec<String>,
    weights: &'a Weights,
    error: Option<model::ModelError>,
}

impl ModuleMapper for Writer<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }
    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let name = name_of(&self.path);
        param.map(|old| match self.weights.get(&name, &old.dims()) {
            Ok(tensor) => {
                let tracked = old.is_require_grad();
                let new = Tensor::from_data(TensorData::new(tensor.data.clone(), tensor.shape.clone()), &old.device());
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
        let deviation = config.initializer_range / if back { (2.0 * config.num_hidden_layers as f64).sqrt() } else { 1.0 };
        let data = if shape.len() == 1 { vec![1.0; n] } else { (0..n).map(|_| rng.normal() * deviation as f32).collect() };
        weights.insert(name.clone(), model::Tensor::new(&name, shape, data)?);
    }
    Ok(weights)
}
