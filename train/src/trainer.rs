//! The training loop.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use burn::tensor::Device;
use model::adapter::{grow_rows, write_adapter_into};
use model::atomic::StagedFolder;
use model::{ChatFormat, Dataset, KgAgentInfo, ModelConfig, ModelFolder, Preset, Tokenizer, Weights};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::batch::{self, Example, Examples, Step};
use crate::checkpoint::{self, State};
use crate::config::{Method, TrainConfig};
use crate::kernels::cross_entropy::loss_and_grad;
use crate::llama::{Llama, fresh_weights};
use crate::ops::Compute;
use crate::optim::{self, NamedGrads, Optimizer};
use crate::progress::{Event, Progress, StepReport, Validation};
use crate::{TrainError, svg};

/// Steps over which the speed is averaged.
const SPEED_WINDOW: usize = 20;

/// What training starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// Fresh weights and a tokenizer trained on the data.
    Scratch(Preset),
    /// A model folder in Hugging Face layout.
    Folder(PathBuf),
}

/// What a finished run did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Steps.
    pub steps: usize,
    /// Parameters of the model.
    pub parameters: usize,
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

/// What training starts from, in memory.
struct Start {
    config: ModelConfig,
    tokenizer: Tokenizer,
    weights: Weights,
    base: String,
    /// Rows of the embedding that the base brought.
    base_rows: usize,
}

impl Start {
    fn scratch(preset: Preset, config: &TrainConfig, data: &Dataset) -> Result<Self, TrainError> {
        let texts = data.train.iter().flat_map(|conversation| conversation.turns.iter().map(model::Turn::text));
        let tokenizer = Tokenizer::train_bpe(texts, config.vocab_size.unwrap_or(preset.vocab_size()))?;
        let mut shape = preset.config(tokenizer.vocab_size());
        shape.max_position_embeddings = shape.max_position_embeddings.max(config.max_length);
        let weights = fresh_weights(&shape, config.seed)?;
        let base_rows = shape.vocab_size;
        Self { config: shape, tokenizer, weights, base: format!("scratch:{preset:?}").to_lowercase(), base_rows }.with_control_tokens()
    }

    fn folder(path: &Path) -> Result<Self, TrainError> {
        let folder = ModelFolder::open(path)?;
        let weights = folder.weights()?;
        let (mut tokenizer, mut config, mut weights) = (folder.tokenizer, folder.config, weights);
        let mut base_rows = config.vocab_size;
        if let Some(first) = tokenizer.ensure_control_tokens()? {
            // Where the base's table is longer than its vocabulary, the new tokens take rows that were never trained.
            base_rows = base_rows.min(first as usize);
            config.vocab_size = config.vocab_size.max(tokenizer.vocab_size());
            for name in ["model.embed_tokens.weight", "lm_head.weight"] {
                grow_rows(&mut weights, name, base_rows, config.vocab_size)?;
            }
        }
        Self { config, tokenizer, weights, base: path.display().to_string(), base_rows }.with_control_tokens()
    }

    fn with_control_tokens(mut self) -> Result<Self, TrainError> {
        let control = self.tokenizer.control()?;
        self.config.eos_token_ids = vec![control.end];
        self.config.pad_token_id = Some(control.pad);
        Ok(self)
    }
}

/// Everything a run holds while it goes.
struct Run<'a> {
    config: &'a TrainConfig,
    device: Device,
    model: Llama,
    optimizer: Optimizer,
    train: Examples,
    valid: Examples,
    partial: PathBuf,
    state: State,
    reports: Vec<StepReport>,
    validations: Vec<Validation>,
}

/// Train and write a model folder (or an adapter) to `out`, whole or not at all. Until then checkpoints stand in [`partial_folder`].
///
/// # Errors
/// When configuration, base or data are wrong, the loss diverges, or `stop` is set ([`TrainError::Interrupted`], state saved).
pub fn train(
    config: &TrainConfig,
    base: &Base,
    data: &Dataset,
    out: &Path,
    progress: &mut dyn Progress,
    stop: &AtomicBool,
) -> Result<Summary, TrainError> {
    config.check()?;
    let start = match base {
        Base::Scratch(preset) => Start::scratch(*preset, config, data)?,
        Base::Folder(path) => Start::folder(path)?,
    };
    if config.method == Method::Lora && matches!(base, Base::Scratch(_)) {
        return Err(TrainError::Config("LoRA corrects a trained base; a model made from scratch is trained in full".to_owned()));
    }
    let format = ChatFormat::new(start.tokenizer.clone())?;
    let train = batch::tokenise(&data.train, &format, config)?;
    let valid = batch::tokenise(&data.valid, &format, config)?;
    if train.examples.is_empty() {
        let (read, long, untrained) = (data.train.len(), train.too_long, train.untrained);
        return Err(TrainError::Data(format!("nothing to train on: {read} examples, {long} too long, {untrained} without a trained turn")));
    }
    let plans: Vec<Vec<Step>> = (0..config.epochs).map(|epoch| batch::plan(&train.examples, epoch, config)).collect();
    let steps: usize = plans.iter().map(Vec::len).sum();
    let total = config.max_steps.map_or(steps, |most| most.min(steps));

    let device = Device::flex().autodiff();
    let compute = if config.stock_ops { Compute::Stock } else { Compute::Fused };
    let longest = train.examples.iter().chain(&valid.examples).map(Example::len).max().unwrap_or(1);
    if longest > start.config.context() {
        let most = start.config.context();
        return Err(TrainError::Data(format!("an example has {longest} tokens, the model's positions end at {most}")));
    }
    let mut model = Llama::from_weights(&start.config, &start.weights, compute, longest, &device)?;
    if config.method == Method::Lora {
        model = model.with_lora(&config.lora, start.base_rows, config.seed, &device);
    }
    let sum = |f: fn(&Example) -> usize| train.examples.iter().map(f).sum::<usize>();
    progress.event(&Event::Data {
        examples: train.examples.len(),
        valid: valid.examples.len(),
        tokens: sum(Example::len),
        trained: sum(Example::trained),
        too_long: train.too_long + valid.too_long,
        untrained: train.untrained + valid.untrained,
        parameters: start.config.parameters(),
        steps: total,
    });
    let state = State {
        version: checkpoint::VERSION,
        step: 0,
        seconds: 0.0,
        config: comparable(config, &start),
        data: batch::digest(&train.examples),
        weights: String::new(),
        optimizer: String::new(),
        metrics: String::new(),
    };
    let mut run = Run {
        config,
        device,
        model,
        optimizer: Optimizer::new(config),
        train,
        valid,
        partial: partial_folder(out),
        state,
        reports: Vec::new(),
        validations: Vec::new(),
    };
    run.resume(progress)?;
    run.go(&plans, total, progress, stop)?;
    run.finish(&start, data, out)
}

/// The configuration, without what may differ between the parts of one run.
fn comparable(config: &TrainConfig, start: &Start) -> Value {
    let same =
        TrainConfig { resume: false, save_steps: None, save_seconds: None, keep_checkpoints: 1, validate_epochs: false, ..config.clone() };
    json!({ "train": same, "base": start.base, "model": start.config.to_json() })
}

impl Run<'_> {
    /// Continue from the newest whole checkpoint of the same run, where asked to.
    fn resume(&mut self, progress: &mut dyn Progress) -> Result<(), TrainError> {
        if !self.config.resume {
            if self.partial.exists() {
                progress.event(&Event::Note(format!("starting over: the unfinished run in {} is dropped", self.partial.display())));
                fs::remove_dir_all(&self.partial).map_err(|source| model::ModelError::Io { path: self.partial.clone(), source })?;
            }
            return Ok(());
        }
        for (_, path) in checkpoint::list(&self.partial) {
            let (state, weights, optimizer) = match checkpoint::load(&path) {
                Ok(loaded) => loaded,
                Err(error) => {
                    progress.event(&Event::Note(format!("{} is damaged and passed over: {error}", path.display())));
                    continue;
                }
            };
            if state.data != self.state.data {
                return Err(TrainError::Data(format!("{} was made with other data", path.display())));
            }
            if state.config != self.state.config {
                let key = differing(&state.config, &self.state.config).unwrap_or_default();
                return Err(TrainError::Config(format!("{} was made with another `{key}`", path.display())));
            }
            self.model.load(&weights)?;
            self.optimizer.load(&optimizer, state.step, &self.device)?;
            for line in state.metrics.lines() {
                if let Ok(report) = serde_json::from_str(line) {
                    self.reports.push(report);
                } else if let Ok(validation) = serde_json::from_str(line) {
                    self.validations.push(validation);
                }
            }
            progress.event(&Event::Note(format!("continuing after step {} from {}", state.step, path.display())));
            self.state = state;
            return Ok(());
        }
        progress.event(&Event::Note("no checkpoint to continue from; starting at the beginning".to_owned()));
        Ok(())
    }

    fn go(&mut self, plans: &[Vec<Step>], total: usize, progress: &mut dyn Progress, stop: &AtomicBool) -> Result<(), TrainError> {
        let begin = Instant::now();
        let before = self.state.seconds;
        let mut saved = Instant::now();
        let mut window: Vec<(f64, usize)> = vec![(0.0, 0)];
        let steps = plans.iter().enumerate().flat_map(|(epoch, steps)| {
            let last = steps.len().saturating_sub(1);
            steps.iter().enumerate().map(move |(i, step)| (epoch, i == last, step))
        });
        for (index, (epoch, epoch_ends, step)) in steps.enumerate().take(total).skip(self.state.step) {
            let rate = self.config.rate(index, total);
            let mut report = self.step(step, rate)?;
            self.state.step = index + 1;
            self.state.seconds = before + begin.elapsed().as_secs_f64();
            let done: usize = window.last().map_or(0, |w| w.1) + report.tokens;
            window.push((begin.elapsed().as_secs_f64(), done));
            if window.len() > SPEED_WINDOW {
                window.remove(0);
            }
            let (first, last) = (window[0], window[window.len() - 1]);
            report.tokens_per_second = (last.1 - first.1) as f64 / (last.0 - first.0).max(1e-9);
            report.seconds_left = (last.0 - first.0) / (window.len() - 1) as f64 * (total - index - 1) as f64;
            (report.step, report.total, report.epoch) = (index + 1, total, epoch + 1);
            report.seconds = self.state.seconds;
            progress.event(&Event::Step(report.clone()));
            let loss = report.loss;
            self.reports.push(report);
            if !loss.is_finite() {
                return Err(TrainError::Diverged { step: index + 1, loss });
            }
            let ends = index + 1 == total;
            if ends || (epoch_ends && self.config.validate_epochs) {
                self.validate(progress);
            }
            let interrupted = !ends && stop.load(Ordering::Relaxed);
            let due = self.config.save_steps.is_some_and(|n| (index + 1).is_multiple_of(n))
                || self.config.save_seconds.is_some_and(|s| saved.elapsed().as_secs_f64() >= s);
            if interrupted || (due && !ends) {
                let path = self.save()?;
                progress.event(&Event::Saved(path.clone()));
                saved = Instant::now();
                if interrupted {
                    return Err(TrainError::Interrupted { step: index + 1, checkpoint: path });
                }
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &Step, rate: f64) -> Result<StepReport, TrainError> {
        let packed: Vec<_> = step.iter().map(|micro| batch::pack(&self.train.examples, micro)).collect();
        let trained: usize = packed.iter().map(|batch| batch.rows.len()).sum();
        let tokens = packed.iter().map(|batch| batch.ids.len()).sum();
        let scale = 1.0 / trained as f32;
        let mut grads = NamedGrads::new();
        let mut loss = 0.0;
        for (micro, batch) in packed.iter().enumerate() {
            let seed = self.config.seed ^ ((self.state.step as u64) << 16 | micro as u64);
            let value = self.model.loss(batch, scale, seed, &self.device);
            loss += f64::from(value.to_data().try_to_vec::<f32>().unwrap_or_default().first().copied().unwrap_or(f32::NAN));
            optim::collect(&self.model.net, &value.backward(), &mut grads);
        }
        let norm = optim::global_norm(&grads);
        let factor = if self.config.clip > 0.0 && norm > self.config.clip { self.config.clip / norm } else { 1.0 };
        if norm.is_finite() {
            self.model.net = self.optimizer.step(self.model.net.clone(), grads, rate, factor);
        }
        Ok(StepReport {
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
        })
    }

    fn validate(&mut self, progress: &mut dyn Progress) {
        if self.valid.examples.is_empty() {
            return;
        }
        let validation = score(&self.model, &self.valid.examples, self.config, self.state.step, &self.device);
        progress.event(&Event::Validation(validation));
        self.validations.push(validation);
    }

    fn metrics(&self) -> String {
        let mut lines: Vec<(usize, String)> =
            self.reports.iter().map(|report| (report.step, serde_json::to_string(report).unwrap_or_default())).collect();
        lines.extend(self.validations.iter().map(|v| (v.step, serde_json::to_string(v).unwrap_or_default())));
        lines.sort_by_key(|line| line.0);
        lines.into_iter().map(|(_, line)| line + "\n").collect()
    }

    fn save(&mut self) -> Result<PathBuf, TrainError> {
        let mut state = self.state.clone();
        state.metrics = self.metrics();
        checkpoint::save(&self.partial, state, &self.model.tensors(), &self.optimizer.tensors(), self.config.keep_checkpoints)
    }

    fn finish(self, start: &Start, data: &Dataset, out: &Path) -> Result<Summary, TrainError> {
        let tokens = self.reports.iter().map(|report| report.tokens).sum();
        let tail = &self.reports[self.reports.len() - self.reports.len().div_ceil(10)..];
        let summary = Summary {
            steps: self.reports.len(),
            parameters: start.config.parameters(),
            examples: self.train.examples.len(),
            tokens,
            loss: tail.iter().map(|report| report.loss).sum::<f64>() / tail.len().max(1) as f64,
            validation: self.validations.last().copied(),
            seconds: self.state.seconds,
            tokens_per_second: tokens as f64 / self.state.seconds.max(1e-9),
        };
        let info = KgAgentInfo {
            templates: data.templates.clone(),
            agents: data.agents.clone(),
            layouts: data.layouts.clone(),
            ranker: data.ranker.clone(),
            // Nothing that differs between two equal runs: model folders are compared byte by byte.
            training: json!({
                "config": self.state.config["train"], "base": start.base, "steps": summary.steps, "examples": summary.examples, "tokens": tokens,
                "loss": summary.loss, "validation": summary.validation, "kg_hashes": data.kg_hashes,
            }),
        };
        let staged = StagedFolder::new(out)?;
        if self.config.method == Method::Lora && !self.config.lora.merge {
            let mut weights = self.model.whole_tensors()?;
            if start.base_rows == start.config.vocab_size {
                // No tokens were added: the base's matrices are as they were and need not go along.
                let _ = (weights.take("model.embed_tokens.weight"), weights.take("lm_head.weight"));
            }
            write_adapter_into(&staged, &self.config.lora.adapter(&start.base), &start.tokenizer, &info, &weights)?;
        } else {
            ModelFolder::write_into(&staged, &start.config, &start.tokenizer, &info, &self.model.merged()?)?;
        }
        staged.file("metrics.jsonl", self.metrics().as_bytes())?;
        let points: Vec<(usize, f64)> = self.reports.iter().map(|report| (report.step, report.loss)).collect();
        let valid: Vec<(usize, f64)> = self.validations.iter().map(|v| (v.step, v.loss)).collect();
        staged.file("loss.svg", svg::loss_curve(&points, &valid).as_bytes())?;
        staged.commit()?;
        // The model is in its place; what is left of the run only costs space.
        let _ = fs::remove_dir_all(&self.partial);
        Ok(summary)
    }
}

/// The first key, dotted, at which two configurations differ.
fn differing(a: &Value, b: &Value) -> Option<String> {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => a.keys().chain(b.keys()).find_map(|key| {
            let inner = differing(a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null))?;
            Some(if inner.is_empty() { key.clone() } else { format!("{key}.{inner}") })
        }),
        (a, b) => (a != b).then(String::new),
    }
}

/// Loss and accuracy on examples, in their order.
fn score(model: &Llama, examples: &[Example], config: &TrainConfig, step: usize, device: &Device) -> Validation {
    let vocab = model.config().vocab_size;
    let (mut loss, mut right, mut tokens) = (0.0, 0, 0);
    let mut from = 0;
    while from < examples.len() {
        let (mut to, mut size) = (from, 0);
        while to < examples.len() && (to == from || size + examples[to].len() <= config.micro_tokens) {
            size += examples[to].len();
            to += 1;
        }
        let batch = batch::pack(examples, &(from..to).collect::<Vec<_>>());
        let mut logits = model.logits(&batch, device).into_data().try_to_vec::<f32>().unwrap_or_default();
        let (sum, hits) = loss_and_grad(&mut logits, &batch.targets, vocab, 1.0);
        loss += f64::from(sum);
        right += hits;
        tokens += batch.rows.len();
        from = to;
    }
    Validation { step, loss: loss / tokens as f64, accuracy: right as f64 / tokens as f64, tokens }
}
