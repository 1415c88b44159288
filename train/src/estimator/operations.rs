//! Counts of parameters and floating-point operations.

use model::ModelConfig;

use crate::config::LoraConfig;

/// Number of elements of LoRA's factors.
pub(super) fn factors(config: &ModelConfig, lora: &LoraConfig) -> usize {
    let (hidden, ff) = (config.hidden_size, config.intermediate_size);
    let (q, kv) = (
        config.num_attention_heads * config.head_dim,
        config.num_key_value_heads * config.head_dim,
    );
    let width = |target: &str| match target {
        "q_proj" | "o_proj" => hidden + q,
        "k_proj" | "v_proj" => hidden + kv,
        _ => hidden + ff,
    };
    lora.targets
        .iter()
        .map(|target| width(target) * lora.rank)
        .sum::<usize>()
        * config.num_hidden_layers
}

/// Floating-point operations of forward and backward pass over one packed batch. A product of
/// `[n, a]` and `[a, b]` has `2nab`; the backward pass has two of them if both sides have gradients.
pub(super) fn operations(config: &ModelConfig, lora: bool, lengths: &[usize], rows: usize) -> f64 {
    let tokens: usize = lengths.iter().sum();
    let q = config.num_attention_heads * config.head_dim;
    let qkv = q + 2 * config.num_key_value_heads * config.head_dim;
    let layer = config.hidden_size * (qkv + q + 3 * config.intermediate_size);
    let passes = if lora { 4.0 } else { 6.0 };
    // Causal attention computes half of the square: two products forward, five backward.
    let squares: f64 = lengths.iter().map(|n| (n * n) as f64).sum();
    let layers = config.num_hidden_layers as f64;
    layers * (passes * (layer * tokens) as f64 + 7.0 * squares * q as f64)
        + passes * (rows * config.vocab_size * config.hidden_size) as f64
}

#[cfg(test)]
mod tests {
    use model::Preset;

    use super::*;

    #[test]
    fn factors_match_the_matrices() {
        let config = Preset::Small.config(4096);
        let lora = LoraConfig::default();
        let expected: usize = config
            .tensors()
            .iter()
            .filter(|(name, _)| name.ends_with("proj.weight"))
            .map(|(_, shape)| (shape[0] + shape[1]) * lora.rank)
            .sum();
        assert_eq!(factors(&config, &lora), expected);
        let attention = LoraConfig {
            targets: vec!["k_proj".into(), "o_proj".into()],
            ..lora
        };
        assert!(factors(&config, &attention) < expected / 3);
    }

    #[test]
    fn there_are_six_operations_per_parameter_and_token() {
        let config = Preset::Small.config(4096);
        let matrices: usize = config
            .tensors()
            .iter()
            .filter(|(_, shape)| shape.len() == 2)
            .map(|(_, shape)| shape[0] * shape[1])
            .sum();
        let all = operations(&config, false, &[1; 100], 100);
        assert!(
            (all / (6 * matrices * 100) as f64 - 1.0).abs() < 0.01,
            "{all}"
        );
        assert!(operations(&config, true, &[1; 100], 100) < all);
        assert!(operations(&config, false, &[100], 100) > all);
    }
}
