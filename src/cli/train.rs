//! Options of `train`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct TrainCommand {
    #[command(subcommand)]
    pub(crate) inspect: Option<TrainSub>,
    #[command(flatten)]
    pub(crate) run: Option<TrainArgs>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TrainSub {
    /// Show the tokens of a dataset, with the trained ones in colour.
    Inspect(InspectArgs),
}

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// Dataset folder (made by `datagen`).
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Model folder whose tokenizer is used; without it one is trained on the data.
    #[arg(long, value_name = "DIR")]
    pub(crate) base: Option<PathBuf>,
    /// Examples to show.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) limit: usize,
}

/// A training method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MethodName {
    /// All weights.
    Full,
    /// Low-rank adapters.
    Lora,
}

/// What computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeviceName {
    /// The CPU.
    Cpu,
    /// The first NVIDIA GPU, or the first N with `--devices N` (builds with `--features cuda`; CUDA_VISIBLE_DEVICES says which are first).
    Cuda,
}

/// What turns gradients into steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OptimizerName {
    /// AdamW for every weight.
    Adamw,
    /// Muon for the matrices of the layers, AdamW for the rest.
    Muon,
}

/// Numbers of matrix products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrecisionName {
    /// 32 bits.
    F32,
    /// bfloat16 products; trained weights, norms, softmax and the loss stay f32.
    Bf16,
}

#[derive(Debug, Args)]
pub(crate) struct TrainArgs {
    /// Dataset folder (made by `datagen`).
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Model folder to start from, ORG/NAME that `kgagent fetch` has brought, or scratch:tiny, scratch:small, scratch:base.
    #[arg(long, value_name = "BASE")]
    pub(crate) base: String,
    /// Folder to write.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// What is trained.
    #[arg(long, value_enum, default_value = "full")]
    pub(crate) method: MethodName,
    /// Rank of LoRA's corrections.
    #[arg(long, value_name = "R")]
    pub(crate) lora_rank: Option<usize>,
    /// The corrections are scaled by this over the rank.
    #[arg(long, value_name = "A")]
    pub(crate) lora_alpha: Option<f32>,
    /// Scale by alpha over the square root of the rank (rsLoRA).
    #[arg(long)]
    pub(crate) rslora: bool,
    /// Share of the corrections' input dropped while training.
    #[arg(long, value_name = "SHARE")]
    pub(crate) lora_dropout: Option<f32>,
    /// Projections that are corrected, such as q_proj,v_proj; all seven by default.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) lora_targets: Option<Vec<String>>,
    /// Write the corrections as an adapter in PEFT layout, not added to a whole model.
    #[arg(long)]
    pub(crate) adapter: bool,
    /// Preset of the options below: `default` (from scratch), `finetune`, or `paper` (KG-Agent, appendix A.4).
    #[arg(long, default_value = "default", value_name = "NAME")]
    pub(crate) recipe: String,
    /// Passes over the data.
    #[arg(long, value_name = "N")]
    pub(crate) epochs: Option<usize>,
    /// What turns gradients into steps: Muon learns faster from scratch and takes a little longer a step.
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) optimizer: Option<OptimizerName>,
    /// Peak learning rate.
    #[arg(long, value_name = "RATE")]
    pub(crate) lr: Option<f64>,
    /// Tokens of one optimizer step.
    #[arg(long, value_name = "N")]
    pub(crate) batch_tokens: Option<usize>,
    /// Tokens of one forward pass; a step accumulates as many as it needs.
    #[arg(long, value_name = "N")]
    pub(crate) micro_tokens: Option<usize>,
    /// Steps between checkpoints.
    #[arg(long, value_name = "N")]
    pub(crate) save_every: Option<usize>,
    /// `auto` goes on from the newest whole checkpoint in the output folder.
    #[arg(long, value_name = "auto")]
    pub(crate) resume: Option<String>,
    /// Vocabulary of a model made from scratch.
    #[arg(long, value_name = "N")]
    pub(crate) vocab_size: Option<usize>,
    /// Where to train.
    #[arg(long, value_enum, default_value = "cpu", value_name = "DEVICE")]
    pub(crate) device: DeviceName,
    /// Devices that every batch is split over: GPUs 0 to N-1, or N replicas on threads of the CPU. Without it one; four for a small model on the CPU.
    #[arg(long, value_name = "N")]
    pub(crate) devices: Option<usize>,
    /// Numbers of matrix products: f32 on the CPU and bf16 on a GPU without it.
    #[arg(long, value_enum, value_name = "NUMBERS")]
    pub(crate) precision: Option<PrecisionName>,
    /// Keep only the layers' inputs for the backward pass and compute the rest again there: less memory, about a third more arithmetic.
    #[arg(long)]
    pub(crate) gradient_checkpointing: bool,
    /// Say what the run would need (parameters, steps, memory, time) and do nothing else.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Gigabytes that the run may need on its device; what is free there without it. A run that would need more is refused before its first step.
    #[arg(long, value_name = "GB")]
    pub(crate) memory_limit: Option<f64>,
    /// Score the held-out examples after every epoch, not only at the end.
    #[arg(long)]
    pub(crate) validate_epochs: bool,
    /// Seed of everything random.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}
