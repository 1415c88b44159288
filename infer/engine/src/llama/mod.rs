//! The LLaMA family on the CPU: grouped-query attention, half-split rotary positions, RMSNorm,
//! SwiGLU, tied or untied output layer, optional biases and head norms, depending on
//! [`model::ModelConfig`].
//!
//! Reference: `LlamaForCausalLM`, `Qwen2ForCausalLM` and `Qwen3ForCausalLM` of transformers; logits
//! agree to 1e-4 in f32. The arithmetic is [`kernels`]. K and V are never repeated per query head,
//! no mask is built, and only requested logits are computed. Rows of several conversations can go
//! through the layers together; the result of one does not depend on the others.

mod buffers;
mod embedding;
mod rows;

pub(crate) use buffers::ForwardBuffers;

use model::{ModelConfig, WeightSource};

use crate::EngineError;
use crate::attention::{self, SegmentShape};
use crate::cache::KvCache;
use crate::kernels;
use crate::layer::LayerWeights;
use crate::linear::Linear;
use crate::segment::{TokenSegment, angles};
use crate::tensors;
use crate::weight_memory::WeightArena;
use embedding::EmbeddingTable;
use rows::{BlockWidths, PackedLayer};

/// Rows of a prompt in one block: enough to read each weight once for many rows, few enough to stay
/// in cache.
pub(crate) const PREFILL_ROWS: usize = 96;

/// A model ready to run on the CPU. It holds no conversation state: threads share it, each with its
/// own session.
pub struct PackedLlama {
    config: ModelConfig,
    /// `None` if the output layer doubles as the embedding table.
    embeddings: Option<EmbeddingTable>,
    layers: Vec<PackedLayer>,
    norm: Vec<f32>,
    head: Linear,
    frequencies: Vec<f32>,
    amplitude: f32,
}

impl PackedLlama {
    /// Builds the model from weights under the names of a Hugging Face folder
    /// (`model.layers.0.self_attn.q_proj.weight`). Weights keep their stored format; shapes are
    /// checked against the configuration.
    ///
    /// # Errors
    /// An inconsistent configuration; a weight that is missing, misshapen or not finite.
    pub fn new(config: ModelConfig, source: &dyn WeightSource) -> Result<Self, EngineError> {
        config
            .check()
            .map_err(|error| EngineError::Config(error.to_string()))?;
        let (hidden, vocab) = (config.hidden_size, config.vocab_size);
        let vector = |name: &str, width: usize| tensors::values(source, name, &[width]);
        let matrix = |name: &str, rows: usize, columns: usize| {
            tensors::open_named(source, name, &[rows, columns])
        };
        let mut arena = WeightArena::default();
        let mut layer = |index| {
            LayerWeights::load(
                &config,
                index,
                |linear| {
                    let (mut parts, mut bias) = (Vec::new(), Vec::new());
                    for (name, rows) in &linear.matrices {
                        parts.push(matrix(&format!("{name}.weight"), *rows, linear.inputs)?);
                        if linear.biased {
                            bias.extend(vector(&format!("{name}.bias"), *rows)?);
                        }
                    }
                    let bias = linear.biased.then_some(bias);
                    Linear::load(&parts, linear.inputs, bias, &mut arena)
                },
                vector,
            )
        };
        let layers = (0..config.num_hidden_layers)
            .map(&mut layer)
            .collect::<Result<Vec<_>, _>>()?;
        let norm = vector("model.norm.weight", hidden)?;
        let table = || matrix("model.embed_tokens.weight", vocab, hidden);
        let (embeddings, head) = if config.tie_word_embeddings {
            (None, table()?)
        } else {
            let head = matrix("lm_head.weight", vocab, hidden)?;
            (Some(EmbeddingTable::load(&table()?, vocab, hidden)?), head)
        };
        Ok(Self {
            head: Linear::load(&[head], hidden, None, &mut arena)?,
            frequencies: config.inv_freq(),
            amplitude: config.rope.amplitude(),
            config,
            embeddings,
            layers,
            norm,
        })
    }

    /// Bytes of all matrices.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let layers = self.layers.iter().flat_map(LayerWeights::linears);
        layers.map(Linear::bytes).sum::<usize>()
            + self.head.bytes()
            + self.embeddings.as_ref().map_or(0, EmbeddingTable::bytes)
    }

    /// The model's configuration.
    #[must_use]
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

    /// Whether products over `rows` rows are split between threads.
    pub(crate) fn splits(&self, rows: usize) -> bool {
        self.layers.iter().any(|layer| layer.gate_up.splits(rows))
    }

    /// Runs one block of rows through every layer on `threads` threads. The caches must have room
    /// for their segments.
    pub(crate) fn block(
        &self,
        segments: &mut [TokenSegment<'_>],
        buffers: &mut ForwardBuffers,
        threads: usize,
    ) {
        let (c, hidden) = (&self.config, self.config.hidden_size);
        let mut rows = segments.iter().map(|segment| segment.ids.len()).sum();
        buffers.reserve(rows, &self.widths());
        let mut shapes = self.embed(segments, buffers);
        for (l, layer) in self.layers.iter().enumerate() {
            buffers.for_rows(rows, threads, layer.qkv.width(), c, |rows| {
                layer.project_qkv(rows, c);
            });
            let last = l + 1 == self.layers.len();
            for (shape, segment) in shapes.iter_mut().zip(segments.iter_mut()) {
                shape.row = layer.qkv.width();
                if last {
                    // After the last layer's keys and values only rows with read logits matter.
                    shape.skip = segment.unread_rows();
                }
                attention::store(shape, l, &buffers.wide, &buffers.angles, segment.cache);
            }
            let caches: Vec<&KvCache> = segments.iter().map(|segment| &*segment.cache).collect();
            attention::attend(
                &shapes,
                l,
                &buffers.wide,
                &buffers.angles,
                &caches,
                &mut buffers.attention,
                &mut buffers.mixed,
                threads,
            );
            if last {
                rows = compact(&mut buffers.x, &shapes, hidden);
                if rows == 0 {
                    break;
                }
            }
            buffers.for_rows(rows, threads, layer.gate_up.width(), c, |rows| {
                layer.finish(rows, c);
            });
        }
        for segment in segments.iter_mut() {
            segment.cache.advance(segment.ids.len());
        }
        if rows > 0 {
            self.logits(segments, &shapes, rows, buffers, threads);
        }
    }

    /// Writes the embeddings and rotary angles of all rows and returns the segments' shapes.
    fn embed(
        &self,
        segments: &[TokenSegment<'_>],
        buffers: &mut ForwardBuffers,
    ) -> Vec<SegmentShape> {
        let (c, hidden) = (&self.config, self.config.hidden_size);
        buffers.angles.clear();
        let mut shapes = Vec::with_capacity(segments.len());
        let mut begin = 0;
        for segment in segments {
            let rows = segment.ids.len();
            for (row, &id) in buffers.x[begin * hidden..]
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
                rows,
                &mut buffers.angles,
            );
            shapes.push(SegmentShape {
                heads: c.num_attention_heads,
                kv_heads: c.num_key_value_heads,
                dim: c.head_dim,
                row: 0,
                first,
                rows,
                begin,
                skip: 0,
            });
            begin += rows;
        }
        shapes
    }

    /// Computes the logits of the first `rows` rows and hands them to their segments.
    fn logits(
        &self,
        segments: &mut [TokenSegment<'_>],
        shapes: &[SegmentShape],
        rows: usize,
        buffers: &mut ForwardBuffers,
        threads: usize,
    ) {
        let c = &self.config;
        kernels::rms_norm(
            &buffers.x[..rows * c.hidden_size],
            &self.norm,
            c.rms_norm_eps as f32,
            &mut buffers.normed,
        );
        let width = self.head.width();
        buffers.logits.resize(rows * width, 0.0);
        self.head.run(
            &buffers.normed,
            rows,
            &mut buffers.logits,
            &mut buffers.products[0],
            threads,
        );
        let mut computed = buffers.logits.chunks_exact(width);
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

    /// The widest rows that the buffers must hold.
    fn widths(&self) -> BlockWidths {
        let wide = |layer: &PackedLayer| layer.qkv.width().max(layer.gate_up.width());
        BlockWidths {
            wide: self.layers.iter().map(wide).max().unwrap_or(0),
            ..BlockWidths::of(&self.config)
        }
    }
}

/// Moves the rows of `x` that are not skipped to the front and returns their number.
fn compact(x: &mut [f32], shapes: &[SegmentShape], hidden: usize) -> usize {
    let mut rows = 0;
    for shape in shapes.iter().filter(|shape| shape.skip < shape.rows) {
        let from = (shape.begin + shape.skip) * hidden;
        let kept = shape.rows - shape.skip;
        x.copy_within(from..from + kept * hidden, rows * hidden);
        rows += kept;
    }
    rows
}
