//! The frozen graph against oxigraph's memory store, on one graph and in one run.
//!
//! ```text
//! cargo bench -p toolbox --bench graph -- [FILE.nt[.gz]] [TRIPLES] [THREADS]
//! ```
//!
//! The graph is FILE with its entities renamed again and again until there are TRIPLES triples (1,000,000 without a number); without a file
//! it is a made-up one. Every copy keeps relations, classes and literals, so it has the shape of the original. Each side is measured in a
//! process of its own (this program calls itself), because memory given back by one is still counted for it. `BENCH_DIR` names a folder
//! for the files.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr
)]

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use flate2::bufread::MultiGzDecoder;
use kg::term::{NodeId, RelId, Term};
use kg::{GraphFolder, Kg, LoadOptions};
use oxigraph::io::{RdfFormat, RdfParser};
use oxigraph::model::{NamedNodeRef, TermRef};
use oxigraph::store::Store;
use toolbox::call::{Arg, parse_program};
use toolbox::exec::{ExecOptions, Session};
use toolbox::link::Linked;

/// Entities of the set that `get_relation` is asked about.
const SET: usize = 10_000;
/// One-hop look-ups that are timed.
const LOOKUPS: usize = 100_000;

/// What is measured, in the order of the table.
const ROWS: &[(&str, &str)] = &[
    ("load", "triples/s"),
    ("processor time of loading", "µs/triple"),
    ("most memory while loading", "MB"),
    ("disk", "bytes/triple"),
    ("open", "ms"),
    ("memory after opening", "MB"),
    ("memory after the look-ups", "MB"),
    ("tails of subject and relation", "ns"),
    ("heads of relation and object", "ns"),
    ("all edges of a subject", "ns"),
    ("relations of 10,000 entities, first time", "ms"),
    ("relations of 10,000 entities", "ms"),
    ("get_relation on 10,000 entities", "ms"),
    ("triples found by the look-ups", ""),
];

fn main() {
    // Cargo passes `--bench`.
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["part", what, dir, threads] => part(what, Path::new(dir), threads.parse().unwrap()),
        _ => compare(&args),
    }
}

fn compare(args: &[String]) {
    let file = args.iter().find(|arg| arg.contains(".nt"));
    let numbers: Vec<usize> = args.iter().filter_map(|arg| arg.parse().ok()).collect();
    let triples = numbers.first().copied().unwrap_or(1_000_000);
    let threads = numbers.get(1).copied().unwrap_or(2);
    let dir = tempfile::tempdir_in(
        std::env::var_os("BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from),
    )
    .unwrap();
    let nt = dir.path().join("graph.nt");
    match file {
        Some(file) => replicate(Path::new(file), triples, &nt),
        None => invent(triples, &nt),
    }
    println!(
        "{triples} lines, {} MB of N-Triples, {threads} threads for loading",
        std::fs::metadata(&nt).unwrap().len() >> 20
    );
    let run = |what: &str| -> Vec<(String, f64)> {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let out = command
            .args(["part", what])
            .arg(dir.path())
            .arg(threads.to_string())
            .output()
            .unwrap();
        assert!(
            out.status.success(),
            "{what}: {}",
            String::from_utf8_lossy(&out.stderr)
        );
        let text = String::from_utf8(out.stdout).unwrap();
        text.lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
            .collect()
    };
    let theirs = run("store");
    let mut ours = run("load");
    ours.extend(run("frozen"));
    let get = |rows: &[(String, f64)], name: &str| {
        rows.iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| *value)
    };
    println!(
        "{:<48} {:>12} {:>14} {:>9}",
        "", "frozen", "oxigraph", "ratio"
    );
    for &(name, unit) in ROWS {
        let (a, b) = (get(&ours, name), get(&theirs, name));
        let cell = |value: Option<f64>| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"))
        };
        let ratio = a.zip(b).map_or_else(String::new, |(a, b)| {
            format!("{:.1}", if unit == "triples/s" { a / b } else { b / a })
        });
        println!(
            "{:<48} {:>12} {:>14} {:>9}",
            format!("{name} ({unit})"),
            cell(a),
            cell(b),
            ratio
        );
    }
}

/// One side, in a process of its own.
fn part(what: &str, dir: &Path, threads: usize) {
    let nt = dir.join("graph.nt");
    match what {
        "load" => load(dir, nt, threads),
        "frozen" => frozen(dir, &samples(&nt)),
        "store" => store(&nt),
        other => panic!("no part `{other}`"),
    }
}

fn say(name: &str, value: f64) {
    println!("{name}={value}");
}

fn load(dir: &Path, nt: PathBuf, threads: usize) {
    let start = Instant::now();
    let options = LoadOptions {
        threads,
        ..LoadOptions::default()
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap();
    let (kg, _) = pool
        .install(|| GraphFolder::load(&dir.join("kg"), &[nt], &options, &|_| {}))
        .unwrap();
    say("load", kg.len() as f64 / start.elapsed().as_secs_f64());
    say(
        "processor time of loading",
        processor_time() * 1e6 / kg.len() as f64,
    );
    say("most memory while loading", resident("VmHWM"));
    let disk: u64 = std::fs::read_dir(dir.join("kg"))
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    say("disk", disk as f64 / kg.len() as f64);
}

fn frozen(dir: &Path, samples: &[[String; 3]]) {
    let before = resident("VmRSS");
    let start = Instant::now();
    let kg = GraphFolder::open(&dir.join("kg")).unwrap();
    say("open", ms(start.elapsed()));
    say("memory after opening", resident("VmRSS") - before);
    let id = |text: &str| kg.find(&Term::Iri(text.to_owned())).unwrap();
    let ids: Vec<(NodeId, RelId, NodeId)> = samples
        .iter()
        .map(|[s, p, o]| (id(s), id(p).relation(), id(o)))
        .collect();
    let mut found = 0;
    // Every row is looked at, as by whoever asks for them.
    let all = |nodes: &[NodeId]| nodes.iter().filter(|node| node.0 < u32::MAX).count();
    say(
        "tails of subject and relation",
        each(&ids, |&(s, p, _)| found += all(&kg.tails(s, p))),
    );
    say(
        "heads of relation and object",
        each(&ids, |&(_, p, o)| found += all(&kg.heads(p, o))),
    );
    say(
        "all edges of a subject",
        each(&ids, |&(s, ..)| {
            found += kg.outgoing(s).filter(|(_, o)| o.0 < u32::MAX).count()
        }),
    );
    say("triples found by the look-ups", found as f64);
    let set: Vec<NodeId> = spread(ids.iter().map(|&(s, ..)| s).collect());
    for name in [
        "relations of 10,000 entities, first time",
        "relations of 10,000 entities",
    ] {
        let start = Instant::now();
        assert!(!kg.relations_of(&set)[0].is_empty());
        say(name, ms(start.elapsed()));
    }
    // The set is a variable, as in any program that comes to have so many.
    let mut calls = parse_program("v0 = union(a, a); get_relation(v0)").unwrap();
    calls[0].args[0] = Arg::List(set.iter().map(|&node| Arg::Name(kg.name(node))).collect());
    calls[0].args[1] = Arg::Name(kg.name(set[0]));
    let best = (0..5).map(|_| {
        let mut session = Session::new(
            &kg,
            "which film did they direct?",
            Linked::default(),
            &[],
            ExecOptions::default(),
        )
        .unwrap();
        session.run(&calls[0]).unwrap();
        let start = Instant::now();
        session.run(&calls[1]).unwrap();
        ms(start.elapsed())
    });
    say(
        "get_relation on 10,000 entities",
        best.fold(f64::MAX, f64::min),
    );
    say("memory after the look-ups", resident("VmRSS") - before);
}

fn store(nt: &Path) {
    fn node(text: &str) -> NamedNodeRef<'_> {
        NamedNodeRef::new(text).unwrap()
    }
    let start = Instant::now();
    let store = Store::new().unwrap();
    let mut loader = store.bulk_loader();
    loader
        .load_from_reader(
            RdfParser::from_format(RdfFormat::NTriples),
            BufReader::new(File::open(nt).unwrap()),
        )
        .unwrap();
    loader.commit().unwrap();
    let took = start.elapsed();
    say("load", store.len().unwrap() as f64 / took.as_secs_f64());
    say(
        "processor time of loading",
        processor_time() * 1e6 / store.len().unwrap() as f64,
    );
    say("most memory while loading", resident("VmHWM"));
    // It is gone with its process: opening it is loading it.
    say("open", ms(took));
    say("memory after opening", resident("VmRSS"));
    let samples = samples(nt);
    let mut found = 0;
    let mut count = |s: Option<&str>, p: Option<&str>, o: Option<&str>| {
        found += store
            .quads_for_pattern(
                s.map(|s| node(s).into()),
                p.map(node),
                o.map(|o| TermRef::from(node(o))),
                None,
            )
            .count();
    };
    say(
        "tails of subject and relation",
        each(&samples, |[s, p, _]| count(Some(s), Some(p), None)),
    );
    say(
        "heads of relation and object",
        each(&samples, |[_, p, o]| count(None, Some(p), Some(o))),
    );
    say(
        "all edges of a subject",
        each(&samples, |[s, ..]| count(Some(s), None, None)),
    );
    say("triples found by the look-ups", found as f64);
    let set: Vec<&str> = spread(samples.iter().map(|[s, ..]| s.as_str()).collect());
    let start = Instant::now();
    let mut relations = BTreeSet::new();
    for s in set {
        for (subject, object) in [(Some(node(s)), None), (None, Some(node(s)))] {
            let quads = store.quads_for_pattern(
                subject.map(Into::into),
                None,
                object.map(TermRef::from),
                None,
            );
            relations.extend(quads.map(|quad| quad.unwrap().predicate));
        }
    }
    say("relations of 10,000 entities", ms(start.elapsed()));
    say("memory after the look-ups", resident("VmRSS"));
}

/// [`SET`] of the distinct items, from all over them.
fn spread<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort_unstable();
    items.dedup();
    let step = (items.len() / SET).max(1);
    let set: Vec<T> = items.into_iter().step_by(step).take(SET).collect();
    if set.len() < SET {
        eprintln!("only {} entities: the graph is small", set.len());
    }
    set
}

fn ms(took: Duration) -> f64 {
    took.as_secs_f64() * 1e3
}

/// Nanoseconds of one call.
fn each<T>(items: &[T], mut work: impl FnMut(&T)) -> f64 {
    let start = Instant::now();
    items.iter().for_each(&mut work);
    start.elapsed().as_secs_f64() * 1e9 / items.len() as f64
}

/// Seconds that this process has computed on all cores, from `/proc/self/stat` (in hundredths); 0 where there is none.
fn processor_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace();
    fields
        .skip(11)
        .take(2)
        .filter_map(|ticks| ticks.parse::<f64>().ok())
        .sum::<f64>()
        / 100.0
}

/// A line of `/proc/self/status` in MB; 0 where there is none.
fn resident(what: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(what)?.strip_prefix(':'));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok())
        .map_or(0.0, |kib| kib / 1024.0)
}

/// Triples between entities from all over the file, in an order that jumps about.
fn samples(nt: &Path) -> Vec<[String; 3]> {
    let size = std::fs::metadata(nt).unwrap().len();
    // Some 140 bytes a line, and most objects are entities.
    let every = (size / 140 / (LOOKUPS as u64 * 2)).max(1) as usize;
    let lines = BufReader::with_capacity(1 << 20, File::open(nt).unwrap())
        .lines()
        .step_by(every);
    let triple = |line: String| {
        let mut parts = line.split(' ');
        let mut part = || {
            Some(
                parts
                    .next()?
                    .strip_prefix('<')?
                    .strip_suffix('>')?
                    .to_owned(),
            )
        };
        Some([part()?, part()?, part()?])
    };
    let mut out: Vec<[String; 3]> = lines.filter_map(|line| triple(line.unwrap())).collect();
    let len = out.len();
    for i in 0..len {
        out.swap(i, i.wrapping_mul(2_654_435_761) % len);
    }
    out.truncate(LOOKUPS);
    out
}

/// Copies of a file in which every entity has a number behind it.
fn replicate(file: &Path, triples: usize, out: &Path) {
    let reader = BufReader::new(File::open(file).unwrap());
    let reader: Box<dyn BufRead> = if file.extension().is_some_and(|e| e == "gz") {
        Box::new(BufReader::new(MultiGzDecoder::new(reader)))
    } else {
        Box::new(reader)
    };
    let lines: Vec<String> = reader
        .lines()
        .map(|line| line.unwrap())
        .filter(|line| line.starts_with('<'))
        .collect();
    let mut writer = BufWriter::with_capacity(1 << 20, File::create(out).unwrap());
    for written in 0..triples {
        let (copy, line) = (written / lines.len(), &lines[written % lines.len()]);
        let (subject, rest) = line.split_once("> ").expect("a line of N-Triples");
        let (relation, object) = rest.split_once("> ").expect("a line of N-Triples");
        let class = relation.ends_with("type") || relation.ends_with("notable_types");
        match object.strip_suffix("> .") {
            Some(entity) if object.starts_with('<') && !class => {
                writeln!(writer, "{subject}.x{copy}> {relation}> {entity}.x{copy}> .")
            }
            _ => writeln!(writer, "{subject}.x{copy}> {relation}> {object}"),
        }
        .unwrap();
    }
    writer.flush().unwrap();
}

/// A graph with hubs, labels, classes and years; entities are drawn as a product, so that few have many edges.
fn invent(triples: usize, out: &Path) {
    let mut writer = BufWriter::with_capacity(1 << 20, File::create(out).unwrap());
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |n: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % n
    };
    let entities = (triples as u64 / 12).max(20);
    let xsd = "http://www.w3.org/2001/XMLSchema#";
    for written in 0..triples as u64 {
        let s = written / 12;
        let rest = match written % 12 {
            0 => format!("<http://www.w3.org/2000/01/rdf-schema#label> \"Entity number {s}\"@en"),
            1 => format!(
                "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://bench.test/C{}>",
                s % 97
            ),
            2 => format!(
                "<http://bench.test/year> \"{}\"^^<{xsd}gYear>",
                1900 + random(120)
            ),
            k => format!(
                "<http://bench.test/r{}> <http://bench.test/e{}>",
                random(40) * 10 + k,
                random(entities) * random(entities) / entities
            ),
        };
        writeln!(writer, "<http://bench.test/e{s}> {rest} .").unwrap();
    }
    writer.flush().unwrap();
}
