//! The LLaMA family and its relatives on the CPU: grouped-query attention, half-split rotary positions, RMSNorm, SwiGLU, tied or untied
//! output layer, optional biases and head norms, as [`model::ModelConfig`] says.
//!
//! Reference: `LlamaForCausalLM`, `Qwen2ForCausalLM` and `Qwen3ForCausalLM` of transformers; logits agree to 1e-4 in f32. candle reads and converts the weights, the arithmetic is
//! [`kernels`](super::kernels). K and V are never repeated per query head, no mask is built, and only the last position's logits are computed.
//! Rows of several conversations can go through the layers together; what comes out for one does not depend on the others.
use super::EngineError;
use super::attention::{self, Shape};
use super::cache::KvCache;
use super::kernels;
use super::linear::{Linear, Spare};
use super::weight_memory::Arena;
use model::gguf::{Format, blocks};
use model::{ModelConfig, Stored, WeightSource};
use rayon::prelude::*;

/// Rows of a prompt that go through the layers together: enough that a weight is read once for many rows, few enough to stay in cache.
pub(crate) const PREFILL_ROWS: usize = 96;

/// Rows from which on a thread takes rows of its own through a layer: with fewer, reading all weights on every thread takes longer than the threads'
/// waiting for each other at every product.
const ROWS_APIECE: usize = 16;

/// Values of a block above which SwiGLU is spread over threads (about 20 µs of one core).
const SWIGLU_ABOVE: usize = 16 << 10;

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
    embeddings: Option<Table>,
    layers: Vec<Layer>,
    norm: Vec<f32>,
    head: Linear,
    frequencies: Vec<f32>,
    amplitude: f32,
}

/// Rows of the embedding as they were stored.
struct Table {
    format: Format,
    bytes: Vec<u8>,
}

/// Tokens of one conversation that go through the layers with others'.
pub(crate) struct Segment<'a> {
    pub(crate) ids: &'a [u32],
    pub(crate) cache: &'a mut KvCache,
    /// Where the logits after the last token go, where they are wanted; with `every`, where those after each token are appended.
    pub(crate) logits: Option<&'a mut Vec<f32>>,
    pub(crate) every: bool,
}

/// Buffers of a forward pass; they grow to the widest block seen and are reused.
#[derive(Default, Clone)]
pub(crate) struct Scratch {
    x: Vec<f32>,
    normed: Vec<f32>,
    wide: Vec<f32>,
    mixed: Vec<f32>,
    act: Vec<f32>,
    narrow: Vec<f32>,
    spares: Vec<Spare>,
    angles: Vec<(f32, f32)>,
    attention: attention::Scratch,
    logits: Vec<f32>,
}

impl Llama {
    /// Builds the model from weights under the names of a Hugging Face folder (`model.layers.0.self_attn.q_proj.weight`), kept in the format in
    /// which they are stored. Shapes are checked against the configuration.
    ///
    /// # Errors
    /// A configuration that makes no model; a weight that is missing, has another shape or is not finite.
    pub fn new(config: ModelConfig, source: &dyn WeightSource) -> Result<Self, EngineError> {
        config
            .check()
            .map_err(|error| EngineError::Config(error.to_string()))?;
        let c = &config;
        let (hidden, inter) = (c.hidden_size, c.intermediate_size);
        let (q_width, kv_width) = (
            c.num_attention_heads * c.head_dim,
            c.num_key_value_heads * c.head_dim,
        );
        let vector = |name: &str, width: usize| vector(source, name, &[width]);
        let mut arena = Arena::default();
        let layer = |i: usize| -> Result<Layer, EngineError> {
            let at = |name: &str| format!("model.layers.{i}.{name}");
            // Matrices on top of each other, and their biases where the model has them.
            let mut linear = |parts: &[(&str, usize)],
                              inputs: usize,
                              biased: bool|
             -> Result<Linear, EngineError> {
                let matrix = |&(name, rows): &(&str, usize)| {
                    matrix(source, at(&format!("{name}.weight")), rows, inputs)
                };
                let bias = || {
                    parts
                        .iter()
                        .map(|(name, width)| vector(&at(&format!("{name}.bias")), *width))
                        .collect::<Result<Vec<_>, _>>()
                };
                let bias = biased.then(bias).transpose()?.map(|all| all.concat());
                Linear::load(
                    &parts.iter().map(matrix).collect::<Result<Vec<_>, _>>()?,
                    inputs,
                    bias,
                    &mut arena,
                )
            };
            let head_norm =
                |name: &str| c.qk_norm.then(|| vector(&at(name), c.head_dim)).transpose();
            let qkv = [
                ("self_attn.q_proj", q_width),
                ("self_attn.k_proj", kv_width),
                ("self_attn.v_proj", kv_width),
            ];
            Ok(Layer {
                input_norm: vector(&at("input_layernorm.weight"), hidden)?,
                qkv: linear(&qkv, hidden, c.qkv_bias)?,
                head_norms: head_norm("self_attn.q_norm.weight")?
                    .zip(head_norm("self_attn.k_norm.weight")?),
                o: linear(&[("self_attn.o_proj", hidden)], q_width, c.o_bias)?,
                post_norm: vector(&at("post_attention_layernorm.weight"), hidden)?,
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
        let norm = vector("model.norm.weight", hidden)?;
        let table = || {
            matrix(
                source,
                "model.embed_tokens.weight".to_owned(),
                c.vocab_size,
                hidden,
            )
        };
        let (embeddings, head) = if c.tie_word_embeddings {
            (None, Linear::load(&[table()?], hidden, None, &mut arena)?)
        } else {
            let head = matrix(source, "lm_head.weight".to_owned(), c.vocab_size, hidden)?;
            (
                Some(Table::load(table()?, hidden)?),
                Linear::load(&[head], hidden, None, &mut arena)?,
            )
        };
        let (frequencies, amplitude) = (config.inv_freq(), config.rope.amplitude());
        Ok(Self {
            config,
            embeddings,
            layers,
            norm,
            head,
            frequencies,
            amplitude,
        })
    }

    /// Bytes of all matrices.
    pub fn bytes(&self) -> usize {
        let layer = |l: &Layer| l.qkv.bytes() + l.o.bytes() + l.gate_up.bytes() + l.down.bytes();
        self.layers.iter().map(layer).sum::<usize>()
            + self.head.bytes()
            + self
                .embeddings
                .as_ref()
                .map_or(0, |table| table.bytes.len())
    }

    /// The shape of the model.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// An empty cache of this model's shape.
    pub(crate) fn cache(&self) -> KvCache {
        KvCache::new(
            self.config.num_hidden_layers,
            self.config.num_key_value_heads,
            self.config.head_dim,
        )
    }

    /// Runs `ids`, which have been checked, after what `cache` holds and leaves the logits of the last one in `logits`, or of `every` one.
    pub(crate) fn forward(
        &self,
        ids: &[u32],
        every: bool,
        cache: &mut KvCache,
        logits: &mut Vec<f32>,
        scratch: &mut Scratch,
    ) {
        cache.reserve(cache.len() + ids.len());
        logits.clear();
        if self
            .layers
            .iter()
            .any(|layer| layer.gate_up.splits(ids.len()))
        {
            // The whole pass goes to the pool's threads: from outside, every product would have to wait for one of them to wake up.
            rayon::scope(|_| self.blocks(ids, every, cache, logits, scratch));
        } else {
            self.blocks(ids, every, cache, logits, scratch);
        }
    }

    fn blocks(
        &self,
        ids: &[u32],
        every: bool,
        cache: &mut KvCache,
        logits: &mut Vec<f32>,
        scratch: &mut Scratch,
    ) {
        let blocks = ids.len().div_ceil(PREFILL_ROWS);
        for (b, ids) in ids.chunks(PREFILL_ROWS).enumerate() {
            let logits = (every || b + 1 == blocks).then_some(&mut *logits);
            self.block(
                &mut [Segment {
                    ids,
                    cache: &mut *cache,
                    logits,
                    every,
                }],
                scratch,
                rayon::current_num_threads(),
            );
        }
    }

    /// One block of rows through every layer on so many threads; caches must have room for their segment.
    pub(crate) fn block(&self, segments: &mut [Segment<'_>], s: &mut Scratch, threads: usize) {
        let c = &self.config;
        let hidden = c.hidden_size;
        let mut rows = segments.iter().map(|segment| segment.ids.len()).sum();
        s.size(rows, self);
        s.angles.clear();
        let mut shapes = Vec::with_capacity(segments.len());
        let mut done = 0;
        for segment in segments.iter() {
            for (row, &id) in s.x[done * hidden..]
                .chunks_exact_mut(hidden)
                .zip(segment.ids)
            {
                match &self.embeddings {
                    Some(table) => table.row(id as usize, row),
                    None => self.head.row(id as usize, row),
                }
            }
            let first = segment.cache.len();
            angles(
                &self.frequencies,
                self.amplitude,
                first,
                segment.ids.len(),
                &mut s.angles,
            );
            shapes.push(Shape {
                heads: c.num_attention_heads,
                kv_heads: c.num_key_value_heads,
                dim: c.head_dim,
                row: 0,
                first,
                rows: segment.ids.len(),
                begin: done,
                skip: 0,
            });
            done += segment.ids.len();
        }
        for (l, layer) in self.layers.iter().enumerate() {
            s.spread(rows, threads, layer.qkv.width(), c, |part| {
                layer.begin(part, c)
            });
            let last = l + 1 == self.layers.len();
            for (shape, segment) in shapes.iter_mut().zip(segments.iter_mut()) {
                shape.row = layer.qkv.width();
                if last {
                    // After the last layer's keys and values only rows whose logits are read are needed.
                    shape.skip = match segment.logits {
                        Some(_) if segment.every => 0,
                        Some(_) => shape.rows - 1,
                        None => shape.rows,
                    };
                }
                attention::store(shape, l, &s.wide, &s.angles, segment.cache);
            }
            let caches: Vec<&KvCache> = segments.iter().map(|segment| &*segment.cache).collect();
            attention::attend(
                &shapes,
                l,
                &s.wide,
                &s.angles,
                &caches,
                &mut s.attention,
                &mut s.mixed,
                threads,
            );
            if last {
                rows = 0;
                for shape in shapes.iter().filter(|shape| shape.skip < shape.rows) {
                    let (from, kept) =
                        ((shape.begin + shape.skip) * hidden, shape.rows - shape.skip);
                    s.x.copy_within(from..from + kept * hidden, rows * hidden);
                    rows += kept;
                }
                if rows == 0 {
                    break;
                }
            }
            s.spread(rows, threads, layer.gate_up.width(), c, |part| {
                layer.end(part, c)
            });
        }
        segments
            .iter_mut()
            .for_each(|segment| segment.cache.advance(segment.ids.len()));
        if rows > 0 {
            kernels::rms_norm(
                &s.x[..rows * hidden],
                &self.norm,
                c.rms_norm_eps as f32,
                &mut s.normed,
            );
            s.logits.resize(rows * self.head.width(), 0.0);
            self.head
                .run(&s.normed, rows, &mut s.logits, &mut s.spares[0], threads);
            let mut computed = s.logits.chunks_exact(self.head.width());
            for (shape, segment) in shapes.iter().zip(segments) {
                let Some(out) = segment.logits.as_mut() else {
                    continue;
                };
                if !segment.every {
                    out.clear();
                }
                computed
                    .by_ref()
                    .take(shape.rows - shape.skip)
                    .for_each(|row| out.extend_from_slice(&row[..c.vocab_size]));
            }
        }
    }
}

/// Rows on their way through the part of a layer before attention or behind it, which looks at no other rows: a thread's own, or all of them.
struct Rows<'a> {
    x: &'a mut [f32],
    normed: &'a mut [f32],
    /// Products with the matrices that stand on top of each other.
    wide: &'a mut [f32],
    /// What attention gave.
    mixed: &'a [f32],
    act: &'a mut [f32],
    narrow: &'a mut [f32],
    spare: &'a mut Spare,
    count: usize,
    /// Threads over which products are spread.
    threads: usize,
}

impl Layer {
    /// Up to the queries, keys and values, in `wide`.
    fn begin(&self, rows: Rows<'_>, c: &ModelConfig) {
        let Rows {
            x,
            normed,
            wide,
            act,
            spare,
            count,
            threads,
            ..
        } = rows;
        let eps = c.rms_norm_eps as f32;
        kernels::rms_norm(x, &self.input_norm, eps, normed);
        self.qkv.run(normed, count, wide, spare, threads);
        if let Some((q_norm, k_norm)) = &self.head_norms {
            let (q_width, kv_width) = (
                c.num_attention_heads * c.head_dim,
                c.num_key_value_heads * c.head_dim,
            );
            for row in wide.chunks_exact_mut(self.qkv.width()) {
                let (q, rest) = row.split_at_mut(q_width);
                for (part, weight) in [(q, q_norm), (&mut rest[..kv_width], k_norm)] {
                    // As wide as the widest block, so there is room for one row's heads.
                    let normed = &mut act[..part.len()];
                    kernels::rms_norm(part, weight, eps, normed);
                    part.copy_from_slice(normed);
                }
            }
        }
    }

    /// From what attention gave to the layer's output, in `x`.
    fn end(&self, rows: Rows<'_>, c: &ModelConfig) {
        let Rows {
            x,
            normed,
            wide,
            mixed,
            act,
            narrow,
            spare,
            count,
            threads,
        } = rows;
        let hidden = c.hidden_size;
        let width = hidden.next_multiple_of(kernels::PANEL);
        self.o.run(mixed, count, narrow, spare, threads);
        add_rows(x, narrow, hidden, width, count);
        kernels::rms_norm(x, &self.post_norm, c.rms_norm_eps as f32, normed);
        self.gate_up.run(normed, count, wide, spare, threads);
        swiglu(
            wide,
            self.gate_up.width(),
            c.intermediate_size,
            count,
            act,
            threads,
        );
        self.down.run(act, count, narrow, spare, threads);
        add_rows(x, narrow, hidden, width, count);
    }
}

/// Width of the buffer for activations, and of what attention gives.
fn act_widths(c: &ModelConfig) -> (usize, usize) {
    let heads = c.num_attention_heads * c.head_dim;
    (
        c.intermediate_size
            .max(heads)
            .max(c.num_key_value_heads * c.head_dim),
        heads,
    )
}

/// Cosine and sine of every position and frequency; the angle is an f32 product as in transformers.
pub(crate) fn angles(
    frequencies: &[f32],
    amplitude: f32,
    first: usize,
    rows: usize,
    out: &mut Vec<(f32, f32)>,
) {
    for position in first..first + rows {
        out.extend(frequencies.iter().map(|&f| {
            let (sin, cos) = (position as f32 * f).sin_cos();
            (cos * amplitude, sin * amplitude)
        }));
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
        grow(
            &mut self.wide,
            widest(&|l| l.qkv.width().max(l.gate_up.width())),
        );
        let (act, mixed) = act_widths(c);
        grow(&mut self.act, act);
        grow(&mut self.mixed, mixed);
        grow(
            &mut self.narrow,
            c.hidden_size.next_multiple_of(kernels::PANEL),
        );
        if self.spares.is_empty() {
            self.spares.push(Spare::default());
        }
    }

    /// Does `op` with the first `rows` rows: each thread with rows of its own where there are enough, so that nothing is done by one for all and they
    /// wait for each other only once; else with all together.
    fn spread(
        &mut self,
        rows: usize,
        threads: usize,
        wide: usize,
        c: &ModelConfig,
        op: impl Fn(Rows<'_>) + Sync + Send,
    ) {
        let apart = threads > 1 && rows >= threads * ROWS_APIECE;
        let each = if apart { rows.div_ceil(threads) } else { rows };
        let ((act, mixed), hidden) = (act_widths(c), c.hidden_size);
        let narrow = hidden.next_multiple_of(kernels::PANEL);
        self.spares
            .resize_with(self.spares.len().max(rows.div_ceil(each)), Spare::default);
        let x = self.x[..rows * hidden].chunks_mut(each * hidden);
        let normed = self.normed[..rows * hidden].chunks_mut(each * hidden);
        let wide = self.wide[..rows * wide].chunks_mut(each * wide);
        let mixed = self.mixed[..rows * mixed].chunks(each * mixed);
        let act = self.act[..rows * act].chunks_mut(each * act);
        let narrow = self.narrow[..rows * narrow].chunks_mut(each * narrow);
        let parts = x
            .zip(normed)
            .zip(wide)
            .zip(mixed)
            .zip(act)
            .zip(narrow)
            .zip(&mut self.spares);
        let parts = parts.map(|((((((x, normed), wide), mixed), act), narrow), spare)| {
            let count = x.len() / hidden;
            Rows {
                x,
                normed,
                wide,
                mixed,
                act,
                narrow,
                spare,
                count,
                threads: if apart { 1 } else { threads },
            }
        });
        if apart {
            parts
                .collect::<Vec<_>>()
                .into_par_iter()
                .with_max_len(1)
                .for_each(op);
        } else {
            parts.for_each(op);
        }
    }
}

/// [`kernels::swiglu`], many rows on all threads.
fn swiglu(
    gate_up: &[f32],
    row_step: usize,
    width: usize,
    rows: usize,
    out: &mut [f32],
    threads: usize,
) {
    let each = if rows * width > SWIGLU_ABOVE {
        rows.div_ceil(threads)
    } else {
        rows
    };
    if each == rows {
        return kernels::swiglu(gate_up, row_step, width, rows, out);
    }
    let parts = gate_up[..rows * row_step]
        .par_chunks(each * row_step)
        .zip(out[..rows * width].par_chunks_mut(each * width));
    parts.for_each(|(gate_up, out)| {
        kernels::swiglu(gate_up, row_step, width, out.len() / width, out)
    });
}

/// `x += y` where rows of `y` are filled up to `width`.
fn add_rows(x: &mut [f32], y: &[f32], hidden: usize, width: usize, rows: usize) {
    for (x, y) in x
        .chunks_exact_mut(hidden)
        .zip(y.chunks_exact(width))
        .take(rows)
    {
        kernels::add(x, y);
    }
}

impl Table {
    fn load((name, stored): (String, Stored<'_>), width: usize) -> Result<Self, EngineError> {
        let fail = |reason: String| EngineError::Weight {
            name: name.clone(),
            reason,
        };
        let format = stored.format;
        let each = format
            .row_bytes(width)
            .ok_or_else(|| fail(format!("rows of {width} are no whole number of blocks")))?;
        let rows = stored.shape.first().copied().unwrap_or(0);
        let mut bytes = Vec::with_capacity(rows * each);
        stored
            .rows(0, rows, &mut bytes)
            .map_err(|error| fail(error.to_string()))?;
        match bytes
            .chunks_exact(each)
            .position(|row| !blocks::finite(format, row))
        {
            Some(bad) => Err(fail(format!(
                "row {bad} is not finite: a value or scale is NaN or infinite"
            ))),
            None => Ok(Self { format, bytes }),
        }
    }

    fn row(&self, id: usize, out: &mut [f32]) {
        let each = self.format.row_bytes(out.len()).unwrap_or(0);
        blocks::dequantise(self.format, &self.bytes[id * each..][..each], out);
    }
}

/// A tensor after its shape has been checked.
pub(crate) fn stored<'a>(
    source: &'a dyn WeightSource,
    name: &str,
    shape: &[usize],
) -> Result<Stored<'a>, EngineError> {
    let fail = |reason: String| EngineError::Weight {
        name: name.to_owned(),
        reason,
    };
    let stored = source.open(name).map_err(|error| fail(error.to_string()))?;
    if stored.shape != shape {
        return Err(fail(format!(
            "its shape is {:?}, the configuration asks for {shape:?}",
            stored.shape
        )));
    }
    Ok(stored)
}

fn matrix(
    source: &dyn WeightSource,
    name: String,
    rows: usize,
    columns: usize,
) -> Result<(String, Stored<'_>), EngineError> {
    let stored = stored(source, &name, &[rows, columns])?;
    Ok((name, stored))
}

/// A tensor's values after its shape has been checked.
pub(crate) fn vector(
    source: &dyn WeightSource,
    name: &str,
    shape: &[usize],
) -> Result<Vec<f32>, EngineError> {
    let fail = |reason: String| EngineError::Weight {
        name: name.to_owned(),
        reason,
    };
    let values = stored(source, name, shape)?
        .values()
        .map_err(|error| fail(error.to_string()))?;
    match values.iter().position(|v| !v.is_finite()) {
        Some(at) => Err(fail(format!("value {at} is {}", values[at]))),
        None => Ok(values),
    }
}
