//! `kgagent kg lexicon`: its file can be loaded with the graph. It replaces only files that it wrote.

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

/// The words proposed for a relation.
fn proposed<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let start = format!("<http://kgagent.example/{name}> skos:altLabel \"");
    let lines = text.lines().filter_map(|line| line.strip_prefix(&start));
    lines.filter_map(|line| line.split('"').next()).collect()
}

/// The words that are understood without the file, below the line of a relation or class.
fn understood<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let mut lines = text.lines();
    lines.find(|line| line.starts_with(&format!("# {name}: ")));
    let line = lines.next().unwrap_or_default();
    let words = line.strip_prefix("# understood without this file: ");
    words.map_or_else(Vec::new, |words| words.split(", ").collect())
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
    assert!(counts["understood"].as_u64().unwrap() > 20, "{counts}");
    assert_eq!(counts["proposed"], 0, "what is understood needs no file");
    let director = understood(&text, "relation film.film.directed_by");
    assert!(director.contains(&"helm"), "{director:?}");
    let film = understood(&text, "class film.film");
    assert!(!film.is_empty() && !film.contains(&"film"), "{film:?}");
    assert_eq!(make("").1, text, "the same again, over its own file");
    let (fewer, text) = make(" --words 1");
    assert!(fewer["understood"].as_u64() < counts["understood"].as_u64());
    assert_eq!(understood(&text, "relation film.film.directed_by").len(), 1);
    load(dir.path(), "unchanged", &["lexicon.ttl"]);
    let triples = |graph: &str| {
        let line = format!("kg stats --kg {graph} --json");
        let (said, errors, code) = run(dir.path(), &words(&line));
        assert_eq!(code, 0, "{said}{errors}");
        serde_json::from_str::<Value>(&said).unwrap()["triples"].clone()
    };
    assert!(triples("graph").as_u64() > Some(10_000));
    assert_eq!(triples("unchanged"), triples("graph"));

    // What people said is proposed.
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
    let (counts, text) = make(" --words 30 --questions jsonl=asked.jsonl");
    assert!(counts["proposed"].as_u64() > Some(0), "{counts}");
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
