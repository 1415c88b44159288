//! The time of a run, from a short trial.

use std::time::Instant;

use burn::tensor::Device;
use model::ModelConfig;

use super::operations::operations;
use crate::base::OpenedBase;
use crate::batch::{self, Examples, StepPlan};
use crate::config::{Method, TrainConfig};
use crate::device::Processor;
use crate::estimate::Estimate;
use crate::grads::{self, NamedGrads};
use crate::llama::{FrozenBase, Llama, fresh_weights};
use crate::optim::Optimizer;
use crate::{TrainError, replicas};

/// Seconds of the run, extrapolated from a model with a single layer and the sequences of the first
/// batch.
pub(crate) fn seconds(
    estimate: &Estimate,
    base: &OpenedBase,
    config: &TrainConfig,
    train: &Examples,
    steps: &[Vec<StepPlan>],
    device: &Device,
) -> Result<Option<f64>, TrainError> {
    let Some(micro) = steps.iter().flatten().flatten().flatten().next() else {
        return Ok(None);
    };
    let shape = ModelConfig {
        num_hidden_layers: 1,
        ..base.config.clone()
    };
    let batch = batch::pack(&train.examples, micro);
    let lengths = batch.segments.clone();
    let longest = lengths.iter().copied().max().unwrap_or(1);
    let (weights, compute) = (fresh_weights(&shape, 1)?, config.compute());
    let mut model = match &base.formats {
        None => Llama::from_weights(&shape, weights, compute, longest, device)?,
        Some(formats) => {
            let frozen = FrozenBase {
                source: &weights,
                formats,
                rows: shape.vocab_size,
            };
            Llama::from_blocks(&shape, &frozen, compute, longest, device)?
        }
    };
    let lora = config.method == Method::Lora;
    if lora {
        model = model.with_lora(&config.lora, shape.vocab_size, 1, device);
    }
    let mut optimizer = Optimizer::new(config);
    let (mut pass, mut update) = (f64::INFINITY, f64::INFINITY);
    let mut measured = 1;
    let pools = replicas::pools(config.devices())?;
    for _ in 0..3 {
        let begin = Instant::now();
        let mut grads = NamedGrads::new();
        pools[0].install(|| model.gradients(&batch, 1.0, 1, device, &mut grads));
        sync(device)?;
        pass = pass.min(begin.elapsed().as_secs_f64());
        measured = grads
            .values()
            .map(|grad| grad.dims()[0])
            .sum::<usize>()
            .max(1);
        let begin = Instant::now();
        let _ = grads::global_norm(&grads, model.compute);
        model.net = optimizer.step(model.net.clone(), grads, 1e-9, 1.0);
        sync(device)?;
        update = update.min(begin.elapsed().as_secs_f64());
    }
    let speed = operations(&shape, lora, &lengths, batch.rows.len()) / pass;
    let updates =
        estimate.steps as f64 * update * estimate.trained_parameters as f64 / measured as f64;
    // GPUs compute in parallel, and so do the CPU's replicas if there are enough threads.
    let parallel = if config.processor == Processor::Cpu {
        pools.len()
    } else {
        config.devices()
    };
    Ok(Some(
        estimate.operations / speed / parallel as f64 + updates,
    ))
}

/// Waits for the device.
fn sync(device: &Device) -> Result<(), TrainError> {
    device
        .sync()
        .map_err(|error| TrainError::Device(error.to_string()))
}
