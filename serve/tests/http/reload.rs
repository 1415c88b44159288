//! Opening graphs and models again while questions are answered; folders that break or vanish.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use kg::{GraphFolder, LoadOptions};
use serde_json::{Value, json};
use serve::{AccessRules, ServiceOptions};

use crate::support::{Running, graph, options};

const PERU: &str = r#"{"question": "capital of peru?", "graph": "small"}"#;

/// Loads a graph in which the capital of Peru is this one.
fn load(folder: &Path, capital: &str) {
    let text = format!(
        "@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n\
         :peru a :country ; rdfs:label \"Peru\" ; :capital :{capital} .\n\
         :chile a :country ; rdfs:label \"Chile\" ; :capital :santiago .\n\
         :{capital} a :city ; rdfs:label \"{capital}\" . :santiago a :city ; rdfs:label \"Santiago\" .\n"
    );
    let file = folder.join("graph.ttl");
    std::fs::write(&file, text).unwrap();
    let options = LoadOptions::default();
    GraphFolder::load(&folder.join("graph"), &[file], &options, &|_| {}).unwrap();
}

fn serving(folder: &Path) -> Running {
    let graphs = vec![
        ("demo".to_owned(), graph().to_owned()),
        ("small".to_owned(), folder.join("graph")),
    ];
    let options = ServiceOptions {
        graphs,
        ..options()
    };
    Running::start(options, AccessRules::default())
}

fn answer(server: &Running) -> String {
    let object = server.post("/api/ask", PERU).json();
    object["answer"]["value"]["set"][0]["label"]
        .as_str()
        .unwrap_or_else(|| panic!("{object}"))
        .to_owned()
}

#[test]
fn a_graph_that_was_loaded_again_answers_after_a_reload() {
    let folder = tempfile::tempdir().unwrap();
    load(folder.path(), "lima");
    let server = serving(folder.path());
    assert_eq!(answer(&server), "lima");
    let first = server.post("/api/ask", PERU).json()["id"].clone();
    load(folder.path(), "cusco");
    assert_eq!(answer(&server), "lima", "nothing changes without a reload");
    let row =
        |name: &str, changed: bool| json!({ "name": name, "opened": true, "changed": changed });
    assert_eq!(
        server.post("/api/reload", "").json(),
        json!({ "graphs": [row("demo", false), row("small", true)], "models": [] })
    );
    assert_eq!(answer(&server), "cusco");
    // An answer from before says so.
    let path = format!("/api/answers/{}", first.as_str().unwrap());
    let kept = server.get(&path).json();
    assert_eq!(
        (
            &kept["graph_changed"],
            &kept["answer"]["value"]["set"][0]["label"]
        ),
        (&json!(true), &json!("lima"))
    );
    let reply = server.get("/api/reload");
    reply.refused(405, "method");
    assert_eq!(reply.header("allow"), "POST");
}

#[test]
fn no_question_is_lost_while_graphs_are_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    load(folder.path(), "lima");
    let server = serving(folder.path());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let asker = scope.spawn(|| {
            let mut asked = 0;
            while !done.load(Ordering::Relaxed) {
                assert!(["lima", "cusco"].contains(&answer(&server).as_str()));
                asked += 1;
            }
            asked
        });
        for capital in ["cusco", "lima", "cusco", "lima", "cusco"] {
            load(folder.path(), capital);
            assert_eq!(server.post("/api/reload", "").status, 200);
        }
        done.store(true, Ordering::Relaxed);
        assert!(asker.join().unwrap() > 0);
    });
    assert_eq!(answer(&server), "cusco");
}

#[test]
fn a_folder_that_breaks_or_vanishes_harms_nobody() {
    let folder = tempfile::tempdir().unwrap();
    load(folder.path(), "lima");
    let server = serving(folder.path());
    let reload = || -> Value { server.post("/api/reload", "").json()["graphs"].clone() };
    let check = |rows: &Value| {
        assert_eq!(
            (&rows[0]["opened"], &rows[1]["opened"]),
            (&json!(true), &json!(false))
        );
        let text = rows.to_string();
        let path = folder.path().display().to_string();
        assert!(
            rows[1]["error"].is_string() && !text.contains(&path),
            "{text}"
        );
        assert_eq!(answer(&server), "lima");
        let found = server.get("/api/graphs/small/search?q=Lim").json();
        assert_eq!(found["results"][0]["name"], "lima");
        let other = r#"{"question": "capital of peru?"}"#;
        assert_eq!(server.post("/api/ask", other).status, 200);
    };
    std::fs::write(folder.path().join("graph/manifest.json"), "{").unwrap();
    check(&reload());
    std::fs::remove_dir_all(folder.path().join("graph")).unwrap();
    check(&reload());
    server.wait_for("kgagent_reload_failures_total 2");
    load(folder.path(), "cusco");
    assert_eq!(reload()[1]["opened"], true);
    assert_eq!(answer(&server), "cusco");
}
