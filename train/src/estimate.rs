//! What a run will need, worked out before any weights are read: steps, memory, arithmetic and, from a short trial of the kernels, time.

use std::time::Instant;

use burn::tensor::Device;
use model::ModelConfig;
use serde::{Deserialize, Serialize};

use crate::batch::{self, Examples, Step};
use crate::config::{LoraConfig, Method, TrainConfig};
use crate::device::{Precision, Processor};
use crate::llama::{Llama, fresh_weights};
use crate::ops::Compute;
use crate::optim::{self, NamedGrads, Optimizer};
use crate::{TrainError, device, reference_ops, replicas};

/// Bytes that a run needs at most, by what they are for: on the CPU those of all devices, of several GPUs those of the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Parameters.
    pub weights: u64,
    /// Their gradients, those that are being summed up included.
    pub gradients: u64,
    /// AdamW's moments.
    pub optimizer: u64,
    /// What the forward pass keeps for the backward pass, for the largest forward pass of the run.
    pub activations: u64,
    /// A copy of the weights or of the moments while a checkpoint is written; not at the same time as activations.
    pub saving: u64,
}

impl Memory {
    /// Bytes at the highest point.
    #[must_use]
    pub fn peak(&self) -> u64 {
        self.weights + self.gradients + self.optimizer + self.activations.max(self.saving)
    }
}

/// What a run will need.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Parameters of the model, corrections included.
    pub parameters: usize,
    /// Of these, trained.
    pub trained_parameters: usize,
    /// Examples trained on.
    pub examples: usize,
    /// Held-out examples.
    pub valid: usize,
    /// Tokens of one epoch.
    pub tokens: usize,
    /// Of these, trained on.
    pub trained: usize,
    /// Tokens of the longest example.
    pub longest: usize,
    /// Examples left out because they are too long.
    pub too_long: usize,
    /// Examples left out because nothing in them is trained.
    pub untrained: usize,
    /// Optimizer steps of the whole run.
    pub steps: usize,
    /// Tokens of the whole run.
    pub total_tokens: usize,
    /// Floating-point operations of the whole run.
    pub operations: f64,
    /// Bytes.
    pub memory: Memory,
    /// Seconds of the whole run at the speed that a layer of this width was tried at, on GPUs without moving weights and gradients between them;
    /// `None` where it was not tried.
    pub seconds: Option<f64>,
}

/// Elements of LoRA's factors.
fn factors(config: &ModelConfig, lora: &LoraConfig) -> usize {
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

/// Operations of forward and backward passes over one packed batch. A product of `[n, a]` and `[a, b]` is `2nab`; the backward pass has two
/// of them where both sides have gradients.
fn operations(config: &ModelConfig, lora: bool, lengths: &[usize], rows: usize) -> f64 {
    let tokens: usize = lengths.iter().sum();
    let q = config.num_attention_heads * config.head_dim;
    let qkv = q + 2 * config.num_key_value_heads * config.head_dim;
    let layer = config.hidden_size * (qkv + q + 3 * config.intermediate_size);
    let passes = if lora { 4.0 } else { 6.0 };
    // Causal attention does half of the square: two products forward, five backward.
    let squares: f64 = lengths.iter().map(|n| (n * n) as f64).sum();
    let layers = config.num_hidden_layers as f64;
    layers * (passes * (layer * tokens) as f64 + 7.0 * squares * q as f64)
        + passes * (rows * config.vocab_size * config.hidden_size) as f64
}

/// Bytes that a forward pass keeps for the backward pass, by when they are held.
struct Kept {
    /// By one layer.
    layer: u64,
    /// By the output layer and the loss.
    head: u64,
    /// While the backward pass goes through a layer.
    passing: u64,
}

/// What the kernels keep of `tokens` with `rows` predictions.
fn kept_by_kernels(config: &ModelConfig, tokens: usize, rows: usize) -> Kept {
    let (hidden, ff) = (config.hidden_size, config.intermediate_size);
    let q = config.num_attention_heads * config.head_dim;
    let qkv = q + 2 * config.num_key_value_heads * config.head_dim;
    // The residual stream twice, both norms, q with k and v, attention, gate with up, their product.
    let token = 4 * hidden + qkv + q + 3 * ff;
    // The matrices that lie on top of each other are joined for the product.
    let joined = hidden * (qkv + 2 * ff);
    // The logits, and in the backward pass the gradients of about one layer.
    let bytes = |n: usize| 4 * n as u64;
    Kept {
        layer: bytes(token * tokens + joined),
        head: bytes(rows * (config.vocab_size + 2 * hidden)),
        passing: bytes(2 * token * tokens),
    }
}

/// What burn's own operations keep of sequences of these lengths.
fn kept_by_operations(
    config: &ModelConfig,
    precision: Precision,
    lora: bool,
    lengths: &[usize],
    rows: usize,
) -> Kept {
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
    // In f32 the residual stream twice and both norms before their weights; then, in the run's precision, both norms, the input of the output
    // projection, gate, its sigmoid, their product, up, and what they make together.
    let streams = 16 * bytes(hidden * tokens) + width * bytes((2 * hidden + q + 5 * ff) * tokens);
    // Queries, keys and values of the padded blocks, exponentials in f32 and shares.
    let attention = width * bytes(qkv * places) + (4 + width) * bytes(scores);
    // Trained matrices are multiplied as copies in the run's precision.
    let copied = if precision == Precision::F32 || lora {
        0
    } else {
        width
    };
    Kept {
        layer: streams + attention + copied * bytes(hidden * (qkv + q + 3 * ff)),
        head: (4 * 4 + width) * bytes(rows * config.vocab_size)
            + copied * bytes(hidden * config.vocab_size),
        passing: streams + 12 * bytes(scores),
    }
}

/// Bytes kept for the backward pass of sequences of these lengths with `rows` predictions, at the highest point.
fn activations(model: &ModelConfig, config: &TrainConfig, lengths: &[usize], rows: usize) -> u64 {
    let tokens: usize = lengths.iter().sum();
    let kept = match device::compute(config) {
        Compute::Fused => kept_by_kernels(model, tokens, rows),
        Compute::Stock(precision) => kept_by_operations(
            model,
            precision,
            config.method == Method::Lora,
            lengths,
            rows,
        ),
    };
    let layers = model.num_hidden_layers as u64;
    if config.gradient_checkpointing {
        layers * 4 * (model.hidden_size * tokens) as u64 + kept.layer.max(kept.head) + kept.passing
    } else {
        layers * kept.layer + kept.head + kept.passing
    }
}

/// What `plans` will need; `base_rows` as in [`Llama::with_lora`].
pub(crate) fn estimate(
    model: &ModelConfig,
    base_rows: usize,
    config: &TrainConfig,
    train: &Examples,
    valid: &Examples,
    plans: &[Vec<Step>],
) -> Estimate {
    let own = model.parameters();
    let lora = config.method == Method::Lora;
    let extra = (model.vocab_size - base_rows)
        * model.hidden_size
        * if model.tie_word_embeddings { 1 } else { 2 };
    let added = if lora {
        factors(model, &config.lora)
    } else {
        0
    };
    let trained_parameters = if lora { added + extra } else { own };
    let parameters = own + added;
    let sum = |f: fn(&batch::Example) -> usize| train.examples.iter().map(f).sum::<usize>();
    let mut out = Estimate {
        parameters,
        trained_parameters,
        examples: train.examples.len(),
        valid: valid.examples.len(),
        tokens: sum(batch::Example::len),
        trained: sum(batch::Example::trained),
        longest: train
            .examples
            .iter()
            .chain(&valid.examples)
            .map(batch::Example::len)
            .max()
            .unwrap_or(0),
        too_long: train.too_long + valid.too_long,
        untrained: train.untrained + valid.untrained,
        ..Estimate::default()
    };
    // The CPU has the work of all devices in its memory; of GPUs the first one counts, to which the gradients of the others come.
    let shared = config.processor == Processor::Cpu;
    let (mut summed, mut kept) = (false, 0);
    for step in plans
        .iter()
        .flatten()
        .take(config.max_steps.unwrap_or(usize::MAX))
    {
        out.steps += 1;
        summed |= step.iter().any(|part| part.len() > 1);
        let mut most = 0;
        for part in step {
            let mut of_part = 0;
            for micro in part {
                let lengths: Vec<usize> = micro.iter().map(|i| train.examples[*i].len()).collect();
                let rows = micro.iter().map(|i| train.examples[*i].trained()).sum();
                out.total_tokens += lengths.iter().sum::<usize>();
                out.operations += operations(model, lora, &lengths, rows)
                    * if config.gradient_checkpointing {
                        4.0 / 3.0
                    } else {
                        1.0
                    };
                of_part = of_part.max(activations(model, config, &lengths, rows));
            }
            most = if shared {
                most + of_part
            } else {
                most.max(of_part)
            };
        }
        kept = kept.max(most);
    }
    // A sum and what is added to it next.
    let twice = summed || (!shared && config.devices() > 1);
    let sets = if shared { config.devices() as u64 } else { 1 };
    let bytes = |n: usize| 4 * n as u64;
    let matrices = model
        .tensors()
        .into_iter()
        .filter(|(name, shape)| optim::is_matrix(name, shape.len()));
    let layers: usize = matrices
        .map(|(_, shape)| shape.iter().product::<usize>())
        .sum();
    // A frozen base is held in the precision of the run.
    let held = match device::compute(config) {
        Compute::Stock(precision) if lora => precision.bytes(),
        _ => 4,
    };
    out.memory = Memory {
        weights: held * own as u64 + bytes(added),
        gradients: bytes(trained_parameters) * sets * (1 + u64::from(twice)),
        // AdamW has two moments of every weight, Muon one velocity.
        optimizer: 2 * bytes(trained_parameters)
            - if optim::by_muon(config) {
                bytes(layers)
            } else {
                0
            },
        activations: kept,
        // A GPU's weights are copied into the machine's own memory.
        saving: if config.processor == Processor::Cpu {
            bytes(parameters).max(2 * bytes(trained_parameters))
        } else {
            0
        },
    };
    out
}

/// Seconds of the run, from one layer of the model's width tried on the first batch's sequences.
pub(crate) fn seconds(
    estimate: &Estimate,
    model: &ModelConfig,
    config: &TrainConfig,
    train: &Examples,
    plans: &[Vec<Step>],
    device: &Device,
) -> Result<Option<f64>, TrainError> {
    let Some(micro) = plans.iter().flatten().flatten().flatten().next() else {
        return Ok(None);
    };
    let shape = ModelConfig {
        num_hidden_layers: 1,
        ..model.clone()
    };
    let batch = batch::pack(&train.examples, micro);
    let lengths = batch.segments.clone();
    let longest = lengths.iter().copied().max().unwrap_or(1);
    let mut layer = Llama::from_weights(
        &shape,
        fresh_weights(&shape, 1)?,
        device::compute(config),
        longest,
        device,
    )?;
    let lora = config.method == Method::Lora;
    if lora {
        layer = layer.with_lora(&config.lora, shape.vocab_size, 1, device);
    }
    let mut optimizer = Optimizer::new(config);
    let (mut pass, mut update) = (f64::INFINITY, f64::INFINITY);
    let mut touched = 1;
    let pools = replicas::pools(config.devices())?;
    for _ in 0..3 {
        let begin = Instant::now();
        let mut grads = NamedGrads::new();
        pools[0].install(|| layer.gradients(&batch, 1.0, 1, device, &mut grads));
        device
            .sync()
            .map_err(|error| TrainError::Device(error.to_string()))?;
        pass = pass.min(begin.elapsed().as_secs_f64());
        touched = grads
            .values()
            .map(|grad| grad.dims()[0])
            .sum::<usize>()
            .max(1);
        let begin = Instant::now();
        let _ = optim::global_norm(&grads, layer.compute);
        layer.net = optimizer.step(layer.net.clone(), grads, 1e-9, 1.0);
        device
            .sync()
            .map_err(|error| TrainError::Device(error.to_string()))?;
        update = update.min(begin.elapsed().as_secs_f64());
    }
    let rate = operations(&shape, lora, &lengths, batch.rows.len()) / pass;
    let updates =
        estimate.steps as f64 * update * estimate.trained_parameters as f64 / touched as f64;
    // GPUs compute side by side, and so do the CPU's replicas as far as it has threads for them.
    let side_by_side = if config.processor == Processor::Cpu {
        pools.len()
    } else {
        config.devices()
    };
    Ok(Some(
        estimate.operations / rate / side_by_side as f64 + updates,
    ))
}

#[cfg(test)]
mod tests {
    use model::Preset;

    use super::*;

    #[test]
    fn factors_are_those_of_the_matrices() {
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
    fn operations_are_six_per_parameter_and_token() {
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

    #[test]
    fn computing_layers_again_keeps_one_layer_and_bf16_keeps_less() {
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
