//! The configuration of a training run.

use model::adapter::{AdapterConfig, BaseName, TARGETS};
use model::gguf::Recipe;
use serde::{Deserialize, Serialize};

use crate::TrainError;
use crate::device::{Compute, Precision, Processor};
use crate::kernels::tiles;

/// The trained weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// All weights.
    Full,
    /// Low-rank corrections of the seven projections of every layer.
    Lora,
}

/// The optimizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    /// AdamW for every weight.
    Adamw,
    /// Muon (Jordan et al. 2024) for the matrices of the layers, AdamW for embeddings, output,
    /// norms, biases and LoRA's factors.
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
    /// Dropout of the corrections' input.
    pub dropout: f32,
    /// The corrected projections, from [`model::adapter::TARGETS`].
    pub targets: Vec<String>,
    /// Write a complete model that includes the corrections; otherwise an adapter in PEFT layout.
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
    /// The constants for an adapter folder.
    #[must_use]
    pub fn adapter(&self, base: &BaseName) -> AdapterConfig {
        let (rank, alpha, rslora, dropout) = (self.rank, self.alpha, self.rslora, self.dropout);
        AdapterConfig {
            base: base.name.clone(),
            revision: base.revision.clone(),
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
                "`lora.targets` contains `{wrong}`; supported are {}",
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

/// The treatment of examples longer than `max_length`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TooLong {
    /// Skip and count them.
    Drop,
    /// Return an error.
    Refuse,
}

/// The configuration of a training run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainConfig {
    /// Full or LoRA.
    pub method: Method,
    /// LoRA's constants.
    pub lora: LoraConfig,
    /// Number format in which LoRA holds the frozen base (QLoRA, Dettmers et al. 2023); by default
    /// the precision of the run. A GGUF base always stays in its own format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantize: Option<Recipe>,
    /// The optimizer.
    pub optimizer: Algorithm,
    /// Passes over the data.
    pub epochs: usize,
    /// Limit of the number of steps. The learning rate schedule ends there, too.
    pub max_steps: Option<usize>,
    /// Tokens per optimizer step.
    pub batch_tokens: usize,
    /// Examples per optimizer step; replaces `batch_tokens` if set.
    pub batch_examples: Option<usize>,
    /// Tokens per forward pass; a step has as many passes as it needs. Limits memory with little
    /// effect on speed.
    pub micro_tokens: usize,
    /// Longest example in tokens.
    pub max_length: usize,
    /// The treatment of longer examples.
    pub too_long: TooLong,
    /// Highest learning rate.
    pub learning_rate: f64,
    /// Share of the steps for warm-up.
    pub warmup: f64,
    /// Final learning rate as a share of the highest.
    pub final_rate: f64,
    /// Decoupled weight decay of matrices; norms and embeddings are not decayed.
    pub weight_decay: f64,
    /// AdamW's first beta.
    pub beta1: f64,
    /// AdamW's second beta.
    pub beta2: f64,
    /// AdamW's epsilon.
    pub epsilon: f64,
    /// Upper limit of the global gradient norm; 0 for no limit.
    pub clip: f64,
    /// Seed of initial weights and shuffles.
    pub seed: u64,
    /// Vocabulary size of a model made from scratch; by default the preset's.
    pub vocab_size: Option<usize>,
    /// Steps between checkpoints.
    pub save_steps: Option<usize>,
    /// Seconds between checkpoints.
    pub save_seconds: Option<f64>,
    /// Number of checkpoints to keep. More than one, in case the newest is damaged.
    pub keep_checkpoints: usize,
    /// Continue from the newest valid checkpoint, if there is one.
    pub resume: bool,
    /// Validate after every epoch, not only at the end.
    pub validate_epochs: bool,
    /// Limit of memory in bytes; a run with a higher estimate is rejected before its first step.
    pub memory_limit: Option<u64>,
    /// Identifies the build that trains, so that a run that another build continues says so.
    #[serde(skip)]
    pub program: String,
    /// The kind of device.
    pub processor: Processor,
    /// Number of devices that share every batch: replicas on threads of the CPU, or GPUs 0 to
    /// `devices` - 1. By default one; for small models on the CPU four, regardless of the number of
    /// threads, so that the weights do not depend on the machine.
    pub devices: Option<usize>,
    /// Number format of matrix products; by default f32 on the CPU and bf16 on a GPU.
    pub precision: Option<Precision>,
    /// Keep only the inputs of layers for the backward pass and recompute the rest: less memory, a
    /// third more arithmetic.
    pub gradient_checkpointing: bool,
    /// Use burn's operations on the CPU instead of the kernels.
    pub stock_ops: bool,
}

/// Replicas of a small model on the CPU. Its operations are too small to parallelise: one part of
/// the batch per thread is faster.
const CPU_REPLICAS: usize = 4;

/// Upper limit of the parameters of a small model: every replica holds its own gradients.
const SMALL: usize = 32_000_000;

impl Default for TrainConfig {
    fn default() -> Self {
        Self {
            method: Method::Full,
            lora: LoraConfig::default(),
            quantize: None,
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
            program: "unknown".to_owned(),
            processor: Processor::Cpu,
            devices: None,
            precision: None,
            gradient_checkpointing: false,
            stock_ops: false,
        }
    }
}

impl TrainConfig {
    /// A named recipe. `default` is for models made from scratch on a CPU, `finetune` for a
    /// pretrained base, `qlora` for LoRA on a quantised one (the learning rate of QLoRA, Dettmers et
    /// al. 2023, for models of up to 13 billion parameters), and `paper` is KG-Agent's (rules A.4: 2e-5, cosine to zero, decay 0.1,
    /// batches of 256 samples, 3 epochs, 1500 tokens).
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
            "qlora" => Some(Self {
                method: Method::Lora,
                quantize: Some(Recipe::Q8_0),
                optimizer: Algorithm::Adamw,
                epochs: 3,
                learning_rate: 2e-4,
                batch_tokens: 16_384,
                warmup: 0.03,
                gradient_checkpointing: true,
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

    /// The implementation of the operations.
    pub(crate) fn compute(&self) -> Compute {
        match self.processor {
            Processor::Cpu if !self.stock_ops => {
                Compute::Fused(self.precision.unwrap_or(Precision::F32))
            }
            Processor::Cpu => Compute::Stock(self.precision.unwrap_or(Precision::F32)),
            Processor::Cuda => Compute::Stock(self.precision.unwrap_or(Precision::Bf16)),
        }
    }

    /// The number of devices; one if it is not set.
    pub(crate) fn devices(&self) -> usize {
        self.devices.unwrap_or(1)
    }

    /// The configuration with the number of devices and the precision set, for a model with `parameters` parameters.
    /// Small models are in f32: their products are too small to gain.
    pub(crate) fn for_size(&self, parameters: usize) -> Self {
        let fused = matches!(self.compute(), Compute::Fused(_));
        let small = parameters <= SMALL && fused;
        let devices = self.devices.unwrap_or(if small { CPU_REPLICAS } else { 1 });
        let fast = fused && !small && tiles::are_fast();
        Self {
            devices: Some(devices),
            precision: self.precision.or(fast.then_some(Precision::Bf16)),
            ..self.clone()
        }
    }

    fn check_quantize(&self) -> Result<(), TrainError> {
        let message = match self.quantize {
            None => return Ok(()),
            Some(Recipe::F32) => "`--quantize` f32 saves nothing; leave it out",
            Some(_) if self.method == Method::Full => {
                "`--quantize` needs `--method lora`: full training changes all weights, and \
                 quantised weights cannot change"
            }
            Some(_) if self.processor == Processor::Cuda => {
                "a quantised base (`--quantize`, `--recipe qlora`) is for the CPU; on a GPU LoRA \
                 holds the base in bf16"
            }
            Some(_) => return Ok(()),
        };
        Err(TrainError::Config(message.to_owned()))
    }

    /// Checks the values.
    ///
    /// # Errors
    /// Names the invalid option.
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
        self.check_quantize()?;
        if self.precision == Some(Precision::Bf16)
            && self.processor == Processor::Cpu
            && !self.stock_ops
            && !tiles::are_fast()
        {
            return bad(
                "this processor has no bfloat16 products (AVX-512 BF16 or AMX); leave `--precision bf16` out".to_owned(),
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

    /// The learning rate of step `step` (from 0) of `total`: linear warm-up, then a cosine to
    /// `final_rate` times the highest rate.
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
