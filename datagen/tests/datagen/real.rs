//! Real question sets, if they are next to the repository; without them each test reports that it
//! is skipped.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use datagen::Refusal;
use datagen::pipeline::{GenerateOptions, check, generate};
use datagen::question::{GoldQuery, GoldQuestion};
use datagen::read::{QuestionSource, ReadOptions};
use datagen::report::Report;
use datagen::verify::{VerifyOptions, verify};
use kg::{FrozenKg, Kg, LoadOptions};
use rayon::prelude::*;
use toolbox::call::ToolTable;
use toolbox::exec::ExcludeWhen;

fn data(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/datasets")
        .join(name);
    if path.exists() {
        return Some(path);
    }
    let _ = writeln!(
        std::io::stderr(),
        "skipped: {} is not there",
        path.display()
    );
    None
}

fn read(format: &str, path: &std::path::Path, kg: Option<&dyn Kg>) -> Vec<GoldQuestion> {
    let source: QuestionSource = format!("{format}={}", path.display()).parse().unwrap();
    source.read(kg, &ReadOptions::default()).unwrap()
}

fn report(kg: &FrozenKg, questions: &[GoldQuestion]) -> Report {
    let made = generate(
        questions,
        kg,
        &GenerateOptions::default(),
        &|_, _| {},
        &AtomicBool::new(false),
    )
    .unwrap();
    let total = &made.report.total;
    assert_eq!(
        total.verified + total.refused.values().sum::<usize>(),
        total.questions
    );
    made.report
}

fn load(path: PathBuf) -> FrozenKg {
    FrozenKg::load(&[path], &LoadOptions::default(), &|_| {}).unwrap()
}

/// Every tenth question keeps this within seconds. `docs/results.md` has measurements on the whole
/// set.
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
    let Some(dir) = data("pathquestion") else {
        return;
    };
    for (questions, graph) in [
        ("PQ-2H", "2H-kb"),
        ("PQ-3H", "3H-kb"),
        ("PQL-2H", "PQL2-KB"),
        ("PQL-3H", "PQL3-KB"),
    ] {
        let kg = load(dir.join(format!("{graph}.txt.gz")));
        let questions = read(
            "pathquestion",
            &dir.join(format!("{questions}.txt.gz")),
            Some(&kg),
        );
        let report = report(&kg, &questions);
        assert_eq!(
            report.total.verified,
            questions.len(),
            "{:?}",
            report.total.refused
        );
    }
}

#[test]
fn worldcup_is_kept_whole() {
    let Some(dir) = data("worldcup2014") else {
        return;
    };
    let kg = load(dir.join("WC2014.txt.gz"));
    for name in ["WC-P1", "WC-P2", "WC-C"] {
        let questions = read(
            "pathquestion",
            &dir.join(format!("{name}.txt.gz")),
            Some(&kg),
        );
        let report = report(&kg, &questions);
        assert_eq!(
            report.total.verified,
            questions.len(),
            "{name}: {:?}",
            report.total.refused
        );
    }
}

#[test]
fn cwq_keeps_99_percent() {
    let Some(dir) = data("cwq-mini") else { return };
    let kg = load(dir.join("kg.nt.gz"));
    let report = report(&kg, &read("cwq", &dir.join("questions.json.gz"), Some(&kg)));
    let total = &report.total;
    eprintln!(
        "cwq-mini: {} of {} verified, refused {:?}",
        total.verified, total.questions, total.refused
    );
    assert_eq!(total.questions, 568);
    assert!(total.verified * 100 >= total.questions * 99, "{total:?}");
}

#[test]
fn gold_queries_convert_or_are_refused() {
    let Some(dir) = data("gold-sparql") else {
        return;
    };
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
        let (report, refused) = check(&questions, ToolTable::Paper, 0);
        let total = &report.total;
        eprintln!(
            "{name}: {} of {count} converted, refused {:?}",
            total.converted, total.refused
        );
        assert_eq!(total.converted + refused.len(), count);
        assert!(
            total.converted * 100 >= count * percent,
            "{name}: {total:?}"
        );
    }
}

/// SPARQL, s-expression and graph query of GrailQA agree.
#[test]
fn the_front_ends_of_grailqa_agree() {
    let Some(path) = data("gold-sparql/grailqa.json.gz") else {
        return;
    };
    let fronts: Vec<_> = ["grailqa", "grailqa:sexpr", "grailqa:graph"]
        .map(|front| (front.to_owned(), read(front, &path, None)))
        .into();
    let found = datagen::agree::agreements(&fronts, 1);
    eprintln!("{found:?}");
    assert_eq!((found.questions, found.differ, found.some), (507, 0, 0));
    assert!(found.programs + found.answers >= 500, "{found:?}");
}

/// Every available set is read completely, record for record, and only by its own reader.
#[test]
fn published_files_are_read_whole_and_by_their_own_reader() {
    let Some(root) =
        data("README.md").and_then(|path| path.parent().map(std::path::Path::to_owned))
    else {
        return;
    };
    let sets = [
        ("grailqa", "gold-sparql/grailqa.json.gz", 507, 0),
        ("cwq", "gold-sparql/cwq.json.gz", 1724, 0),
        ("lcquad1", "gold-sparql/lcquad1-train.json.gz", 4000, 0),
        ("qald10", "gold-sparql/qald10.json.gz", 162, 0),
        (
            "qald",
            "gold-sparql/qald9-train-multilingual.json.gz",
            408,
            0,
        ),
        (
            "qald:de",
            "gold-sparql/qald9-train-multilingual.json.gz",
            408,
            0,
        ),
        ("qald", "gold-sparql/yago-qa.json.gz", 100, 0),
        ("cwq", "cwq-mini/questions.json.gz", 568, 0),
        ("lcquad1", "dbpedia-slice/lcquad1.json.gz", 376, 0),
        ("jsonl", "spider4sparql/questions.json.gz", 489, 0),
        ("metaqa", "metaqa/2-hop", 14_872, 0),
        ("pathquestion", "worldcup2014", 9_071, 0),
        ("pathquestion", "pathquestion", 9_731, 0),
        ("trex", "oda-formats/T-REX.json.gz", 300, 300),
        ("zeroshotre", "oda-formats/Zero_Shot_RE.json.gz", 300, 300),
        ("creak", "oda-formats/creak.json.gz", 300, 300),
    ];
    let all = datagen::read::readers(&ReadOptions::default());
    for (format, name, count, answers_only) in sets {
        let path = root.join(name);
        let questions = read(format, &path, None);
        assert_eq!(questions.len(), count, "{format}={name}");
        let ids: std::collections::HashSet<&str> = questions
            .iter()
            .map(|question| question.id.as_str())
            .collect();
        assert_eq!(ids.len(), count, "{format}={name}: ids repeat");
        let without = questions
            .iter()
            .filter(|question| matches!(question.query, GoldQuery::AnswersOnly { .. }))
            .count();
        assert_eq!(without, answers_only, "{format}={name}");
        let bad = questions
            .iter()
            .find(|question| matches!(question.query, GoldQuery::Missing(Refusal::BadRecord, _)));
        assert!(bad.is_none(), "{format}={name}: {bad:?}");
        assert!(
            answers_only == 0 || questions.iter().all(|question| !question.topics.is_empty()),
            "{format}={name}"
        );
        // No other reader claims a file that is surely of this format.
        let format = format.split(':').next().unwrap();
        if path.is_file()
            && all.iter().any(|reader| {
                let sample = datagen::read::Sample::read(&path).unwrap();
                reader.format().name == format
                    && reader.likeness(&sample) == datagen::read::Likeness::Sure
            })
        {
            for other in all
                .iter()
                .map(|reader| reader.format().name)
                .filter(|other| *other != format)
            {
                let source: QuestionSource = format!("{other}={}", path.display()).parse().unwrap();
                let error = source
                    .read(None, &ReadOptions::default())
                    .unwrap_err()
                    .to_string();
                assert!(error.contains(&format!("try {format}=")), "{error}");
            }
        }
    }
}

/// The published records of a set that has no reader.
fn records(path: &std::path::Path) -> Vec<serde_json::Value> {
    let mut text = String::new();
    std::io::Read::read_to_string(
        &mut flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()),
        &mut text,
    )
    .unwrap();
    serde_json::from_str(&text).unwrap()
}

fn gold(id: &str, record: &serde_json::Value) -> GoldQuestion {
    GoldQuestion {
        id: id.to_owned(),
        source: "test".to_owned(),
        question: record["question"].as_str().unwrap_or_default().to_owned(),
        query: GoldQuery::Text(record["sparql"].as_str().unwrap().to_owned()),
        topics: Vec::new(),
        answers: None,
        answers_bind: false,
        hops: None,
        kind: None,
        exclude: ExcludeWhen::Answer,
    }
}

/// Verifies every question and reports the reasons of the others.
fn verified(
    kg: &FrozenKg,
    questions: &[GoldQuestion],
    tools: ToolTable,
) -> (usize, BTreeMap<String, Vec<String>>) {
    let options = VerifyOptions {
        tools,
        ..VerifyOptions::default()
    };
    let results: Vec<_> = questions
        .par_iter()
        .map(|question| verify(kg, question, &options))
        .collect();
    let mut refused: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut kept = 0;
    for (question, result) in questions.iter().zip(results) {
        match result {
            Ok(_) => kept += 1,
            Err(why) => refused.entry(why.reason.name()).or_default().push(format!(
                "{} {} | {}",
                question.id,
                why.detail,
                question
                    .query
                    .text()
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" ")
            )),
        }
    }
    (kept, refused)
}

fn print_summary(name: &str, kept: usize, all: usize, refused: &BTreeMap<String, Vec<String>>) {
    let counts: BTreeMap<&String, usize> = refused
        .iter()
        .map(|(reason, who)| (reason, who.len()))
        .collect();
    eprintln!("{name}: {kept} of {all} verified, refused {counts:?}");
    if std::env::var_os("SHOW_REFUSED").is_some() {
        refused
            .iter()
            .for_each(|(reason, who)| who.iter().for_each(|who| eprintln!("  {reason}: {who}")));
    }
}

#[test]
fn dbpedia_slice_is_kept() {
    let Some(dir) = data("dbpedia-slice") else {
        return;
    };
    let kg = load(dir.join("kg.nt.gz"));
    for (tools, share) in [(ToolTable::Paper, 93), (ToolTable::Extended, 98)] {
        let (mut kept, mut all) = (0, 0);
        for name in ["qald9", "lcquad1"] {
            let questions: Vec<GoldQuestion> = records(&dir.join(format!("{name}.json.gz")))
                .iter()
                .map(|record| gold(record["id"].as_str().unwrap(), record))
                .collect();
            let (verified, refused) = verified(&kg, &questions, tools);
            print_summary(name, verified, questions.len(), &refused);
            kept += verified;
            all += questions.len();
        }
        assert!(kept * 100 >= all * share, "{kept} of {all}");
    }
}

#[test]
fn spider_is_kept_or_refused_with_a_reason() {
    let Some(dir) = data("spider4sparql") else {
        return;
    };
    let mut by_graph: BTreeMap<String, Vec<GoldQuestion>> = BTreeMap::new();
    for (i, record) in records(&dir.join("questions.json.gz")).iter().enumerate() {
        let graph = record["kg"].as_str().unwrap().to_owned();
        let question = gold(&format!("{graph}-{i}"), record);
        by_graph.entry(graph).or_default().push(question);
    }
    for (tools, share) in [(ToolTable::Paper, 36), (ToolTable::Extended, 92)] {
        let (mut kept, mut all) = (0, 0);
        let mut refused: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (graph, questions) in &by_graph {
            let kg = load(dir.join(format!("{graph}.nt.gz")));
            let (verified, why) = verified(&kg, questions, tools);
            kept += verified;
            all += questions.len();
            why.into_iter()
                .for_each(|(reason, who)| refused.entry(reason).or_default().extend(who));
        }
        print_summary("spider4sparql", kept, all, &refused);
        assert_eq!(kept + refused.values().map(Vec::len).sum::<usize>(), all);
        assert!(kept * 100 >= all * share, "{kept} of {all}");
    }
}
