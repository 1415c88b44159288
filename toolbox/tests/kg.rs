//! The graph, its loaders and its queries, on small graphs and, where they lie beside the checkout, on the development sets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use toolbox::kg::{self, Kg, LoadOptions, MemoryKg, QueryAnswer, QueryLimits};

fn datasets() -> Option<PathBuf> {
    let root = [PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/datasets"), PathBuf::from("/work/shared/datasets")];
    let found = root.into_iter().find(|path| path.is_dir());
    if found.is_none() {
        eprintln!("skipped: ../shared/datasets is not here");
    }
    found
}

fn json(path: &std::path::Path) -> serde_json::Value {
    serde_json::from_reader(flate2::read::MultiGzDecoder::new(std::fs::File::open(path).unwrap())).unwrap()
}

/// Every string under a key that names a query, wherever it stands.
fn queries(value: &serde_json::Value, out: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(map) => {
            for (key, value) in map {
                match value {
                    serde_json::Value::String(text) if matches!(key.as_str(), "sparql" | "sparql_query") => out.push(text.clone()),
                    value => queries(value, out),
                }
            }
        }
        serde_json::Value::Array(list) => list.iter().for_each(|value| queries(value, out)),
        _ => {}
    }
}

#[test]
fn published_queries_parse() {
    let Some(root) = datasets() else { return };
    let mut failures = Vec::new();
    for file in ["gold-sparql/cwq", "gold-sparql/grailqa", "gold-sparql/lcquad1-train", "gold-sparql/qald10", "gold-sparql/qald9-train-multilingual",
        "gold-sparql/yago-qa", "cwq-mini/questions", "dbpedia-slice/qald9", "dbpedia-slice/lcquad1", "spider4sparql/questions"] {
        let mut all = Vec::new();
        queries(&json(&root.join(format!("{file}.json.gz"))), &mut all);
        let bad: Vec<_> = all.iter().filter_map(|q| kg::parse_query(q).err().map(|e| (q, e))).collect();
        println!("{file}: {} of {} parse", all.len() - bad.len(), all.len());
        for (q, e) in &bad { println!("   {e}\n      << {}", q.replace('\n', " ")); }
        failures.push((file, bad.len(), all.len()));
    }
    for (file, bad, all) in failures { assert!(bad * 100 <= all, "{file}: {bad} of {all} queries do not parse"); }
}

fn answers(kg: &MemoryKg, text: &str) -> Result<Vec<String>, String> {
    let query = kg::parse_query(text).map_err(|e| e.to_string())?;
    let mut out: Vec<String> = match kg.query(&query, QueryLimits::default()).map_err(|e| e.to_string())? {
        QueryAnswer::Bool(b) => vec![b.to_string()],
        QueryAnswer::Rows { rows, .. } => rows
            .into_iter()
            .filter_map(|row| row.into_iter().next().flatten())
            .map(|term| match term {
                toolbox::term::Term::Iri(iri) => iri,
                toolbox::term::Term::Blank(id) => id,
                toolbox::term::Term::Literal(l) => l.lexical,
            })
            .collect(),
    };
    out.sort();
    out.dedup();
    Ok(out)
}

#[test]
fn development_sets_answer() {
    let Some(root) = datasets() else { return };
    let load = |file: &str| {
        let start = Instant::now();
        let kg = MemoryKg::load(&[root.join(file)], &LoadOptions::default(), &|_| {}).unwrap();
        println!("{file}: {} triples, {} terms in {:?}", kg.len(), kg.term_count(), start.elapsed());
        kg
    };
    let dbpedia = load("dbpedia-slice/kg.nt.gz");
    for set in ["qald9", "lcquad1"] {
        let questions = json(&root.join(format!("dbpedia-slice/{set}.json.gz")));
        let (mut right, mut all) = (0, 0);
        let start = Instant::now();
        for q in questions.as_array().unwrap() {
            let mut want: Vec<String> = q["on_mini"].as_array().unwrap().iter().map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned)).collect();
            want.sort();
            want.dedup();
            let got = answers(&dbpedia, q["sparql"].as_str().unwrap());
            all += 1;
            if got.as_ref() == Ok(&want) { right += 1 } else { println!("{set}: {} want {want:?} got {got:?}", q["sparql"]); }
        }
        println!("{set}: {right} of {all} in {:?}", start.elapsed());
    }
    let cwq = load("cwq-mini/kg.nt.gz");
    let questions = json(&root.join("cwq-mini/questions.json.gz"));
    let (mut right, mut all) = (0, 0);
    let start = Instant::now();
    for q in questions.as_array().unwrap() {
        let gold: Vec<String> = q["gold"].as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect();
        let got = answers(&cwq, q["sparql"].as_str().unwrap()).unwrap_or_else(|e| panic!("{e}"));
        let mut names: Vec<String> = got.iter().map(|a| cwq.by_name(a).and_then(|n| cwq.label(n)).unwrap_or_else(|| a.clone()).to_lowercase()).collect();
        names.sort();
        names.dedup();
        all += 1;
        if names == gold { right += 1 } else { println!("cwq {}: {} want {gold:?} got {names:?}", q["match"], q["sparql"]); }
    }
    println!("cwq-mini: {right} of {all} in {:?}", start.elapsed());
    load("metaqa/kb.txt.gz");
}
