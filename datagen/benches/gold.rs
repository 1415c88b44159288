//! Speed of `datagen gold` as ratios within one run: compared with only executing the gold queries,
//! and two threads compared with one. The hash of the output (seed 1) shows whether a change
//! affects it. The first ratio is of processor time, which load on the machine hardly changes; the
//! second is of wall-clock time and needs two idle cores.
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
use datagen::read::{QuestionSource, ReadOptions};
use datagen::report::Report;
use datagen::verify::parsed;
use datagen::write_dataset;
use kg::{FrozenKg, Kg, LoadOptions, QueryLimits};
use sha2::{Digest, Sha256};

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with("--"))
        .collect();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data");
    let (files, source) = match &args[..] {
        [kg, source, ..] => (vec![PathBuf::from(kg)], source.clone()),
        _ => (
            vec![data.join("graph.ttl"), data.join("ontology.ttl")],
            format!("templates={}", data.join("templates.jsonl").display()),
        ),
    };
    let rounds: usize = args.get(2).map_or(3, |rounds| rounds.parse().unwrap());
    let kg = FrozenKg::load(&files, &LoadOptions::default(), &|_| {}).unwrap();
    let source: QuestionSource = source.parse().unwrap();
    let read = || {
        source
            .read(
                Some(&kg),
                &ReadOptions {
                    per_template: 60,
                    seed: 1,
                },
            )
            .unwrap()
    };
    let questions = read();
    println!("{} triples, {} questions", kg.len(), questions.len());

    let folder = tempfile::tempdir().unwrap();
    let mut clock = [Duration::MAX; 4];
    let mut processor = [Duration::ZERO; 4];
    let mut report = Report::default();
    for round in 0..rounds {
        let out = |name: &str| folder.path().join(format!("{name}{round}"));
        let times = [
            time(|| execute(&questions, &kg)),
            time(|| drop(read())),
            time(|| report = gold(&questions, &kg, 1, &out("one"))),
            time(|| drop(gold(&questions, &kg, 2, &out("two")))),
        ];
        for (i, (wall, cpu)) in times.into_iter().enumerate() {
            clock[i] = clock[i].min(wall);
            processor[i] += cpu;
        }
    }
    let written =
        |name: &str| std::fs::read(folder.path().join(format!("{name}0/train.jsonl"))).unwrap();
    assert!(
        written("one") == written("two"),
        "two threads write different bytes"
    );
    let hash: String = Sha256::digest(written("one"))
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    println!("train.jsonl {hash}");
    let examples = report.total.examples as f64;
    println!("seconds:                       best of {rounds}   processor, mean");
    for (i, name) in [
        "only the gold queries",
        "reading the questions",
        "datagen gold, one thread",
        "datagen gold, two threads",
    ]
    .iter()
    .enumerate()
    {
        println!(
            "  {name:28} {:8.3}   {:8.3}",
            clock[i].as_secs_f64(),
            processor[i].as_secs_f64() / rounds as f64
        );
    }
    let [_, reading, one, two] = clock.map(|time| time.as_secs_f64());
    let [queries_cpu, reading_cpu, one_cpu, two_cpu] = processor.map(|time| time.as_secs_f64());
    println!(
        "{} verified, {} examples, {} calls",
        report.total.verified, report.total.examples, report.total.steps
    );
    println!(
        "reading and gold / queries, processor    {:.2}   (at most 3)",
        (reading_cpu + one_cpu) / queries_cpu
    );
    println!(
        "one thread / two threads, clock          {:.2}   (at least 1.8)",
        one / two
    );
    println!(
        "two threads / one thread, processor      {:.2}   (1 is perfect)",
        two_cpu / one_cpu
    );
    println!(
        "seconds for 10,000 examples, two threads {:.1}   (at most 60)",
        (reading + two) / examples * 1e4
    );
}

/// Wall-clock time and processor time.
fn time(work: impl FnOnce()) -> (Duration, Duration) {
    let (begun, before) = (Instant::now(), processor_time());
    work();
    (begun.elapsed(), processor_time().saturating_sub(before))
}

/// Processor time of all threads of this process, including finished ones: fields 14 and 15 of
/// `/proc/self/stat`, in ticks of 10 ms.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // The second field, in brackets, may contain spaces.
    let fields: Vec<u64> = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(|field| field.parse().unwrap())
        .collect();
    Duration::from_millis(10 * fields.iter().sum::<u64>())
}

/// A run without conversion, programs and files: parses and runs every gold query.
fn execute(questions: &[GoldQuestion], kg: &dyn Kg) {
    for question in questions {
        if let Ok(query) = parsed(question) {
            // Failing queries are part of the work, as in the pipeline.
            let _ = kg.query(&query, QueryLimits::default());
        }
    }
}

fn gold(questions: &[GoldQuestion], kg: &dyn Kg, threads: usize, out: &Path) -> Report {
    let options = GenerateOptions {
        threads,
        seed: 1,
        ..GenerateOptions::default()
    };
    write_dataset(
        out,
        questions,
        kg,
        &options,
        &serde_json::json!({}),
        &|_, _| {},
        &AtomicBool::new(false),
    )
    .unwrap()
}
