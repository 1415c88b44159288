//! `kgagent kg`: load, open, check and query graphs.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use kg::term::RelId;
use kg::{
    FolderError, FrozenKg, GraphFolder, GraphFormat, Kg, LoadOptions, LoadProgress, Manifest,
    QueryAnswer, QueryLimits, Settings, Skipped,
};
use kg::{construct, dataset_note, parse_query, why_hidden};
use serde_json::json;

use super::output;
use crate::cli::{KgArg, KgCheckArgs, KgLoadArgs, KgQueryArgs, ResultTable};
use crate::exit::ExitStatus;
use crate::ui::{Ui, header, seconds};

/// Opens a graph folder, or the requested named graphs in it.
pub(crate) fn open(graph: &KgArg) -> Result<FrozenKg> {
    // The command line calls the default graph `default`; in a folder its name is empty.
    let name = |name: &String| match name.as_str() {
        "default" => String::new(),
        _ => name.clone(),
    };
    let graphs: Vec<String> = graph.graphs.iter().map(name).collect();
    GraphFolder::open_graphs(&graph.kg, &graphs)
        .with_context(|| format!("cannot open the graph folder {}", graph.kg.display()))
}

/// Opens a graph folder, all of its graphs.
pub(crate) fn open_folder(path: &Path) -> Result<FrozenKg> {
    GraphFolder::open_graphs(path, &[])
        .with_context(|| format!("cannot open the graph folder {}", path.display()))
}

/// Loads files into the graph folder `out` and opens it.
pub(super) fn load_files(
    out: &Path,
    files: &[PathBuf],
    options: &LoadOptions<'_>,
    settings: &Settings,
    ui: &Ui,
) -> Result<(FrozenKg, Manifest)> {
    let stage = ui.progress("load", "triple", None);
    let progress = |progress| match progress {
        LoadProgress::Read(triples) => stage.set_position(triples),
        LoadProgress::Sort => stage.set_message("triples read; sorting and writing"),
    };
    let loaded = GraphFolder::load_with(out, files, options, settings, &progress, ui.stop())?;
    stage.finish_and_clear();
    Ok(loaded)
}

pub(crate) fn load(args: &KgLoadArgs, ui: &Ui) -> Result<ExitStatus> {
    ui.catch_interrupts()?;
    let files = expanded(&args.files)?;
    output::spare(&args.kg, files.iter().map(PathBuf::as_path))?;
    if !args.replace {
        spare_graph_of_others(&args.kg, &files)?;
    }
    let start = Instant::now();
    let bare = |iri: &String| iri.trim_matches(['<', '>']).to_owned();
    let labels: Vec<String> = args.label.iter().map(bare).collect();
    let options = LoadOptions {
        format: args.format,
        any_iri: args.any_iri,
        max_faults: args.max_faults,
        memory: args.memory,
        threads: args.threads.unwrap_or(0),
        base: args.base.as_deref(),
        labels: &labels,
        reasoning: !args.no_reasoning,
    };
    let settings = Settings {
        languages: args.languages.clone(),
        now: args.now.clone(),
        subclasses: args.subclasses,
        unify_directions: args.unify_directions,
    };
    let (kg, manifest) = load_files(&args.kg, &files, &options, &settings, ui)?;
    for source in &manifest.sources {
        if let Some(base) = &source.base {
            ui.say(format!(
                "{} has relative IRIs and names no base; they are relative to {base}{}",
                source.path,
                if args.base.is_some() {
                    ""
                } else {
                    ", made for this file (--base IRI sets another)"
                }
            ));
        }
    }
    ui.say(format!(
        "{} holds {} triples, loaded in {}",
        args.kg.display(),
        kg.len(),
        seconds(start.elapsed().as_secs_f64())
    ));
    if manifest.axioms > 0 {
        ui.say(format!(
            "{} of them are stated by OWL restrictions and intersections of classes (--no-reasoning leaves them out)",
            manifest.axioms
        ));
    }
    if let Some(line) = hidden_line(&kg) {
        ui.say(line);
    }
    let value = serde_json::to_value(&manifest)?;
    print_manifest(&value, ui);
    if let Some(skipped) = &manifest.skipped {
        print_skipped(skipped, ui);
    }
    ui.object(&value);
    Ok(ExitStatus::Done)
}

/// Which relations no answer follows, in a line; classes and labels are shown in other ways.
fn hidden_line(kg: &FrozenKg) -> Option<String> {
    const SHOWN: usize = 4;
    let relations = kg.relations();
    let is_hidden =
        |r: &&RelId| why_hidden(kg, **r).is_some_and(|why| !["class", "label"].contains(&why));
    let hidden = relations.iter().filter(is_hidden);
    let names: Vec<String> = hidden.map(|&r| kg.name(r.node())).collect();
    let more = match names.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>();
    (!names.is_empty()).then(|| {
        format!(
            "{} of {} relations are hidden from answers: {}{more} (`kg stats` says why)",
            names.len(),
            relations.len(),
            shown.join(", "),
        )
    })
}

/// The files, and for each folder the files in it that are of a known format, sorted.
fn expanded(given: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in given {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let before = files.len();
        let mut open = vec![path.clone()];
        while let Some(dir) = open.pop() {
            let entries = std::fs::read_dir(&dir)
                .with_context(|| format!("cannot read {}", dir.display()))?;
            for entry in entries {
                let path = entry?.path();
                // A folder often has JSON files that are not graphs.
                let graph = !matches!(
                    GraphFormat::of(&path),
                    None | Some(GraphFormat::Oda | GraphFormat::KqaPro)
                );
                if path.is_dir() {
                    open.push(path);
                } else if graph {
                    files.push(path);
                }
            }
        }
        if files.len() == before {
            bail!(
                "{} has no file of a graph, such as .ttl, .nt or .owl",
                path.display()
            );
        }
        files[before..].sort();
    }
    Ok(files)
}

/// A load in parts, such as `find … | xargs kgagent kg load`, would leave only its last part.
fn spare_graph_of_others(dir: &Path, files: &[PathBuf]) -> Result<()> {
    let Ok(manifest) = GraphFolder::manifest(dir) else {
        return Ok(());
    };
    let names: Vec<String> = files
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let other = manifest
        .sources
        .iter()
        .find(|source| !names.contains(&source.path));
    match other {
        Some(source) => bail!(
            "{} has a graph that was made from other files, such as {}; --replace replaces it, and one command with all files makes one graph of them",
            dir.display(),
            source.path
        ),
        None => Ok(()),
    }
}

/// Prints how many statements were skipped, and the first.
fn print_skipped(skipped: &Skipped, ui: &Ui) {
    let mut rows = header("skipped|what is wrong");
    for first in &skipped.first {
        let lines = if first.line == first.last_line {
            first.line.to_string()
        } else {
            format!("{}-{}", first.line, first.last_line)
        };
        rows.push(vec![
            format!("{}:{lines}", first.path),
            first.message.clone(),
        ]);
    }
    let more = skipped.statements - skipped.first.len();
    if more > 0 {
        rows.push(vec![format!("{more} more"), String::new()]);
    }
    ui.table(&rows);
    ui.say(format!(
        "malformed statements skipped: {}; nothing of them is in the graph",
        skipped.statements
    ));
}

/// Prints the counts and the content hash of a manifest.
pub(super) fn print_manifest(manifest: &serde_json::Value, ui: &Ui) {
    let mut rows = header("what|value");
    for key in [
        "triples",
        "entities",
        "relations",
        "literals",
        "content_hash",
    ] {
        if let Some(cell) = manifest.get(key) {
            let text = cell.as_str().map(str::to_owned);
            rows.push(vec![
                key.replace('_', " "),
                text.unwrap_or_else(|| cell.to_string()),
            ]);
        }
    }
    ui.table(&rows);
}

pub(crate) fn check(args: &KgCheckArgs, ui: &Ui) -> Result<ExitStatus> {
    match GraphFolder::verify(&args.kg) {
        Ok(kg) => {
            let hash = kg.content_hash();
            ui.say(format!(
                "{} is intact: {} triples, content hash {hash}",
                args.kg.display(),
                kg.len()
            ));
            ui.object(&json!({ "whole": true, "triples": kg.len(), "content_hash": hash }));
            Ok(ExitStatus::Done)
        }
        // Damage is a result of the check; a folder that is not a graph is a usage error.
        Err(
            error @ (FolderError::Damage { .. }
            | FolderError::Hash { .. }
            | FolderError::Changed { .. }),
        ) => {
            ui.say(error.to_string());
            ui.object(&json!({ "whole": false, "error": error.to_string() }));
            Ok(ExitStatus::Negative)
        }
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn query(args: &KgQueryArgs, ui: &Ui) -> Result<ExitStatus> {
    let kg = open(&args.graph)?;
    let query = parse_query(&args.sparql)?;
    let note = dataset_note(&kg, &query);
    if let Some(note) = &note {
        ui.warn(note);
    }
    let object = |mut object: serde_json::Value| {
        if let Some(note) = &note {
            object["note"] = note.as_str().into();
        }
        ui.object(&object);
    };
    if let Some(triples) = construct(&kg, &query, QueryLimits::default())? {
        return triples_of(args, &kg, &triples, &object, ui);
    }
    let answer = kg.query(&query, QueryLimits::default())?;
    if let ResultTable::Triples(_) = args.format {
        bail!(
            "this format is for the triples of CONSTRUCT and DESCRIBE; for SELECT and ASK give --format table, csv, tsv, json or xml"
        );
    }
    if let ResultTable::Standard(format) = args.format {
        let mut bytes = Vec::new();
        answer.write(format, &mut bytes)?;
        say_bytes(&bytes, ui);
        let none = matches!(&answer, QueryAnswer::Rows { rows, .. } if rows.is_empty());
        return Ok(if none {
            ExitStatus::Negative
        } else {
            ExitStatus::Done
        });
    }
    match answer {
        QueryAnswer::Bool(truth) => {
            ui.say(truth.to_string());
            object(json!({ "boolean": truth }));
            Ok(ExitStatus::Done)
        }
        QueryAnswer::Rows { variables, rows } => {
            let mut table = vec![variables.clone()];
            let cell = |term: &Option<kg::term::Term>| {
                term.as_ref()
                    .map_or_else(String::new, |term| readable(&kg, term, args.labels))
            };
            table.extend(rows.iter().map(|row| row.iter().map(cell).collect()));
            ui.table(&table);
            object(json!({ "variables": variables, "rows": rows }));
            Ok(if rows.is_empty() {
                ExitStatus::Negative
            } else {
                ExitStatus::Done
            })
        }
    }
}

/// Prints the triples of a CONSTRUCT or DESCRIBE query.
fn triples_of(
    args: &KgQueryArgs,
    kg: &FrozenKg,
    triples: &[[kg::term::Term; 3]],
    object: &dyn Fn(serde_json::Value),
    ui: &Ui,
) -> Result<ExitStatus> {
    match args.format {
        ResultTable::Triples(format) => say_bytes(&format.write(triples.iter())?, ui),
        ResultTable::Table => {
            let parts = ["subject", "predicate", "object"].map(str::to_owned);
            let mut table = vec![parts.to_vec()];
            let cell = |term| readable(kg, term, args.labels);
            table.extend(
                triples
                    .iter()
                    .map(|triple| triple.iter().map(cell).collect()),
            );
            ui.table(&table);
            object(json!({ "triples": triples }));
        }
        ResultTable::Standard(_) => bail!(
            "this format is for the rows of SELECT and ASK; for CONSTRUCT and DESCRIBE give --format table, ttl, nt, jsonld or rdf"
        ),
    }
    Ok(if triples.is_empty() {
        ExitStatus::Negative
    } else {
        ExitStatus::Done
    })
}

/// Prints a document. CSV has carriage returns, which a terminal does not need.
fn say_bytes(bytes: &[u8], ui: &Ui) {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    ui.say(text.trim_end());
}

/// A term as people read it: the text of a literal, the short name of a node, with its label if wanted.
fn readable(kg: &FrozenKg, term: &kg::term::Term, label: bool) -> String {
    let node = match term {
        kg::term::Term::Literal(literal) => return literal.lexical.clone(),
        other => kg.find(other),
    };
    let Some(node) = node else {
        return term.to_string();
    };
    let name = kg.name(node);
    match kg.label(node).filter(|text| label && *text != name) {
        Some(text) => format!("{name} [{text}]"),
        None => name,
    }
}
