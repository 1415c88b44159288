//! Knowledge-graph question answering, offline: open a graph, ask, and get an answer with the triples that prove it.
//!
//! ```no_run
//! use kgagent::{Asker, Graph};
//!
//! let graph = Graph::load("graph".as_ref(), &["data/graph.ttl".into(), "data/ontology.ttl".into()])?;
//! let answer = Asker::new(&graph).ask("capital of peru?")?;
//! assert_eq!(answer.labels(), ["Lima"]);
//! # Ok::<(), kgagent::Error>(())
//! ```
//!
//! The items of this page are what programs may build on. The crates below ([`datagen`], [`train`]) and what
//! [`Graph::kg`] gives change with every version.
//!
//! This crate also has the command line ([`command_line`]). It alone prints, exits and reads the environment; the one
//! exception is the hub's cache (`model::hub`).
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line prints"
)]

mod api;
mod cli;
mod commands;
mod config;
mod exit;
mod identity;
mod ui;

pub use api::{Answer, Asker, Error, Graph, Match, Model};
pub use datagen;
pub use kg::QueryAnswer;
pub use kg::term::Term;
pub use train;

use clap::FromArgMatches;

use crate::cli::{Cli, Command, DatagenCommand, KgCommand, TrainSub};
use crate::exit::ExitStatus;
use crate::ui::Ui;

/// What somebody sees who gives no command.
const FIRST: &str = "kgagent answers questions over a knowledge graph, offline, and proves the answers. To begin:

  kgagent kg load --kg graph FILE…         read your graph: Turtle, N-Triples, RDF/XML, JSON-LD, OBO, TSV
  kgagent ask --kg graph \"who …?\"         ask it; no model is needed
  kgagent serve --kg graph                 a page, an API and SPARQL at http://127.0.0.1:8765
  kgagent demo --quick                     in a clone: the whole pipeline, with a model trained here
  kgagent --help, kgagent doctor           all commands; what this machine has";

/// Runs the command line `args`, whose first is the program's name, and returns its exit code. Wrong options end the
/// process.
#[must_use]
pub fn command_line(args: &[std::ffi::OsString]) -> u8 {
    // A panic of a library on a foreign file is reported as that file's error.
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !model::is_guarded() {
            usual(panic);
        }
    }));
    if args.len() == 1 {
        println!("{FIRST}");
        return 0;
    }
    let parsed = config::matches(args).and_then(|matches| Ok(Cli::from_arg_matches(&matches)?));
    match parsed.and_then(|cli| run(&cli)) {
        Ok(status) => status.code(),
        Err(error) => {
            ui::notice(&format!("kgagent: {}", exit::error_line(&error)));
            2
        }
    }
}

fn run(cli: &Cli) -> anyhow::Result<ExitStatus> {
    let ui = Ui::new(cli.json);
    match &cli.command {
        Command::Demo(args) => commands::demo::run(args, &ui),
        Command::Kg(KgCommand::Load(args)) => commands::graph::load(args, &ui),
        Command::Kg(KgCommand::Stats(args)) => commands::stats::run(args, &ui),
        Command::Kg(KgCommand::Check(args)) => commands::graph::check(args, &ui),
        Command::Kg(KgCommand::Query(args)) => commands::graph::query(args, &ui),
        Command::Kg(KgCommand::Lexicon(args)) => commands::lexicon::run(args, &ui),
        Command::Kg(KgCommand::Subgraph(args)) => commands::subgraph::run(args, &ui),
        Command::Tool(args) => commands::tool::run(args, &ui),
        Command::Datagen(DatagenCommand::Gold(args)) => commands::datagen::gold::run(args, &ui),
        Command::Datagen(DatagenCommand::Synth(args)) => commands::datagen::synth::run(args, &ui),
        Command::Datagen(DatagenCommand::Check(args)) => commands::datagen::check::run(args, &ui),
        Command::Datagen(DatagenCommand::Export(args)) => commands::datagen::export::run(args, &ui),
        Command::Datagen(DatagenCommand::Sparql(args)) => commands::datagen::sparql::run(args, &ui),
        Command::Datagen(DatagenCommand::Recall(args)) => commands::datagen::recall::run(args, &ui),
        Command::Datagen(DatagenCommand::Choices(args)) => commands::choices::run(args, &ui),
        Command::Datagen(DatagenCommand::Words(args)) => commands::datagen::words::words(args, &ui),
        Command::Datagen(DatagenCommand::Weights(args)) => {
            commands::datagen::words::weights(args, &ui)
        }
        Command::Datagen(DatagenCommand::Formats) => commands::datagen::formats::run(&ui),
        Command::Train(args) => match (&args.inspect, &args.run) {
            (Some(TrainSub::Inspect(inspect)), _) => commands::train::inspect::run(inspect, &ui),
            (Some(TrainSub::Ranker(ranker)), _) => commands::train::ranker::run(ranker, &ui),
            (Some(TrainSub::RankerScores(scores)), _) => {
                commands::train::ranker::scores(scores, &ui)
            }
            (None, Some(run)) => commands::train::run(run, &ui),
            (None, None) => {
                anyhow::bail!("train needs --data, --base and --out; see `kgagent train --help`")
            }
        },
        Command::Adapt(args) => commands::adapt::run(args, &ui),
        Command::Ask(args) => commands::ask::run(args, &ui),
        Command::Eval(args) => commands::eval::run(args, &ui),
        Command::Serve(args) => commands::serve::run(args, &ui),
        Command::Mcp(args) => commands::serve::mcp(args),
        Command::Replay(args) => commands::replay::run(args, &ui),
        Command::Export(args) => commands::export::run(args, &ui),
        Command::Fetch(args) => commands::fetch::run(args, &ui),
        Command::Doctor => commands::doctor::run(&ui),
        Command::Completions { shell } => Ok(commands::pages::completions(*shell, &ui)),
        Command::Pages(args) => commands::pages::run(args),
    }
}
