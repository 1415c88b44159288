//! `kgagent kg`: load graphs and look into them.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;
use toolbox::kg::parse_query;
use toolbox::kg::{GraphFolder, Kg, LoadOptions, Manifest, MemoryKg, QueryAnswer, QueryLimits, Source};

use toolbox::term::RelId;

use crate::Outcome;
use crate::cli::{KgArg, KgLoadArgs, KgQueryArgs};
use crate::ui::Ui;

/// Opens a graph folder with a word on the way.
pub(crate) fn open(dir: &Path) -> Result<MemoryKg> {
    GraphFolder::open(dir).with_context(|| format!("cannot open the graph folder {}", dir.display()))
}

/// Loads files into a graph folder and opens it.
pub(crate) fn load_files(args: &KgLoadArgs, ui: &Ui) -> Result<(MemoryKg, Manifest)> {
    let bar = ui.bar(None, "load");
    let kg = MemoryKg::load(&args.files, &LoadOptions::default(), &|triples| bar.set_position(triples))?;
    bar.finish_and_clear();
    let sources = args.files.iter().map(|file| Source::of(file)).collect::<Result<Vec<_>, _>>()?;
    let manifest = GraphFolder::write(&args.kg, &kg, &sources)?;
    Ok((kg, manifest))
}

pub(crate) fn load(args: &KgLoadArgs, ui: &Ui) -> Result<Outcome> {
    let (kg, manifest) = load_files(args, ui)?;
    ui.say(format!("{} holds {} triples", args.kg.display(), kg.len()));
    print_manifest(&manifest, ui)?;
    Ok(Outcome::Done)
}

fn print_manifest(manifest: &Manifest, ui: &Ui) -> Result<()> {
    let value = serde_json::to_value(manifest)?;
    let mut rows = vec![vec!["what".to_owned(), "value".to_owned()]];
    for key in ["triples", "entities", "relations", "literals", "content_hash"] {
        if let Some(cell) = value.get(key) {
            rows.push(vec![key.replace('_', " "), cell.as_str().map_or_else(|| cell.to_string(), str::to_owned)]);
        }
    }
    ui.table(&rows);
    ui.object(&value);
    Ok(())
}

/// Relations and classes that `kg stats` names.
const NAMED: usize = 20;

pub(crate) fn stats(args: &KgArg, ui: &Ui) -> Result<Outcome> {
    let manifest = GraphFolder::manifest(&args.kg)?;
    let kg = open(&args.kg)?;
    let mut uses: HashMap<RelId, usize> = HashMap::new();
    for (_, relation, _) in kg.triples() {
        *uses.entry(relation).or_default() += 1;
    }
    let mut relations: Vec<(usize, String)> = uses.into_iter().map(|(relation, count)| (count, kg.name(relation.node()))).collect();
    let mut classes: Vec<(usize, String)> = kg.classes().iter().map(|&class| (kg.instances(class).len(), kg.name(class))).collect();
    for list in [&mut relations, &mut classes] {
        list.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    }
    if ui.json() {
        let mut value = serde_json::to_value(&manifest)?;
        let pairs = |list: &[(usize, String)]| list.iter().map(|(count, name)| json!({ "name": name, "count": count })).collect::<Vec<_>>();
        value["relations_by_use"] = json!(pairs(&relations));
        value["classes_by_size"] = json!(pairs(&classes));
        ui.object(&value);
        return Ok(Outcome::Done);
    }
    print_manifest(&manifest, ui)?;
    for (head, list) in [("relation", &relations), ("class", &classes)] {
        ui.say("");
        let mut rows = vec![vec![head.to_owned(), "count".to_owned()]];
        rows.extend(list.iter().take(NAMED).map(|(count, name)| vec![name.clone(), count.to_string()]));
        ui.table(&rows);
        if list.len() > NAMED {
            ui.say(format!("… and {} more", list.len() - NAMED));
        }
    }
    Ok(Outcome::Done)
}

pub(crate) fn query(args: &KgQueryArgs, ui: &Ui) -> Result<Outcome> {
    let kg = open(&args.graph.kg)?;
    let query = parse_query(&args.sparql)?;
    match kg.query(&query, QueryLimits::default())? {
        QueryAnswer::Bool(truth) => {
            ui.say(truth.to_string());
            ui.object(&json!({ "boolean": truth }));
            Ok(Outcome::Done)
        }
        QueryAnswer::Rows { variables, rows } => {
            let mut table = vec![variables.clone()];
            let cell = |term: &Option<toolbox::term::Term>| term.as_ref().map_or_else(String::new, ToString::to_string);
            table.extend(rows.iter().map(|row| row.iter().map(cell).collect()));
            ui.table(&table);
            ui.object(&json!({ "variables": variables, "rows": rows }));
            Ok(if rows.is_empty() { Outcome::Negative } else { Outcome::Done })
        }
    }
}
