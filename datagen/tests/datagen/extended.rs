//! Laws of the extended tools on the published sets (rules D.3): on graphs generated from each gold
//! query, a program that uses extended tools, its query, and the query made from the program give
//! the same rows. Programs of the thirteen tools are compared in `generated.rs`.
//!
//! `KGAGENT_TEST_GRAPHS=20` generates 20 graphs for every query. Without it a tenth of them (at
//! least 100) get two graphs each.

use std::collections::BTreeMap;
use std::io::Read;
use std::io::Write as _;
use std::path::PathBuf;

use crate::frozen::Frozen;
use crate::rows::{Rows, of_program, of_query};
use datagen::convert::{Context, convert};
use datagen::to_sparql::program_to_query;
use kg::parse_query;
use kg::spargebra::Query;
use rayon::prelude::*;
use toolbox::call::{ToolTable, print_program};

/// Finds the query in a record of a set.
type QueryOf = fn(&serde_json::Value) -> Option<&str>;

#[derive(Debug, Default)]
struct Tally {
    queries: usize,
    /// Queries that need extended tools without a graph, or on a graph.
    extended: usize,
    compared: usize,
    /// Programs that are written back and give the same rows.
    written: usize,
    /// Conversions that were refused on a graph, by reason.
    refused: BTreeMap<String, usize>,
    /// Programs that fail on their graph.
    failed: usize,
    differ: Vec<String>,
}

impl Tally {
    fn add(mut self, other: Self) -> Self {
        self.queries += other.queries;
        self.extended += other.extended;
        self.compared += other.compared;
        self.written += other.written;
        self.failed += other.failed;
        for (reason, count) in other.refused {
            *self.refused.entry(reason).or_default() += count;
        }
        self.differ.extend(other.differ);
        self
    }
}

/// Whether two lists of rows are equal: exactly, or as sets where the program answers with a set,
/// or in number where LIMIT chooses among equal keys.
fn same(ours: &Rows, gold: &Rows, table: bool, limited: bool) -> bool {
    let mut gold = gold.clone();
    if !table {
        gold.retain(|row| row.first().is_some_and(Option::is_some));
        gold.iter_mut().for_each(|row| row.truncate(1));
        gold.dedup();
    }
    if limited {
        ours.len() == gold.len()
    } else {
        *ours == gold
    }
}

fn check(text: &str, query: &Query, graphs: u64, seed: u64) -> Tally {
    let mut tally = Tally {
        queries: 1,
        ..Tally::default()
    };
    let frozen = Frozen::of(query);
    let limited = query.to_string().contains("LIMIT");
    let mut extended = false;
    for i in 0..graphs {
        let kg = frozen.graph(seed.wrapping_mul(1_000_003).wrapping_add(i));
        let context = |tools| Context {
            kg: Some(&kg),
            tools,
            ..Context::default()
        };
        if convert(query, &context(ToolTable::Paper)).is_ok() {
            continue;
        }
        let program = match convert(query, &context(ToolTable::Extended)) {
            Ok(program) => program,
            Err(reason) => {
                *tally.refused.entry(reason.name()).or_default() += 1;
                continue;
            }
        };
        extended = true;
        let Some(gold) = of_query(&kg, query) else {
            continue;
        };
        let Ok(ours) = of_program(&kg, &program) else {
            tally.failed += 1;
            continue;
        };
        tally.compared += 1;
        let shown = print_program(&program.calls);
        let table = program.makes_table();
        if !same(&ours, &gold, table, limited) {
            let how = format!("--- {text}\n{shown}\nprogram {ours:?}\nquery {gold:?}");
            tally.differ.push(how);
            continue;
        }
        if let Ok(back) = program_to_query(&kg, &program.calls, &[])
            && let Some(rows) = of_query(&kg, &back)
        {
            tally.written += 1;
            if !same(&ours, &rows, table, limited) {
                let how = format!("--- {text}\n{shown}\n{back}\nprogram {ours:?}\nback {rows:?}");
                tally.differ.push(how);
            }
        }
    }
    tally.extended = usize::from(extended);
    tally
}

/// Compares the gold queries of a file; the number of graphs on which one differs.
fn published(file: &str, query_of: fn(&serde_json::Value) -> Option<&str>) -> usize {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/datasets")
        .join(file);
    if !path.exists() {
        let _ = writeln!(std::io::stderr(), "skipped: {file} is not on this machine");
        return 0;
    }
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    let data: serde_json::Value = serde_json::from_str(&text).unwrap();
    let records = data.as_array().or_else(|| data["questions"].as_array());
    let all: Vec<&str> = records.unwrap().iter().filter_map(query_of).collect();
    let graphs = std::env::var("KGAGENT_TEST_GRAPHS").ok();
    let graphs: Option<u64> = graphs.and_then(|text| text.parse().ok());
    let every = match graphs {
        Some(_) => 1,
        None => (all.len() / 100).clamp(1, 10),
    };
    let queries: Vec<&str> = all.into_iter().step_by(every).collect();
    let one = |(i, text): (usize, &&str)| match parse_query(text) {
        Ok(query) => check(text, &query, graphs.unwrap_or(2), i as u64 + 1),
        Err(_) => Tally::default(),
    };
    let tally = queries
        .par_iter()
        .enumerate()
        .map(one)
        .reduce(Tally::default, Tally::add);
    eprintln!(
        "{file}: {} queries, {} with extended tools, {} compared, {} written back, {} failed, refused {:?}, {} differ",
        tally.queries,
        tally.extended,
        tally.compared,
        tally.written,
        tally.failed,
        tally.refused,
        tally.differ.len()
    );
    let shown = if std::env::var_os("SHOW_DIFFERING").is_some() {
        usize::MAX
    } else {
        3
    };
    let differ = tally.differ.iter().take(shown);
    differ.for_each(|how| eprintln!("{how}"));
    tally.differ.len()
}

/// The law of rules D.3 on every set with such queries.
#[test]
fn programs_of_published_queries_give_their_rows() {
    let sets: [(&str, QueryOf); 7] = [
        ("spider4sparql/questions.json.gz", |record| {
            record["sparql"].as_str()
        }),
        ("gold-sparql/qald9-train-multilingual.json.gz", |record| {
            record["query"]["sparql"].as_str()
        }),
        ("gold-sparql/qald10.json.gz", |record| {
            record["sparql"].as_str()
        }),
        ("gold-sparql/cwq.json.gz", |record| {
            record["sparql"].as_str()
        }),
        ("gold-sparql/lcquad1-train.json.gz", |record| {
            record["sparql_query"].as_str()
        }),
        ("gold-sparql/grailqa.json.gz", |record| {
            record["sparql_query"].as_str()
        }),
        ("gold-sparql/yago-qa.json.gz", |record| {
            record["query"]["sparql"].as_str()
        }),
    ];
    let differ: usize = sets.iter().map(|(file, of)| published(file, *of)).sum();
    assert_eq!(differ, 0);
}
