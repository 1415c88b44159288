//! Large served models on the command line: sweeps with several runs, agents as published, and
//! rewording. The server is a thread of the test that answers from the prompt.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::support::{data, run};
use serde_json::{Value, json};

/// A folder with the demo graph.
fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let files = [data("graph.ttl"), data("ontology.ttl")];
    let files: Vec<&str> = files.iter().map(|file| file.to_str().unwrap()).collect();
    let (_, err, code) = run(
        place.path(),
        &[&["kg", "load", "--kg", "graph"], &files[..]].concat(),
    );
    assert_eq!(code, 0, "{err}");
    place
}

/// The bodies of all requests.
type Seen = Arc<Mutex<Vec<Value>>>;

/// A server whose model answers a prompt with `reply`.
fn server(reply: fn(&str) -> String) -> (String, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let seen: Seen = Arc::default();
    let kept = Arc::clone(&seen);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, kept) = (stream.unwrap(), Arc::clone(&kept));
            std::thread::spawn(move || serve(stream, reply, &kept));
        }
    });
    (url, seen)
}

fn serve(mut stream: TcpStream, reply: fn(&str) -> String, seen: &Mutex<Vec<Value>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if line.trim().is_empty() {
            break;
        }
        if let Some(("content-length", value)) = line.trim().to_lowercase().split_once(':') {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let request: Value = serde_json::from_slice(&body).unwrap();
    let messages = request["messages"].as_array().unwrap();
    let text = reply(messages.last().unwrap()["content"].as_str().unwrap());
    seen.lock().unwrap().push(request);
    let body = json!({
        "choices": [{ "message": { "role": "assistant", "content": text } }],
        "usage": { "prompt_tokens": 7, "completion_tokens": 3 },
    })
    .to_string();
    let length = body.len();
    let _ = write!(
        stream,
        "HTTP/1.1 200 X\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
}

/// What a prompt asks about.
fn question(prompt: &str) -> &str {
    let (_, rest) = prompt.rsplit_once("Question: ").unwrap();
    rest.lines().next().unwrap()
}

/// A row of the table: two runs of four questions, with an interval around the mean.
fn check_row(row: &Value) {
    assert_eq!(
        (row["runs"].as_u64(), row["questions"].as_u64()),
        (Some(2), Some(4))
    );
    let [low, high] = ["0", "1"].map(|at| {
        row["exact_interval"][at.parse::<usize>().unwrap()]
            .as_f64()
            .unwrap()
    });
    let mean = row["exact"].as_f64().unwrap();
    assert!(low <= mean && mean <= high, "{row}");
    assert_eq!(
        row["exact_against_base"].is_null(),
        row["setting"] == "base"
    );
    assert!(row["exact_deviation"].as_f64().is_some());
}

/// One command measures the base, every variation of one parameter and every run, and writes one
/// table with intervals.
#[test]
fn a_sweep_over_examples_tries_and_roles_is_one_table() {
    let place = place();
    // A model that answers nothing but yes/no questions and names.
    let (url, seen) = server(|prompt| {
        if prompt.ends_with("Triples:") {
            "<?x, made by, Nobody Ever>".to_owned()
        } else {
            "Tokyo".to_owned()
        }
    });
    let source = format!("jsonl={}", data("questions.new-entities.jsonl").display());
    let args = [
        "eval",
        "--kg",
        "graph",
        "--model",
        &url,
        "--source",
        &source,
        "--limit",
        "4",
        "--agent",
        "triad",
        "--triad",
        "paper",
        "--sweep",
        "n=0,3",
        "t=1,2",
        "leave-out=a,g",
        "--runs",
        "2",
        "--out",
        "out",
        "--json",
    ];
    let (out, err, code) = run(place.path(), &args);
    assert_eq!(code, 0, "{err}");
    let made: Value = serde_json::from_str(&out).unwrap();
    let rows = made["sweep"].as_array().unwrap();
    let settings: Vec<&str> = rows
        .iter()
        .map(|row| row["setting"].as_str().unwrap())
        .collect();
    // n=3 is the base.
    assert_eq!(
        settings,
        ["base", "n=0", "t=1", "t=2", "leave-out=a", "leave-out=g"]
    );
    rows.iter().for_each(check_row);
    // Fewer tries ask less, and without G nobody is asked for triples.
    let asked = |setting: &str| {
        rows.iter().find(|row| row["setting"] == setting).unwrap()["asked"]
            .as_f64()
            .unwrap()
    };
    assert!(
        asked("t=1") < asked("t=2") && asked("t=2") < asked("base"),
        "{rows:?}"
    );
    // The requests are those of the paper: its temperature, a seed per run.
    let seen = seen.lock().unwrap();
    let seeds: BTreeSet<u64> = seen
        .iter()
        .map(|body| body["seed"].as_u64().unwrap())
        .collect();
    assert_eq!(seeds, BTreeSet::from([1, 2]));
    assert!(
        seen.iter()
            .all(|body| body["temperature"] == 0.2 && body["max_tokens"] == 500)
    );
    // Each setting and run has a folder, whose metrics name options and prompts.
    let out = place.path().join("out");
    let read = |file: &str| -> Value {
        serde_json::from_slice(&fs::read(out.join(file)).unwrap()).unwrap()
    };
    assert_eq!(read("sweep.json"), made["sweep"]);
    let none = read("triad-paper.n=0.run2/metrics.json");
    let base = read("triad-paper.run1/metrics.json");
    assert_eq!(
        (
            none["options"]["examples"].as_u64(),
            base["options"]["examples"].as_u64()
        ),
        (Some(0), Some(3))
    );
    assert_eq!(none["prompts"], base["prompts"]);
    assert_eq!(base["prompts"].as_str().unwrap().len(), 16);
    assert!(
        fs::read_to_string(out.join("report.html"))
            .unwrap()
            .contains("<h2>Variations</h2>")
    );
    assert_eq!(
        fs::read_dir(place.path()).unwrap().count(),
        2,
        "an unfinished evaluation was left"
    );
}

/// The baselines of the ODA paper on one server: an answer at once, after thoughts, by votes.
#[test]
fn baselines_without_the_graph_are_evaluated_together() {
    let place = place();
    let (url, seen) = server(|prompt| {
        format!(
            "About {}:\nAnswer: Shinjuku",
            question(&format!("Question: {prompt}"))
        )
    });
    let cases = fs::read_to_string(data("questions.cases.jsonl")).unwrap();
    fs::write(place.path().join("q.jsonl"), cases.lines().next().unwrap()).unwrap();
    let args = [
        "eval",
        "--kg",
        "graph",
        "--model",
        &url,
        "--source",
        "jsonl=q.jsonl",
        "--agent",
        "direct,cot,self-consistency",
        "--samples",
        "3",
        "--shots",
        "2",
        "--out",
        "out",
        "--json",
    ];
    let (out, err, code) = run(place.path(), &args);
    assert_eq!(code, 0, "{err}");
    let made: Value = serde_json::from_str(&out).unwrap();
    let agents = made["agents"].as_array().unwrap();
    let exact: Vec<(&str, f64)> = agents
        .iter()
        .map(|one| {
            (
                one["agent"].as_str().unwrap(),
                one["exact"].as_f64().unwrap(),
            )
        })
        .collect();
    assert_eq!(exact[1..], [("cot", 1.0), ("self-consistency", 1.0)]);
    let seen = seen.lock().unwrap();
    // A chain is sampled with its own seed.
    let sampled: Vec<u64> = seen
        .iter()
        .filter(|body| body["temperature"] == 0.7)
        .map(|body| body["seed"].as_u64().unwrap())
        .collect();
    assert_eq!(sampled, [1, 2, 3]);
    let thoughts = seen.iter().find(|body| body["max_tokens"] == 1000).unwrap();
    let prompt = thoughts["messages"][0]["content"].as_str().unwrap();
    assert_eq!(prompt.matches("Question: ").count(), 3);
}

/// `datagen synth --reword`: kept wordings become questions, the card counts them, and a second run
/// asks for nothing that the first was told.
#[test]
fn rewordings_are_checked_counted_and_cached() {
    let place = place();
    let (url, seen) = server(|prompt| {
        let question = question(prompt);
        format!("1. Please tell me, {question}\n2. {question}\n3. Who is it?")
    });
    let synth = |out: &str| {
        let args = [
            "datagen",
            "synth",
            "--kg",
            "graph",
            "--count",
            "30",
            "--tools",
            "paper",
            "--reword",
            &url,
            "--rewordings",
            "3",
            "--out",
            out,
            "--json",
        ];
        let (_, err, code) = run(place.path(), &args);
        assert_eq!(code, 0, "{err}");
        let report = fs::read(place.path().join(out).join("report.json")).unwrap();
        serde_json::from_slice::<Value>(&report).unwrap()["reworded"].clone()
    };
    let first = synth("data");
    let count = |of: &Value, name: &str| of[name].as_u64().unwrap();
    let asked = seen.lock().unwrap().len() as u64;
    assert_eq!(count(&first, "questions"), asked);
    assert_eq!(count(&first, "written"), 3 * asked);
    let dropped: u64 = ["duplicates", "entities", "values", "unusable"]
        .iter()
        .map(|name| count(&first, name))
        .sum();
    assert_eq!(count(&first, "kept") + dropped, 3 * asked);
    // The copies are duplicates, and so is every second question without a name.
    assert!(
        count(&first, "duplicates") >= asked && count(&first, "kept") > asked / 3,
        "{first}"
    );
    assert!(count(&first, "entities") > 0, "{first}");
    let folder = place.path().join("data");
    let card = fs::read_to_string(folder.join("README.md")).unwrap();
    assert!(card.contains("Reworded by http://127.0.0.1:"), "{card}");
    let questions = fs::read_to_string(folder.join("questions.jsonl")).unwrap();
    let reworded = questions
        .lines()
        .filter(|line| line.contains("Please tell me, "))
        .count() as u64;
    assert!(reworded > 0 && reworded <= count(&first, "kept"));
    // The same again: everything is known.
    let second = synth("data");
    assert_eq!(seen.lock().unwrap().len() as u64, asked);
    assert_eq!(count(&second, "cached"), asked);
    assert_eq!(count(&second, "kept"), count(&first, "kept"));
}

/// A server that is not there ends the run with its error, and not with a dataset.
#[test]
fn a_reworder_that_fails_at_once_is_an_error() {
    let place = place();
    let args = [
        "datagen",
        "synth",
        "--kg",
        "graph",
        "--count",
        "20",
        "--reword",
        "http://127.0.0.1:1/v1",
        "--out",
        "data",
    ];
    let (_, err, code) = run(place.path(), &args);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("no question could be reworded"), "{err}");
    assert!(!place.path().join("data").exists());
}

/// Models trained here write one line a turn.
#[test]
fn published_forms_need_a_server() {
    let place = place();
    for (agent, form) in [("oda", "--oda"), ("triad", "--triad")] {
        let args = [
            "ask", "--kg", "graph", "--agent", agent, form, "paper", "--model", "folder", "Who?",
        ];
        let (_, err, code) = run(place.path(), &args);
        assert_eq!(code, 2, "{err}");
        assert!(err.contains("name a server"), "{err}");
    }
}
