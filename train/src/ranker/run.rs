//! The loop of a ranker's training: steps, validations, checkpoints, and the folder at the end.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use common::fs::{StagedFolder, check_target};
use common::listing;
use model::{ModelError, Tensor, Weights, files};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::choices::{self, ProgramChoice};
use super::config::{self, RankerConfig, RankerStart};
use super::measure::{self, RankerValidation};
use super::sample::Schedule;
use super::start::{Started, start};
use super::step::{Lanes, prepare};
use super::update::{LazyAdam, Rates};
use super::write::{RECORD, RankerFolder};
use crate::checkpoint::{self, CheckpointState};
use crate::{TrainError, trainer};

/// The plan of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RankerPlan {
    /// Questions read.
    pub questions: usize,
    /// Those that a step can learn from.
    pub usable: usize,
    /// Their candidates.
    pub candidates: usize,
    /// Questions of the validation.
    pub validation: usize,
    /// Parameters.
    pub parameters: usize,
    /// Steps.
    pub steps: usize,
}

/// A step.
#[derive(Clone, Debug, PartialEq)]
pub struct RankerStep {
    /// Steps done.
    pub step: usize,
    /// Its loss.
    pub loss: f64,
    /// The norm of its gradient before clipping.
    pub norm: f64,
    /// Tokens per second over the last steps.
    pub tokens_per_second: f64,
    /// Seconds left for the steps at this speed.
    pub seconds_left: f64,
}

/// The mean loss up to a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct MeanLoss {
    step: usize,
    mean: f64,
}

/// An event of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RankerEvent {
    /// A message for the user.
    Note(String),
    /// The data is read.
    Plan(RankerPlan),
    /// A step is done.
    Step(RankerStep),
    /// The mean loss since the last report.
    Loss {
        /// Steps done.
        step: usize,
        /// The mean.
        mean: f64,
    },
    /// So many of so many questions of a validation are scored.
    Scored(usize, usize),
    /// A validation is done.
    Validation(RankerValidation),
}

/// Receives the events of a run.
pub trait RankerProgress {
    /// Called for every event, on the training thread.
    fn event(&mut self, event: &RankerEvent);
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankerSummary {
    /// Parameters.
    pub parameters: usize,
    /// Questions that it learned from.
    pub questions: usize,
    /// Steps.
    pub steps: usize,
    /// The step whose weights are kept.
    pub kept_step: usize,
    /// Tokens read.
    pub tokens: usize,
    /// Mean loss of the last report.
    pub loss: Option<f64>,
    /// The last validation.
    pub validation: Option<RankerValidation>,
    /// Seconds.
    pub seconds: f64,
}

/// The best weights so far, for `keep_best`.
struct Best {
    right: usize,
    step: usize,
    weights: Weights,
}

/// What a checkpoint remembers besides weights; a line of its metrics.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Record {
    validations: Vec<RankerValidation>,
    losses: Vec<MeanLoss>,
    tokens: usize,
    /// Sum and number of the losses since the last report.
    open: (f64, usize),
    /// Right choices and step of the best weights.
    best: Option<(usize, usize)>,
}

struct Run<'a> {
    config: &'a RankerConfig,
    started: Started,
    adam: LazyAdam,
    lanes: Lanes,
    train: Vec<ProgramChoice>,
    valid: Vec<ProgramChoice>,
    total: usize,
    partial: PathBuf,
    state: CheckpointState,
    record: Record,
    best: Option<Best>,
    progress: &'a mut dyn RankerProgress,
    stop: &'a AtomicBool,
}

/// Prefix of the best weights in a checkpoint.
const BEST: &str = "best.";

/// Trains a ranker on the files `choices` and writes its folder to `out`, completely or not at all.
/// Validates on the files `validate`, if there are any. If an earlier run with the same inputs was
/// interrupted, continues it.
///
/// # Errors
/// When the configuration or an input is invalid, an interrupted run had other ones, the loss
/// diverges, or `stop` is set ([`TrainError::Interrupted`], with the state saved).
pub fn train_ranker(
    config: &RankerConfig,
    from: &RankerStart,
    (choices, validate): (&[PathBuf], &[PathBuf]),
    out: &Path,
    progress: &mut dyn RankerProgress,
    stop: &AtomicBool,
) -> Result<RankerSummary, TrainError> {
    config.check()?;
    let precision = config.precision.unwrap_or_else(config::usual_precision);
    let config = &RankerConfig {
        precision: Some(precision),
        ..config.clone()
    };
    check_target(out, &[files::CONFIG, RECORD])?;
    let folder = match from {
        RankerStart::Folder(path) => path,
        RankerStart::Scratch { tokenizer, .. } => tokenizer,
    };
    let inputs = choices.iter().chain(validate).chain([folder]);
    listing::check_inputs(out, inputs.map(PathBuf::as_path)).map_err(ModelError::io(out))?;
    let started = start(from, config)?;
    let mut train = choices::read(choices)?;
    let questions = train.len();
    train.retain(|choice| choice.teaches(config.distil > 0.0));
    if train.is_empty() {
        let message = "no question has both right and wrong candidates".to_owned();
        return Err(TrainError::Data(message));
    }
    let valid = choices::read(validate)?;
    let plan = RankerPlan {
        questions,
        usable: train.len(),
        candidates: train.iter().map(|one| one.candidates.len()).sum(),
        validation: valid.len(),
        parameters: started.net.words.len() + started.net.dense.len(),
        steps: config.steps(train.len()),
    };
    progress.event(&RankerEvent::Plan(plan.clone()));
    let state = CheckpointState {
        version: checkpoint::VERSION,
        program: config.program.clone(),
        step: 0,
        seconds: 0.0,
        config: json!({ "ranker": config, "start": started.origin }),
        data: choices::digest(&train) + &choices::digest(&valid),
        metrics: String::new(),
    };
    let partial = trainer::partial_folder(out);
    let lock = checkpoint::claim(&partial)?;
    let mut run = Run {
        config,
        adam: LazyAdam::new(&started.net),
        lanes: Lanes::new(),
        total: plan.steps,
        started,
        train,
        valid,
        partial,
        state,
        record: Record::default(),
        best: None,
        progress,
        stop,
    };
    run.resume()?;
    run.steps()?;
    run.finish(out, lock, &plan)
}

impl Run<'_> {
    fn note(&mut self, text: String) {
        self.progress.event(&RankerEvent::Note(text));
    }

    /// Continues from the newest valid checkpoint, if there is one.
    fn resume(&mut self) -> Result<(), TrainError> {
        checkpoint::sweep(&self.partial);
        for (_, path) in checkpoint::list(&self.partial) {
            let (state, mut weights, moments) = match checkpoint::load(&path) {
                Ok(loaded) => loaded,
                Err(error) => {
                    self.note(format!("skipping the damaged {}: {error}", path.display()));
                    continue;
                }
            };
            if let Some(other) = checkpoint::difference(&state, &self.state) {
                return Err(TrainError::Another {
                    checkpoint: path,
                    other,
                });
            }
            self.record = serde_json::from_str(&state.metrics)
                .map_err(|error| ModelError::json(&path, error.to_string()))?;
            if let Some((right, step)) = self.record.best {
                self.best = Some(Best {
                    right,
                    step,
                    weights: take_best(&mut weights),
                });
            }
            self.started.net.load(&weights)?;
            self.adam.load(&moments)?;
            self.note(format!(
                "continuing after step {} from {}",
                state.step,
                path.display()
            ));
            let program = self.config.program.clone();
            self.state = CheckpointState { program, ..state };
            return Ok(());
        }
        Ok(())
    }

    fn save(&mut self) -> Result<PathBuf, TrainError> {
        self.record.best = self.best.as_ref().map(|best| (best.right, best.step));
        let mut state = self.state.clone();
        state.metrics = serde_json::to_string(&self.record).unwrap_or_default();
        let weights = || {
            let mut weights = self.started.net.tensors();
            let best = self.best.iter().flat_map(|best| best.weights.iter());
            let best: Vec<(String, Tensor)> = best
                .map(|(name, tensor)| (format!("{BEST}{name}"), tensor.clone()))
                .collect();
            for (name, tensor) in best {
                weights.insert(name, tensor);
            }
            weights
        };
        checkpoint::save(&self.partial, &state, weights, || self.adam.tensors(), 2)
    }

    fn interrupted(&mut self) -> Result<TrainError, TrainError> {
        Ok(TrainError::Interrupted {
            step: self.state.step,
            checkpoint: self.save()?,
        })
    }

    /// Whether a validation belongs behind this step.
    fn is_due(&self, step: usize) -> bool {
        let every = self.config.evaluate_every;
        let every = every.unwrap_or(self.total.div_ceil(10)).max(1);
        let done = self.record.validations.last().map(|last| last.step);
        !self.valid.is_empty()
            && (step.is_multiple_of(every) || step == self.total)
            && done != Some(step)
    }

    fn steps(&mut self) -> Result<(), TrainError> {
        let (begin, before) = (Instant::now(), self.state.seconds);
        let mut saved = Instant::now();
        let mut schedule = Schedule::new(self.train.len(), self.config);
        let mut window: Vec<(f64, usize)> = Vec::new();
        loop {
            let step = self.state.step;
            if self.is_due(step) && !self.validate(step)? {
                return Err(self.interrupted()?);
            }
            if step == self.total {
                return Ok(());
            }
            let started = Instant::now();
            let outcome = self.step(&mut schedule, step)?;
            self.state.step = step + 1;
            self.state.seconds = before + begin.elapsed().as_secs_f64();
            window.push((started.elapsed().as_secs_f64(), outcome.1));
            if window.len() > 20 {
                window.remove(0);
            }
            let (seconds, tokens) = window.iter().fold((0.0, 0), |(s, t), w| (s + w.0, t + w.1));
            self.progress.event(&RankerEvent::Step(RankerStep {
                step: step + 1,
                loss: outcome.0,
                norm: outcome.2,
                tokens_per_second: tokens as f64 / f64::max(seconds, 1e-9),
                seconds_left: seconds / window.len() as f64 * (self.total - step - 1) as f64,
            }));
            self.report(step + 1, outcome.0);
            if self.stop.load(Ordering::Relaxed) && step + 1 < self.total {
                return Err(self.interrupted()?);
            }
            if saved.elapsed().as_secs_f64() >= self.config.save_seconds {
                self.save()?;
                saved = Instant::now();
            }
        }
    }

    /// Takes one step; returns loss, tokens and norm.
    fn step(
        &mut self,
        schedule: &mut Schedule,
        step: usize,
    ) -> Result<(f64, usize, f64), TrainError> {
        let questions = schedule.step(step);
        let config = self.config;
        let shown = prepare(&self.train, &questions, &self.started.pairs, config)?;
        let factor = config.factor(step, self.total);
        let rates = Rates {
            body: factor * config.learning_rate,
            head: factor * config.head_rate,
            decay: config.weight_decay,
        };
        let net = &mut self.started.net;
        let outcome = self
            .lanes
            .step(net, &mut self.adam, &shown, config, (rates, step + 1));
        if !(outcome.loss.is_finite() && outcome.norm.is_finite()) {
            return Err(TrainError::Diverged {
                step: step + 1,
                loss: outcome.loss,
            });
        }
        self.record.tokens += outcome.tokens;
        Ok((outcome.loss, outcome.tokens, outcome.norm))
    }

    /// Reports the mean loss when it is time.
    fn report(&mut self, step: usize, loss: f64) {
        let (sum, count) = &mut self.record.open;
        (*sum, *count) = (*sum + loss, *count + 1);
        if step.is_multiple_of(self.config.report_every) || step == self.total {
            let mean = *sum / *count as f64;
            self.record.open = (0.0, 0);
            self.record.losses.push(MeanLoss { step, mean });
            self.progress.event(&RankerEvent::Loss { step, mean });
        }
    }

    /// Validates; `false` if `stop` was set. Before the end only a part of the questions, by which
    /// the best weights are chosen, too.
    fn validate(&mut self, step: usize) -> Result<bool, TrainError> {
        let count = self.valid.len();
        let part = measure::spread(count, self.config.evaluate_most);
        let all = if step == self.total {
            measure::spread(count, None)
        } else {
            part.clone()
        };
        let of = |places: &[usize]| places.iter().map(|i| &self.valid[*i]).collect::<Vec<_>>();
        let (questions, progress) = (of(&all), &mut *self.progress);
        let mut scored = |done: usize| progress.event(&RankerEvent::Scored(done, all.len()));
        let Started { net, pairs, .. } = &self.started;
        let found = measure::logits(net, pairs, &questions, self.stop, &mut scored)?;
        let Some(logits) = found else {
            return Ok(false);
        };
        let validation = measure::measure(&questions, &logits, step);
        if self.config.keep_best && step > 0 {
            let right = if all.len() == part.len() {
                validation.all.both
            } else {
                let logits: Vec<Vec<f32>> = part.iter().map(|i| logits[*i].clone()).collect();
                measure::measure(&of(&part), &logits, step).all.both
            };
            if self.best.as_ref().is_none_or(|best| right > best.right) {
                let weights = net.tensors();
                self.best = Some(Best {
                    right,
                    step,
                    weights,
                });
            }
        }
        self.progress
            .event(&RankerEvent::Validation(validation.clone()));
        self.record.validations.push(validation);
        Ok(true)
    }

    /// Writes the folder and removes the checkpoints.
    fn finish(
        self,
        out: &Path,
        lock: File,
        plan: &RankerPlan,
    ) -> Result<RankerSummary, TrainError> {
        let (kept_step, weights) = match self.best {
            Some(best) => (best.step, best.weights),
            None => (self.total, self.started.net.tensors()),
        };
        let record = json!({
            "settings": self.state.config, "data": self.state.data,
            "questions": plan.questions, "usable": plan.usable, "candidates": plan.candidates,
            "parameters": plan.parameters, "steps": self.total, "kept_step": kept_step,
            "tokens": self.record.tokens, "losses": self.record.losses,
            "validations": self.record.validations,
        });
        let staged = StagedFolder::within(&self.partial, out)?;
        RankerFolder {
            config: &self.started.config,
            tokenizer: &self.started.tokenizer,
            weights: &weights,
            max_tokens: self.config.max_tokens,
            small: self.config.small,
            record: &record,
        }
        .write_into(&staged)?;
        staged.commit()?;
        checkpoint::remove(&self.partial, lock);
        Ok(RankerSummary {
            parameters: plan.parameters,
            questions: plan.usable,
            steps: self.total,
            kept_step,
            tokens: self.record.tokens,
            loss: self.record.losses.last().map(|last| last.mean),
            validation: self.record.validations.last().cloned(),
            seconds: self.state.seconds,
        })
    }
}

/// Removes the best weights from those of a checkpoint.
fn take_best(weights: &mut Weights) -> Weights {
    let names: Vec<String> = weights
        .iter()
        .filter_map(|(name, _)| name.strip_prefix(BEST).map(str::to_owned))
        .collect();
    let mut best = Weights::default();
    for name in names {
        if let Some(tensor) = weights.take(&format!("{BEST}{name}")) {
            best.insert(name, tensor);
        }
    }
    best
}
