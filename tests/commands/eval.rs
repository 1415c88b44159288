//! `eval` as a user runs it: several agents on the same questions, its output files, the papers'
//! results next to ours.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{data, run};
use serde_json::Value;

fn load(place: &Path, files: &[PathBuf], format: &[&str]) {
    let files: Vec<&str> = files.iter().map(|file| file.to_str().unwrap()).collect();
    let (_, err, code) = run(
        place,
        &[&["kg", "load", "--kg", "graph"], &files[..], format].concat(),
    );
    assert_eq!(code, 0, "{err}");
}

#[test]
fn agents_are_evaluated_together_and_every_run_writes_the_same() {
    let place = tempfile::tempdir().unwrap();
    load(
        place.path(),
        &[data("graph.ttl"), data("ontology.ttl")],
        &[],
    );
    let source = format!("jsonl={}", data("questions.new-entities.jsonl").display());
    let eval = |out: &str, threads: &str| {
        let args = [
            "eval",
            "--kg",
            "graph",
            "--agent",
            "kg-agent,retrieval,tog",
            "--model",
            "oracle",
            "--source",
            &source,
            "--limit",
            "60",
        ];
        let (json, err, code) = run(
            place.path(),
            &[
                &args[..],
                &["--out", out, "--threads", threads, "--traces", "--json"],
            ]
            .concat(),
        );
        assert_eq!(code, 0, "{err}");
        serde_json::from_str::<Value>(&json).unwrap()
    };
    let made = eval("one", "1");
    let of = |agent: &str, score: &str| {
        let agents = made["agents"].as_array().unwrap();
        agents.iter().find(|one| one["agent"] == agent).unwrap()[score]
            .as_f64()
            .unwrap()
    };
    // Gold programs are right; following the best relations is right on some questions and wrong on
    // others.
    assert_eq!(of("kg-agent", "exact"), 1.0);
    for agent in ["retrieval", "tog"] {
        assert!(
            of(agent, "exact") > 0.05 && of(agent, "exact") < 0.9,
            "{agent}: {}",
            of(agent, "exact")
        );
        assert_eq!(
            (of(agent, "tokens"), of(agent, "invalid_calls")),
            (0.0, 0.0)
        );
    }
    eval("four", "4");
    let read = |path: &str| fs::read(place.path().join(path)).unwrap();
    for agent in ["kg-agent", "retrieval", "tog"] {
        for file in [
            "predictions.jsonl",
            "predictions.qald.json",
            "skipped.jsonl",
        ] {
            assert_eq!(
                read(&format!("one/{agent}/{file}")),
                read(&format!("four/{agent}/{file}")),
                "{agent}/{file}"
            );
        }
        let first = format!("one/{agent}/traces/000000.jsonl");
        let (out, err, code) = run(place.path(), &["replay", &first, "--kg", "graph"]);
        assert_eq!(code, 0, "{agent}: {out}{err}");
        let qald: Value =
            serde_json::from_slice(&read(&format!("one/{agent}/predictions.qald.json"))).unwrap();
        assert_eq!(
            qald["questions"].as_array().unwrap().len() as f64,
            of(agent, "n")
        );
    }
    let page = String::from_utf8(read("one/report.html")).unwrap();
    assert!(
        page.contains("retrieval") && page.contains("<svg") && page.contains("class=\"q "),
        "the report has its parts"
    );
    for outside in [" src=", " href=", "@import", "url("] {
        assert!(
            !page.contains(outside),
            "the report reaches outside: {outside}"
        );
    }
}

#[test]
fn gold_programs_abstain_on_hidden_relations_and_baselines_do_not() {
    let place = tempfile::tempdir().unwrap();
    load(
        place.path(),
        &[data("graph.ttl"), data("ontology.ttl")],
        &[],
    );
    let source = format!("jsonl={}", data("questions.new-entities.jsonl").display());
    let args = [
        "eval",
        "--kg",
        "graph",
        "--agent",
        "kg-agent,tog",
        "--model",
        "oracle",
        "--source",
        &source,
        "--withhold",
        "--out",
        "out",
    ];
    let (json, err, code) = run(place.path(), &[&args[..], &["--json"]].concat());
    assert_eq!(code, 0, "{err}");
    let made: Value = serde_json::from_str(&json).unwrap();
    let [oracle, tog] = [0, 1].map(|agent| &made["agents"][agent]);
    let count = |of: &Value, what: &str| of[what].as_u64().unwrap();
    assert!(count(oracle, "n") >= 50, "{oracle}");
    assert_eq!(
        (count(oracle, "abstained"), oracle["exact"].as_f64()),
        (count(oracle, "n"), Some(1.0))
    );
    // A baseline that answers with the remaining relations fails.
    assert!(count(tog, "answered") > count(tog, "n") / 2, "{tog}");
    assert_eq!(
        tog["exact"].as_f64(),
        Some(count(tog, "abstained") as f64 / count(tog, "n") as f64)
    );
}

#[test]
fn published_results_are_compared_and_hostile_labels_stay_text() {
    let place = tempfile::tempdir().unwrap();
    fs::write(
        place.path().join("kb.txt"),
        "Heat|directed_by|<script>alert(1)</script>\nHeat|written_by|Ann\u{202e} Mann\nRonin|directed_by|Ann\u{202e} Mann\n",
    )
    .unwrap();
    fs::write(
        place.path().join("qa_test.txt"),
        "who directed [Heat]\t<script>alert(1)</script>\nwho directed [Ronin]\tAnn\u{202e} Mann\n",
    )
    .unwrap();
    fs::write(
        place.path().join("qa_test_qtype.txt"),
        "movie_to_director\nmovie_to_director\n",
    )
    .unwrap();
    load(
        place.path(),
        &[place.path().join("kb.txt")],
        &["--format", "metaqa"],
    );
    let source = "metaqa=qa_test.txt";
    let (out, err, code) = run(
        place.path(),
        &[
            "eval",
            "--kg",
            "graph",
            "--agent",
            "retrieval",
            "--source",
            source,
            "--out",
            "out",
            "--compare",
        ],
    );
    assert_eq!(code, 0, "{out}{err}");
    assert!(
        out.contains("KG-Agent, table 5")
            && out.contains("TransferNet")
            && out.contains("here: retrieval"),
        "{out}"
    );
    let page = fs::read_to_string(place.path().join("out/report.html")).unwrap();
    assert!(page.contains("TransferNet") && page.contains("&lt;script&gt;alert(1)"));
    assert!(!page.contains("<script>alert") && !page.contains('\u{202e}'));
}

#[test]
fn questions_that_cannot_be_evaluated_are_an_error_and_leave_no_files() {
    let place = tempfile::tempdir().unwrap();
    load(place.path(), &[data("graph.ttl")], &[]);
    let source = format!("jsonl={}", data("questions.new-entities.jsonl").display());
    for (agent, model, says) in [
        ("oda", &[][..], "oda needs a model"),
        (
            "direct",
            &["--model", "oracle"],
            "cannot replay gold programs for",
        ),
        ("retrieval,retrieval", &[], "retrieval is named twice"),
        ("nobody", &[], "nobody"),
    ] {
        let args = [
            "eval", "--kg", "graph", "--agent", agent, "--source", &source, "--out", "out",
        ];
        let (_, err, code) = run(place.path(), &[&args[..], model].concat());
        assert_eq!(code, 2, "{err}");
        assert!(err.contains(says), "{err}");
        assert!(!place.path().join("out").exists());
    }
}

#[test]
fn words_alone_hold_a_floor_on_development_questions() {
    // 56 of the 60 are right: at most one point below.
    const FLOOR: f64 = 0.92;
    let place = tempfile::tempdir().unwrap();
    load(
        place.path(),
        &[data("graph.ttl"), data("ontology.ttl")],
        &[],
    );
    let answers = |file: &Path, out: &str| -> (f64, Vec<Value>) {
        let source = format!("jsonl={}", file.display());
        let args = [
            "eval", "--kg", "graph", "--agent", "words", "--source", &source, "--limit", "60",
            "--out", out, "--json",
        ];
        let (json, err, code) = run(place.path(), &args);
        assert_eq!(code, 0, "{err}");
        let found: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(found["n"], 60);
        let lines = fs::read_to_string(place.path().join(out).join("predictions.jsonl")).unwrap();
        let lines = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        (found["exact"].as_f64().unwrap(), lines.collect())
    };
    let questions = data("questions.blind-dev.jsonl");
    let (exact, plain) = answers(&questions, "words");
    assert!(exact >= FLOOR, "{exact} is below {FLOOR}");

    // What people say around a question changes no answer.
    let wrapped: Vec<String> = fs::read_to_string(&questions)
        .unwrap()
        .lines()
        .map(|line| {
            let mut one: Value = serde_json::from_str(line).unwrap();
            let text = one["question"].as_str().unwrap();
            one["question"] =
                format!("Hi there! According to our  records, {text} Thanks in advance").into();
            one.to_string()
        })
        .collect();
    let file = place.path().join("wrapped.jsonl");
    fs::write(&file, wrapped.join("\n")).unwrap();
    let (_, other) = answers(&file, "wrapped");
    for (one, other) in plain.iter().zip(&other) {
        assert_eq!(
            one["predicted"], other["predicted"],
            "{}",
            other["question"]
        );
    }
}

/// Words alone, with linked entities and the extended tools, on every set of `data/` whose figures
/// README or docs/results.md give. Of each set every fourth question is asked: all of them take more
/// time than the other tests of this program together.
#[test]
fn words_alone_reach_their_figures_on_all_shipped_sets() {
    const STEP: usize = 4;
    /// The questions of each set, and how many of them are right.
    const SETS: [(&str, usize, usize); 4] = [
        ("blind-dev", 38, 35),
        ("blind-test", 38, 35),
        ("new-entities", 63, 58),
        ("new-wordings", 68, 52),
    ];
    let place = tempfile::tempdir().unwrap();
    load(
        place.path(),
        &[data("graph.ttl"), data("ontology.ttl")],
        &[],
    );
    let (mut right, mut all, mut measured) = (0, 0, 0);
    let mut found = Vec::new();
    for (name, n, expected) in SETS {
        let text = fs::read_to_string(data(&format!("questions.{name}.jsonl"))).unwrap();
        let asked: Vec<&str> = text.lines().step_by(STEP).collect();
        assert_eq!(asked.len(), n, "{name}");
        fs::write(place.path().join("asked.jsonl"), asked.join("\n")).unwrap();
        let args = "eval --kg graph --agent words --tools extended --entities linked \
                    --source jsonl=asked.jsonl --json --out";
        let args: Vec<&str> = args.split_whitespace().chain([name]).collect();
        let (json, err, code) = run(place.path(), &args);
        assert_eq!(code, 0, "{err}");
        let metrics: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(metrics["n"], n, "{name}");
        let exact = (metrics["exact"].as_f64().unwrap() * n as f64).round() as usize;
        found.push((name, exact, expected));
        (right, all, measured) = (right + exact, all + n, measured + expected);
    }
    // In all at most one point below, and in no set two questions.
    assert!((measured - right.min(measured)) * 100 <= all, "{found:?}");
    for (name, exact, expected) in &found {
        assert!(exact + 1 >= *expected, "{name}: {found:?}");
    }
}
