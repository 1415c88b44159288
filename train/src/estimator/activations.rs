//! Memory of activations.

use model::ModelConfig;

use crate::config::{Method, TrainConfig};
use crate::device::{Compute, Precision};
use crate::fused::slice_rows;
use crate::reference_ops;

struct ActivationBytes {
    /// Kept for the backward pass of one layer.
    layer: u64,
    /// Kept for the output layer and the loss.
    head: u64,
    /// Only during the backward pass of a layer.
    backward: u64,
}

/// Activations of the kernels for `tokens` tokens with `rows` predictions.
fn of_kernels(config: &ModelConfig, tokens: usize, rows: usize) -> ActivationBytes {
    let (hidden, ff) = (config.hidden_size, config.intermediate_size);
    let q = config.num_attention_heads * config.head_dim;
    let qkv = q + 2 * config.num_key_value_heads * config.head_dim;
    // Twice the residual stream, both norms, q with k and v, attention, gate with up, their
    // product.
    let token = 4 * hidden + qkv + q + 3 * ff;
    let bytes = |n: usize| 4 * n as u64;
    ActivationBytes {
        layer: bytes(token * tokens),
        // The product with the output layer packs its matrix.
        head: bytes(
            (rows.min(slice_rows(config.vocab_size)) + hidden) * config.vocab_size
                + 3 * rows * hidden,
        ),
        backward: bytes(2 * token * tokens),
    }
}

/// Activations of burn's operations for sequences of these lengths.
fn of_operations(
    config: &ModelConfig,
    precision: Precision,
    lora: bool,
    lengths: &[usize],
    rows: usize,
) -> ActivationBytes {
    let (hidden, ff) = (config.hidden_size, config.intermediate_size);
    let q = config.num_attention_heads * config.head_dim;
    let qkv = q + 2 * config.num_key_value_heads * config.head_dim;
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

/// Peak bytes of activations for sequences of these lengths with `rows` predictions.
pub(super) fn activations(
    model: &ModelConfig,
    config: &TrainConfig,
    lengths: &[usize],
    rows: usize,
) -> u64 {
    let tokens: usize = lengths.iter().sum();
    let bytes = match config.compute() {
        Compute::Fused => of_kernels(model, tokens, rows),
        Compute::Stock(precision) => of_operations(
            model,
            precision,
            config.method == Method::Lora,
            lengths,
            rows,
        ),
    };
    let layers = model.num_hidden_layers as u64;
    if config.gradient_checkpointing {
        layers * 4 * (model.hidden_size * tokens) as u64
            + bytes.layer.max(bytes.head)
            + bytes.backward
    } else {
        layers * bytes.layer + bytes.head + bytes.backward
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
        let kept = |config: &TrainConfig| activations(&model, config, &[500, 300, 20], 400);
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
