//! The training loop.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use common::fs::{StagedFolder, check_target};
use model::adapter::write_adapter_into;
use model::{ChatFormat, Dataset, KgAgentInfo, ModelFolder};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::base::{Base, Start};
use crate::batch::{self, Examples, Step};
use crate::checkpoint::{self, State};
use crate::config::{Method, TrainConfig};
use crate::device::{self, Precision};
use crate::estimate::{self, Estimate};
use crate::llama::{Llama, Packed};
use crate::ops::Compute;
use crate::optim::{self, Optimizer};
use crate::prefetch::ahead;
use crate::progress::{Event, Progress, StepReport, Validation};
use crate::replicas::{self, Pass, Replica};
use crate::score::score;
use crate::tensorboard::EventFile;
use crate::{TrainError, report};

/// Folder of TensorBoard's event files.
pub(crate) const EVENTS: &str = "runs";

/// Steps over which the speed is averaged.
const SPEED_WINDOW: usize = 20;

/// What a finished run did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Steps.
    pub steps: usize,
    /// Parameters of the model, corrections included.
    pub parameters: usize,
    /// Of these, trained.
    pub trained_parameters: usize,
    /// Examples trained on.
    pub examples: usize,
    /// Tokens read in all.
    pub tokens: usize,
    /// Mean loss of the last tenth of the steps.
    pub loss: f64,
    /// Score on the held-out examples, where there are any.
    pub validation: Option<Validation>,
    /// Seconds of training.
    pub seconds: f64,
    /// Tokens a second over the whole run.
    pub tokens_per_second: f64,
}

/// Where a run keeps its checkpoints until `out` is complete: a sibling of `out`.
#[must_use]
pub fn partial_folder(out: &Path) -> PathBuf {
    let mut name = out.file_name().unwrap_or_default().to_os_string();
    name.push(".partial");
    out.with_file_name(name)
}

/// Everything a run holds while it goes.
struct Run<'a> {
    config: &'a TrainConfig,
    /// The model on every device. The first is the one that is stepped, scored and saved; the others follow it.
    replicas: Vec<Replica>,
    optimizer: Optimizer,
    train: Arc<Examples>,
    valid: Examples,
    partial: PathBuf,
    /// Held until the run ends.
    lock: fs::File,
    state: State,
    reports: Vec<StepReport>,
    validations: Vec<Validation>,
    /// What TensorBoard reads while the run goes.
    events: Option<EventFile<fs::File>>,
    /// Unix time at which this process began.
    began: f64,
}

/// A run worked out, before weights are read.
struct Plan {
    /// With the number of devices settled.
    config: TrainConfig,
    start: Start,
    train: Examples,
    valid: Examples,
    steps: Vec<Vec<Step>>,
    estimate: Estimate,
}

impl Plan {
    fn new(config: &TrainConfig, base: &Base, data: &Dataset) -> Result<Self, TrainError> {
        config.check()?;
        if config.method == Method::Lora && matches!(base, Base::Scratch(_)) {
            return Err(TrainError::Config(
                "LoRA corrects a trained base; a model made from scratch is trained in full"
                    .to_owned(),
            ));
        }
        let start = Start::new(base, config, data)?;
        let asked = config;
        let config = &asked.settled(start.config.parameters());
        let format = ChatFormat::new(start.tokenizer.clone())?;
        let train = batch::tokenise(&data.train, &format, config)?;
        let valid = batch::tokenise(&data.valid, &format, config)?;
        if train.examples.is_empty() {
            let (read, long, untrained) = (data.train.len(), train.too_long, train.untrained);
            return Err(TrainError::Data(format!(
                "nothing to train on: {read} examples, {long} too long, {untrained} without a trained turn"
            )));
        }
        let steps: Vec<Vec<Step>> = (0..config.epochs)
            .map(|epoch| batch::plan(&train.examples, epoch, config))
            .collect();
        batch::check_parts(&steps, asked)?;
        let estimate = estimate::estimate(
            &start.config,
            start.base_rows,
            config,
            &train,
            &valid,
            &steps,
        );
        if estimate.longest > start.config.context() {
            let (longest, most) = (estimate.longest, start.config.context());
            return Err(TrainError::Data(format!(
                "an example has {longest} tokens, the model's positions end at {most}"
            )));
        }
        Ok(Self {
            config: config.clone(),
            start,
            train,
            valid,
            steps,
            estimate,
        })
    }
}

/// What [`train`] would need and how long it would take: reads the data and the base's configuration, no weights, writes nothing.
///
/// # Errors
/// As [`train`], short of what only training itself can meet.
pub fn dry_run(config: &TrainConfig, base: &Base, data: &Dataset) -> Result<Estimate, TrainError> {
    let mut plan = Plan::new(config, base, data)?;
    let config = &plan.config;
    let layer = plan.estimate.memory.activations / plan.start.config.num_hidden_layers as u64
        + plan.estimate.memory.weights;
    if config.memory_limit.is_none_or(|limit| layer < limit) {
        let devices = device::open(config)?;
        plan.estimate.seconds = estimate::seconds(
            &plan.estimate,
            &plan.start.config,
            config,
            &plan.train,
            &plan.steps,
            &devices[0],
        )?;
    }
    Ok(plan.estimate)
}

/// Train and write a model folder (or an adapter) to `out`, whole or not at all. Until then checkpoints stand in [`partial_folder`].
///
/// # Errors
/// When configuration, base or data are wrong, memory would not do, the loss diverges, or `stop` is set ([`TrainError::Interrupted`], state
/// saved).
pub fn train(
    config: &TrainConfig,
    base: &Base,
    data: &Dataset,
    out: &Path,
    progress: &mut dyn Progress,
    stop: &AtomicBool,
) -> Result<Summary, TrainError> {
    check_target(out, &["kgagent.json", "run.json"])?;
    if let Base::Folder(base) = base
        && let (Ok(base), Ok(out)) = (base.canonicalize(), out.canonicalize())
        && base == out
    {
        return Err(TrainError::Config(format!(
            "{} is the base; name another folder for what is made of it",
            out.display()
        )));
    }
    let Plan {
        config,
        start,
        train,
        valid,
        steps,
        estimate,
    } = Plan::new(config, base, data)?;
    let config = &config;
    progress.event(&Event::Plan(estimate.clone()));
    if let Some(limit) = config
        .memory_limit
        .filter(|limit| estimate.memory.peak() > *limit)
    {
        return Err(TrainError::Memory {
            needs: estimate.memory,
            limit,
        });
    }
    let devices = device::open(config)?;
    let device = &devices[0];
    let (compute, weights) = (device::compute(config), start.weights(config.seed)?);
    let model = match config.method {
        Method::Full => {
            Llama::from_weights(&start.config, weights, compute, estimate.longest, device)?
        }
        Method::Lora => {
            Llama::from_frozen(&start.config, weights, compute, estimate.longest, device)?
                .with_lora(&config.lora, start.base_rows, config.seed, device)
        }
    };
    let state = State {
        version: checkpoint::VERSION,
        step: 0,
        seconds: 0.0,
        config: comparable(config, &start),
        data: batch::digest(&train.examples),
        metrics: String::new(),
    };
    let partial = partial_folder(out);
    let lock = checkpoint::claim(&partial)?;
    let mut run = Run {
        config,
        replicas: replicas::replicate(model, &devices)?,
        optimizer: Optimizer::new(config),
        train: Arc::new(train),
        valid,
        partial,
        lock,
        state,
        reports: Vec::new(),
        validations: Vec::new(),
        events: None,
        began: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0.0, |time| time.as_secs_f64()),
    };
    run.resume(progress)?;
    run.watch()?;
    run.go(&steps, estimate.steps, progress, stop)?;
    run.finish(&start, &estimate, data, out)
}

/// The configuration, without what may differ between the parts of one run.
fn comparable(config: &TrainConfig, start: &Start) -> Value {
    let same = TrainConfig {
        resume: false,
        save_steps: None,
        save_seconds: None,
        keep_checkpoints: 1,
        validate_epochs: false,
        memory_limit: None,
        ..config.clone()
    };
    json!({ "train": same, "base": start.base, "model": start.config.to_json() })
}

impl Run<'_> {
    /// Continue from the newest whole checkpoint of the same run, where asked to.
    fn resume(&mut self, progress: &mut dyn Progress) -> Result<(), TrainError> {
        if !self.config.resume {
            if checkpoint::clear(&self.partial)? {
                progress.event(&Event::Note(format!(
                    "starting over: the unfinished run in {} is dropped",
                    self.partial.display()
                )));
            }
            return Ok(());
        }
        checkpoint::sweep(&self.partial);
        let mut damaged = Vec::new();
        for (step, path) in checkpoint::list(&self.partial) {
            let (state, weights, optimizer) = match checkpoint::load(&path) {
                Ok(loaded) => loaded,
                Err(error) => {
                    progress.event(&Event::Note(format!(
                        "{} is damaged and passed over: {error}",
                        path.display()
                    )));
                    damaged.push((step, path));
                    continue;
                }
            };
            if state.data != self.state.data {
                return Err(TrainError::Another {
                    checkpoint: path,
                    other: "other data".to_owned(),
                });
            }
            if state.config != self.state.config {
                let key = differing(&state.config, &self.state.config).unwrap_or_default();
                return Err(TrainError::Another {
                    checkpoint: path,
                    other: format!("another `{key}`"),
                });
            }
            let first = &mut self.replicas[0];
            first.model.load(&weights)?;
            self.optimizer.load(&optimizer, state.step, &first.device)?;
            self.follow();
            for line in state.metrics.lines() {
                if let Ok(report) = serde_json::from_str(line) {
                    self.reports.push(report);
                } else if let Ok(validation) = serde_json::from_str(line) {
                    self.validations.push(validation);
                }
            }
            progress.event(&Event::Note(format!(
                "continuing after step {} from {}",
                state.step,
                path.display()
            )));
            self.state = state;
            for (step, path) in damaged {
                // Out of the count of those kept, so that it never pushes out a whole one.
                let _ = fs::rename(path, self.partial.join(format!("damaged-{step}")));
            }
            return Ok(());
        }
        progress.event(&Event::Note(
            "no checkpoint to continue from; starting at the beginning".to_owned(),
        ));
        Ok(())
    }

    /// Opens the event file of this part of the run.
    fn watch(&mut self) -> Result<(), TrainError> {
        let dir = self.partial.join(EVENTS);
        let file = EventFile::create(&dir, self.began)
            .map_err(|source| model::ModelError::Io { path: dir, source })?;
        self.events = Some(file);
        self.began -= self.state.seconds;
        Ok(())
    }

    /// Trains what is left of the steps. Their batches are laid out on another thread while the step before is computed; what a checkpoint counts are
    /// steps trained.
    fn go(
        &mut self,
        plans: &[Vec<Step>],
        total: usize,
        progress: &mut dyn Progress,
        stop: &AtomicBool,
    ) -> Result<(), TrainError> {
        let (train, done) = (Arc::clone(&self.train), self.state.step);
        let steps = plans.iter().flatten().take(total).skip(done);
        ahead(
            steps,
            |step| batch::lay_out(&train.examples, step),
            |batches| self.steps(plans, total, batches, progress, stop),
        )
    }

    fn steps(
        &mut self,
        plans: &[Vec<Step>],
        total: usize,
        batches: Receiver<Vec<Vec<Packed>>>,
        progress: &mut dyn Progress,
        stop: &AtomicBool,
    ) -> Result<(), TrainError> {
        let begin = Instant::now();
        let before = self.state.seconds;
        let mut saved = Instant::now();
        let mut window: Vec<(f64, usize)> = vec![(0.0, 0)];
        let steps = plans.iter().enumerate().flat_map(|(epoch, steps)| {
            let last = steps.len().saturating_sub(1);
            (0..steps.len()).map(move |i| (epoch, i == last))
        });
        for ((index, (epoch, epoch_ends)), parts) in
            steps.enumerate().skip(self.state.step).zip(batches)
        {
            let rate = self.config.rate(index, total);
            let mut report = self.step(&parts, rate);
            self.state.step = index + 1;
            self.state.seconds = before + begin.elapsed().as_secs_f64();
            let done: usize = window.last().map_or(0, |w| w.1) + report.tokens;
            window.push((begin.elapsed().as_secs_f64(), done));
            if window.len() > SPEED_WINDOW {
                window.remove(0);
            }
            let (first, last) = (window[0], window[window.len() - 1]);
            report.tokens_per_second = (last.1 - first.1) as f64 / (last.0 - first.0).max(1e-9);
            report.seconds_left =
                (last.0 - first.0) / (window.len() - 1) as f64 * (total - index - 1) as f64;
            (report.step, report.total, report.epoch) = (index + 1, total, epoch + 1);
            report.seconds = self.state.seconds;
            progress.event(&Event::Step(report.clone()));
            // Who only looks on must not stop the run: a full disk is met where a checkpoint is saved.
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
                self.validate(progress);
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
                let path = self.save()?;
                progress.event(&Event::Saved(path.clone()));
                saved = Instant::now();
                if interrupted {
                    return Err(TrainError::Interrupted {
                        step: index + 1,
                        checkpoint: path,
                    });
                }
            }
        }
        Ok(())
    }

    /// One optimizer step on the batches of every device.
    fn step(&mut self, parts: &[Vec<Packed>], rate: f64) -> StepReport {
        let trained: usize = parts.iter().flatten().map(|batch| batch.rows.len()).sum();
        let tokens = parts.iter().flatten().map(|batch| batch.ids.len()).sum();
        let pass = Pass {
            config: self.config,
            step: self.state.step,
            scale: 1.0 / trained as f32,
        };
        let (losses, grads) = replicas::gradients(&self.replicas, parts, &pass);
        let first = &mut self.replicas[0].model;
        // The one place of a step that waits for the device.
        let norm = optim::global_norm(&grads, first.compute);
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
        if norm.is_finite() {
            first.net = self.optimizer.step(first.net.clone(), grads, rate, factor);
            self.follow();
        }
        StepReport {
            step: 0,
            total: 0,
            epoch: 0,
            loss: if norm.is_finite() { loss } else { f64::NAN },
            rate,
            norm,
            tokens,
            trained,
            tokens_per_second: 0.0,
            seconds: 0.0,
            seconds_left: 0.0,
        }
    }

    /// The model that counts.
    fn model(&self) -> &Llama {
        &self.replicas[0].model
    }

    /// Gives the trained weights of the first replica to the others.
    fn follow(&mut self) {
        if let Some((first, others)) = self.replicas.split_first_mut() {
            others
                .iter_mut()
                .for_each(|replica| replica.follow(&first.model));
        }
    }

    fn validate(&mut self, progress: &mut dyn Progress) {
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
        progress.event(&Event::Validation(validation.clone()));
        self.validations.push(validation);
    }

    fn metrics(&self) -> String {
        let mut lines: Vec<(usize, String)> = self
            .reports
            .iter()
            .map(|report| {
                (
                    report.step,
                    serde_json::to_string(report).unwrap_or_default(),
                )
            })
            .collect();
        lines.extend(
            self.validations
                .iter()
                .map(|v| (v.step, serde_json::to_string(v).unwrap_or_default())),
        );
        lines.sort_by_key(|line| line.0);
        lines.into_iter().map(|(_, line)| line + "\n").collect()
    }

    fn save(&mut self) -> Result<PathBuf, TrainError> {
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

    fn finish(
        self,
        start: &Start,
        estimate: &Estimate,
        data: &Dataset,
        out: &Path,
    ) -> Result<Summary, TrainError> {
        let tokens = self.reports.iter().map(|report| report.tokens).sum();
        let tail = &self.reports[self.reports.len() - self.reports.len().div_ceil(10)..];
        let summary = Summary {
            steps: self.reports.len(),
            parameters: estimate.parameters,
            trained_parameters: estimate.trained_parameters,
            examples: self.train.examples.len(),
            tokens,
            loss: tail.iter().map(|report| report.loss).sum::<f64>() / tail.len().max(1) as f64,
            validation: self.validations.last().cloned(),
            seconds: self.state.seconds,
            tokens_per_second: tokens as f64 / self.state.seconds.max(1e-9),
        };
        let info = KgAgentInfo {
            templates: data.templates.clone(),
            agents: data.agents.clone(),
            layouts: data.layouts.clone(),
            ranker: data.ranker.clone(),
            doubt: summary
                .validation
                .as_ref()
                .and_then(|validation| validation.doubt),
            // Nothing that differs between two equal runs: model folders are compared byte by byte.
            training: json!({
                "config": self.state.config["train"], "base": start.base, "steps": summary.steps, "examples": summary.examples, "tokens": tokens,
                "trained_parameters": summary.trained_parameters, "loss": summary.loss, "validation": summary.validation,
                "kg_hashes": data.kg_hashes,
            }),
        };
        // A frozen base is held in the precision of the run: what is written is as exact as what was read.
        let held = matches!(self.model().compute, Compute::Stock(Precision::Bf16))
            && self.config.method == Method::Lora;
        let exact = held.then(|| start.weights(self.config.seed)).transpose()?;
        // Inside the folder of checkpoints, so that a process killed here leaves nothing that the next one does not find.
        let staged = StagedFolder::within(&self.partial, out)?;
        if self.config.method == Method::Lora && !self.config.lora.merge {
            let mut weights = self.model().whole_tensors(exact.as_ref())?;
            if start.base_rows == start.config.vocab_size {
                // No tokens were added: the base's matrices are as they were and need not go along.
                let _ = (
                    weights.take("model.embed_tokens.weight"),
                    weights.take("lm_head.weight"),
                );
            }
            write_adapter_into(
                &staged,
                &self.config.lora.adapter(&start.base),
                &start.tokenizer,
                &info,
                &weights,
            )?;
        } else {
            ModelFolder::write_into(
                &staged,
                &start.config,
                &start.tokenizer,
                &info,
                &self.model().merged(exact.as_ref())?,
            )?;
        }
        self.write_records(&staged, start, estimate, &summary)?;
        staged.commit()?;
        checkpoint::remove(&self.partial, self.lock);
        Ok(summary)
    }

    /// What says how the run went: `metrics.jsonl`, `run.json`, curves, a page, and one event file of the whole run.
    fn write_records(
        &self,
        staged: &StagedFolder,
        start: &Start,
        estimate: &Estimate,
        summary: &Summary,
    ) -> Result<(), TrainError> {
        let run = json!({
            "program": concat!("kgagent ", env!("CARGO_PKG_VERSION")), "base": start.base, "config": self.config, "data_digest": self.state.data,
            "threads": rayon::current_num_threads(), "began": self.began, "seconds": summary.seconds, "estimate": estimate, "summary": summary,
        });
        staged.file("metrics.jsonl", self.metrics().as_bytes())?;
        staged.file("run.json", format!("{run:#}\n").as_bytes())?;
        staged.file(
            "loss.svg",
            report::loss_curve(&self.reports, &self.validations).as_bytes(),
        )?;
        staged.file(
            "report.html",
            report::page(&run, summary, &self.reports, &self.validations).as_bytes(),
        )?;
        let dir = staged.path().join(EVENTS);
        let io = |source| {
            TrainError::Model(model::ModelError::Io {
                path: dir.clone(),
                source,
            })
        };
        let mut events = EventFile::create(&dir, self.began).map_err(io)?;
        for report in &self.reports {
            events.step(report).map_err(io)?;
        }
        for validation in &self.validations {
            let seconds = self
                .reports
                .iter()
                .find(|report| report.step == validation.step)
                .map_or(0.0, |report| report.seconds);
            events.validation(validation, seconds).map_err(io)?;
        }
        Ok(())
    }
}

/// The first key, dotted, at which two configurations differ.
fn differing(a: &Value, b: &Value) -> Option<String> {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => a.keys().chain(b.keys()).find_map(|key| {
            let inner = differing(
                a.get(key).unwrap_or(&Value::Null),
                b.get(key).unwrap_or(&Value::Null),
            )?;
            Some(if inner.is_empty() {
                key.clone()
            } else {
                format!("{key}.{inner}")
            })
        }),
        (a, b) => (a != b).then(String::new),
    }
}
