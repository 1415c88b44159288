//! The training loop.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::Instant;

use model::ModelError;

use crate::batch::{self, Examples, StepPlan};
use crate::checkpoint::{self, CheckpointState};
use crate::estimator;
use crate::grads;
use crate::kernels::buffer;
use crate::llama::{Llama, Packed};
use crate::optim::Optimizer;
use crate::pace::Pace;
use crate::prefetch::prefetch;
use crate::progress::{StepReport, TrainEvent, TrainProgress, Validation};
use crate::replicas::{self, Replica, StepContext};
use crate::score::score;
use crate::tensorboard::{self, EventFile};
use crate::{TrainConfig, TrainError};

/// Number of steps to average the speed.
const SPEED_WINDOW: usize = 20;

/// A run in progress.
pub(super) struct TrainingRun<'a> {
    pub(super) config: &'a TrainConfig,
    /// The model on every device. The first is updated, scored and saved; the others copy its
    /// weights.
    pub(super) replicas: Vec<Replica>,
    pub(super) optimizer: Optimizer,
    pub(super) train: Arc<Examples>,
    pub(super) valid: Examples,
    pub(super) partial: PathBuf,
    /// Held until the end of the run.
    pub(super) lock: fs::File,
    pub(super) state: CheckpointState,
    /// Bytes that buffers may keep during an optimizer step.
    pub(super) left_by_step: usize,
    pub(super) reports: Vec<StepReport>,
    pub(super) validations: Vec<Validation>,
    /// For TensorBoard, during the run.
    pub(super) events: Option<EventFile<fs::File>>,
    /// Unix time of the start, shifted by the time of earlier parts.
    pub(super) began: f64,
}

impl TrainingRun<'_> {
    /// Opens the event file of this part of the run.
    ///
    /// # Errors
    /// When it cannot be created.
    pub(super) fn open_events(&mut self) -> Result<(), TrainError> {
        let dir = self.partial.join(tensorboard::FOLDER);
        let file = EventFile::create(&dir, self.began).map_err(ModelError::io(&dir))?;
        self.events = Some(file);
        self.began -= self.state.seconds;
        Ok(())
    }

    /// Runs the remaining steps. A background thread prepares their batches.
    ///
    /// # Errors
    /// When the loss diverges, a checkpoint cannot be saved, or `stop` is set.
    pub(super) fn run_steps(
        &mut self,
        plans: &[Vec<StepPlan>],
        total: usize,
        progress: &mut dyn TrainProgress,
        stop: &AtomicBool,
    ) -> Result<(), TrainError> {
        let (train, done) = (Arc::clone(&self.train), self.state.step);
        let steps = plans.iter().flatten().take(total).skip(done);
        prefetch(
            steps,
            |step| batch::batches(&train.examples, step),
            |batches| self.run_batches(plans, total, batches, progress, stop),
        )
    }

    fn run_batches(
        &mut self,
        plans: &[Vec<StepPlan>],
        total: usize,
        batches: Receiver<Vec<Vec<Packed>>>,
        progress: &mut dyn TrainProgress,
        stop: &AtomicBool,
    ) -> Result<(), TrainError> {
        let begin = Instant::now();
        let before = self.state.seconds;
        let mut saved = Instant::now();
        let work = estimator::work(
            &self.model().config,
            self.config,
            &self.train,
            &self.valid,
            plans,
            total,
        );
        let mut pace = Pace::new(&work);
        // The end of the last step, with its validation and checkpoint.
        let mut ended = begin;
        let mut window: Vec<(f64, usize)> = Vec::new();
        let steps = plans.iter().enumerate().flat_map(|(epoch, steps)| {
            let last = steps.len().saturating_sub(1);
            (0..steps.len()).map(move |i| (epoch, i == last))
        });
        for ((index, (epoch, epoch_ends)), parts) in
            steps.enumerate().skip(self.state.step).zip(batches)
        {
            let rate = self.config.rate(index, total);
            let mut report = self.step(&parts, rate);
            // With the time that it waited for its batches.
            let took = ended.elapsed().as_secs_f64();
            self.state.step = index + 1;
            self.state.seconds = before + begin.elapsed().as_secs_f64();
            window.push((took, report.tokens));
            if window.len() > SPEED_WINDOW {
                window.remove(0);
            }
            let (seconds, tokens) = window.iter().fold((0.0, 0), |(s, t), w| (s + w.0, t + w.1));
            report.tokens_per_second = tokens as f64 / f64::max(seconds, 1e-9);
            pace.step(work[index].step, took);
            report.seconds_left = pace.seconds_left(index + 1);
            (report.step, report.total, report.epoch) = (index + 1, total, epoch + 1);
            report.seconds = self.state.seconds;
            progress.event(&TrainEvent::Step(report.clone()));
            // Logging must never abort training. A full disk is detected when saving a checkpoint.
            let _ = self.events.as_mut().map(|events| events.step(&report));
            let loss = report.loss;
            self.reports.push(report);
            if !loss.is_finite() {
                return Err(TrainError::Diverged {
                    step: index + 1,
                    loss,
                });
            }
            let ends = index + 1 == total;
            if ends || (epoch_ends && self.config.validate_epochs) {
                let started = Instant::now();
                self.validate(progress);
                pace.validated(work[index].validation, started.elapsed().as_secs_f64());
            }
            let interrupted = !ends && stop.load(Ordering::Relaxed);
            let due = self
                .config
                .save_steps
                .is_some_and(|n| (index + 1).is_multiple_of(n))
                || self
                    .config
                    .save_seconds
                    .is_some_and(|s| saved.elapsed().as_secs_f64() >= s);
            if interrupted || (due && !ends) {
                let started = Instant::now();
                let path = self.save()?;
                pace.saved(started.elapsed().as_secs_f64());
                progress.event(&TrainEvent::Saved(path.clone()));
                saved = Instant::now();
                if interrupted {
                    return Err(TrainError::Interrupted {
                        step: index + 1,
                        checkpoint: path,
                    });
                }
            }
            ended = Instant::now();
        }
        Ok(())
    }

    /// Takes one optimizer step on the batches of every device.
    fn step(&mut self, parts: &[Vec<Packed>], rate: f64) -> StepReport {
        let trained: usize = parts.iter().flatten().map(|batch| batch.rows.len()).sum();
        let tokens = parts.iter().flatten().map(|batch| batch.ids.len()).sum();
        let context = StepContext {
            config: self.config,
            step: self.state.step,
            scale: 1.0 / trained as f32,
        };
        let (losses, grads) = replicas::gradients(&self.replicas, parts, &context);
        let first = &mut self.replicas[0].model;
        // The only place in a step that waits for the device.
        let norm = grads::global_norm(&grads, first.compute);
        let losses = losses.into_iter().map(|loss| {
            loss.try_into_vec_as::<f32>()
                .ok()
                .and_then(|loss| loss.first().copied())
        });
        let loss: f64 = losses.map(|loss| f64::from(loss.unwrap_or(f32::NAN))).sum();
        let factor = if self.config.clip > 0.0 && norm > self.config.clip {
            self.config.clip / norm
        } else {
            1.0
        };
        buffer::keep(self.left_by_step);
        if norm.is_finite() {
            first.net = self.optimizer.step(first.net.clone(), grads, rate, factor);
            self.copy_weights();
        }
        StepReport {
            loss: if norm.is_finite() { loss } else { f64::NAN },
            rate,
            norm,
            tokens,
            trained,
            ..StepReport::default()
        }
    }

    /// The model on the first device.
    pub(super) fn model(&self) -> &Llama {
        &self.replicas[0].model
    }

    /// Copies the trained weights of the first replica to the others.
    pub(super) fn copy_weights(&mut self) {
        if let Some((first, others)) = self.replicas.split_first_mut() {
            for replica in others {
                replica.copy_weights(&first.model);
            }
        }
    }

    /// Scores the held-out examples.
    fn validate(&mut self, progress: &mut dyn TrainProgress) {
        if self.valid.examples.is_empty() {
            return;
        }
        let Replica { model, device, .. } = &self.replicas[0];
        let validation = score(
            model,
            &self.valid.examples,
            self.config.micro_tokens,
            self.state.step,
            device,
        );
        let _ = self
            .events
            .as_mut()
            .map(|events| events.validation(&validation, self.state.seconds));
        progress.event(&TrainEvent::Validation(validation.clone()));
        self.validations.push(validation);
    }

    /// The content of `metrics.jsonl`: steps and validations, one JSON object per line.
    pub(super) fn metrics(&self) -> String {
        let steps = self
            .reports
            .iter()
            .map(|r| (r.step, serde_json::to_string(r)));
        let validations = self.validations.iter();
        let validations = validations.map(|v| (v.step, serde_json::to_string(v)));
        let mut lines: Vec<_> = steps.chain(validations).collect();
        lines.sort_by_key(|line| line.0);
        let text = |(_, line): (usize, Result<String, _>)| line.unwrap_or_default() + "\n";
        lines.into_iter().map(text).collect()
    }

    /// Saves a checkpoint.
    fn save(&mut self) -> Result<PathBuf, TrainError> {
        buffer::keep(0);
        let mut state = self.state.clone();
        state.metrics = self.metrics();
        let keep = self.config.keep_checkpoints;
        checkpoint::save(
            &self.partial,
            &state,
            || self.model().tensors(),
            || self.optimizer.tensors(),
            keep,
        )
    }
}
