//! Speed of `datagen gold` as ratios within one run: against only executing the gold queries, and two threads against one.
//!
//! ```sh
//! cargo bench -p datagen --bench gold                                              # the demo graph and its templates
//! cargo bench -p datagen --bench gold -- KG_FILE FORMAT=PATH [ROUNDS]              # any graph and source
//! ```
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::cast_precision_loss)]

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use datagen::pipeline::GenerateOptions;
use datagen::question::GoldQuestion;
use datagen::read::{ReadOptions, Source};
use datagen::report::Report;
use datagen::verify::parsed;
use datagen::write_dataset;
use toolbox::kg::{Kg, LoadOptions, MemoryKg, QueryLimits};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data");
    let (files, source) = match &args[..] {
        [kg, source, ..] => (vec![PathBuf::from(kg)], source.clone()),
        _ => (vec![data.join("graph.ttl"), data.join("ontology.ttl")], format!("templates={}", data.join("templates.jsonl").display())),
    };
    let rounds: usize = args.get(2).map_or(3, |rounds| rounds.parse().unwrap());
    let kg = MemoryKg::load(&files, &LoadOptions::default(), &|_| {}).unwrap();
    let source: Source = source.parse().unwrap();
    let read = || source.read(Some(&kg), &ReadOptions { per_template: 60, seed: 1 }).unwrap();
    let questions = read();
    println!("{} triples, {} questions", kg.len(), questions.len());

    let folder = tempfile::tempdir().unwrap();
    let mut best = [Duration::MAX; 4];
    let mut report = Report::default();
    for round in 0..rounds {
        let times = [
            time(|| execute(&questions, &kg)),
            time(|| drop(read())),
            time(|| report = gold(&questions, &kg, 1, &folder.path().join(format!("one{round}")))),
            time(|| drop(gold(&questions, &kg, 2, &folder.path().join(format!("two{round}"))))),
        ];
        for (best, time) in best.iter_mut().zip(times) {
            *best = (*best).min(time);
        }
    }
    let [queries, reading, one, two] = best.map(|time| time.as_secs_f64());
    let examples = report.total.examples as f64;
    println!("best of {rounds} rounds, seconds:");
    println!("  only the gold queries         {queries:8.3}");
    println!("  reading the questions         {reading:8.3}");
    println!("  datagen gold, one thread      {one:8.3}");
    println!("  datagen gold, two threads     {two:8.3}");
    println!("{} verified, {} examples, {} calls", report.total.verified, report.total.examples, report.total.steps);
    println!("reading and gold / queries, one thread   {:.2}   (at most 3)", (reading + one) / queries);
    println!("one thread / two threads                 {:.2}   (at least 1.8)", one / two);
    println!("seconds for 10,000 examples, two threads {:.1}   (at most 60)", (reading + two) / examples * 1e4);
}

fn time(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

/// What a run without conversion, programs and files would do: parse and run every gold query.
fn execute(questions: &[GoldQuestion], kg: &dyn Kg) {
    for question in questions {
        if let Ok(query) = parsed(question) {
            // Queries that fail are part of the work, as they are in the pipeline.
            let _ = kg.query(&query, QueryLimits::default());
        }
    }
}

fn gold(questions: &[GoldQuestion], kg: &dyn Kg, threads: usize, out: &Path) -> Report {
    let options = GenerateOptions { threads, seed: 1, ..GenerateOptions::default() };
    write_dataset(out, questions, kg, &options, &serde_json::json!({}), &|_, _| {}, &AtomicBool::new(false)).unwrap()
}
