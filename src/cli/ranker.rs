//! Options of `train ranker` and `train ranker-scores`.

use std::path::PathBuf;

use ::train::Precision;
use ::train::ranker::RankerSize;
use clap::Args;

use super::values::{Names, names, one_of};

const PRECISIONS: Names<Precision> = names! {
    "f32": "32 bits" => Precision::F32;
    "bf16": "bfloat16 products with sums in f32; everything else stays f32" => Precision::Bf16;
};

#[derive(Debug, Args)]
pub(crate) struct RankerArgs {
    /// Questions with candidates to learn from: one JSON object a line, also compressed. May be
    /// repeated.
    #[arg(long, value_name = "FILE", required = true)]
    pub(crate) choices: Vec<PathBuf>,
    /// Questions with candidates to validate on. May be repeated.
    #[arg(long, value_name = "FILE")]
    pub(crate) validate: Vec<PathBuf>,
    /// Start from this encoder folder (BERT family), or continue with a ranker's folder.
    #[arg(long, value_name = "DIR", required_unless_present = "scratch")]
    pub(crate) base: Option<PathBuf>,
    /// Start from random weights of this size, such as 2x128x4.
    #[arg(
        long,
        value_name = "LAYERSxHIDDENxHEADS",
        conflicts_with = "base",
        requires = "tokenizer"
    )]
    pub(crate) scratch: Option<RankerSize>,
    /// Folder whose tokenizer a model from scratch uses.
    #[arg(long, value_name = "DIR", requires = "scratch")]
    pub(crate) tokenizer: Option<PathBuf>,
    /// Encoder folder with the same tokenizer whose word embedding a model from scratch starts with,
    /// reduced to its width.
    #[arg(long, value_name = "DIR", requires = "scratch")]
    pub(crate) words_from: Option<PathBuf>,
    /// Folder to write. An interrupted run continues when the same command is given again.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Longest question with its candidate in tokens.
    #[arg(long, default_value_t = 128, value_name = "N")]
    pub(crate) max_tokens: usize,
    /// Weight of the distance from the candidates' `teacher` logits.
    #[arg(long, default_value_t = 0.5, value_name = "W")]
    pub(crate) distil: f32,
    /// Add this times the score of its words to a candidate's logit in the loss. Above 0, the ranker
    /// learns what the words do not know.
    #[arg(long, default_value_t = 0.0, value_name = "W")]
    pub(crate) words: f32,
    /// Hide this share of the tokens in each step, so that no choice hangs on a single word.
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    pub(crate) mask: f32,
    /// Most right candidates of a question that a step shows.
    #[arg(long, default_value_t = 2, value_name = "N")]
    pub(crate) shown_right: usize,
    /// Wrong candidates with the best scores of their words that a step shows.
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub(crate) shown_best: usize,
    /// Other wrong candidates that a step shows, sampled.
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub(crate) shown_other: usize,
    /// Peak learning rate [default: 5e-5; 1e-3 from scratch].
    #[arg(long, value_name = "RATE")]
    pub(crate) learning_rate: Option<f64>,
    /// Peak learning rate of the output layer.
    #[arg(long, default_value_t = 1e-3, value_name = "RATE")]
    pub(crate) head_rate: f64,
    /// Steps of warm-up.
    #[arg(long, default_value_t = 60, value_name = "N")]
    pub(crate) warmup: usize,
    /// Questions of a step.
    #[arg(long, default_value_t = 6, value_name = "N")]
    pub(crate) questions_per_step: usize,
    /// Number of passes over the questions; may be a fraction.
    #[arg(long, default_value_t = 1.0, value_name = "N")]
    pub(crate) epochs: f64,
    /// Steps between two validations [default: a tenth of the run].
    #[arg(long, value_name = "N")]
    pub(crate) evaluate_every: Option<usize>,
    /// Most questions of a validation before the last one, which has all [default: all].
    #[arg(long, value_name = "N")]
    pub(crate) evaluate_most: Option<usize>,
    /// Number format of matrix products [default: bf16 on processors with AVX-512 BF16 or AMX, f32 on others].
    #[arg(long, value_parser = one_of(PRECISIONS), value_name = "NUMBERS")]
    pub(crate) precision: Option<Precision>,
    /// Keep the weights of the best validation instead of the last ones.
    #[arg(long)]
    pub(crate) keep_best: bool,
    /// Write the matrices with 8 bits instead of 32. Only kgagent reads such a folder.
    #[arg(long)]
    pub(crate) small: bool,
    /// Steps between two reports of the mean loss.
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub(crate) report_every: usize,
    /// Seconds between two checkpoints.
    #[arg(long, default_value_t = 240.0, value_name = "SECONDS")]
    pub(crate) save_seconds: f64,
    /// Seed of all random choices.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
pub(crate) struct RankerScoresArgs {
    /// Questions with candidates: one JSON object a line, also compressed. May be repeated.
    #[arg(long, value_name = "FILE", required = true)]
    pub(crate) choices: Vec<PathBuf>,
    /// Folder of the ranker.
    #[arg(long, value_name = "DIR")]
    pub(crate) base: PathBuf,
    /// File to write: the same lines, every candidate with its logit as `teacher`.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Number format of matrix products [default: bf16 on processors with AMX, f32 on others].
    #[arg(long, value_parser = one_of(PRECISIONS), value_name = "NUMBERS")]
    pub(crate) precision: Option<Precision>,
}
