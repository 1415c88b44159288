//! The LLaMA family on the CPU: grouped-query attention, half-split rotary positions (default and llama3 scaling), RMSNorm, SwiGLU, tied or
//! untied output layer, optional attention biases.
//!
//! Reference: `LlamaForCausalLM` of transformers; logits agree to 1e-4 in f32. candle reads and converts the weights, the arithmetic is
//! [`kernels`](super::kernels). K and V are never repeated per query head, no mask is built, and only the last position's logits are computed.
use super::EngineError;
use super::attention::{self, Shape};
use super::cache::KvCache;
use super::kernels;
use super::linear::Linear;
use candle_core::{DType, Device, Tensor};

/// Rows of a prompt that go through the layers together: enough that a weight is read once for many rows, few enough to stay in cache.
const PREFILL_ROWS: usize = 96;

/// The shape of a model, in Hugging Face's names.
#[derive(Debug, Clone, PartialEq)]
pub struct LlamaConfig {
    /// Rows of the embedding table.
    pub vocab_size: usize,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Width of the feed-forward layer.
    pub intermediate_size: usize,
    /// Number of layers.
    pub num_hidden_layers: usize,
    /// Query heads.
    pub num_attention_heads: usize,
    /// Key and value heads; divides the query heads.
    pub num_key_value_heads: usize,
    /// Width of a head; even.
    pub head_dim: usize,
    /// Longest context.
    pub max_position_embeddings: usize,
    /// Added to the mean square.
    pub rms_norm_eps: f64,
    /// Base of the rotary frequencies.
    pub rope_theta: f64,
    /// Frequency scaling of Llama 3, where the model has it.
    pub rope_scaling: Option<Llama3Scaling>,
    /// Whether the output layer is the embedding table.
    pub tie_word_embeddings: bool,
    /// Whether q, k and v have biases (the Qwen2 family).
    pub qkv_bias: bool,
}

/// `rope_type: "llama3"`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Llama3Scaling {
    /// How much longer low frequencies are made.
    pub factor: f64,
    /// Below this many turns over the original context a frequency is scaled in full.
    pub low_freq_factor: f64,
    /// Above this many turns it is kept.
    pub high_freq_factor: f64,
    /// Context of the original training.
    pub original_max_position_embeddings: usize,
}

impl LlamaConfig {
    fn check(&self) -> Result<(), EngineError> {
        let fail = |what: String| Err(EngineError::Config(what));
        let sizes = [
            ("vocab_size", self.vocab_size),
            ("hidden_size", self.hidden_size),
            ("intermediate_size", self.intermediate_size),
            ("num_hidden_layers", self.num_hidden_layers),
            ("num_attention_heads", self.num_attention_heads),
            ("num_key_value_heads", self.num_key_value_heads),
            ("head_dim", self.head_dim),
            ("max_position_embeddings", self.max_position_embeddings),
        ];
        if let Some((name, _)) = sizes.iter().find(|(_, size)| *size == 0) {
            return fail(format!("{name} is 0"));
        }
        if !self.num_attention_heads.is_multiple_of(self.num_key_value_heads) {
            return fail(format!("{} attention heads cannot share {} key/value heads", self.num_attention_heads, self.num_key_value_heads));
        }
        if !self.head_dim.is_multiple_of(2) {
            return fail(format!("head_dim {} is odd, rotary positions need pairs", self.head_dim));
        }
        Ok(())
    }

    /// Rotary frequencies, one a pair of dimensions.
    fn frequencies(&self) -> Vec<f32> {
        let half = self.head_dim / 2;
        let plain = (0..half).map(|i| self.rope_theta.powf(-2.0 * i as f64 / self.head_dim as f64));
        let Some(s) = self.rope_scaling else { return plain.map(|f| f as f32).collect() };
        let original = s.original_max_position_embeddings as f64;
        let scaled = plain.map(|f| {
            let turns = original * f / std::f64::consts::TAU;
            if turns < s.low_freq_factor {
                f / s.factor
            } else if turns > s.high_freq_factor {
                f
            } else {
                let smooth = (turns - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
                (1.0 - smooth) * f / s.factor + smooth * f
            }
        });
        scaled.map(|f| f as f32).collect()
    }
}

struct Layer {
    input_norm: Vec<f32>,
    qkv: Linear,
    o: Linear,
    post_norm: Vec<f32>,
    gate_up: Linear,
    down: Linear,
}

/// A model ready to run. Holds no state of any conversation: share it between threads, give each its own session.
pub struct Llama {
    config: LlamaConfig,
    /// `None` where the output layer is the table.
    embeddings: Option<Vec<f32>>,
    layers: Vec<Layer>,
    norm: Vec<f32>,
    head: Linear,
    frequencies: Vec<f32>,
}

/// Buffers of one session's forward pass; they grow to the widest block seen and are reused.
#[derive(Default, Clone)]
pub(crate) struct Scratch {
    x: Vec<f32>,
    normed: Vec<f32>,
    wide: Vec<f32>,
    act: Vec<f32>,
    narrow: Vec<f32>,
    spare: Vec<f32>,
    angles: Vec<(f32, f32)>,
    attention: attention::Scratch,
    /// Logits of the last position fed.
    pub(crate) logits: Vec<f32>,
}

impl Llama {
    /// Builds the model; `get` returns the weight of a name as in a Hugging Face folder (`model.layers.0.self_attn.q_proj.weight`), in any
    /// float type. Shapes are checked against the configuration.
    ///
    /// # Errors
    /// A configuration that makes no model; a weight that is missing, has another shape or is not finite.
    pub fn new(config: LlamaConfig, get: &dyn Fn(&str) -> candle_core::Result<Tensor>) -> Result<Self, EngineError> {
        config.check()?;
        let c = &config;
        let (hidden, inter) = (c.hidden_size, c.intermediate_size);
        let (q_width, kv_width) = (c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim);
        let matrix = |name: &str, rows: usize, columns: usize| read(get, name, &[rows, columns]);
        let vector = |name: &str, width: usize| read(get, name, &[width]);
        let table = matrix("model.embed_tokens.weight", c.vocab_size, hidden)?;
        let layer = |i: usize| -> Result<Layer, EngineError> {
            let at = |name: &str| format!("model.layers.{i}.{name}");
            let q = matrix(&at("self_attn.q_proj.weight"), q_width, hidden)?;
            let k = matrix(&at("self_attn.k_proj.weight"), kv_width, hidden)?;
            let v = matrix(&at("self_attn.v_proj.weight"), kv_width, hidden)?;
            let bias = if c.qkv_bias {
                let mut all = vector(&at("self_attn.q_proj.bias"), q_width)?;
                all.extend(vector(&at("self_attn.k_proj.bias"), kv_width)?);
                all.extend(vector(&at("self_attn.v_proj.bias"), kv_width)?);
                Some(all)
            } else {
                None
            };
            let gate = matrix(&at("mlp.gate_proj.weight"), inter, hidden)?;
            let up = matrix(&at("mlp.up_proj.weight"), inter, hidden)?;
            Ok(Layer {
                input_norm: vector(&at("input_layernorm.weight"), hidden)?,
                qkv: Linear::pack(&[&q, &k, &v], hidden, bias),
                o: Linear::pack(&[&matrix(&at("self_attn.o_proj.weight"), hidden, q_width)?], q_width, None),
                post_norm: vector(&at("post_attention_layernorm.weight"), hidden)?,
                gate_up: Linear::pack(&[&gate, &up], hidden, None),
                down: Linear::pack(&[&matrix(&at("mlp.down_proj.weight"), hidden, inter)?], inter, None),
            })
        };
        let layers = (0..c.num_hidden_layers).map(layer).collect::<Result<Vec<_>, _>>()?;
        let norm = vector("model.norm.weight", hidden)?;
        let (embeddings, head) = if c.tie_word_embeddings {
            (None, Linear::pack(&[&table], hidden, None))
        } else {
            (Some(table), Linear::pack(&[&matrix("lm_head.weight", c.vocab_size, hidden)?], hidden, None))
        };
        let frequencies = config.frequencies();
        Ok(Self { config, embeddings, layers, norm, head, frequencies })
    }

    /// The shape of the model.
    pub fn config(&self) -> &LlamaConfig {
        &self.config
    }

    /// An empty cache of this model's shape.
    pub(crate) fn cache(&self) -> KvCache {
        KvCache::new(self.config.num_hidden_layers, self.config.num_key_value_heads, self.config.head_dim)
    }

    /// Runs `ids` after what `cache` holds and leaves the logits of the last one in `scratch.logits`.
    pub(crate) fn forward(&self, ids: &[u32], cache: &mut KvCache, scratch: &mut Scratch) -> Result<(), EngineError> {
        let vocab = self.config.vocab_size;
        if let Some(&id) = ids.iter().find(|&&id| id as usize >= vocab) {
            return Err(EngineError::Token { id, vocab });
        }
        let needed = cache.len() + ids.len();
        let max = self.config.max_position_embeddings;
        if needed > max {
            return Err(EngineError::Context { needed, max });
        }
        cache.reserve(needed);
        let blocks = ids.len().div_ceil(PREFILL_ROWS);
        for (b, block) in ids.chunks(PREFILL_ROWS).enumerate() {
            self.block(block, b + 1 == blocks, cache, scratch);
        }
        Ok(())
    }

    /// One block of rows through every layer.
    fn block(&self, ids: &[u32], is_last: bool, cache: &mut KvCache, s: &mut Scratch) {
        let c = &self.config;
        let hidden = c.hidden_size;
        let width = hidden.next_multiple_of(kernels::PANEL);
        let eps = c.rms_norm_eps as f32;
        let first = cache.len();
        s.size(ids.len(), self);
        for (row, &id) in s.x.chunks_exact_mut(hidden).zip(ids) {
            match &self.embeddings {
                Some(table) => row.copy_from_slice(&table[id as usize * hidden..][..hidden]),
                None => self.head.row(id as usize, row),
            }
        }
        self.angles(first, ids.len(), &mut s.angles);
        // Rows still needed: after the last layer's keys and values only the row whose logits are read.
        let mut rows = ids.len();
        for (l, layer) in self.layers.iter().enumerate() {
            kernels::rms_norm(&s.x[..rows * hidden], &layer.input_norm, eps, &mut s.normed);
            layer.qkv.run(&s.normed, rows, &mut s.wide, &mut s.spare);
            let shape = Shape {
                heads: c.num_attention_heads,
                kv_heads: c.num_key_value_heads,
                dim: c.head_dim,
                row: layer.qkv.width(),
                first,
                rows,
            };
            let mut skip = 0;
            if l + 1 == self.layers.len() {
                skip = if is_last { rows - 1 } else { rows };
            }
            attention::store(&shape, l, &s.wide, &s.angles, cache);
            if skip == rows {
                break;
            }
            attention::attend(&shape, skip, l, &s.wide, &s.angles, cache, &mut s.attention, &mut s.act);
            if skip > 0 {
                s.x.copy_within(skip * hidden..rows * hidden, 0);
                rows -= skip;
            }
            layer.o.run(&s.act, rows, &mut s.narrow, &mut s.spare);
            add_rows(&mut s.x, &s.narrow, hidden, width, rows);
            kernels::rms_norm(&s.x[..rows * hidden], &layer.post_norm, eps, &mut s.normed);
            layer.gate_up.run(&s.normed, rows, &mut s.wide, &mut s.spare);
            kernels::swiglu(&s.wide, layer.gate_up.width(), c.intermediate_size, rows, &mut s.act);
            layer.down.run(&s.act, rows, &mut s.narrow, &mut s.spare);
            add_rows(&mut s.x, &s.narrow, hidden, width, rows);
        }
        cache.advance(ids.len());
        if is_last {
            kernels::rms_norm(&s.x[..hidden], &self.norm, eps, &mut s.normed);
            s.logits.resize(self.head.width(), 0.0);
            self.head.run(&s.normed, 1, &mut s.logits, &mut s.spare);
            s.logits.truncate(c.vocab_size);
        }
    }

    /// Cosine and sine of every position and frequency; the angle is an f32 product as in transformers.
    fn angles(&self, first: usize, rows: usize, out: &mut Vec<(f32, f32)>) {
        out.clear();
        for position in first..first + rows {
            out.extend(self.frequencies.iter().map(|&f| {
                let (sin, cos) = (position as f32 * f).sin_cos();
                (cos, sin)
            }));
        }
    }
}

impl Scratch {
    fn size(&mut self, rows: usize, model: &Llama) {
        let c = &model.config;
        let grow = |v: &mut Vec<f32>, width: usize| {
            if v.len() < rows * width {
                v.resize(rows * width, 0.0);
            }
        };
        let widest = |f: &dyn Fn(&Layer) -> usize| model.layers.iter().map(f).max().unwrap_or(0);
        grow(&mut self.x, c.hidden_size);
        grow(&mut self.normed, c.hidden_size);
        grow(&mut self.wide, widest(&|l| l.qkv.width().max(l.gate_up.width())));
        grow(&mut self.act, c.intermediate_size.max(c.num_attention_heads * c.head_dim));
        grow(&mut self.narrow, c.hidden_size.next_multiple_of(kernels::PANEL));
    }
}

/// `x += y` where rows of `y` are filled up to `width`.
fn add_rows(x: &mut [f32], y: &[f32], hidden: usize, width: usize, rows: usize) {
    for (x, y) in x.chunks_exact_mut(hidden).zip(y.chunks_exact(width)).take(rows) {
        kernels::add(x, y);
    }
}

/// A weight as f32 values in row-major order, after its shape has been checked.
fn read(get: &dyn Fn(&str) -> candle_core::Result<Tensor>, name: &str, shape: &[usize]) -> Result<Vec<f32>, EngineError> {
    let fail = |reason: String| EngineError::Weight { name: name.to_owned(), reason };
    let tensor = get(name).map_err(|e| fail(e.to_string()))?;
    if tensor.dims() != shape {
        return Err(fail(format!("its shape is {:?}, the configuration asks for {shape:?}", tensor.dims())));
    }
    if !tensor.dtype().is_float() {
        return Err(fail(format!("{:?} is no float type", tensor.dtype())));
    }
    let values = tensor.to_device(&Device::Cpu)?.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>()?;
    if let Some(at) = values.iter().position(|v| !v.is_finite()) {
        return Err(fail(format!("value {at} is {}", values[at])));
    }
    Ok(values)
}

impl From<&model::ModelConfig> for LlamaConfig {
    fn from(config: &model::ModelConfig) -> Self {
        Self {
            vocab_size: config.vocab_size,
            hidden_size: config.hidden_size,
            intermediate_size: config.intermediate_size,
            num_hidden_layers: config.num_hidden_layers,
            num_attention_heads: config.num_attention_heads,
            num_key_value_heads: config.num_key_value_heads,
            head_dim: config.head_dim,
            max_position_embeddings: config.max_position_embeddings,
            rms_norm_eps: config.rms_norm_eps,
            rope_theta: config.rope.theta,
            rope_scaling: config.rope.llama3.as_ref().map(|scaling| Llama3Scaling {
                factor: scaling.factor,
                low_freq_factor: scaling.low_freq_factor,
                high_freq_factor: scaling.high_freq_factor,
                original_max_position_embeddings: scaling.original_max_position_embeddings,
            }),
            tie_word_embeddings: config.tie_word_embeddings,
            // The families that `model` reads have none.
            qkv_bias: false,
        }
    }
}
