//! `kgagent kg subgraph`: the neighbourhood of a question set's entities as a graph of its own (ODA §3.2, spec B.5).

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use common::journal::Journal;
use datagen::read::ReadOptions;
use kg::Kg;
use kg::subgraph::{
    Direction, Neighbourhood, Subgraph, SubgraphOptions, check_target, write_files,
};
use kg::term::NodeId;
use rayon::prelude::*;
use serde_json::json;

use super::{datagen as sources, graph};
use crate::Outcome;
use crate::cli::{DirectionName, KgSubgraphArgs};
use crate::ui::{Ui, seconds};

pub(crate) fn run(args: &KgSubgraphArgs, ui: &Ui) -> Result<Outcome> {
    ui.catch_interrupts()?;
    check_target(&args.out)?;
    let graph = graph::open(&args.graph)?;
    let (entities, unknown) = entities(args, &graph)?;
    if entities.is_empty() {
        bail!("the graph holds none of the {unknown} entities that were named");
    }
    let options = SubgraphOptions {
        hops: args.hops,
        fan_out: args.fan_out,
        direction: match args.direction {
            DirectionName::Out => Direction::Out,
            DirectionName::In => Direction::In,
            DirectionName::Both => Direction::Both,
        },
    };
    let begun = Instant::now();
    let partial = partial(args)?;
    let names: Vec<String> = entities.iter().map(|&entity| graph.name(entity)).collect();
    let fingerprint = datagen::hash::number(
        0,
        "subgraph",
        &json!([graph.content_hash(), format!("{options:?}"), names]).to_string(),
    );
    let (journal, found) = Journal::open(&partial, &format!("neighbourhoods {fingerprint:016x}"))?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(args.threads.unwrap_or(0))
        .build()?;
    let (around, resumed) =
        pool.install(|| walk(&graph, &entities, &options, &journal, &found, ui))?;
    let walked = begun.elapsed().as_secs_f64();
    let count = around.len();
    let subgraph = Subgraph::new(&graph, options, around);
    let files = pool.install(|| write_files(&subgraph, &args.out))?;
    let took = begun.elapsed().as_secs_f64();
    drop(journal);
    std::fs::remove_file(&partial)
        .with_context(|| format!("cannot remove {}", partial.display()))?;

    let triples = subgraph.triples().len();
    let rate = (count - resumed) as f64 / walked.max(1e-9);
    let mut rows = vec![vec!["file".to_owned(), "triples".to_owned()]];
    rows.extend(
        files
            .iter()
            .filter(|(_, triples)| *triples > 0)
            .map(|(path, triples)| vec![path.display().to_string(), triples.to_string()]),
    );
    ui.table(&rows);
    ui.say(format!(
        "\n{count} entities, {unknown} not in the graph; {triples} triples of {}; walked in {} ({rate:.0} entities/s), all in {}{}",
        graph.len(),
        seconds(walked),
        seconds(took),
        if resumed > 0 { format!(", {resumed} had been done before") } else { String::new() }
    ));
    ui.object(&json!({
        "entities": count, "unknown": unknown, "triples": triples, "seconds": walked, "seconds_in_all": took, "entities_per_second": rate, "resumed": resumed,
        "files": files.iter().map(|(path, triples)| json!({ "file": path, "triples": triples })).collect::<Vec<_>>(),
    }));
    Ok(Outcome::Done)
}

/// The entities asked for, sorted, and how many names the graph does not know.
fn entities(args: &KgSubgraphArgs, graph: &dyn Kg) -> Result<(Vec<NodeId>, usize)> {
    let mut names: BTreeSet<String> = args.entities.iter().cloned().collect();
    for name in &names {
        // A name on the command line is meant; one of a question set may be missing from a slice of its graph.
        graph
            .by_name(name)
            .with_context(|| format!("the graph holds no entity `{name}`"))?;
    }
    let questions = sources::read(&args.sources, Some(graph), &ReadOptions::default())?;
    names.extend(
        questions
            .iter()
            .flat_map(|question| &question.topics)
            .map(|topic| topic.name.clone()),
    );
    if names.is_empty() {
        bail!("the questions name no topic entities; give some with --entity");
    }
    let nodes: Vec<Option<NodeId>> = names.iter().map(|name| graph.by_name(name)).collect();
    let unknown = nodes.iter().filter(|node| node.is_none()).count();
    let mut nodes: Vec<NodeId> = nodes.into_iter().flatten().collect();
    nodes.sort_unstable();
    nodes.dedup();
    Ok((nodes, unknown))
}

/// Where work in progress lies: `OUT.partial`.
fn partial(args: &KgSubgraphArgs) -> Result<PathBuf> {
    let name = args
        .out
        .file_name()
        .with_context(|| format!("{} is no file or folder name", args.out.display()))?;
    let path = args
        .out
        .with_file_name(format!("{}.partial", name.to_string_lossy()));
    if let Some(parent) = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
    {
        std::fs::create_dir_all(parent)
            .with_context(|| format!("cannot make {}", parent.display()))?;
    }
    Ok(path)
}

/// Neighbourhoods in order of the entities, and how many were there already.
fn walk(
    graph: &dyn Kg,
    entities: &[NodeId],
    options: &SubgraphOptions,
    journal: &Journal,
    found: &[common::journal::JournalEntry],
    ui: &Ui,
) -> Result<(Vec<Neighbourhood>, usize)> {
    let mut done: Vec<Option<Neighbourhood>> = vec![None; entities.len()];
    for entry in found {
        if let Some(place) = usize::try_from(entry.piece)
            .ok()
            .and_then(|i| done.get_mut(i))
        {
            *place = Neighbourhood::from_record(&journal.read(entry)?);
        }
    }
    let todo: Vec<usize> = (0..entities.len()).filter(|&i| done[i].is_none()).collect();
    let resumed = entities.len() - todo.len();
    let bar = ui.bar(Some(entities.len() as u64), "walk");
    bar.set_position(resumed as u64);
    let finished = AtomicUsize::new(resumed);
    let done = Mutex::new(done);
    let work = |&i: &usize| -> Result<()> {
        if ui.stop().load(Ordering::Relaxed) {
            bail!(
                "stopped after {} of {} entities; the same command goes on from here",
                finished.load(Ordering::Relaxed),
                entities.len()
            );
        }
        let around = Neighbourhood::walk(graph, entities[i], options);
        journal.append(i as u64, &around.to_record())?;
        done.lock().unwrap_or_else(PoisonError::into_inner)[i] = Some(around);
        finished.fetch_add(1, Ordering::Relaxed);
        bar.inc(1);
        Ok(())
    };
    let result = todo.par_iter().try_for_each(work);
    bar.finish_and_clear();
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
