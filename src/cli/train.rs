//! Options of `train`.

use std::path::PathBuf;

use ::train::{Algorithm, Method, Precision, Processor};
use clap::{Args, Subcommand};
use model::gguf::Recipe;

use super::ranker::{RankerArgs, RankerScoresArgs};
use super::values::{Names, names, one_of};

#[derive(Debug, Args)]
pub(crate) struct TrainCommand {
    #[command(subcommand)]
    pub(crate) inspect: Option<TrainSub>,
    #[command(flatten)]
    pub(crate) run: Option<TrainArgs>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TrainSub {
    /// Show the tokens of a dataset and highlight the trained ones.
    Inspect(InspectArgs),
    /// Train a ranker: a model that scores candidates for a question.
    Ranker(Box<RankerArgs>),
    /// Write a ranker's scores into questions with candidates, for a smaller ranker to learn from.
    RankerScores(RankerScoresArgs),
}

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// Dataset folder (made by `datagen`).
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Base whose tokenizer to use, as for `train`; for a model from scratch a tokenizer is trained on
    /// the data.
    #[arg(long, value_name = "BASE", default_value = "scratch:tiny")]
    pub(crate) base: String,
    /// Number of examples to show.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) limit: usize,
}

const METHODS: Names<Method> = names! {
    "full": "All weights" => Method::Full;
    "lora": "Low-rank adapters" => Method::Lora;
};

const DEVICES: Names<Processor> = names! {
    "cpu": "The CPU" => Processor::Cpu;
    "cuda": "The first NVIDIA GPU, or the first N with `--devices N` (builds with `--features \
             cuda`; CUDA_VISIBLE_DEVICES sets the order)" => Processor::Cuda;
};

const OPTIMIZERS: Names<Algorithm> = names! {
    "adamw": "AdamW for all weights" => Algorithm::Adamw;
    "muon": "Muon for the matrices of the layers, AdamW for the rest" => Algorithm::Muon;
};

const PRECISIONS: Names<Precision> = names! {
    "f32": "32 bits" => Precision::F32;
    "bf16": "bfloat16 products; trained weights, norms, softmax and the loss stay f32"
        => Precision::Bf16;
};

const FROZEN: Names<Recipe> = names! {
    "f16": "16 bits" => Recipe::F16;
    "q8_0": "8 bits, in the blocks of GGUF" => Recipe::Q8_0;
    "q4_k_m": "A mixture of 4 and 6 bits, in the blocks of GGUF" => Recipe::Q4KM;
};

#[derive(Debug, Args)]
pub(crate) struct TrainArgs {
    /// Dataset folder (made by `datagen`).
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Start from a model folder, ORG/NAME downloaded by `kgagent fetch`, a GGUF file (LoRA on the
    /// CPU), or scratch:tiny, scratch:small or scratch:base.
    #[arg(long, value_name = "BASE")]
    pub(crate) base: String,
    /// Folder to write.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Weights to train [default: full; with `--recipe qlora` lora].
    #[arg(long, value_parser = one_of(METHODS))]
    pub(crate) method: Option<Method>,
    /// Number format in which LoRA holds the frozen base on the CPU (QLoRA): less memory. A GGUF
    /// file keeps its own [default: f32 on the CPU, bf16 on a GPU; with `--recipe qlora` q8_0].
    #[arg(long, value_parser = one_of(FROZEN), value_name = "NUMBERS")]
    pub(crate) quantize: Option<Recipe>,
    /// Rank of the LoRA adapters.
    #[arg(long, value_name = "R")]
    pub(crate) lora_rank: Option<usize>,
    /// LoRA scaling: the adapters are multiplied by alpha / rank.
    #[arg(long, value_name = "A")]
    pub(crate) lora_alpha: Option<f32>,
    /// Scale by alpha / sqrt(rank) instead (rsLoRA).
    #[arg(long)]
    pub(crate) rslora: bool,
    /// Dropout on the input of the LoRA adapters.
    #[arg(long, value_name = "SHARE")]
    pub(crate) lora_dropout: Option<f32>,
    /// Projections with LoRA adapters, such as q_proj,v_proj [default: all seven].
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) lora_targets: Option<Vec<String>>,
    /// Write a LoRA adapter in PEFT layout instead of a merged model.
    #[arg(long)]
    pub(crate) adapter: bool,
    /// Preset of the options below: `default` (from scratch), `finetune`, `qlora` (LoRA on a
    /// quantised base of 0.1 to 8 billion parameters), or `paper` (KG-Agent, appendix A.4).
    #[arg(long, default_value = "default", value_name = "NAME")]
    pub(crate) recipe: String,
    /// Number of passes over the data.
    #[arg(long, value_name = "N")]
    pub(crate) epochs: Option<usize>,
    /// Optimizer; from scratch, Muon learns faster but takes a little longer per step.
    #[arg(long, value_parser = one_of(OPTIMIZERS), value_name = "NAME")]
    pub(crate) optimizer: Option<Algorithm>,
    /// Peak learning rate.
    #[arg(long, value_name = "RATE")]
    pub(crate) lr: Option<f64>,
    /// Tokens per optimizer step.
    #[arg(long, value_name = "N")]
    pub(crate) batch_tokens: Option<usize>,
    /// Tokens per forward pass; a step adds up the gradients of as many passes as it needs.
    #[arg(long, value_name = "N")]
    pub(crate) micro_tokens: Option<usize>,
    /// Number of steps between checkpoints.
    #[arg(long, value_name = "N")]
    pub(crate) save_every: Option<usize>,
    /// `auto` resumes from the newest complete checkpoint in the output folder.
    #[arg(long, value_name = "auto")]
    pub(crate) resume: Option<String>,
    /// Vocabulary size of a model trained from scratch.
    #[arg(long, value_name = "N")]
    pub(crate) vocab_size: Option<usize>,
    /// Device to train on.
    #[arg(long, value_parser = one_of(DEVICES), default_value = "cpu", value_name = "DEVICE")]
    pub(crate) device: Processor,
    /// Number of devices that share every batch: GPUs 0 to N-1, or N replicas on CPU threads
    /// [default: 1; 4 for a small model on the CPU].
    #[arg(long, value_name = "N")]
    pub(crate) devices: Option<usize>,
    /// Number format of matrix products [default: bf16 on a GPU, and for models of more than 32 million parameters on a
    /// CPU with AVX-512 BF16 or AMX; else f32].
    #[arg(long, value_parser = one_of(PRECISIONS), value_name = "NUMBERS")]
    pub(crate) precision: Option<Precision>,
    /// Recompute activations in the backward pass: less memory, about a third more arithmetic.
    #[arg(long)]
    pub(crate) gradient_checkpointing: bool,
    /// Print what the run would need (parameters, steps, memory, time) and stop.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Refuse a run that needs more than this many gigabytes on its device [default: free memory].
    #[arg(long, value_name = "GB")]
    pub(crate) memory_limit: Option<f64>,
    /// Evaluate the held-out examples after every epoch, not only at the end.
    #[arg(long)]
    pub(crate) validate_epochs: bool,
    /// Seed of all random choices.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}
