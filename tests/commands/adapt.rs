//! `kgagent adapt` with a small model. It learns from the right questions. It keeps nothing if there are no
//! control questions, or if they are answered worse.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::support::{copy, data, run};

/// A folder with the demo graph and a model that was trained for a few steps on two templates.
fn trained() -> &'static Path {
    static PLACE: OnceLock<tempfile::TempDir> = OnceLock::new();
    let make = || {
        let dir = tempfile::tempdir().unwrap();
        let done = |args: &[&str]| {
            let (said, errors, code) = run(dir.path(), args);
            assert_eq!(code, 0, "{said}{errors}");
        };
        let files = [data("graph.ttl"), data("ontology.ttl")];
        let mut load = vec!["kg", "load", "--kg", "graph"];
        load.extend(files.iter().map(|file| file.to_str().unwrap()));
        done(&load);
        let templates = fs::read_to_string(data("templates.jsonl")).unwrap();
        let known = |line: &&str| {
            let ids = ["film-director", "country-capital"].map(|id| format!("\"id\": \"{id}\""));
            ids.iter().any(|id| line.contains(id))
        };
        let two: Vec<&str> = templates.lines().filter(known).collect();
        assert_eq!(two.len(), 2);
        fs::write(dir.path().join("two.jsonl"), two.join("\n")).unwrap();
        let line =
            "datagen gold --kg graph --source templates=two.jsonl --per-template 40 --out data";
        done(&line.split(' ').collect::<Vec<_>>());
        let line = "train --data data --base scratch:tiny --vocab-size 400 --epochs 4 --lr 0.005 \
                    --batch-tokens 1024 --out model";
        done(
            &line
                .split(' ')
                .filter(|word| !word.is_empty())
                .collect::<Vec<_>>(),
        );
        dir
    };
    PLACE.get_or_init(make).path()
}

/// A folder with the demo graph, that model and control questions.
fn place() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for folder in ["graph", "model"] {
        copy(&trained().join(folder), &dir.path().join(folder));
    }
    let control = [
        asked("capital of peru?", "peru", "location.country.capital"),
        asked("capital of Japan?", "japan", "location.country.capital"),
        asked("who directed Alien", "alien", "film.film.directed_by"),
    ];
    write(dir.path(), "control.jsonl", &control);
    dir
}

/// A question about a relation of an entity.
fn asked(question: &str, entity: &str, relation: &str) -> Value {
    let name = "http://kgagent.example/";
    let sparql = format!("SELECT DISTINCT ?x WHERE {{ <{name}{entity}> <{name}{relation}> ?x }}");
    json!({ "question": question, "sparql": sparql })
}

fn write(place: &Path, name: &str, lines: &[Value]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(place.join(name), text).unwrap();
}

fn adapt(place: &Path, more: &[&str]) -> (String, String, i32) {
    let common = "adapt --kg graph --questions questions.jsonl --out adapter --hold-back 0 --json";
    let common: Vec<&str> = common.split(' ').collect();
    run(place, &[&common[..], more].concat())
}

const CONTROL: [&str; 4] = ["--model", "model", "--control", "jsonl=control.jsonl"];

#[test]
fn what_is_known_or_sure_is_learned() {
    let dir = place();
    let feedback = [
        asked("who made Casablanca", "casablanca", "film.film.directed_by"),
        json!({"question": "capital of Portugal?", "verdict": "wrong", "answers": ["lisbon"]}),
        json!({"question": "capital of Spain?", "answers": ["no such place"]}),
        json!({"question": "capital of France?", "verdict": "wrong", "given": ["nice"]}),
    ];
    write(dir.path(), "questions.jsonl", &feedback);
    let path = dir.path().join("questions.jsonl");
    let lines = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{lines}\nwho directed Chinatown?\n")).unwrap();
    let more = "--tolerance 1 --sure 0 --epochs 1 --instances 2";
    let more: Vec<&str> = CONTROL.into_iter().chain(more.split(' ')).collect();
    let (said, errors, code) = adapt(dir.path(), &more);
    assert_eq!(code, 0, "{said}{errors}");
    let record: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(record["kept"], true);
    assert_eq!(record["marked_wrong"], 1);
    let fates = json!({"query-given": 1, "right-answer": 1, "no-right-answer": 1, "sure": 1});
    assert_eq!(record["fates"], fates, "{record:#}");
    // With two more entities for each of the three that are learned.
    assert_eq!(record["data"]["questions"], 9, "{record:#}");
    assert_eq!(record["control"].as_array().unwrap().len(), 2, "two modes");

    let adapter = dir.path().join("adapter");
    let written: Value =
        serde_json::from_str(&fs::read_to_string(adapter.join("adapt.json")).unwrap()).unwrap();
    assert_eq!(written, record);
    assert!(adapter.join("adapter_config.json").is_file());
    assert!(!dir.path().join("adapter.adapt").exists());
    let learned = fs::read_to_string(adapter.join("questions.jsonl")).unwrap();
    assert_eq!(learned.lines().count(), 3);
    assert!(
        learned.contains(
            "<http://kgagent.example/portugal> <http://kgagent.example/location.country.capital>"
        ),
        "{learned}"
    );
    let eval = "eval --kg graph --model adapter --source jsonl=control.jsonl --out result --json";
    let (said, errors, code) = run(dir.path(), &eval.split(' ').collect::<Vec<_>>());
    assert_eq!(code, 0, "{said}{errors}");
    // The adapter is replaced by that of another run.
    let (said, errors, code) = adapt(dir.path(), &[&more[..], &["--seed", "2"]].concat());
    assert_eq!(code, 0, "{said}{errors}");
}

#[test]
fn a_verdict_is_learned_only_if_it_holds_and_somebody_agrees() {
    let dir = place();
    let capital = "location.country.capital";
    let right = |question: &str, entity: &str, relation: &str, given: Option<&str>| {
        let mut line = asked(question, entity, relation);
        line["verdict"] = "right".into();
        line["given"] = given.map(|name| vec![name]).into();
        line
    };
    let mut again = right("capital of Peru?", "peru", capital, Some("lima"));
    again["id"] = "another".into();
    let mut broken = right("capital of Italy?", "italy", capital, Some("rome"));
    broken["sparql"] = "SELECT ?x {".into();
    let feedback = [
        right("capital of Peru?", "peru", capital, Some("lima")),
        again,
        // The query gives another answer than the one that was called right.
        right(
            "capital of Chile?",
            "chile",
            "location.country.currency",
            Some("santiago"),
        ),
        broken,
        // As many say otherwise, here and in the other file.
        right("capital of Japan?", "japan", capital, Some("tokyo")),
        right("capital of Egypt?", "egypt", capital, Some("cairo")),
        json!({"question": "Capital of EGYPT?", "verdict": "wrong", "given": ["cairo"], "answers": ["lima"]}),
        // Neither the words nor the model say so.
        right(
            "capital of Spain?",
            "spain",
            "location.country.currency",
            None,
        ),
        json!({"question": "capital of France?", "verdict": "wrong", "given": ["paris"], "answers": ["lima"]}),
        // A correction that the words give.
        json!({"question": "capital of Portugal?", "verdict": "wrong", "given": ["porto"], "answers": ["lisbon"]}),
    ];
    write(dir.path(), "questions.jsonl", &feedback);
    let wrong = json!({"question": "capital of Japan?", "verdict": "wrong", "given": ["tokyo"]});
    write(dir.path(), "questions.wrong.jsonl", &[wrong]);
    let more = "--tolerance 1 --epochs 1 --instances 0";
    let more: Vec<&str> = CONTROL.into_iter().chain(more.split(' ')).collect();
    let (said, errors, code) = adapt(dir.path(), &more);
    assert_eq!(code, 0, "{said}{errors}");
    let record: Value = serde_json::from_str(&said).unwrap();
    let fates = json!({
        "query-given": 1, "right-answer": 1, "repeated": 1, "does-not-hold": 2, "outvoted": 3,
        "unconfirmed": 2,
    });
    assert_eq!(
        (&record["fates"], &record["marked_wrong"]),
        (&fates, &json!(1)),
        "{record:#}"
    );
    let learned = fs::read_to_string(dir.path().join("adapter/questions.jsonl")).unwrap();
    assert_eq!(learned.lines().count(), 2, "{learned}");
    // A line without its verdict is the operator's word.
    let mut trusted = asked("capital of Spain?", "spain", "location.country.currency");
    trusted["id"] = "checked".into();
    write(dir.path(), "questions.jsonl", &[trusted]);
    let (said, errors, code) = adapt(dir.path(), &more);
    assert_eq!(code, 0, "{said}{errors}");
    let record: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(record["fates"], json!({ "query-given": 1 }), "{record:#}");
    let odd = json!({"question": "capital of Peru?", "verdict": "maybe", "answers": ["lima"]});
    write(dir.path(), "questions.jsonl", &[odd]);
    let (said, errors, code) = adapt(dir.path(), &more);
    assert_eq!(code, 2, "{said}{errors}");
    assert!(
        errors.contains("questions.jsonl:1") && errors.contains("`verdict`"),
        "{errors}"
    );
}

#[test]
fn nothing_is_kept_that_answers_control_questions_worse() {
    let dir = place();
    // Wrong on purpose, so that the model learns to answer the control questions wrongly.
    let wrong: Vec<Value> = [
        "peru", "japan", "chile", "france", "spain", "italy", "egypt",
    ]
    .iter()
    .map(|name| {
        asked(
            &format!("capital of {name}?"),
            name,
            "location.country.currency",
        )
    })
    .collect();
    write(dir.path(), "questions.jsonl", &wrong);
    let more = "--tolerance 0 --instances 10 --epochs 6 --lr 0.01";
    let more: Vec<&str> = CONTROL.into_iter().chain(more.split(' ')).collect();
    let (said, errors, code) = adapt(dir.path(), &more);
    assert_eq!(code, 1, "{said}{errors}");
    let record: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(record["kept"], false);
    let fell = |one: &Value| one["after"].as_f64() < one["before"].as_f64();
    assert!(
        record["control"].as_array().unwrap().iter().any(fell),
        "{record:#}"
    );
    assert!(!dir.path().join("adapter").exists());
}

#[test]
fn a_run_without_control_questions_or_with_unreadable_ones_is_refused() {
    let dir = place();
    let refused = |more: &[&str], reason: &str| {
        let (said, errors, code) = adapt(dir.path(), more);
        assert_eq!(code, 2, "{said}{errors}");
        assert!(errors.contains(reason), "{errors}");
        assert!(!dir.path().join("adapter").exists());
    };
    fs::write(dir.path().join("questions.jsonl"), "capital of peru?\n").unwrap();
    refused(&CONTROL[..2], "no control questions");
    fs::write(dir.path().join("questions.jsonl"), "\n{\"id\": 1}\n").unwrap();
    refused(&CONTROL, "questions.jsonl:2: `question` is missing");
    fs::write(dir.path().join("questions.jsonl"), "{\"question\"\n").unwrap();
    refused(&CONTROL, "questions.jsonl:1: not JSON");
    fs::write(dir.path().join("questions.jsonl"), "\n").unwrap();
    refused(&CONTROL, "no question to learn from");
    fs::remove_dir_all(dir.path().join("adapter.adapt")).unwrap();
    fs::create_dir(dir.path().join("adapter.adapt")).unwrap();
    refused(&CONTROL, "no unfinished work");
    refused(&["--model", "graph"], "weights of its own");
}
