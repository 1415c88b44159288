//! The LLaMA family and its relatives on the CPU: grouped-query attention, half-split rotary positions, RMSNorm, SwiGLU, tied or untied
//! output layer, optional biases and head norms, as [`model::ModelConfig`] says.
//!
//! Reference: `LlamaForCausalLM`, `Qwen2ForCausalLM` and `Qwen3ForCausalLM` of transformers; logits agree to 1e-4 in f32. candle reads and converts the weights, the arithmetic is
//! [`kernels`](super::kernels). K and V are never repeated per query head, no mask is built, and only the last position's logits are computed.
use super::EngineError;
use super::attention::{self, Shape};
use super::cache::KvCache;
use super::kernels;
use super::linear::Linear;
use candle_core::{DType, Device, Tensor};
use model::ModelConfig;

/// Rows of a prompt that go through the layers together: enough that a weight is read once for many rows, few enough to stay in cache.
const PREFILL_ROWS: usize = 96;

struct Layer {
    input_norm: Vec<f32>,
    qkv: Linear,
    /// Weights of the norms of a head of q and of k.
    head_norms: Option<(Vec<f32>, Vec<f32>)>,
    o: Linear,
    post_norm: Vec<f32>,
    gate_up: Linear,
    down: Linear,
}

/// A model ready to run. Holds no state of any conversation: share it between threads, give each its own session.
pub struct Llama {
    config: ModelConfig,
    /// `None` where the output layer is the table.
    embeddings: Option<Vec<f32>>,
    layers: Vec<Layer>,
    norm: Vec<f32>,
    head: Linear,
    frequencies: Vec<f32>,
    amplitude: f32,
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
    pub fn new(config: ModelConfig, get: &dyn Fn(&str) -> candle_core::Result<Tensor>) -> Result<Self, EngineError> {
        config.check().map_err(|error| EngineError::Config(error.to_string()))?;
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
            let bias = |has: bool, parts: &[(&str, usize)]| -> Result<Option<Vec<f32>>, EngineError> {
                let all = || parts.iter().map(|(name, width)| vector(&at(&format!("{name}.bias")), *width)).collect::<Result<Vec<_>, _>>();
                Ok(has.then(all).transpose()?.map(|all| all.concat()))
            };
            let head_norms = if c.qk_norm {
                Some((vector(&at("self_attn.q_norm.weight"), c.head_dim)?, vector(&at("self_attn.k_norm.weight"), c.head_dim)?))
            } else {
                None
            };
            let qkv_bias =
                bias(c.qkv_bias, &[("self_attn.q_proj", q_width), ("self_attn.k_proj", kv_width), ("self_attn.v_proj", kv_width)])?;
            let o = matrix(&at("self_attn.o_proj.weight"), hidden, q_width)?;
            let gate = matrix(&at("mlp.gate_proj.weight"), inter, hidden)?;
            let up = matrix(&at("mlp.up_proj.weight"), inter, hidden)?;
            let down = matrix(&at("mlp.down_proj.weight"), hidden, inter)?;
            Ok(Layer {
                input_norm: vector(&at("input_layernorm.weight"), hidden)?,
                qkv: Linear::pack(&[&q, &k, &v], hidden, qkv_bias),
                head_norms,
                o: Linear::pack(&[&o], q_width, bias(c.o_bias, &[("self_attn.o_proj", hidden)])?),
                post_norm: vector(&at("post_attention_layernorm.weight"), hidden)?,
                gate_up: Linear::pack(&[&gate, &up], hidden, bias(c.mlp_bias, &[("mlp.gate_proj", inter), ("mlp.up_proj", inter)])?),
                down: Linear::pack(&[&down], inter, bias(c.mlp_bias, &[("mlp.down_proj", hidden)])?),
            })
        };
        let layers = (0..c.num_hidden_layers).map(layer).collect::<Result<Vec<_>, _>>()?;
        let norm = vector("model.norm.weight", hidden)?;
        let (embeddings, head) = if c.tie_word_embeddings {
            (None, Linear::pack(&[&table], hidden, None))
        } else {
            (Some(table), Linear::pack(&[&matrix("lm_head.weight", c.vocab_size, hidden)?], hidden, None))
        };
        let (frequencies, amplitude) = (config.inv_freq(), config.rope.amplitude());
        Ok(Self { config, embeddings, layers, norm, head, frequencies, amplitude })
    }

    /// The shape of the model.
    pub fn config(&self) -> &ModelConfig {
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
        let max = self.config.context();
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
            if let Some((q_norm, k_norm)) = &layer.head_norms {
                let (q_width, kv_width) = (c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim);
                for row in s.wide.chunks_exact_mut(layer.qkv.width()).take(rows) {
                    let (q, rest) = row.split_at_mut(q_width);
                    for (part, weight) in [(q, q_norm), (&mut rest[..kv_width], k_norm)] {
                        // As wide as the widest block, so there is room for one row's heads.
                        let normed = &mut s.act[..part.len()];
                        kernels::rms_norm(part, weight, eps, normed);
                        part.copy_from_slice(normed);
                    }
                }
            }
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
                (cos * self.amplitude, sin * self.amplitude)
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
        grow(&mut self.act, c.intermediate_size.max(c.num_attention_heads.max(c.num_key_value_heads) * c.head_dim));
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
