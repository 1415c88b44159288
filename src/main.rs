//! The `kgagent` binary: commands, configuration, progress and tables. The only place that prints, exits or reads the environment, but for the hub's cache (`model::hub`).
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line prints"
)]

mod cli;
mod commands;
mod config;
mod ui;

use std::process::ExitCode;

use clap::FromArgMatches;

use crate::cli::{Cli, Command, DatagenCommand, KgCommand, TrainSub};
use crate::ui::Ui;

/// How a command ended when it did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Exit 0.
    Done,
    /// Exit 1: a check failed, or there is no answer.
    Negative,
}

fn main() -> ExitCode {
    let args: Vec<std::ffi::OsString> = std::env::args_os().collect();
    let parsed = config::matches(&args).and_then(|matches| Ok(Cli::from_arg_matches(&matches)?));
    let result = parsed.and_then(|cli| run(&cli));
    match result {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Negative) => ExitCode::from(1),
        Err(error) => {
            eprintln!("kgagent: {}", told(&error));
            ExitCode::from(2)
        }
    }
}

/// An error and what caused it, in one line; a cause that the line already names is not named again.
fn told(error: &anyhow::Error) -> String {
    error
        .chain()
        .map(ToString::to_string)
        .reduce(|line, cause| {
            if line.contains(&cause) {
                line
            } else {
                format!("{line}: {cause}")
            }
        })
        .unwrap_or_default()
}

fn run(cli: &Cli) -> anyhow::Result<Outcome> {
    let ui = Ui::new(cli.json);
    match &cli.command {
        Command::Demo(args) => commands::demo::run(args, &ui),
        Command::Kg(KgCommand::Load(args)) => commands::graph::load(args, &ui),
        Command::Kg(KgCommand::Stats(args)) => commands::graph::stats(args, &ui),
        Command::Kg(KgCommand::Check(args)) => commands::graph::check(args, &ui),
        Command::Kg(KgCommand::Query(args)) => commands::graph::query(args, &ui),
        Command::Kg(KgCommand::Subgraph(args)) => commands::subgraph::run(args, &ui),
        Command::Tool(args) => commands::tool::run(args, &ui),
        Command::Datagen(DatagenCommand::Gold(args)) => commands::datagen::gold(args, &ui),
        Command::Datagen(DatagenCommand::Synth(args)) => commands::datagen::synth(args, &ui),
        Command::Datagen(DatagenCommand::Check(args)) => commands::datagen::check(args, &ui),
        Command::Datagen(DatagenCommand::Export(args)) => commands::datagen::export(args, &ui),
        Command::Datagen(DatagenCommand::Sparql(args)) => commands::datagen::sparql(args, &ui),
        Command::Datagen(DatagenCommand::Recall(args)) => commands::recall::run(args, &ui),
        Command::Datagen(DatagenCommand::Formats) => commands::datagen::formats(&ui),
        Command::Train(args) => match (&args.inspect, &args.run) {
            (Some(TrainSub::Inspect(inspect)), _) => commands::train::inspect(inspect, &ui),
            (None, Some(run)) => commands::train::run(run, &ui),
            (None, None) => {
                anyhow::bail!("train needs --data, --base and --out; see `kgagent train --help`")
            }
        },
        Command::Ask(args) => commands::ask::run(args, &ui),
        Command::Eval(args) => commands::eval::run(args, &ui),
        Command::Replay(args) => commands::replay::run(args, &ui),
        Command::Export(args) => commands::export::run(args, &ui),
        Command::Fetch(args) => commands::fetch::run(args, &ui),
    }
}
