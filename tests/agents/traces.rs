//! Traces through the binary: the same question, seed and model give the same bytes for any other
//! questions, order, batch and number of threads; and a trace decodes again.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{data, random_model};
use serde_json::Value;
use toolbox::agent::Agent;
use toolbox::prompt::Template;

/// Runs `kgagent` in a folder; returns output and exit code.
fn run(place: &Path, args: &[&str]) -> (String, i32) {
    let out = Command::new(env!("CARGO_BIN_EXE_kgagent"))
        .args(args)
        .current_dir(place)
        .output()
        .unwrap();
    let text =
        String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    (text, out.status.code().unwrap())
}

/// A folder with a graph, a random model for all agents, and two files with the same questions in
/// opposite orders.
fn place(questions: usize) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let files = [data("graph.ttl"), data("ontology.ttl")];
    let (out, code) = run(
        place.path(),
        &[
            "kg",
            "load",
            "--kg",
            "graph",
            files[0].to_str().unwrap(),
            files[1].to_str().unwrap(),
        ],
    );
    assert_eq!(code, 0, "{out}");
    let lines = fs::read_to_string(data("questions.train.jsonl")).unwrap();
    let mut lines: Vec<String> = lines.lines().map(str::to_owned).collect();
    let templates = [Agent::KgAgent, Agent::Oda, Agent::Triad].map(Template::of);
    for (name, seed) in [("model", 3), ("other", 4)] {
        random_model(&place.path().join(name), &templates.each_ref(), seed);
    }
    lines.truncate(questions);
    fs::write(place.path().join("forward.jsonl"), lines.join("\n")).unwrap();
    lines.reverse();
    fs::write(place.path().join("backward.jsonl"), lines.join("\n")).unwrap();
    place
}

/// The folder of an agent among several, by its options: that of the agent as it ran.
fn folder(agent: &str, options: &[&str]) -> String {
    if options.contains(&"decide") {
        format!("{agent}-decide")
    } else {
        agent.to_owned()
    }
}

/// The traces of every agent's folder by question, without timings.
fn traces(out: &Path, agents: &[String]) -> BTreeMap<(String, String), String> {
    let mut traces = BTreeMap::new();
    for agent in agents {
        let within = if agents.len() == 1 {
            out.to_path_buf()
        } else {
            out.join(agent)
        };
        for entry in fs::read_dir(within.join("traces")).unwrap() {
            let text = fs::read_to_string(entry.unwrap().path()).unwrap();
            let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
            let kept: Vec<&str> = text
                .lines()
                .filter(|line| !line.contains("\"event\":\"timing\""))
                .collect();
            assert_eq!(
                kept.len() + 1,
                text.lines().count(),
                "a trace has one timing"
            );
            traces.insert(
                (
                    (*agent).clone(),
                    first["question"].as_str().unwrap().to_owned(),
                ),
                kept.join("\n"),
            );
        }
    }
    traces
}

#[test]
fn a_trace_depends_on_its_question_alone() {
    const QUESTIONS: usize = 4;
    let place = place(QUESTIONS);
    for (agents, options) in [
        (&["kg-agent", "oda", "triad"][..], &["--mode", "paper"][..]),
        (&["kg-agent"], &["--mode", "robust"]),
        (&["kg-agent", "oda", "triad"], &["--mode", "decide"]),
    ] {
        let eval = |source: &str, threads: &str, batch: &str| {
            let source = format!("jsonl={source}.jsonl");
            let names = agents.join(",");
            let args = [
                "eval", "--kg", "graph", "--model", "model", "--agent", &names, "--source",
                &source, "--out", "out", "--traces",
            ];
            let (out, code) = run(
                place.path(),
                &[
                    &args[..],
                    options,
                    &["--threads", threads, "--batch", batch],
                ]
                .concat(),
            );
            assert_eq!(code, 0, "{out}");
            // Linking recall per stage is reported for the agent that links.
            assert_eq!(
                out.contains("linking by triad") && out.contains("traversal"),
                agents.contains(&"triad"),
                "{out}"
            );
            let folders: Vec<String> = agents.iter().map(|one| folder(one, options)).collect();
            traces(&place.path().join("out"), &folders)
        };
        let one = eval("forward", "1", "1");
        assert_eq!(one.len(), agents.len() * QUESTIONS);
        assert!(
            one.values()
                .all(|trace| trace.contains("\"event\":\"tokens\"")
                    && !trace.contains("\"read\":0,\"decided\":0"))
        );
        for (source, threads, batch) in [
            ("backward", "2", "1"),
            ("forward", "1", "4"),
            ("backward", "2", "4"),
        ] {
            for (question, trace) in eval(source, threads, batch) {
                assert_eq!(
                    one[&question], trace,
                    "{question:?}, {source}, {threads} threads, {batch} at a time"
                );
            }
        }
    }
}

#[test]
fn a_trace_decodes_again_and_another_model_is_detected() {
    let place = place(2);
    for options in [
        &["--agent", "kg-agent,oda,triad", "--mode", "paper"][..],
        &["--agent", "kg-agent", "--mode", "robust"],
        &["--agent", "kg-agent,oda,triad", "--mode", "decide"],
    ] {
        let args = [
            "eval",
            "--kg",
            "graph",
            "--model",
            "model",
            "--source",
            "jsonl=forward.jsonl",
            "--out",
            "out",
            "--traces",
            "--threads",
            "2",
        ];
        let (out, code) = run(place.path(), &[&args[..], options].concat());
        assert_eq!(code, 0, "{out}");
        let within = |agent: &str| {
            if options[1].contains(',') {
                format!("out/{}/traces", folder(agent, options))
            } else {
                "out/traces".to_owned()
            }
        };
        for agent in options[1].split(',') {
            for i in 0..2 {
                let trace = format!("{}/{i:06}.jsonl", within(agent));
                let (out, code) = run(
                    place.path(),
                    &["replay", &trace, "--kg", "graph", "--decode", "model"],
                );
                assert_eq!(code, 0, "{agent} {options:?}: {out}");
                assert!(out.contains("all equal"), "{out}");
                let (out, code) = run(
                    place.path(),
                    &["replay", &trace, "--kg", "graph", "--decode", "other"],
                );
                assert_eq!(code, 1, "{agent}: {out}");
                assert!(out.contains("differs"), "{out}");
            }
        }
    }
}

#[test]
fn a_trace_replays_hidden_relations_and_requires_its_ranker() {
    let place = place(4);
    let eval = |out: &str, options: &[&str]| {
        let args = [
            "eval",
            "--kg",
            "graph",
            "--model",
            "model",
            "--source",
            "jsonl=forward.jsonl",
            "--out",
            out,
            "--traces",
        ];
        let (text, code) = run(place.path(), &[&args[..], options].concat());
        assert_eq!(code, 0, "{text}");
        let entries = fs::read_dir(place.path().join(out).join("traces")).unwrap();
        let traces: Vec<String> = entries
            .map(|entry| entry.unwrap().path().to_str().unwrap().to_owned())
            .collect();
        assert!(!traces.is_empty());
        traces
    };
    let replay = |trace: &str, options: &[&str]| {
        run(
            place.path(),
            &[&["replay", trace, "--kg", "graph"], options].concat(),
        )
    };
    for trace in eval("withheld", &["--withhold"]) {
        assert!(
            fs::read_to_string(&trace)
                .unwrap()
                .lines()
                .next()
                .unwrap()
                .contains("\"without\":[")
        );
        let (text, code) = replay(&trace, &[]);
        assert_eq!(code, 0, "{text}");
    }
    for trace in eval("shuffled", &["--ranker", "shuffled"]) {
        let (text, code) = replay(&trace, &[]);
        assert_eq!(code, 2, "{text}");
        assert!(
            text.contains("ranked by `shuffled`") && text.contains("give --ranker shuffled"),
            "{text}"
        );
        assert_eq!(replay(&trace, &["--ranker", "shuffled"]).1, 0);
        // Old traces do not name their ranker.
        let text = fs::read_to_string(&trace)
            .unwrap()
            .replacen(",\"ranker\":\"shuffled\"", "", 1);
        let older = place.path().join("older.jsonl");
        fs::write(&older, text).unwrap();
        assert_eq!(
            replay(older.to_str().unwrap(), &["--ranker", "shuffled"]).1,
            0
        );
    }
}
