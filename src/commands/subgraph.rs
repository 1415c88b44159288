//! `kgagent kg subgraph`: the neighbourhood of entities as a separate graph (ODA §3.2, rules B.5).

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use common::journal::Journal;
use datagen::read::ReadOptions;
use kg::Kg;
use kg::subgraph::{Neighbourhood, Subgraph, SubgraphOptions, check_target, write_files};
use kg::term::NodeId;
use rayon::prelude::*;
use serde_json::json;

use super::datagen::source;
use super::{graph, output};
use crate::cli::KgSubgraphArgs;
use crate::exit::ExitStatus;
use crate::identity;
use crate::ui::{Ui, header, seconds};

pub(crate) fn run(args: &KgSubgraphArgs, ui: &Ui) -> Result<ExitStatus> {
    ui.catch_interrupts()?;
    let inputs = output::paths_of(&args.sources)?;
    let inputs = inputs.iter().chain([&args.graph.kg]);
    output::spare(&args.out, inputs.map(PathBuf::as_path))?;
    check_target(&args.out)?;
    if !args.out.is_dir() {
        // A file of triples does not show which program wrote it, so it is never replaced.
        output::file(&args.out, None)?;
        if args.out.extension().is_some_and(|end| end == "json") {
            output::file(&args.out.with_extension("labels.json"), None)?;
        }
    }
    let graph = graph::open(&args.graph)?;
    let (entities, unknown) = entities(args, &graph)?;
    if entities.is_empty() {
        bail!("the graph has none of the {unknown} named entities");
    }
    let options = SubgraphOptions {
        hops: args.hops,
        fan_out: args.fan_out,
        direction: args.direction,
    };
    let begun = Instant::now();
    let names: Vec<String> = entities.iter().map(|&entity| graph.name(entity)).collect();
    let fingerprint = common::hash::number(
        0,
        "subgraph",
        &json!([graph.fingerprint(), format!("{options:?}"), names]).to_string(),
    );
    let fingerprint = format!("neighbourhoods {fingerprint:016x}");
    let (journal, found) = Journal::of_output(&args.out, identity::program(), &fingerprint)?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(args.threads.unwrap_or(0))
        .build()?;
    let (around, resumed) =
        pool.install(|| extract(&graph, &entities, &options, &journal, &found, ui))?;
    let extracted = begun.elapsed().as_secs_f64();
    let count = around.len();
    let subgraph = Subgraph::new(&graph, options, around);
    let files = pool.install(|| write_files(&subgraph, &args.out, || journal.remove()))?;
    let took = begun.elapsed().as_secs_f64();

    let triples = subgraph.triples().len();
    let rate = (count - resumed) as f64 / extracted.max(1e-9);
    let mut rows = header("file|triples");
    rows.extend(
        files
            .iter()
            .filter(|(_, triples)| *triples > 0)
            .map(|(path, triples)| vec![path.display().to_string(), triples.to_string()]),
    );
    ui.table(&rows);
    ui.say(format!(
        "\n{count} entities, {unknown} not in the graph; {triples} triples of {}; extracted in {} ({rate:.0} \
         entities/s), total {}{}",
        graph.len(),
        seconds(extracted),
        seconds(took),
        if resumed > 0 {
            format!(", {resumed} had been done before")
        } else {
            String::new()
        }
    ));
    ui.object(&json!({
        "entities": count, "unknown": unknown, "triples": triples, "seconds": extracted,
        "seconds_in_all": took, "entities_per_second": rate, "resumed": resumed,
        "files": files
            .iter()
            .map(|(path, triples)| json!({ "file": path, "triples": triples }))
            .collect::<Vec<_>>(),
    }));
    Ok(ExitStatus::Done)
}

/// The requested entities in order, and the number of names that the graph does not have.
fn entities(args: &KgSubgraphArgs, graph: &dyn Kg) -> Result<(Vec<NodeId>, usize)> {
    let mut names: BTreeSet<String> = args.entities.iter().cloned().collect();
    for name in &names {
        // An unknown name is an error on the command line. A question set may name entities that
        // are missing in a part of its graph.
        graph
            .by_name(name)
            .with_context(|| format!("the graph has no entity `{name}`"))?;
    }
    let questions = source::read(&args.sources, Some(graph), &ReadOptions::default())?;
    names.extend(
        questions
            .iter()
            .flat_map(|question| &question.topics)
            .map(|topic| topic.name.clone()),
    );
    if names.is_empty() {
        bail!("the questions name no topic entities; name some with --entity");
    }
    let nodes: Vec<Option<NodeId>> = names.iter().map(|name| graph.by_name(name)).collect();
    let unknown = nodes.iter().filter(|node| node.is_none()).count();
    let mut nodes: Vec<NodeId> = nodes.into_iter().flatten().collect();
    nodes.sort_unstable();
    nodes.dedup();
    Ok((nodes, unknown))
}

/// The neighbourhoods in the order of the entities, and how many the journal had already.
fn extract(
    graph: &dyn Kg,
    entities: &[NodeId],
    options: &SubgraphOptions,
    journal: &Journal,
    found: &[common::journal::JournalEntry],
    ui: &Ui,
) -> Result<(Vec<Neighbourhood>, usize)> {
    let mut done: Vec<Option<Neighbourhood>> = vec![None; entities.len()];
    for entry in found {
        if let Some(slot) = usize::try_from(entry.piece)
            .ok()
            .and_then(|i| done.get_mut(i))
        {
            *slot = Neighbourhood::from_record(&journal.read(entry)?);
        }
    }
    let todo: Vec<usize> = (0..entities.len()).filter(|&i| done[i].is_none()).collect();
    let resumed = entities.len() - todo.len();
    let stage = ui.progress("extract", "entity", Some(entities.len() as u64));
    stage.set_position(resumed as u64);
    let finished = AtomicUsize::new(resumed);
    let done = Mutex::new(done);
    let work = |&i: &usize| -> Result<()> {
        if ui.stop().load(Ordering::Relaxed) {
            bail!(
                "stopped after {} of {} entities; the same command continues from here",
                finished.load(Ordering::Relaxed),
                entities.len()
            );
        }
        let around = Neighbourhood::walk(graph, entities[i], options);
        journal.append(i as u64, &around.to_record())?;
        done.lock().unwrap_or_else(PoisonError::into_inner)[i] = Some(around);
        finished.fetch_add(1, Ordering::Relaxed);
        stage.inc(1);
        Ok(())
    };
    let result = todo.par_iter().try_for_each(work);
    stage.finish_and_clear();
    result?;
    Ok((
        done.into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .into_iter()
            .flatten()
            .collect(),
        resumed,
    ))
}
