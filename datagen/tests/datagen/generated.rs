//! Gold queries and their programs on graphs generated from the queries: whenever a query converts,
//! both have the same answer.
//!
//! The queries of `tests/data/queries.txt` always run, the published sets only if they are next to
//! the repository. `KGAGENT_TEST_GRAPHS=20` generates 20 graphs for every query of the sets.
//! Without it a tenth of them (at least 100) get two graphs each, which keeps the test fast.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::io::Write as _;
use std::path::PathBuf;

use crate::fingerprint;
use crate::frozen::Frozen;
use crate::reference::{self, Outcome, Reference, compare};
use datagen::convert::{Context, convert};
use kg::parse_query;
use kg::spargebra::Query;
use rayon::prelude::*;
use toolbox::call::ToolTable;

#[derive(Debug, Default, Clone)]
struct Tally {
    queries: usize,
    /// Queries that convert without a graph.
    convert: usize,
    /// Queries compared on at least one graph.
    reached: usize,
    graphs: usize,
    compared: usize,
    empty: usize,
    ties: usize,
    refused: BTreeMap<String, usize>,
    failed: usize,
    /// Programs that no query expresses, and programs whose query converts again.
    inexpressible: usize,
    again: usize,
    differ: Vec<String>,
    untouched: Vec<String>,
}

impl Tally {
    fn add(mut self, other: Self) -> Self {
        self.queries += other.queries;
        self.convert += other.convert;
        self.reached += other.reached;
        self.graphs += other.graphs;
        self.compared += other.compared;
        self.empty += other.empty;
        self.ties += other.ties;
        self.failed += other.failed;
        self.inexpressible += other.inexpressible;
        self.again += other.again;
        for (reason, count) in other.refused {
            *self.refused.entry(reason).or_default() += count;
        }
        self.differ.extend(other.differ);
        self.untouched.extend(other.untouched);
        self
    }
}

fn check(text: &str, query: &Query, graphs: u64, seed: u64) -> Tally {
    let mut tally = Tally {
        queries: 1,
        ..Tally::default()
    };
    tally.convert = usize::from(convert(query, &Context::default()).is_ok());
    let frozen = Frozen::of(query);
    for i in 0..graphs {
        let kg = frozen.graph(seed.wrapping_mul(1_000_003).wrapping_add(i));
        tally.graphs += 1;
        let reference = match Reference::of(&kg, query) {
            Some(reference) if !reference.is_empty() => reference,
            _ => {
                tally.empty += 1;
                continue;
            }
        };
        match compare(&kg, query, &reference) {
            Outcome::Same { tied, trip } => {
                tally.compared += 1;
                tally.ties += usize::from(tied);
                tally.again += usize::from(trip.converted);
                tally.differ.extend(
                    trip.wrong
                        .map(|how| format!("--- {text}\n{how}\n{}", reference::triples(&kg))),
                );
                if let Some(why) = trip.inexpressible {
                    tally.inexpressible += 1;
                    if std::env::var_os("SHOW_INEXPRESSIBLE").is_some() {
                        eprintln!("--- {text}\n{why}\n{}", reference::triples(&kg));
                    }
                }
            }
            Outcome::Refused(reason) => *tally.refused.entry(reason).or_default() += 1,
            Outcome::Failed(why) => {
                tally.failed += 1;
                if std::env::var_os("SHOW_FAILED").is_some() {
                    eprintln!("--- {text}\n{why}");
                }
            }
            Outcome::Differs(how) => tally
                .differ
                .push(format!("--- {text}\n{how}\n{}", reference::triples(&kg))),
        }
    }
    tally.reached = usize::from(tally.compared > 0);
    if tally.convert > tally.reached {
        tally.untouched.push(format!(
            "{:?} failed {} empty {}: {text}",
            tally.refused, tally.failed, tally.empty
        ));
    }
    tally
}

fn run(name: &str, queries: &[String], graphs: u64) -> Tally {
    let begun = std::time::Instant::now();
    let one = |(i, text): (usize, &String)| match parse_query(text) {
        Ok(query) => check(text, &query, graphs, i as u64 + 1),
        Err(_) => Tally {
            queries: 1,
            ..Tally::default()
        },
    };
    let tally = queries
        .par_iter()
        .enumerate()
        .map(one)
        .reduce(Tally::default, Tally::add);
    eprintln!(
        "{name}: {} queries, {} convert, {} reached; {} graphs: {} compared, {} tied, {} empty, {} failed, refused {:?}; round trip: {} inexpressible, {} convert again; {:.1} s",
        tally.queries,
        tally.convert,
        tally.reached,
        tally.graphs,
        tally.compared,
        tally.ties,
        tally.empty,
        tally.failed,
        tally.refused,
        tally.inexpressible,
        tally.again,
        begun.elapsed().as_secs_f64()
    );
    if std::env::var_os("SHOW_UNTOUCHED").is_some() {
        tally
            .untouched
            .iter()
            .for_each(|text| eprintln!("untouched {text}"));
    }
    let some: Vec<&String> = tally.differ.iter().take(3).collect();
    assert!(
        tally.differ.is_empty(),
        "{} answers differ:\n{}",
        tally.differ.len(),
        some.into_iter().cloned().collect::<Vec<_>>().join("\n")
    );
    tally
}

/// Every query of `queries.txt` converts to the programs that it did: without a graph and on two graphs of its own,
/// with both tables of tools. `BLESS=1` writes down their fingerprints.
fn same_programs(text: &str, queries: &[String]) {
    let found: Vec<(String, String)> = (queries.iter().enumerate())
        .map(|(seed, text)| {
            let query = parse_query(text).unwrap();
            let frozen = Frozen::of(&query);
            let graphs = [0, 1].map(|i| frozen.graph(1_000_003 * (seed as u64 + 1) + i));
            let mut contexts = Vec::new();
            for tools in [ToolTable::Paper, ToolTable::Extended] {
                for kg in [None, Some(&graphs[0]), Some(&graphs[1])] {
                    contexts.push(Context {
                        kg: kg.map(|kg| kg as &dyn kg::Kg),
                        tools,
                        ..Context::default()
                    });
                }
            }
            let programs = fingerprint::programs(&query, &contexts);
            (fingerprint::of(&programs), programs)
        })
        .collect();
    let mut next = found.iter();
    if std::env::var_os("BLESS").is_some() {
        let lines = text.lines().map(|line| {
            if line.is_empty() || line.starts_with('#') {
                return format!("{line}\n");
            }
            let query = line.rsplit('\t').next().unwrap();
            format!("{}\t{query}\n", next.next().unwrap().0)
        });
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/queries.txt");
        std::fs::write(path, lines.collect::<String>()).unwrap();
        return;
    }
    for line in text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let (now, programs) = next.next().unwrap();
        assert!(
            line.starts_with(now.as_str()),
            "{line}\nnow {now}:\n{programs}"
        );
    }
}

/// Queries of every shape, written for this test with the vocabulary of the toy graph.
/// Rules R8 to R13: comparisons of the tools against those of SPARQL.
#[test]
fn written_queries_on_their_own_graphs() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/queries.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let head = "PREFIX : <http://ex.org/ns/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> ";
    let queries: Vec<String> = (text.lines())
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| format!("{head}{}", line.rsplit('\t').next().unwrap()))
        .collect();
    assert!(queries.len() > 40);
    same_programs(&text, &queries);
    let tally = run("written", &queries, 10);
    let queries: BTreeSet<&String> = queries.iter().collect();
    assert_eq!(queries.len(), tally.queries);
    assert_eq!(
        tally.reached, tally.queries,
        "not one graph compared: {:#?}",
        tally.untouched
    );
}

/// The gold queries of a published set, of which at least `least` per cent of the graphs with an
/// answer are compared.
fn published(file: &str, least: usize, query_of: fn(&serde_json::Value) -> Option<&str>) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/datasets")
        .join(file);
    if !path.exists() {
        let _ = writeln!(std::io::stderr(), "skipped: {file} is not on this machine");
        return;
    }
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    let data: serde_json::Value = serde_json::from_str(&text).unwrap();
    let records = data
        .as_array()
        .or_else(|| data["questions"].as_array())
        .unwrap();
    let all: Vec<String> = records
        .iter()
        .filter_map(query_of)
        .map(str::to_owned)
        .collect();
    let graphs: Option<u64> = std::env::var("KGAGENT_TEST_GRAPHS")
        .ok()
        .and_then(|text| text.parse().ok());
    let every = if graphs.is_some() {
        1
    } else {
        (all.len() / 100).clamp(1, 10)
    };
    let queries: Vec<String> = all.into_iter().step_by(every).collect();
    let tally = run(file, &queries, graphs.unwrap_or(2));
    let answered = tally.graphs - tally.empty;
    assert!(tally.compared * 100 > answered * least, "{tally:?}");
}

#[test]
fn lcquad1_on_its_own_graphs() {
    published("gold-sparql/lcquad1-train.json.gz", 50, |record| {
        record["sparql_query"].as_str()
    });
}

#[test]
fn grailqa_on_its_own_graphs() {
    published("gold-sparql/grailqa.json.gz", 50, |record| {
        record["sparql_query"].as_str()
    });
}

#[test]
fn cwq_on_its_own_graphs() {
    published("gold-sparql/cwq.json.gz", 50, |record| {
        record["sparql"].as_str()
    });
}

#[test]
fn qald_and_yago_on_their_own_graphs() {
    published(
        "gold-sparql/qald9-train-multilingual.json.gz",
        50,
        |record| record["query"]["sparql"].as_str(),
    );
    published("gold-sparql/qald10.json.gz", 50, |record| {
        record["sparql"].as_str()
    });
    published("gold-sparql/yago-qa.json.gz", 50, |record| {
        record["query"]["sparql"].as_str()
    });
}

/// Most of these queries need tables; those are compared in `extended.rs`.
#[test]
fn spider4sparql_on_its_own_graphs() {
    published("spider4sparql/questions.json.gz", 20, |record| {
        record["sparql"].as_str()
    });
}
