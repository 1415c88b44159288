//! The extended tools on the spider4sparql development set: how many questions convert and agree.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use datagen::question::{GoldQuery, GoldQuestion};
use datagen::verify::{VerifyOptions, verify};
use kg::{FrozenKg, LoadOptions};
use rayon::prelude::*;
use serde_json::Value;
use toolbox::call::ToolTable;
use toolbox::exec::ExcludeWhen;

fn dataset(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("KGAGENT_DATASETS").map(PathBuf::from)?;
    Some(root.join(name)).filter(|path| path.exists())
}

fn read(path: &PathBuf) -> Value {
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(file), &mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn spider() {
    let questions = read(&dataset("spider4sparql/questions.json.gz").unwrap());
    let mut graphs: BTreeMap<String, FrozenKg> = BTreeMap::new();
    for record in questions.as_array().unwrap() {
        let name = record["kg"].as_str().unwrap();
        graphs.entry(name.to_owned()).or_insert_with(|| {
            let path = dataset(&format!("spider4sparql/{name}.nt.gz")).unwrap();
            FrozenKg::load(&[path], &LoadOptions::default(), &|_| {}).unwrap()
        });
    }
    let options = VerifyOptions {
        tools: ToolTable::Extended,
        ..VerifyOptions::default()
    };
    let results: Vec<_> = questions
        .as_array()
        .unwrap()
        .par_iter()
        .enumerate()
        .map(|(i, record)| {
            let question = GoldQuestion {
                id: i.to_string(),
                source: "jsonl".to_owned(),
                question: record["question"].as_str().unwrap().to_owned(),
                query: GoldQuery::Text(record["sparql"].as_str().unwrap().to_owned()),
                topics: Vec::new(),
                answers: None,
                answers_bind: false,
                hops: None,
                kind: None,
                exclude: ExcludeWhen::Never,
            };
            verify(&graphs[record["kg"].as_str().unwrap()], &question, &options)
                .map(|verified| {
                    let calls = verified.gold.calls.iter();
                    calls.map(ToString::to_string).collect::<Vec<_>>().join("\n")
                })
                .map_err(|refused| format!("{}: {}", refused.reason.name(), refused.detail))
        })
        .collect();
    let mut kept = 0;
    let mut why: BTreeMap<String, usize> = BTreeMap::new();
    for (record, result) in questions.as_array().unwrap().iter().zip(&results) {
        match result {
            Ok(program) => {
                kept += 1;
                if std::env::var_os("SHOW_PROGRAMS").is_some() {
                    eprintln!("KEPT {}\n{}\n{program}\n", record["question"], record["sparql"]);
                }
            }
            Err(reason) => {
                *why.entry(reason.split(':').next().unwrap().to_owned()).or_default() += 1;
                eprintln!("REFUSED {reason}\n{}\n{}\n", record["question"], record["sparql"]);
            }
        }
    }
    eprintln!("{kept} of {}: {why:?}", results.len());
}
