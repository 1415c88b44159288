//! Real question sets, where they are at hand beside the repository; each test says so and passes where they are not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use datagen::pipeline::{GenerateOptions, check, generate};
use datagen::question::GoldQuestion;
use datagen::read::{ReadOptions, Source};
use datagen::report::Report;
use toolbox::kg::{Kg, LoadOptions, MemoryKg};

fn data(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/datasets").join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} is not there", path.display());
    None
}

fn read(format: &str, path: &std::path::Path, kg: Option<&dyn Kg>) -> Vec<GoldQuestion> {
    let source: Source = format!("{format}={}", path.display()).parse().unwrap();
    source.read(kg, &ReadOptions::default()).unwrap()
}

fn report(kg: &MemoryKg, questions: &[GoldQuestion]) -> Report {
    let made = generate(questions, kg, &GenerateOptions::default(), &|_, _| {}, &AtomicBool::new(false)).unwrap();
    let total = &made.report.total;
    assert_eq!(total.verified + total.refused.values().sum::<usize>(), total.questions);
    made.report
}

fn load(path: PathBuf) -> MemoryKg {
    MemoryKg::load(&[path], &LoadOptions::default(), &|_| {}).unwrap()
}

/// Every tenth question keeps this within seconds; the whole set is measured in `docs/results.md`.
#[test]
fn metaqa_keeps_98_percent() {
    let Some(dir) = data("metaqa") else { return };
    let kg = load(dir.join("kb.txt.gz"));
    let all = read("metaqa", &dir, Some(&kg));
    assert_eq!(all.len(), 39_138);
    let some: Vec<GoldQuestion> = all.into_iter().step_by(10).collect();
    let report = report(&kg, &some);
    let total = &report.total;
    assert!(total.verified * 100 >= total.questions * 98, "{total:?}");
    assert_eq!(total.by_hops[&2].verified, total.by_hops[&2].questions);
    assert_eq!(total.by_hops[&3].verified, total.by_hops[&3].questions);
    assert!(total.steps > 10_000, "{total:?}");
}

#[test]
fn pathquestion_is_kept_whole() {
    let Some(dir) = data("pathquestion") else { return };
    for (questions, graph) in [("PQ-2H", "2H-kb"), ("PQ-3H", "3H-kb"), ("PQL-2H", "PQL2-KB"), ("PQL-3H", "PQL3-KB")] {
        let kg = load(dir.join(format!("{graph}.txt.gz")));
        let questions = read("pathquestion", &dir.join(format!("{questions}.txt.gz")), Some(&kg));
        let report = report(&kg, &questions);
        assert_eq!(report.total.verified, questions.len(), "{:?}", report.total.refused);
    }
}

#[test]
fn worldcup_is_kept_whole() {
    let Some(dir) = data("worldcup2014") else { return };
    let kg = load(dir.join("WC2014.txt.gz"));
    for name in ["WC-P1", "WC-P2", "WC-C"] {
        let questions = read("pathquestion", &dir.join(format!("{name}.txt.gz")), Some(&kg));
        let report = report(&kg, &questions);
        assert_eq!(report.total.verified, questions.len(), "{name}: {:?}", report.total.refused);
    }
}

#[test]
fn cwq_keeps_97_percent() {
    let Some(dir) = data("cwq-mini") else { return };
    let kg = load(dir.join("kg.nt.gz"));
    let report = report(&kg, &read("cwq", &dir.join("questions.json.gz"), Some(&kg)));
    let total = &report.total;
    assert_eq!(total.questions, 568);
    assert!(total.verified * 100 >= total.questions * 97, "{total:?}");
}

#[test]
fn gold_queries_convert_or_say_why_not() {
    let Some(dir) = data("gold-sparql") else { return };
    let sets = [
        ("lcquad1", "lcquad1-train", 4000, 97),
        ("grailqa", "grailqa", 507, 95),
        ("cwq", "cwq", 1724, 90),
        ("qald10", "qald10", 162, 0),
        ("qald", "qald9-train-multilingual", 408, 0),
        ("qald", "yago-qa", 100, 0),
    ];
    for (format, name, count, percent) in sets {
        let questions = read(format, &dir.join(format!("{name}.json.gz")), None);
        assert_eq!(questions.len(), count, "{name}");
        let (report, refused) = check(&questions, 0);
        let total = &report.total;
        eprintln!("{name}: {} of {count} converted, refused {:?}", total.converted, total.refused);
        assert_eq!(total.converted + refused.len(), count);
        assert!(total.converted * 100 >= count * percent, "{name}: {total:?}");
    }
}
