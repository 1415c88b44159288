//! The command line: what `kgagent` understands. Every option can also come from `KGAGENT_…` and from `kgagent.toml` (see [`crate::config`]).

mod agent;
mod datagen;
mod export;
mod graph;
mod train;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use toolbox::agent::Agent;

pub(crate) use self::agent::*;
pub(crate) use self::datagen::*;
pub(crate) use self::export::*;
pub(crate) use self::graph::*;
pub(crate) use self::train::*;

/// Offline question answering over knowledge graphs: generate instruction data, train a local model, ask.
#[derive(Debug, Parser)]
#[command(name = "kgagent", version, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print one JSON object instead of text.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Configuration file; without it `kgagent.toml` in the current folder is read where there is one.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the whole pipeline on the graph in data/: load, generate, train, evaluate, ask.
    Demo(DemoArgs),
    /// Load graphs and look into them.
    #[command(subcommand)]
    Kg(KgCommand),
    /// Run tool calls by hand.
    Tool(ToolArgs),
    /// Make verified instruction data.
    #[command(subcommand)]
    Datagen(DatagenCommand),
    /// Train a model, or look at what it would be trained on.
    #[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
    Train(TrainCommand),
    /// Answer one question.
    Ask(AskArgs),
    /// Measure an agent on questions with gold answers.
    Eval(EvalArgs),
    /// Run the calls of a trace again and compare every result.
    Replay(ReplayArgs),
    /// Write a model for other programs, and compare what was written with it.
    Export(ModelExportArgs),
    /// Download a model folder from the Hugging Face hub.
    Fetch(FetchArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Folder for everything the demo makes.
    #[arg(long, value_name = "DIR", default_value = "demo-out")]
    pub(crate) out: PathBuf,
    /// Folder with the demo graph and questions.
    #[arg(long, value_name = "DIR", default_value = "data")]
    pub(crate) data: PathBuf,
    /// Files of a graph of your own instead: questions about it are made from the graph itself.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) graph: Vec<PathBuf>,
    /// Questions made of a graph given with --graph.
    #[arg(long, default_value_t = 8_000, value_name = "N")]
    pub(crate) count: usize,
    /// Agents that the one model is trained for and measured as (kg-agent, oda, triad), separated by commas.
    #[arg(long = "agent", value_parser = Agent::named, value_delimiter = ',', default_value = "kg-agent", value_name = "AGENT")]
    pub(crate) agents: Vec<Agent>,
    /// A much smaller run that shows every step and reaches no accuracy worth reporting.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Seed of the questions, the data (see `datagen`) and the training.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
pub(crate) struct FetchArgs {
    /// Repository on the hub.
    #[arg(value_name = "ORG/NAME")]
    pub(crate) repo: String,
}

/// A number from 0 to 1.
fn share(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "a share is a number from 0 to 1".to_owned())
}
