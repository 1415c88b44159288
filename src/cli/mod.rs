//! The command line. Every option can also come from `KGAGENT_…` and from `kgagent.toml`
//! (see [`crate::config`]).

mod adapt;
mod agent;
mod answer;
mod datagen;
mod export;
mod graph;
mod ranker;
mod remote;
mod reword;
mod serve;
mod sweep;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod train;
mod values;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use toolbox::agent::Agent;

pub(crate) use self::adapt::*;
pub(crate) use self::answer::*;
pub(crate) use self::datagen::*;
pub(crate) use self::export::*;
pub(crate) use self::graph::*;
pub(crate) use self::ranker::*;
pub(crate) use self::remote::*;
pub(crate) use self::reword::*;
pub(crate) use self::serve::*;
pub(crate) use self::sweep::*;
pub(crate) use self::train::*;
pub(crate) use self::values::EntitySource;

/// Offline question answering over knowledge graphs: generate training data, train a local model,
/// ask questions.
#[derive(Debug, Parser)]
#[command(name = "kgagent", version, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print one JSON object instead of text.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Configuration file [default: `kgagent.toml` in the current folder, if it exists].
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the whole pipeline on the graph in data/: load, generate, train, evaluate, ask.
    Demo(DemoArgs),
    /// Load, check and query graphs.
    #[command(subcommand)]
    Kg(KgCommand),
    /// Run tool calls on a graph.
    Tool(ToolArgs),
    /// Generate verified training data.
    #[command(subcommand)]
    Datagen(DatagenCommand),
    /// Train a model, or show what it would be trained on.
    #[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
    Train(TrainCommand),
    /// Adapt a model to the questions that people ask.
    ///
    /// The model learns from questions with known answers and from those that decide mode is sure of.
    /// An adapter is written only if control questions are answered as well as before; otherwise the
    /// exit code is 1.
    Adapt(AdaptArgs),
    /// Answer one question.
    Ask(AskArgs),
    /// Evaluate agents on questions with gold answers.
    Eval(EvalArgs),
    /// Answer over HTTP: a page for people, and interfaces for programs.
    Serve(ServeArgs),
    /// Serve the tools of the Model Context Protocol on standard input and output.
    Mcp(ServedArgs),
    /// Run the calls of a trace again and compare every result.
    Replay(ReplayArgs),
    /// Export a model for other programs and compare the export with the model.
    Export(ModelExportArgs),
    /// Download a model folder from the Hugging Face hub.
    Fetch(FetchArgs),
    /// Show what this machine has: processor, memory, GPU, folders, and what is missing.
    Doctor,
    /// Print the completions of a shell: `kgagent completions bash > …/bash-completion/completions/kgagent`.
    Completions {
        /// The shell.
        #[arg(value_name = "SHELL")]
        shell: clap_complete::Shell,
    },
    /// Write the man pages and completions of a release.
    #[command(hide = true)]
    Pages(PagesArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Folder for all output.
    #[arg(long, value_name = "DIR", default_value = "demo-out")]
    pub(crate) out: PathBuf,
    /// Folder with the demo graph and questions.
    #[arg(long, value_name = "DIR", default_value = "data")]
    pub(crate) data: PathBuf,
    /// Use your own graph instead: questions are generated from these files.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) graph: Vec<PathBuf>,
    /// Number of questions to generate from a graph given with --graph.
    #[arg(long, default_value_t = 8_000, value_name = "N")]
    pub(crate) count: usize,
    /// Agents to train one model for and to evaluate, separated by commas: kg-agent, oda, triad.
    #[arg(
        long = "agent",
        value_parser = Agent::named,
        value_delimiter = ',',
        default_value = "kg-agent",
        value_name = "AGENT"
    )]
    pub(crate) agents: Vec<Agent>,
    /// Run every step on very little data; the accuracy is meaningless.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Seed of the questions, the data and the training.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
pub(crate) struct PagesArgs {
    /// Folder for a man page of each command.
    #[arg(value_name = "DIR")]
    pub(crate) man: PathBuf,
    /// Folder for the completions of bash, zsh and fish.
    #[arg(value_name = "DIR")]
    pub(crate) completions: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct FetchArgs {
    /// Repository on the hub.
    #[arg(value_name = "ORG/NAME")]
    pub(crate) repo: String,
}
