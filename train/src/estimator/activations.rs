//! Memory of activations.

use model::ModelConfig;

use super::operations::factors;
use crate::config::{Method, TrainConfig};
use crate::device::{Compute, Precision};
use crate::fused::slice_rows;
use crate::reference_ops;

/// The memory of one forward and backward pass at its peak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PassBytes {
    pub(super) activations: u64,
    /// Gradients of this pass that exist then.
    pub(super) gradients: u64,
}

impl PassBytes {
    pub(super) fn sum(&self) -> u64 {
        self.activations + self.gradients
    }
}

struct ActivationBytes {
    /// Kept for the backward pass of one layer.
    layer: u64,
    /// Kept for the output layer and the loss.
    head: u64,
    /// Only during the backward pass of a layer.
    backward: u64,
}

/// Widths of a model, in numbers per token.
struct Widths {
    hidden: usize,
    inner: usize,
    q: usize,
    qkv: usize,
}

impl Widths {
    fn of(model: &ModelConfig) -> Self {
        let q = model.num_attention_heads * model.head_dim;
        Self {
            hidden: model.hidden_size,
            inner: model.intermediate_size,
            q,
            qkv: q + 2 * model.num_key_value_heads * model.head_dim,
        }
    }
}

/// Gradients of the trained weights: of a layer, of the output layer, and of the embedding if that is
/// another matrix.
fn gradients(model: &ModelConfig, config: &TrainConfig, base_rows: usize) -> [u64; 3] {
    let bytes = |n: usize| 4 * n as u64;
    let layers = model.num_hidden_layers.max(1);
    let lora = config.method == Method::Lora;
    let rows = model.vocab_size - if lora { base_rows } else { 0 };
    let table = bytes(rows * model.hidden_size);
    let tables = if model.tie_word_embeddings { 1 } else { 2 };
    let layer = if lora {
        bytes(factors(model, &config.lora))
    } else {
        bytes(model.parameters()) - tables * table
    };
    let embedding = if model.tie_word_embeddings { 0 } else { table };
    [layer / layers as u64, table, embedding]
}

/// The peak of the kernels for `tokens` tokens with `rows` predictions: at the output layer, at the
/// begin of the backward pass, or at its end, when all gradients exist.
fn of_kernels(
    model: &ModelConfig,
    config: &TrainConfig,
    base_rows: usize,
    tokens: usize,
    rows: usize,
) -> PassBytes {
    let Widths {
        hidden,
        inner,
        q,
        qkv,
    } = Widths::of(model);
    let bytes = |n: usize| 4 * n as u64;
    let rank = if config.method == Method::Lora {
        config.lora.rank * config.lora.targets.len()
    } else {
        0
    };
    // What LoRA's corrections read, if it has dropout.
    let dropped = if rank > 0 && config.lora.dropout > 0.0 {
        2 * hidden + q + inner
    } else {
        0
    };
    // The norms of heads keep what they read and their result.
    let heads = if model.qk_norm { qkv + q } else { 0 };
    // Up to attention: the residual stream and its norm, queries with keys and values, attention. After
    // it: the stream and its norm, gate with up, their product.
    let (before, after) = (2 * hidden + qkv + q + heads, 2 * hidden + 3 * inner);
    let layer = bytes(tokens * (before + after + rank + dropped));
    // The last layer computes only the predictions after attention.
    let last = bytes(tokens * (before + rank) + rows * (q + after + dropped));
    let layers = model.num_hidden_layers as u64;
    let input = bytes(tokens * hidden);
    let (kept, one_less) = if config.gradient_checkpointing {
        (layers * input, layers * input + layer)
    } else {
        ((layers - 1) * layer + last, (layers - 1) * layer)
    };
    // Of the stream: its rows, their norm and the gradients of both.
    let logits = rows.min(slice_rows(model.vocab_size)) * model.vocab_size;
    let head = bytes((3 * rows * hidden + logits).max(4 * rows * hidden));
    // The gradients of the stream, of gate with up and their product, of attention, and of queries with
    // keys and values.
    let backward = bytes(tokens * (3 * hidden + 3 * inner + q + qkv));
    let of_last = bytes(tokens * (2 * hidden + q + qkv) + rows * (hidden + 3 * inner));
    let recomputed = if config.gradient_checkpointing {
        last
    } else {
        0
    };
    let [of_layer, table, embedding] = gradients(model, config, base_rows);
    let moments = [
        (kept + head, table),
        (kept + recomputed + of_last, table + of_layer),
        (one_less + backward, table + 2 * of_layer),
        (layer + backward, table + layers * of_layer + embedding),
    ];
    let moments = moments.map(|(activations, gradients)| PassBytes {
        activations,
        gradients,
    });
    let most = moments.into_iter().max_by_key(PassBytes::sum);
    most.unwrap_or_default()
}

/// Activations of burn's operations for sequences of these lengths.
fn of_operations(
    config: &ModelConfig,
    precision: Precision,
    lora: bool,
    lengths: &[usize],
    rows: usize,
) -> ActivationBytes {
    let Widths {
        hidden,
        inner: ff,
        q,
        qkv,
    } = Widths::of(config);
    let (bytes, width) = (|n: usize| n as u64, precision.bytes());
    let tokens: usize = lengths.iter().sum();
    let blocks = reference_ops::blocks(lengths);
    let places: usize = blocks
        .iter()
        .map(|(len, members)| len * members.len())
        .sum();
    let scores: usize = blocks
        .iter()
        .map(|(len, members)| len * len * members.len())
        .sum::<usize>()
        * config.num_attention_heads;
    // In f32: twice the residual stream. In the run's precision: both norms, the input of the output
    // projection, gate with up, and their product.
    let streams = 8 * bytes(hidden * tokens) + width * bytes((2 * hidden + q + 3 * ff) * tokens);
    // Queries, keys and values of the padded blocks, and the shares of attention.
    let attention = width * bytes(qkv * places + scores);
    // Products with trained matrices use copies in the run's precision.
    let copied = if precision == Precision::F32 || lora {
        0
    } else {
        width
    };
    ActivationBytes {
        layer: streams + attention + copied * bytes(hidden * (qkv + q + 3 * ff)),
        head: 4 * width * bytes(rows * config.vocab_size)
            + copied * bytes(hidden * config.vocab_size),
        backward: streams + 3 * width * bytes(scores),
    }
}

/// The peak of a pass over sequences of these lengths with `rows` predictions. All gradients count with
/// burn's operations.
pub(super) fn activations(
    model: &ModelConfig,
    config: &TrainConfig,
    base_rows: usize,
    lengths: &[usize],
    rows: usize,
) -> PassBytes {
    let tokens: usize = lengths.iter().sum();
    let bytes = match config.compute() {
        Compute::Fused(_) => return of_kernels(model, config, base_rows, tokens, rows),
        Compute::Stock(precision) => of_operations(
            model,
            precision,
            config.method == Method::Lora,
            lengths,
            rows,
        ),
    };
    let layers = model.num_hidden_layers as u64;
    let activations = if config.gradient_checkpointing {
        layers * 4 * (model.hidden_size * tokens) as u64
            + bytes.layer.max(bytes.head)
            + bytes.backward
    } else {
        layers * bytes.layer + bytes.head + bytes.backward
    };
    let [layer, table, embedding] = gradients(model, config, base_rows);
    PassBytes {
        activations,
        gradients: layers * layer + table + embedding,
    }
}

#[cfg(test)]
mod tests {
    use model::Preset;

    use super::*;

    #[test]
    fn checkpointing_keeps_one_layer_and_bf16_needs_less() {
        let model = ModelConfig {
            num_hidden_layers: 16,
            ..Preset::Small.config(4096)
        };
        let kept = |config: &TrainConfig| {
            activations(&model, config, 4096, &[500, 300, 20], 400).activations
        };
        let (kernels, stock) = (
            TrainConfig::default(),
            TrainConfig {
                stock_ops: true,
                ..TrainConfig::default()
            },
        );
        let bf16 = TrainConfig {
            precision: Some(Precision::Bf16),
            ..stock.clone()
        };
        for config in [&kernels, &stock, &bf16] {
            let again = kept(&TrainConfig {
                gradient_checkpointing: true,
                ..config.clone()
            });
            assert!(3 * again < kept(config), "{again} {}", kept(config));
        }
        assert!(kept(&bf16) < kept(&stock) && kept(&kernels) < kept(&bf16));
    }
}
