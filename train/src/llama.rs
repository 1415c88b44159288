//! The LLaMA family in burn: grouped-query attention, rotary embedding, RMS norm, SwiGLU. Fields are named as Hugging Face names tensors
//! and hold them in its layout, so that a folder read and written again is the same bytes.
//!
//! Hidden states are flat, `[tokens, hidden]`: a batch is sequences packed one after another, and only attention knows where they end.

use std::cell::RefCell;
use std::sync::Arc;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Device, Int, Tensor, TensorData};
use model::adapter::{TARGETS, merge};
use model::{ModelConfig, Weights};

use crate::TrainError;
use crate::config::LoraConfig;
use crate::kernels::attention::{AttentionShape, MAX_HEAD, RopeTable};
use crate::ops::{self, Compute};
use crate::rng::Rng;

/// A matrix `[out, in]`, with a bias where the family has one and a low-rank correction where it is fine-tuned by LoRA.
#[derive(Module, Debug)]
pub struct Linear {
    weight: Param<Tensor<2>>,
    bias: Option<Param<Tensor<1>>>,
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
    /// Rows of tokens that the base did not have: trained while the rest is frozen.
    extra: Option<Param<Tensor<2>>>,
}

/// Attention.
#[derive(Module, Debug)]
pub struct Attention {
    q_proj: Linear,
    k_proj: Linear,
    v_proj: Linear,
    o_proj: Linear,
    q_norm: Option<Norm>,
    k_norm: Option<Norm>,
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
    /// Rows of the output layer for the tokens of [`Embedding::extra`], where it is not the embedding.
    lm_extra: Option<Param<Tensor<2>>>,
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
    lora_dropout: f32,
}

/// Dropout of one forward pass: masks follow from the seed and the place in the model, so a resumed run draws the same ones.
#[derive(Clone, Copy, Debug)]
struct Dropout {
    share: f32,
    seed: u64,
}

impl Dropout {
    /// `x` with a share of its elements zero and the others scaled up to keep the mean.
    fn apply(self, x: &Tensor<2>, place: usize) -> Tensor<2> {
        let shape = x.dims();
        let mut rng = Rng::new(self.seed ^ (place as u64 + 1).wrapping_mul(0x9e6c_63d0_876a_46ad));
        let kept = 1.0 / (1.0 - self.share);
        let mask: Vec<f32> = (0..shape[0] * shape[1]).map(|_| if rng.uniform() < self.share { 0.0 } else { kept }).collect();
        x.clone() * Tensor::from_data(TensorData::new(mask, shape), &x.device())
    }
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
        if config.head_dim > MAX_HEAD {
            return Err(TrainError::Config(format!("head_dim is {}, the kernels go to {MAX_HEAD}", config.head_dim)));
        }
        let weights = RefCell::new(weights);
        let take = |name: &str, shape: &[usize]| -> Result<Vec<f32>, TrainError> {
            weights.borrow().get(name, shape)?;
            Ok(weights.borrow_mut().take(name).map(|tensor| tensor.data).unwrap_or_default())
        };
        let matrix = |name: &str, shape: [usize; 2]| -> Result<Param<Tensor<2>>, TrainError> {
            let data = take(name, &shape)?;
            Ok(Param::from_tensor(Tensor::from_data(TensorData::new(data, shape), device)))
        };
        let vector = |name: String, width: usize| -> Result<Param<Tensor<1>>, TrainError> {
            let data = take(&name, &[width])?;
            Ok(Param::from_tensor(Tensor::from_data(TensorData::new(data, [width]), device)))
        };
        let linear = |name: String, rows: usize, cols: usize, bias: bool| -> Result<Linear, TrainError> {
            let bias = bias.then(|| vector(format!("{name}.bias"), rows)).transpose()?;
            Ok(Linear { weight: matrix(&format!("{name}.weight"), [rows, cols])?, bias, lora_a: None, lora_b: None })
        };
        let hidden = config.hidden_size;
        let norm =
            |name: String, width: usize| -> Result<Norm, TrainError> { Ok(Norm { weight: vector(format!("{name}.weight"), width)? }) };
        let (q, kv, ff) =
            (config.num_attention_heads * config.head_dim, config.num_key_value_heads * config.head_dim, config.intermediate_size);
        let head_norm = |name: String| config.qk_norm.then(|| norm(name, config.head_dim)).transpose();
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
                    post_attention_layernorm: norm(format!("{at}.post_attention_layernorm"), hidden)?,
                    mlp: Mlp {
                        gate_proj: linear(format!("{at}.mlp.gate_proj"), ff, hidden, mlp_bias)?,
                        up_proj: linear(format!("{at}.mlp.up_proj"), ff, hidden, mlp_bias)?,
                        down_proj: linear(format!("{at}.mlp.down_proj"), hidden, ff, mlp_bias)?,
                    },
                })
            })
            .collect();
        let body = Body {
            embed_tokens: Embedding { weight: matrix("model.embed_tokens.weight", [config.vocab_size, hidden])?, extra: None },
            layers: layers?,
            norm: norm("model.norm".to_owned(), hidden)?,
        };
        let lm_head = if config.tie_word_embeddings { None } else { Some(linear("lm_head".to_owned(), config.vocab_size, hidden, false)?) };
        let rope = Arc::new(RopeTable::new(&config.inv_freq(), config.rope.amplitude(), positions));
        let net = Net { model: body, lm_head, lm_extra: None };
        Ok(Self { net, config: config.clone(), rope, compute, lora_scale: 0.0, lora_dropout: 0.0 })
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Freeze everything and add LoRA factors to the chosen projections of every layer. `a` is random, `b` zero, so nothing changes yet.
    /// Rows of the embedding from `base_rows` on belong to tokens that the base has never seen: they stay trainable.
    #[must_use]
    pub fn with_lora(mut self, lora: &LoraConfig, base_rows: usize, seed: u64, device: &Device) -> Self {
        self.net = self.net.no_grad();
        self.lora_scale = lora.adapter("").scale();
        self.lora_dropout = lora.dropout;
        let mut rng = Rng::new(seed);
        for layer in &mut self.net.model.layers {
            let (attn, mlp) = (&mut layer.self_attn, &mut layer.mlp);
            let all = [&mut attn.q_proj, &mut attn.k_proj, &mut attn.v_proj, &mut attn.o_proj];
            let all = all.into_iter().chain([&mut mlp.gate_proj, &mut mlp.up_proj, &mut mlp.down_proj]);
            for (linear, _) in all.zip(TARGETS).filter(|(_, name)| lora.targets.iter().any(|target| target == name)) {
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
        let vocab = self.config.vocab_size;
        if base_rows < vocab {
            let split = |weight: &mut Param<Tensor<2>>| -> Param<Tensor<2>> {
                let all = weight.val();
                let part = |from: usize, rows: usize| Tensor::from_data(all.clone().narrow(0, from, rows).into_data(), device);
                *weight = Param::from_tensor(part(0, base_rows)).no_grad();
                Param::from_tensor(part(base_rows, vocab - base_rows))
            };
            let embedding = &mut self.net.model.embed_tokens;
            embedding.extra = Some(split(&mut embedding.weight));
            self.net.lm_extra = self.net.lm_head.as_mut().map(|head| split(&mut head.weight));
        }
        self
    }

    /// The product with matrices that lie on top of each other. `dropout` is that of the corrections' input, with its place in the model.
    fn project(&self, x: &Tensor<2>, parts: &[&Linear], dropout: Option<(Dropout, usize)>) -> Tensor<2> {
        let weights: Vec<Tensor<2>> = parts.iter().map(|linear| linear.weight.val()).collect();
        let weight = if let [one] = weights.as_slice() { one.clone() } else { Tensor::cat(weights, 0) };
        let mut y = ops::linear(self.compute, x.clone(), weight);
        // The projections that go together have biases together.
        let biases: Vec<Tensor<1>> = parts.iter().filter_map(|linear| Some(linear.bias.as_ref()?.val())).collect();
        if !biases.is_empty() {
            y = y + Tensor::cat(biases, 0).unsqueeze();
        }
        if parts.iter().all(|linear| linear.lora_a.is_none()) {
            return y;
        }
        let dropped = dropout.map_or_else(|| x.clone(), |(dropout, place)| dropout.apply(x, place));
        let correction = |linear: &&Linear| match (&linear.lora_a, &linear.lora_b) {
            (Some(a), Some(b)) => {
                let low = ops::linear(self.compute, dropped.clone(), a.val());
                ops::linear(self.compute, low, b.val()).mul_scalar(self.lora_scale)
            }
            _ => Tensor::zeros([x.dims()[0], linear.weight.val().dims()[0]], &x.device()),
        };
        y + Tensor::cat(parts.iter().map(correction).collect(), 1)
    }

    /// RMS norms of the single heads of q and k, where the family has them.
    fn norm_heads(&self, qkv: Tensor<2>, attention: &Attention) -> Tensor<2> {
        let (Some(q_norm), Some(k_norm)) = (&attention.q_norm, &attention.k_norm) else { return qkv };
        let ([tokens, width], d) = (qkv.dims(), self.config.head_dim);
        let (heads, kv_heads) = (self.config.num_attention_heads, self.config.num_key_value_heads);
        let part = |from: usize, count: usize, norm: &Norm| {
            let x = qkv.clone().narrow(1, from * d, count * d).reshape([tokens * count, d]);
            ops::rms_norm(self.compute, x, norm.weight.val(), self.config.rms_norm_eps as f32).reshape([tokens, count * d])
        };
        let values = (heads + kv_heads) * d;
        Tensor::cat(vec![part(0, heads, q_norm), part(heads, kv_heads, k_norm), qkv.clone().narrow(1, values, width - values)], 1)
    }

    /// Final hidden states of `rows` of a packed batch, normalised: `[rows, hidden]`.
    fn hidden(&self, batch: &Packed, dropout: Option<Dropout>, device: &Device) -> Tensor<2> {
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
        let mut x = self.embed(&batch.ids, device);
        let at = |layer: usize, part: usize| dropout.map(|dropout| (dropout, layer * 4 + part));
        let last = self.net.model.layers.len().saturating_sub(1);
        for (i, layer) in self.net.model.layers.iter().enumerate() {
            let (attn, mlp) = (&layer.self_attn, &layer.mlp);
            let y = norm(x.clone(), &layer.input_layernorm);
            let y = self.norm_heads(self.project(&y, &[&attn.q_proj, &attn.k_proj, &attn.v_proj], at(i, 0)), attn);
            let mut y = ops::attend(self.compute, y, &shape);
            if i == last {
                // Beyond the last attention a row feeds nothing but its own prediction.
                x = x.select(0, rows.clone());
                y = y.select(0, rows.clone());
            }
            x = x + self.project(&y, &[&attn.o_proj], at(i, 1));
            let y = norm(x.clone(), &layer.post_attention_layernorm);
            let y = ops::gated(self.compute, self.project(&y, &[&mlp.gate_proj, &mlp.up_proj], at(i, 2)));
            x = x + self.project(&y, &[&mlp.down_proj], at(i, 3));
        }
        norm(x, &self.net.model.norm)
    }

    /// Embeddings of tokens, `[tokens, hidden]`.
    fn embed(&self, ids: &[u32], device: &Device) -> Tensor<2> {
        let embedding = &self.net.model.embed_tokens;
        let base = embedding.weight.val().dims()[0];
        let rows = |of: &dyn Fn(usize) -> usize| {
            let rows: Vec<i64> = ids.iter().map(|id| of(*id as usize) as i64).collect();
            Tensor::<1, Int>::from_data(TensorData::new(rows, [ids.len()]), device)
        };
        let Some(extra) = &embedding.extra else { return embedding.weight.val().select(0, rows(&|id| id)) };
        let is_new: Vec<f32> = ids.iter().map(|id| f32::from(u8::from(*id as usize >= base))).collect();
        let is_new = Tensor::<2>::from_data(TensorData::new(is_new, [ids.len(), 1]), device);
        let old = embedding.weight.val().select(0, rows(&|id| if id < base { id } else { 0 }));
        let new = extra.val().select(0, rows(&|id| id.saturating_sub(base)));
        old * is_new.clone().neg().add_scalar(1.0) + new * is_new
    }

    fn logits_with(&self, batch: &Packed, dropout: Option<Dropout>, device: &Device) -> Tensor<2> {
        let hidden = self.hidden(batch, dropout, device);
        let (weight, extra) = match &self.net.lm_head {
            Some(head) => (&head.weight, &self.net.lm_extra),
            None => (&self.net.model.embed_tokens.weight, &self.net.model.embed_tokens.extra),
        };
        let logits = ops::linear(self.compute, hidden.clone(), weight.val());
        match extra {
            Some(extra) => Tensor::cat(vec![logits, ops::linear(self.compute, hidden, extra.val())], 1),
            None => logits,
        }
    }

    /// Logits of the batch's rows: `[rows, vocab]`.
    #[must_use]
    pub fn logits(&self, batch: &Packed, device: &Device) -> Tensor<2> {
        self.logits_with(batch, None, device)
    }

    /// `scale` times the summed cross-entropy of the batch's rows, as `[1]`. `seed` is that of the dropout, where the model has one.
    #[must_use]
    pub fn loss(&self, batch: &Packed, scale: f32, seed: u64, device: &Device) -> Tensor<1> {
        let dropout = (self.lora_dropout > 0.0).then_some(Dropout { share: self.lora_dropout, seed });
        ops::cross_entropy_loss(self.compute, self.logits_with(batch, dropout, device), &batch.targets, scale)
    }

    /// All tensors by their Hugging Face names, LoRA factors as `….lora_a` and `….lora_b`.
    #[must_use]
    pub fn tensors(&self) -> Weights {
        let mut reader = Reader::default();
        self.net.visit(&mut reader);
        reader.weights
    }

    /// The tensors of the embedding and the output layer with the rows of added tokens in their places, and LoRA factors as they are.
    ///
    /// # Errors
    /// Never for a model of this type.
    pub fn whole_tensors(&self) -> Result<Weights, TrainError> {
        let mut all = self.tensors();
        for (extra, name) in [("model.embed_tokens.extra", "model.embed_tokens.weight"), ("lm_extra", "lm_head.weight")] {
            let Some(rows) = all.take(extra) else { continue };
            if let Some(mut tensor) = all.take(name) {
                tensor.data.extend(rows.data);
                all.insert(name, model::Tensor::new(name, vec![tensor.shape[0] + rows.shape[0], tensor.shape[1]], tensor.data)?);
            }
        }
        Ok(all)
    }

    /// The model's own tensors, LoRA factors multiplied out and added.
    ///
    /// # Errors
    /// Never for a model of this type.
    pub fn merged(&self) -> Result<Weights, TrainError> {
        let all = self.whole_tensors()?;
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
