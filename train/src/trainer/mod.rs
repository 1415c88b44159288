//! Training: plans a run, resumes it from a checkpoint, runs the loop, and writes the model.

mod finish;
mod plan;
mod resume;
mod run;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use burn::tensor::Device;
use common::fs::check_target;
use common::listing;
use model::{Dataset, ModelError, files};
use serde_json::{Value, json};

use self::plan::RunPlan;
use self::run::TrainingRun;
use crate::base::{Base, OpenedBase};
use crate::checkpoint::{self, CheckpointState};
use crate::config::{Method, TrainConfig};
use crate::estimate::Estimate;
use crate::kernels::buffer;
use crate::llama::{FrozenBase, Llama};
use crate::optim::Optimizer;
use crate::progress::{Summary, TrainEvent, TrainProgress};
use crate::{TrainError, allocator, batch, device, estimator, replicas};

/// The record of a run, in its folder.
const RUN: &str = "run.json";

/// The folder of checkpoints of a run, next to `out`.
#[must_use]
pub fn partial_folder(out: &Path) -> PathBuf {
    out.with_added_extension("partial")
}

/// Estimates memory and time of [`train`]. Reads the data and the configuration of the base (the
/// model to start from), but no weights, and writes nothing.
///
/// # Errors
/// The errors of [`train`] before its first step, except for those of its output.
pub fn dry_run(config: &TrainConfig, base: &Base, data: &Dataset) -> Result<Estimate, TrainError> {
    let mut plan = RunPlan::new(config, base, data)?;
    let config = &plan.config;
    let layer = plan.estimate.memory.activations / plan.base.config.num_hidden_layers as u64
        + plan.estimate.memory.weights;
    if config.memory_limit.is_none_or(|limit| layer < limit) {
        let devices = device::open(config.processor, config.devices(), config.compute())?;
        plan.estimate.seconds = estimator::seconds(
            &plan.estimate,
            &plan.base,
            config,
            &plan.train,
            &plan.steps,
            &devices[0],
        )?;
    }
    Ok(plan.estimate)
}

/// Checks that [`train`] may write to `out`.
///
/// # Errors
/// When `out` holds something else, or an input.
pub fn check_out(base: &Base, out: &Path) -> Result<(), TrainError> {
    check_target(out, &[files::INFO, RUN])?;
    Ok(listing::check_inputs(out, base.path()).map_err(ModelError::io(out))?)
}

/// Trains a model and writes a model folder (or an adapter) to `out`, completely or not at all.
/// While training runs, its checkpoints are in [`partial_folder`].
///
/// # Errors
/// When configuration, base or data are invalid, there is not enough memory, the loss diverges, or
/// `stop` is set ([`TrainError::Interrupted`], with the state saved).
pub fn train(
    config: &TrainConfig,
    base: &Base,
    data: &Dataset,
    out: &Path,
    progress: &mut dyn TrainProgress,
    stop: &AtomicBool,
) -> Result<Summary, TrainError> {
    check_out(base, out)?;
    allocator::give_large_blocks_back();
    let RunPlan {
        config,
        base,
        train,
        valid,
        steps,
        estimate,
    } = RunPlan::new(config, base, data)?;
    let config = &config;
    progress.event(&TrainEvent::Plan(estimate.clone()));
    if let Some(limit) = config
        .memory_limit
        .filter(|limit| estimate.memory.peak() > *limit)
    {
        return Err(TrainError::Memory {
            needs: estimate.memory,
            limit,
        });
    }
    let devices = device::open(config.processor, config.devices(), config.compute())?;
    let device = &devices[0];
    let model = build(config, &base, estimate.longest, device)?;
    let state = CheckpointState {
        version: checkpoint::VERSION,
        program: config.program.clone(),
        step: 0,
        seconds: 0.0,
        config: comparable(config, &base, &model),
        data: batch::digest(&train.examples),
        metrics: String::new(),
    };
    let partial = partial_folder(out);
    let lock = checkpoint::claim(&partial)?;
    let mut run = TrainingRun {
        config,
        replicas: replicas::replicate(model, &devices)?,
        optimizer: Optimizer::new(config),
        train: Arc::new(train),
        valid,
        partial,
        lock,
        state,
        left_by_step: estimate.memory.left_by_step(),
        reports: Vec::new(),
        validations: Vec::new(),
        events: None,
        began: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0.0, |time| time.as_secs_f64()),
    };
    run.resume(progress)?;
    run.open_events()?;
    run.run_steps(&steps, estimate.steps, progress, stop)?;
    buffer::keep(0);
    run.finish(&base, &estimate, data, out)
}

/// The model to train, for sequences of up to `positions` tokens.
fn build(
    config: &TrainConfig,
    base: &OpenedBase,
    positions: usize,
    device: &Device,
) -> Result<Llama, TrainError> {
    let (shape, compute) = (&base.config, config.compute());
    let weights = || base.weights(config.seed);
    let frozen = match (config.method, &base.formats) {
        (Method::Full, _) => {
            return Llama::from_weights(shape, weights()?, compute, positions, device);
        }
        (Method::Lora, None) => Llama::from_frozen(shape, weights()?, compute, positions, device)?,
        (Method::Lora, Some(formats)) => {
            let frozen = FrozenBase {
                source: &*base.source()?,
                formats,
                rows: base.base_rows,
            };
            Llama::from_blocks(shape, &frozen, compute, positions, device)?
        }
    };
    Ok(frozen.with_lora(&config.lora, base.base_rows, config.seed, device))
}

/// The configuration without the options that may change when a run is resumed, and a digest of
/// the weights that checkpoints do not contain.
fn comparable(config: &TrainConfig, base: &OpenedBase, model: &Llama) -> Value {
    let same = TrainConfig {
        resume: false,
        save_steps: None,
        save_seconds: None,
        keep_checkpoints: 1,
        validate_epochs: false,
        memory_limit: None,
        ..config.clone()
    };
    let mut out = json!({ "train": same, "base": base.name, "model": base.config.to_json() });
    if let Some(digest) = model.block_digest() {
        out["base_weights"] = digest.into();
    }
    out
}
