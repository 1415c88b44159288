//! Options of `adapt`.

use std::path::PathBuf;

use clap::Args;

use super::datagen::RankingArgs;
use super::graph::KgArg;
use super::values::{number, share};

#[derive(Debug, Args)]
pub(crate) struct AdaptArgs {
    #[command(flatten)]
    pub(crate) graph: KgArg,
    #[command(flatten)]
    pub(crate) ranking: RankingArgs,
    /// Model folder to adapt, trained for kg-agent.
    #[arg(long, value_name = "DIR")]
    pub(crate) model: PathBuf,
    /// Questions to learn from: one a line, or JSON Lines of the format `jsonl`, such as the file of
    /// `serve --feedback`.
    ///
    /// `sparql` and `answers` may be missing. From a question with SPARQL, the model learns the
    /// program of this query; from one with answers, a program that gives them; from one with
    /// neither, the program that decide mode chooses, if the choice is sure (--sure). A line with a
    /// `verdict` is learned only if three things hold: its query gives the answer that the verdict is
    /// about; the words alone or the model alone give this answer too; and more different verdicts on
    /// the question support the answer than contradict it. Verdicts that only call an answer wrong
    /// are also read from FILE with the ending `.wrong.jsonl`.
    #[arg(long, value_name = "FILE")]
    pub(crate) questions: PathBuf,
    /// Adapter folder to write, in PEFT layout. Nothing is written if control questions are
    /// answered worse.
    ///
    /// An interrupted run continues from OUT.adapt.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Dataset folder that the model was trained on. Some of its examples are repeated, so that they
    /// are not forgotten, and its validation questions become control questions.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Source of more control questions; repeat for more. See `datagen gold`.
    #[arg(long = "control", value_name = "FORMAT=PATH")]
    pub(crate) controls: Vec<String>,
    /// Share of the questions with SPARQL or answers that become control questions instead.
    #[arg(long, default_value_t = 0.2, value_name = "SHARE", value_parser = share)]
    pub(crate) hold_back: f64,
    /// How far the share of right answers to control questions may fall.
    #[arg(long, default_value_t = 0.01, value_name = "SHARE", value_parser = share)]
    pub(crate) tolerance: f64,
    /// Lowest probability at which a choice of decide mode counts as sure.
    #[arg(long, default_value_t = 0.9, value_name = "SHARE", value_parser = share)]
    pub(crate) sure: f64,
    /// Maximum number of other entities about which each learned question is also asked.
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = number::<u16>(0..=1000))]
    pub(crate) instances: u16,
    /// Number of examples of --data that are repeated for each new one.
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = number::<u16>(0..=1000))]
    pub(crate) replay: u16,
    /// Number of passes over the examples.
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = number::<u16>(1..=1000))]
    pub(crate) epochs: u16,
    /// Peak learning rate.
    #[arg(long, default_value_t = 1e-3, value_name = "RATE")]
    pub(crate) lr: f64,
    /// Seed of all random choices.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}
