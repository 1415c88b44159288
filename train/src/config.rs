//! What a training run is asked to do.

use model::adapter::{AdapterConfig, TARGETS};
use serde::{Deserialize, Serialize};

use crate::TrainError;
use crate::device::{self, Precision, Processor};
use crate::ops::Compute;

/// Which weights are trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// All of them.
    Full,
    /// Low-rank corrections of the seven projections of every layer.
    Lora,
}

/// What turns gradients into steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    /// AdamW for every weight.
    Adamw,
    /// Muon (Jordan et al. 2024) for the matrices of the layers, AdamW for embeddings, output, norms, biases and LoRA's factors.
    Muon,
}

/// LoRA's constants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoraConfig {
    /// Rank of the corrections.
    pub rank: usize,
    /// The corrections are scaled by `alpha / rank`, or by `alpha / sqrt(rank)` with `rslora`.
    pub alpha: f32,
    /// Rank-stabilised scaling.
    pub rslora: bool,
    /// Share of the corrections' input that is dropped while training.
    pub dropout: f32,
    /// The projections corrected, some of [`model::adapter::TARGETS`].
    pub targets: Vec<String>,
    /// Write a whole model with the corrections added; otherwise an adapter in PEFT layout.
    pub merge: bool,
}

impl Default for LoraConfig {
    fn default() -> Self {
        Self {
            rank: 16,
            alpha: 32.0,
            rslora: false,
            dropout: 0.0,
            targets: TARGETS.map(str::to_owned).to_vec(),
            merge: true,
        }
    }
}

impl LoraConfig {
    /// What an adapter folder says of these constants.
    #[must_use]
    pub fn adapter(&self, base: &str) -> AdapterConfig {
        let (rank, alpha, rslora, dropout) = (self.rank, self.alpha, self.rslora, self.dropout);
        AdapterConfig {
            base: base.to_owned(),
            rank,
            alpha,
            rslora,
            dropout,
            targets: self.targets.clone(),
        }
    }

    fn check(&self) -> Result<(), TrainError> {
        let bad = |message: String| Err(TrainError::Config(message));
        if let Some(wrong) = self
            .targets
            .iter()
            .find(|target| !TARGETS.contains(&target.as_str()))
        {
            return bad(format!(
                "`lora.targets` has `{wrong}`; there are {}",
                TARGETS.join(", ")
            ));
        }
        if self.targets.is_empty() {
            return bad("`lora.targets` is empty".to_owned());
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return bad(format!(
                "`lora.dropout` is {}, outside 0 to 1",
                self.dropout
            ));
        }
        if !(self.alpha.is_finite() && self.alpha > 0.0) {
            return bad(format!("`lora.alpha` is {}, not above 0", self.alpha));
        }
        Ok(())
    }
}

/// What to do with an example that is longer than `max_length`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TooLong {
    /// Leave it out and count it.
    Drop,
    /// Stop with an error.
    Refuse,
}

/// A training run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainConfig {
    /// Full or LoRA.
    pub method: Method,
    /// LoRA's constants.
    pub lora: LoraConfig,
    /// What turns gradients into steps.
    pub optimizer: Algorithm,
    /// Passes over the data.
    pub epochs: usize,
    /// Steps after which training ends whatever the epochs say; the schedule then ends there too.
    pub max_steps: Option<usize>,
    /// Tokens of one optimizer step.
    pub batch_tokens: usize,
    /// Examples of one optimizer step; where set it rules instead of `batch_tokens`.
    pub batch_examples: Option<usize>,
    /// Tokens of one forward pass; a step is as many of them as it needs. Bounds memory, hardly changes speed.
    pub micro_tokens: usize,
    /// Longest example in tokens.
    pub max_length: usize,
    /// What happens to longer ones.
    pub too_long: TooLong,
    /// Highest learning rate.
    pub learning_rate: f64,
    /// Share of the steps in which the rate rises to its highest.
    pub warmup: f64,
    /// Share of the highest rate at the end of the cosine.
    pub final_rate: f64,
    /// Decoupled weight decay of matrices; norms and embeddings have none.
    pub weight_decay: f64,
    /// AdamW's first beta.
    pub beta1: f64,
    /// AdamW's second beta.
    pub beta2: f64,
    /// AdamW's epsilon.
    pub epsilon: f64,
    /// Global gradient norm above which gradients are scaled down; 0 for never.
    pub clip: f64,
    /// Seed of fresh weights and shuffles.
    pub seed: u64,
    /// Vocabulary of a fresh model; by default the preset's.
    pub vocab_size: Option<usize>,
    /// Save a checkpoint every so many steps.
    pub save_steps: Option<usize>,
    /// Save a checkpoint every so many seconds.
    pub save_seconds: Option<f64>,
    /// Checkpoints kept: one to fall back past a damaged one.
    pub keep_checkpoints: usize,
    /// Continue from the newest whole checkpoint, where there is one.
    pub resume: bool,
    /// Validate after every epoch, not only at the end.
    pub validate_epochs: bool,
    /// Bytes that the run may need; one that would need more is refused before its first step.
    pub memory_limit: Option<u64>,
    /// What computes.
    pub processor: Processor,
    /// Devices that every batch is split over: replicas on threads of the CPU, or GPUs 0 to `devices` - 1. Without it one, and for small models on
    /// the CPU four, whatever the number of threads, so that the same run gives the same weights everywhere.
    pub devices: Option<usize>,
    /// Numbers of matrix products; by default f32 on the CPU and bf16 on a GPU.
    pub precision: Option<Precision>,
    /// Keep only the layers' inputs for the backward pass and compute the rest again there: less memory, a third more arithmetic.
    pub gradient_checkpointing: bool,
    /// Use burn's stock operations on the CPU too, instead of our kernels.
    pub stock_ops: bool,
}

/// Replicas of a small model on the CPU. Its operations are too small to spread over threads: each thread gets through a part of the batch by
/// itself faster than all of them through the whole.
const CPU_REPLICAS: usize = 4;

/// Parameters up to which a model is small: every replica has gradients of its own.
const SMALL: usize = 32_000_000;

impl Default for TrainConfig {
    fn default() -> Self {
        Self {
            method: Method::Full,
            lora: LoraConfig::default(),
            optimizer: Algorithm::Muon,
            epochs: 4,
            max_steps: None,
            batch_tokens: 2048,
            batch_examples: None,
            micro_tokens: 2048,
            max_length: 2048,
            too_long: TooLong::Drop,
            learning_rate: 2e-3,
            warmup: 0.05,
            final_rate: 0.1,
            weight_decay: 0.1,
            beta1: 0.9,
            beta2: 0.95,
            epsilon: 1e-8,
            clip: 1.0,
            seed: 17,
            vocab_size: None,
            save_steps: None,
            save_seconds: Some(120.0),
            keep_checkpoints: 2,
            resume: false,
            validate_epochs: false,
            memory_limit: None,
            processor: Processor::Cpu,
            devices: None,
            precision: None,
            gradient_checkpointing: false,
            stock_ops: false,
        }
    }
}

impl TrainConfig {
    /// A named recipe. `default` suits models made from scratch on a CPU; `finetune` a pretrained base; `paper` is KG-Agent's (spec A.4:
    /// 2e-5, cosine to zero, decay 0.1, batches of 256 samples, 3 epochs, 1500 tokens).
    #[must_use]
    pub fn recipe(name: &str) -> Option<Self> {
        let base = Self::default();
        match name {
            "default" => Some(base),
            "finetune" => Some(Self {
                optimizer: Algorithm::Adamw,
                epochs: 3,
                learning_rate: 2e-5,
                batch_tokens: 16_384,
                warmup: 0.03,
                ..base
            }),
            "paper" => Some(Self {
                optimizer: Algorithm::Adamw,
                epochs: 3,
                learning_rate: 2e-5,
                batch_examples: Some(256),
                max_length: 1500,
                warmup: 0.03,
                final_rate: 0.0,
                beta2: 0.999,
                ..base
            }),
            _ => None,
        }
    }

    /// The number of devices, where it is settled.
    pub(crate) fn devices(&self) -> usize {
        self.devices.unwrap_or(1)
    }

    /// The configuration with the number of devices for a model of so many parameters.
    pub(crate) fn settled(&self, parameters: usize) -> Self {
        let small = parameters <= SMALL && device::compute(self) == Compute::Fused;
        let devices = self.devices.unwrap_or(if small { CPU_REPLICAS } else { 1 });
        Self {
            devices: Some(devices),
            ..self.clone()
        }
    }

    /// Check the values against each other.
    ///
    /// # Errors
    /// Names the option that cannot be.
    pub fn check(&self) -> Result<(), TrainError> {
        let bad = |message: String| Err(TrainError::Config(message));
        for (name, value) in [
            ("epochs", self.epochs),
            ("batch_tokens", self.batch_tokens),
            ("micro_tokens", self.micro_tokens),
            ("max_length", self.max_length),
            ("lora.rank", self.lora.rank),
            ("keep_checkpoints", self.keep_checkpoints),
            ("devices", self.devices.unwrap_or(1)),
            ("max_steps", self.max_steps.unwrap_or(1)),
            ("batch_examples", self.batch_examples.unwrap_or(1)),
            ("save_steps", self.save_steps.unwrap_or(1)),
        ] {
            if value == 0 {
                return bad(format!("`{name}` is 0"));
            }
        }
        self.lora.check()?;
        if self.precision == Some(Precision::Bf16)
            && self.processor == Processor::Cpu
            && !self.stock_ops
        {
            return bad(
                "`precision` bf16 is for GPUs (`--device cuda`); the CPU's kernels compute in f32"
                    .to_owned(),
            );
        }
        let share = 0.0..=1.0;
        for (name, value, range) in [
            ("learning_rate", self.learning_rate, 1e-12..=10.0),
            ("warmup", self.warmup, share.clone()),
            ("final_rate", self.final_rate, share),
            ("weight_decay", self.weight_decay, 0.0..=10.0),
            ("beta1", self.beta1, 0.0..=0.999_999),
            ("beta2", self.beta2, 0.0..=0.999_999_9),
            ("epsilon", self.epsilon, 1e-16..=1.0),
            ("clip", self.clip, 0.0..=1e9),
        ] {
            if !range.contains(&value) {
                return bad(format!(
                    "`{name}` is {value}, outside {} to {}",
                    range.start(),
                    range.end()
                ));
            }
        }
        Ok(())
    }

    /// The learning rate of step `step` (from 0) of `total`: linear warm-up, then a cosine to `final_rate` of the highest.
    #[must_use]
    pub fn rate(&self, step: usize, total: usize) -> f64 {
        let warm = (self.warmup * total as f64).ceil().max(1.0);
        let at = step as f64 + 1.0;
        if at <= warm {
            return self.learning_rate * at / warm;
        }
        let progress = ((at - warm) / (total as f64 - warm).max(1.0)).min(1.0);
        let cosine = 0.5 * (1.0 + (std::f64::consts::PI * progress).cos());
        self.learning_rate * (self.final_rate + (1.0 - self.final_rate) * cosine)
    }
}
