//! How many of the published gold queries convert, without a graph and on the graph of cwq-mini. The sets stand beside the repository on
//! the machines where we develop; elsewhere these tests say that they skip.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;

use datagen::convert::{Context, convert};
use datagen::refusal::Refusal;
use serde_json::Value as Json;
use toolbox::exec::{ExecOptions, Exclude, ExcludeWhen, Session, Value, run_program};
use toolbox::kg::{Kg, LoadOptions, MemoryKg, QueryAnswer, QueryLimits, parse_query};
use toolbox::link::Linked;
use toolbox::term::Term;

/// A file of the data sets, or `None`, said aloud, where they are absent.
fn dataset(name: &str) -> Option<PathBuf> {
    let folders = [env!("CARGO_MANIFEST_DIR"), "/work/main/datagen"];
    let path = folders.iter().map(|folder| PathBuf::from(folder).join("../../shared/datasets").join(name)).find(|path| path.exists());
    if path.is_none() {
        eprintln!("skipped: {name} is not on this machine");
    }
    path
}

fn json(path: &PathBuf) -> Json {
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Converts every query without a graph; returns the share converted and prints the reasons for the rest.
fn coverage(file: &str, query_of: fn(&Json) -> Option<&str>) -> Option<f64> {
    let data = json(&dataset(&format!("gold-sparql/{file}"))?);
    let records = data.as_array().or_else(|| data["questions"].as_array()).unwrap();
    let (mut total, mut converted) = (0_u32, 0_u32);
    let mut reasons: BTreeMap<Refusal, Vec<&str>> = BTreeMap::new();
    for record in records {
        let Some(text) = query_of(record) else { continue };
        total += 1;
        let result = parse_query(text).map_err(|_| Refusal::Syntax).and_then(|query| convert(&query, &Context::default()));
        match result {
            Ok(_) => converted += 1,
            Err(reason) => reasons.entry(reason).or_default().push(text),
        }
    }
    let share = f64::from(converted) / f64::from(total);
    eprintln!("{file}: {converted} of {total} convert, {:.2} %", share * 100.0);
    for (reason, queries) in &reasons {
        eprintln!("  {} {}", queries.len(), reason.name());
        if std::env::var_os("SHOW_REFUSED").is_some() {
            queries.iter().for_each(|query| eprintln!("    {}", query.split_whitespace().collect::<Vec<_>>().join(" ")));
        }
    }
    Some(share)
}

fn at_least(share: Option<f64>, wanted: f64) {
    if let Some(share) = share {
        assert!(share >= wanted, "{share} is below {wanted}");
    }
}

#[test]
fn lcquad1() {
    at_least(coverage("lcquad1-train.json.gz", |record| record["sparql_query"].as_str()), 0.97);
}

#[test]
fn grailqa() {
    at_least(coverage("grailqa.json.gz", |record| record["sparql_query"].as_str()), 0.95);
}

#[test]
fn cwq() {
    at_least(coverage("cwq.json.gz", |record| record["sparql"].as_str()), 0.90);
}

#[test]
fn qald_and_yago() {
    at_least(coverage("yago-qa.json.gz", |record| record["query"]["sparql"].as_str()), 0.8);
    at_least(coverage("qald9-train-multilingual.json.gz", |record| record["query"]["sparql"].as_str()), 0.3);
    at_least(coverage("qald10.json.gz", |record| record["sparql"].as_str()), 0.2);
}

/// What a gold query returns, as the set of its one column.
fn gold(kg: &MemoryKg, query: &toolbox::kg::spargebra::Query) -> Vec<Term> {
    let mut terms: Vec<Term> = match kg.query(query, QueryLimits::default()) {
        Ok(QueryAnswer::Rows { rows, .. }) => rows.into_iter().filter_map(|mut row| row.remove(0)).collect(),
        _ => Vec::new(),
    };
    terms.sort();
    terms.dedup();
    terms
}

#[test]
fn cwq_mini_converts_and_agrees() {
    let (Some(graph), Some(questions)) = (dataset("cwq-mini/kg.nt.gz"), dataset("cwq-mini/questions.json.gz")) else { return };
    let kg = MemoryKg::load(&[graph], &LoadOptions::default(), &|_| {}).unwrap();
    let data = json(&questions);
    let (mut total, mut converted, mut agree) = (0_u32, 0_u32, 0_u32);
    for record in data.as_array().unwrap() {
        total += 1;
        let (id, text) = (record["id"].as_str().unwrap(), record["sparql"].as_str().unwrap());
        let query = parse_query(text).unwrap();
        let topics: Vec<Term> =
            record["topic"].as_object().unwrap().keys().map(|id| Term::Iri(format!("http://rdf.freebase.com/ns/{id}"))).collect();
        let program = match convert(&query, &Context { kg: Some(&kg), topics: &topics }) {
            Ok(program) => program,
            Err(reason) => {
                eprintln!("{id} refused: {}\n{text}", reason.name());
                continue;
            }
        };
        converted += 1;
        let wanted = gold(&kg, &query);
        let nodes: Vec<_> = program.exclude.iter().filter_map(|term| kg.find(term)).collect();
        let options = ExecOptions { exclude: Exclude { nodes, when: ExcludeWhen::Answer }, ..ExecOptions::default() };
        let mut session = Session::new(&kg, "", Linked::default(), &[], options);
        let got = match run_program(&mut session, &program.calls) {
            Ok(Value::Set(set)) => set.iter().map(|&node| kg.term(node)).collect::<Vec<_>>(),
            other => {
                eprintln!("{id}: {other:?}");
                continue;
            }
        };
        // Ties: LIMIT 1 keeps one of them, the program all (spec A.2.4).
        let tied = text.contains("LIMIT") && wanted.iter().all(|term| got.contains(term));
        if !wanted.is_empty() && (wanted == got || tied) {
            agree += 1;
        } else {
            let calls: Vec<String> = program.calls.iter().map(ToString::to_string).collect();
            eprintln!("{id} differs:\n{text}\n{}\ngold {wanted:?}\ngot {got:?}", calls.join("\n"));
        }
    }
    eprintln!("cwq-mini: {converted} of {total} convert, {agree} agree");
    assert!(f64::from(agree) >= 0.97 * f64::from(total));
}
