//! Estimates a run before any weights are read.

mod activations;
mod operations;
mod trial;

use model::ModelConfig;

use self::activations::{PassBytes, activations};
use self::operations::{factors, operations};
use crate::base::OpenedBase;
use crate::batch::{Example, Examples, StepPlan};
use crate::config::{Method, TrainConfig};
use crate::device::{Compute, Processor};
use crate::estimate::{Estimate, Memory};
use crate::optim;
use crate::pace::StepWork;

pub(crate) use trial::seconds;

/// Sums over the steps of a run.
#[derive(Default)]
struct Totals {
    steps: usize,
    tokens: usize,
    operations: f64,
    /// The peak of any step.
    peak: PassBytes,
    /// Whether a device has more than one forward pass in any step, whose gradients are summed.
    summed: bool,
}

/// Estimates a run of `steps`.
pub(crate) fn estimate(
    base: &OpenedBase,
    config: &TrainConfig,
    train: &Examples,
    valid: &Examples,
    steps: &[Vec<StepPlan>],
) -> Estimate {
    let model = &base.config;
    let lora = config.method == Method::Lora;
    let tables = if model.tie_word_embeddings { 1 } else { 2 };
    let extra = (model.vocab_size - base.base_rows) * model.hidden_size * tables;
    let whole = model.parameters();
    let added = if lora {
        factors(model, &config.lora)
    } else {
        0
    };
    let trained_parameters = if lora { added + extra } else { whole };
    let totals = totals(base, config, trained_parameters, train, steps);
    let sum = |f: fn(&Example) -> usize| train.examples.iter().map(f).sum::<usize>();
    let all = train.examples.iter().chain(&valid.examples);
    Estimate {
        parameters: whole + added,
        trained_parameters,
        examples: train.examples.len(),
        valid: valid.examples.len(),
        tokens: sum(Example::len),
        trained: sum(Example::trained),
        longest: all.map(Example::len).max().unwrap_or(0),
        too_long: train.too_long + valid.too_long,
        untrained: train.untrained + valid.untrained,
        steps: totals.steps,
        total_tokens: totals.tokens,
        operations: totals.operations,
        memory: memory(base, config, added, trained_parameters, &totals),
        seconds: None,
    }
}

/// Operations of the first `total` steps, and of the validations after them. A forward pass is a
/// third of a step's operations, and half if the matrices are frozen.
pub(crate) fn work(
    model: &ModelConfig,
    config: &TrainConfig,
    train: &Examples,
    valid: &Examples,
    steps: &[Vec<StepPlan>],
    total: usize,
) -> Vec<StepWork> {
    let lora = config.method == Method::Lora;
    let of = |examples: &[Example], batch: &[usize]| {
        let lengths: Vec<usize> = batch.iter().map(|i| examples[*i].len()).collect();
        let rows = batch.iter().map(|i| examples[*i].trained()).sum();
        operations(model, lora, &lengths, rows)
    };
    let all: Vec<usize> = (0..valid.examples.len()).collect();
    let forward = of(&valid.examples, &all) / if lora { 2.0 } else { 3.0 };
    let mut out = Vec::new();
    for epoch in steps {
        for step in epoch {
            let passes = step
                .iter()
                .flatten()
                .map(|batch| of(&train.examples, batch));
            out.push(StepWork {
                step: passes.sum::<f64>() * recomputed(config),
                validation: 0.0,
            });
        }
        if let Some(last) = out.last_mut().filter(|_| config.validate_epochs) {
            last.validation = forward;
        }
    }
    out.truncate(total);
    // The end of a run inside an epoch too.
    if let Some(last) = out.last_mut() {
        last.validation = forward;
    }
    out
}

/// The factor of the operations that are done twice.
fn recomputed(config: &TrainConfig) -> f64 {
    if config.gradient_checkpointing {
        4.0 / 3.0
    } else {
        1.0
    }
}

fn totals(
    base: &OpenedBase,
    config: &TrainConfig,
    trained: usize,
    train: &Examples,
    steps: &[Vec<StepPlan>],
) -> Totals {
    let model = &base.config;
    let all_gradients = 4 * trained as u64;
    let lora = config.method == Method::Lora;
    let most = config.max_steps.unwrap_or(usize::MAX);
    let mut out = Totals::default();
    for step in steps.iter().flatten().take(most) {
        out.steps += 1;
        out.summed |= step.iter().any(|part| part.len() > 1);
        let mut by_device = Vec::new();
        for part in step {
            let mut peak = PassBytes::default();
            for (at, micro) in part.iter().enumerate() {
                let lengths: Vec<usize> = micro.iter().map(|i| train.examples[*i].len()).collect();
                let rows = micro.iter().map(|i| train.examples[*i].trained()).sum();
                out.tokens += lengths.iter().sum::<usize>();
                out.operations += operations(model, lora, &lengths, rows) * recomputed(config);
                let mut pass = activations(model, config, base.base_rows, &lengths, rows);
                if at > 0 {
                    // Those of the passes before it.
                    pass.gradients = all_gradients;
                }
                if pass.sum() > peak.sum() {
                    peak = pass;
                }
            }
            by_device.push(peak);
        }
        // As many replicas on the CPU compute at a time as there are threads, and they share main
        // memory; every GPU has its own.
        by_device.sort_unstable_by_key(|peak| std::cmp::Reverse(peak.sum()));
        let at_once = match config.processor {
            Processor::Cpu => parallel(config),
            Processor::Cuda => 1,
        };
        let counted = match config.processor {
            Processor::Cpu => by_device.len(),
            Processor::Cuda => 1,
        };
        let mut peak = PassBytes::default();
        for (at, one) in by_device.iter().take(counted).enumerate() {
            // The others have their gradients already.
            let works = at < at_once;
            peak.activations += if works { one.activations } else { 0 };
            peak.gradients += if works { one.gradients } else { all_gradients };
        }
        if peak.sum() > out.peak.sum() {
            out.peak = peak;
        }
    }
    out
}

/// Replicas on the CPU that compute at the same time.
fn parallel(config: &TrainConfig) -> usize {
    config.devices().min(rayon::current_num_threads()).max(1)
}

fn memory(
    base: &OpenedBase,
    config: &TrainConfig,
    added: usize,
    trained: usize,
    totals: &Totals,
) -> Memory {
    let model = &base.config;
    let bytes = |n: usize| 4 * n as u64;
    // On the CPU all devices count; on GPUs the first, which receives the gradients of the others.
    let cpu = config.processor == Processor::Cpu;
    let replicas = if cpu { config.devices() as u64 } else { 1 };
    let fused = matches!(config.compute(), Compute::Fused(_));
    // A sum and the next summand. The kernels add in place.
    let summed = !fused && (totals.summed || (!cpu && config.devices() > 1));
    // A frozen base is stored in the run's precision.
    let width = match config.compute() {
        Compute::Stock(precision) if config.method == Method::Lora => precision.bytes(),
        _ => 4,
    };
    // AdamW has two moments for every weight, Muon one velocity.
    let saved_by_muon = if optim::by_muon(config) {
        let tensors = model.tensors();
        let matrices = tensors
            .iter()
            .filter(|(name, shape)| optim::is_matrix(name, shape.len()));
        matrices
            .map(|(_, shape)| bytes(shape.iter().product()))
            .sum()
    } else {
        0
    };
    let all = model.parameters();
    let blocks = base.block_bytes();
    let largest = if config.lora.merge || base.base_rows < model.vocab_size {
        model.tensors().iter().map(|t| t.1.iter().product()).max()
    } else {
        None
    };
    // The weights of a GPU are copied to main memory. Blocks are not saved, but one matrix after
    // the other is written as numbers at the end.
    let copied = match blocks {
        Some(_) => bytes(trained).max(2 * bytes(largest.unwrap_or(0))),
        None => bytes(all + added),
    };
    let gradients = bytes(trained) * replicas * (1 + u64::from(summed));
    Memory {
        weights: blocks.unwrap_or(width * all as u64) + bytes(added),
        gradients,
        optimizer: 2 * bytes(trained) - saved_by_muon,
        activations: totals.peak.activations,
        early_gradients: if summed {
            gradients
        } else {
            totals.peak.gradients
        },
        updating: if fused { bytes(trained) } else { 0 },
        saving: if cpu {
            copied.max(2 * bytes(trained))
        } else {
            0
        },
    }
}
