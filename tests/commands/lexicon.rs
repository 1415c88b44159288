//! `kgagent kg lexicon`: what it proposes loads with the graph, and it replaces only its own files.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{data, run};

/// Loads the demo graph, and `more` files with it, into the folder `name`.
fn load(place: &Path, name: &str, more: &[&str]) {
    let files = [data("graph.ttl"), data("ontology.ttl")];
    let mut args = vec!["kg", "load", "--kg", name];
    args.extend(files.iter().map(|file| file.to_str().unwrap()));
    args.extend(more);
    let (said, errors, code) = run(place, &args);
    assert_eq!(code, 0, "{said}{errors}");
}

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// The words proposed for a relation or class.
fn proposed<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let start = format!("<http://kgagent.example/{name}> skos:altLabel \"");
    let lines = text.lines().filter_map(|line| line.strip_prefix(&start));
    lines.filter_map(|line| line.split('"').next()).collect()
}

#[test]
fn words_are_proposed_that_load_with_the_graph() {
    let dir = tempfile::tempdir().unwrap();
    load(dir.path(), "graph", &[]);
    let make = |more: &str| {
        let line = format!("kg lexicon --kg graph --json{more}");
        let (said, errors, code) = run(dir.path(), &words(&line));
        assert_eq!(code, 0, "{said}{errors}");
        let text = fs::read_to_string(dir.path().join("lexicon.ttl")).unwrap();
        (serde_json::from_str::<Value>(&said).unwrap(), text)
    };
    let (counts, text) = make("");
    assert!(counts["words"].as_u64().unwrap() > 20, "{counts}");
    let director = proposed(&text, "film.film.directed_by");
    assert!(director.contains(&"helm"), "{director:?}");
    let film = proposed(&text, "film.film");
    assert!(!film.is_empty() && !film.contains(&"film"), "{film:?}");
    assert_eq!(make("").1, text, "the same again, over its own file");
    let (fewer, text) = make(" --words 1");
    assert!(fewer["words"].as_u64() < counts["words"].as_u64());
    assert_eq!(proposed(&text, "film.film.directed_by").len(), 1);

    // What people said is proposed too.
    let name = "http://kgagent.example/";
    let asked: String = ["alien", "chinatown", "casablanca", "jaws", "vertigo"]
        .iter()
        .map(|film| {
            let sparql = format!("SELECT ?x {{ <{name}{film}> <{name}film.film.directed_by> ?x }}");
            let question = format!("which zoetropist did {film}");
            format!(
                "{}\n",
                json!({ "question": question, "sparql": sparql, "topic": {film.to_owned(): film} })
            )
        })
        .collect();
    fs::write(dir.path().join("asked.jsonl"), asked).unwrap();
    let (_, text) = make(" --words 30 --questions jsonl=asked.jsonl");
    let director = proposed(&text, "film.film.directed_by");
    assert!(director.contains(&"zoetropist"), "{director:?}");

    load(dir.path(), "named", &["lexicon.ttl"]);
    let mut ask = words("ask --kg named --json");
    ask.push("which zoetropist did Jaws");
    let (said, errors, code) = run(dir.path(), &ask);
    assert_eq!(code, 0, "{said}{errors}");
    assert!(said.contains("Steven Spielberg"), "{said}");
}

#[test]
fn only_its_own_file_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    load(dir.path(), "graph", &[]);
    fs::write(dir.path().join("lexicon.ttl"), "@prefix : <http://e/> .\n").unwrap();
    let (_, errors, code) = run(dir.path(), &words("kg lexicon --kg graph"));
    assert_eq!(code, 2);
    assert!(errors.contains("lexicon.ttl"), "{errors}");
}
