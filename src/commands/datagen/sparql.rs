//! `kgagent datagen sparql`: the SPARQL query that is equivalent to a program of calls.

use anyhow::{Context, Result};
use serde_json::json;

use super::super::graph;
use crate::cli::SparqlArgs;
use crate::exit::ExitStatus;
use crate::ui::Ui;

pub(crate) fn run(args: &SparqlArgs, ui: &Ui) -> Result<ExitStatus> {
    let calls = toolbox::call::parse_program(&args.calls).context("the calls do not parse")?;
    let graph = graph::open(&args.graph)?;
    let query = datagen::to_sparql::program_to_query(&graph, &calls, &[])?;
    ui.say(query.to_string());
    ui.object(&json!({ "sparql": query.to_string() }));
    Ok(ExitStatus::Done)
}
