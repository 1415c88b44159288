//! `kgagent kg`: load graphs and look into them.

use std::time::Instant;

use anyhow::{Context, Result};
use kg::parse_query;
use kg::{
    FolderError, FrozenKg, GraphFolder, Kg, LoadOptions, LoadProgress, Manifest, QueryAnswer,
    QueryLimits, Settings, why_hidden,
};
use serde_json::json;

use crate::Outcome;
use crate::cli::{KgArg, KgCheckArgs, KgLoadArgs, KgQueryArgs};
use crate::ui::{Ui, seconds};

/// Opens a graph folder, or the named graphs of it that are asked for.
pub(crate) fn open(graph: &KgArg) -> Result<FrozenKg> {
    // On the command line the default graph needs a name; in a folder it has none.
    let graphs: Vec<String> = graph
        .graphs
        .iter()
        .map(|name| {
            if name == "default" {
                String::new()
            } else {
                name.clone()
            }
        })
        .collect();
    GraphFolder::open_graphs(&graph.kg, &graphs)
        .with_context(|| format!("cannot open the graph folder {}", graph.kg.display()))
}

/// Loads files into a graph folder and opens it.
pub(crate) fn load_files(args: &KgLoadArgs, ui: &Ui) -> Result<(FrozenKg, Manifest)> {
    let bar = ui.bar(None, "load");
    let options = LoadOptions {
        format: args.format,
        any_iri: args.any_iri,
        max_faults: args.max_faults,
        memory: args.memory,
        threads: args.threads.unwrap_or(0),
    };
    let mut settings = Settings {
        languages: args.languages.clone(),
        subclasses: args.subclasses,
        ..Settings::default()
    };
    settings.unify_directions = args.unify_directions;
    if let Some(now) = &args.now {
        settings.now.clone_from(now);
    }
    let progress = |progress| match progress {
        LoadProgress::Read(triples) => bar.set_position(triples),
        LoadProgress::Sort => bar.set_message("triples read; sorting and writing"),
    };
    let loaded = GraphFolder::load_with(
        &args.kg,
        &args.files,
        &options,
        &settings,
        &progress,
        ui.stop(),
    )?;
    bar.finish_and_clear();
    Ok(loaded)
}

pub(crate) fn load(args: &KgLoadArgs, ui: &Ui) -> Result<Outcome> {
    ui.catch_interrupts()?;
    let start = Instant::now();
    let (kg, manifest) = load_files(args, ui)?;
    ui.say(format!(
        "{} holds {} triples, loaded in {}",
        args.kg.display(),
        kg.len(),
        seconds(start.elapsed().as_secs_f64())
    ));
    print_manifest(&manifest, ui)?;
    Ok(Outcome::Done)
}

pub(crate) fn check(args: &KgCheckArgs, ui: &Ui) -> Result<Outcome> {
    match GraphFolder::verify(&args.kg) {
        Ok(kg) => {
            ui.say(format!(
                "{} is whole: {} triples, content hash {}",
                args.kg.display(),
                kg.len(),
                kg.content_hash()
            ));
            ui.object(
                &json!({ "whole": true, "triples": kg.len(), "content_hash": kg.content_hash() }),
            );
            Ok(Outcome::Done)
        }
        // What is damaged was checked and found so; a folder that is no graph at all is an error of use.
        Err(
            error @ (FolderError::Damage { .. }
            | FolderError::Hash { .. }
            | FolderError::Changed { .. }),
        ) => {
            ui.say(error.to_string());
            ui.object(&json!({ "whole": false, "error": error.to_string() }));
            Ok(Outcome::Negative)
        }
        Err(error) => Err(error.into()),
    }
}

fn print_manifest(manifest: &Manifest, ui: &Ui) -> Result<()> {
    let value = serde_json::to_value(manifest)?;
    let mut rows = vec![vec!["what".to_owned(), "value".to_owned()]];
    for key in [
        "triples",
        "entities",
        "relations",
        "literals",
        "content_hash",
    ] {
        if let Some(cell) = value.get(key) {
            rows.push(vec![
                key.replace('_', " "),
                cell.as_str()
                    .map_or_else(|| cell.to_string(), str::to_owned),
            ]);
        }
    }
    ui.table(&rows);
    ui.object(&value);
    Ok(())
}

/// Relations and classes that `kg stats` names.
const NAMED: usize = 20;

pub(crate) fn stats(args: &KgArg, ui: &Ui) -> Result<Outcome> {
    let mut manifest = GraphFolder::manifest(&args.kg)?;
    let kg = open(args)?;
    if !args.graphs.is_empty() {
        (manifest.triples, manifest.entities, manifest.relations) =
            (kg.len(), kg.entity_count(), kg.relations().len());
        (manifest.literals, manifest.content_hash) =
            (kg.literal_count(), kg.content_hash().to_owned());
        (manifest.label_languages, manifest.graphs) = (kg.label_languages().to_vec(), Vec::new());
    }
    let mut relations: Vec<(usize, String)> = kg
        .relations()
        .iter()
        .map(|&r| (kg.pairs(r).len(), kg.name(r.node())))
        .collect();
    let mut classes: Vec<(usize, String)> = kg
        .classes()
        .iter()
        .map(|&class| (kg.instances(class).len(), kg.name(class)))
        .collect();
    for list in [&mut relations, &mut classes] {
        list.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    }
    let statements = kg.entities().filter(|&node| kg.is_statement(node)).count();
    let hidden: Vec<(String, &str)> = kg
        .relations()
        .iter()
        .filter_map(|&r| Some((kg.name(r.node()), why_hidden(&kg, r)?)))
        .collect();
    if ui.json() {
        let mut value = serde_json::to_value(&manifest)?;
        value["statements"] = json!(statements);
        value["names"] = json!(kg.label_index()?.len());
        value["hidden"] = json!(
            hidden
                .iter()
                .map(|(name, why)| json!({ "name": name, "why": why }))
                .collect::<Vec<_>>()
        );
        let pairs = |list: &[(usize, String)]| {
            list.iter()
                .map(|(count, name)| json!({ "name": name, "count": count }))
                .collect::<Vec<_>>()
        };
        value["relations_by_use"] = json!(pairs(&relations));
        value["classes_by_size"] = json!(pairs(&classes));
        ui.object(&value);
        return Ok(Outcome::Done);
    }
    print_manifest(&manifest, ui)?;
    if !manifest.graphs.is_empty() {
        ui.say("");
        let mut rows = vec![vec!["named graph".to_owned(), "count".to_owned()]];
        let name = |name: &str| {
            if name.is_empty() {
                "default".to_owned()
            } else {
                name.to_owned()
            }
        };
        rows.extend(
            manifest
                .graphs
                .iter()
                .map(|graph| vec![name(&graph.name), graph.triples.to_string()]),
        );
        ui.table(&rows);
    }
    let settings = &manifest.settings;
    let switches = [
        (settings.subclasses, "instances of subclasses count"),
        (
            settings.unify_directions,
            "declared reverses are shown once",
        ),
    ];
    ui.say(format!(
        "\n{statements} of the entities are statements without a name; {} names are indexed; labels in {}; NOW is {}{}",
        kg.label_index()?.len(),
        settings.languages.join(", "),
        settings.now,
        switches.iter().filter(|(on, _)| *on).map(|(_, what)| format!("; {what}")).collect::<String>(),
    ));
    if !hidden.is_empty() {
        let mut rows = vec![["hidden relation", "because"].map(str::to_owned).to_vec()];
        rows.extend(
            hidden
                .iter()
                .map(|(name, why)| vec![name.clone(), (*why).to_owned()]),
        );
        ui.say("");
        ui.table(&rows);
    }
    for (head, list) in [("relation", &relations), ("class", &classes)] {
        ui.say("");
        let mut rows = vec![vec![head.to_owned(), "count".to_owned()]];
        let stated = |name: &str| stated(&kg, name);
        let facts = head == "relation"
            && list
                .iter()
                .take(NAMED)
                .any(|(_, name)| stated(name).iter().any(|cell| !cell.is_empty()));
        if facts {
            rows[0].extend(["domain", "range", "reverse"].map(str::to_owned));
        }
        rows.extend(list.iter().take(NAMED).map(|(count, name)| {
            let facts = if facts {
                stated(name).to_vec()
            } else {
                Vec::new()
            };
            [name.clone(), count.to_string()]
                .into_iter()
                .chain(facts)
                .collect()
        }));
        ui.table(&rows);
        if list.len() > NAMED {
            ui.say(format!("… and {} more", list.len() - NAMED));
        }
    }
    Ok(Outcome::Done)
}

/// Domain, range and reverse of a relation, as the graph states them.
fn stated(kg: &FrozenKg, name: &str) -> [String; 3] {
    let Some(relation) = kg.by_name(name).map(kg::term::NodeId::relation) else {
        return Default::default();
    };
    let schema = kg.schema();
    let names = |nodes: &mut dyn Iterator<Item = kg::term::NodeId>| {
        nodes
            .map(|node| kg.name(node))
            .collect::<Vec<_>>()
            .join(", ")
    };
    [
        names(&mut schema.domain(relation)),
        names(&mut schema.range(relation)),
        names(&mut schema.reverse(relation).map(kg::term::RelId::node)),
    ]
}

pub(crate) fn query(args: &KgQueryArgs, ui: &Ui) -> Result<Outcome> {
    let kg = open(&args.graph)?;
    let query = parse_query(&args.sparql)?;
    match kg.query(&query, QueryLimits::default())? {
        QueryAnswer::Bool(truth) => {
            ui.say(truth.to_string());
            ui.object(&json!({ "boolean": truth }));
            Ok(Outcome::Done)
        }
        QueryAnswer::Rows { variables, rows } => {
            let mut table = vec![variables.clone()];
            let cell = |term: &Option<kg::term::Term>| {
                term.as_ref().map_or_else(String::new, ToString::to_string)
            };
            table.extend(rows.iter().map(|row| row.iter().map(cell).collect()));
            ui.table(&table);
            ui.object(&json!({ "variables": variables, "rows": rows }));
            Ok(if rows.is_empty() {
                Outcome::Negative
            } else {
                Outcome::Done
            })
        }
    }
}
