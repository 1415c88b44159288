//! What every endpoint says to input that it cannot use. Bad input that only one endpoint can get is
//! tested in the file of that endpoint.

use std::collections::BTreeSet;

use serde_json::json;
use serve::{AccessRules, ServiceOptions};

use crate::support::{Running, options};

const JSON: &str = "application/json";
/// Addresses that read an object.
const OBJECTS: [&str; 4] = [
    "/api/ask",
    "/api/feedback",
    "/v1/chat/completions",
    "/v1/completions",
];
/// Addresses that read a body in their own way: `protocol.rs` and `mcp.rs` test them.
const OTHERS: [&str; 2] = ["/mcp", "/sparql/{name}"];

#[test]
fn what_is_no_object_is_refused_by_all_that_read_one() {
    let server = Running::plain();
    let document = server.get("/openapi.json").json();
    let paths = document["paths"].as_object().unwrap();
    let reading = paths
        .iter()
        .filter(|(_, methods)| methods["post"]["requestBody"].is_object());
    let reading: BTreeSet<&str> = reading.map(|(path, _)| path.as_str()).collect();
    assert_eq!(reading, OBJECTS.into_iter().chain(OTHERS).collect());
    for path in OBJECTS {
        for (kind, body, status, code) in [
            (None, &b"{}"[..], 415, "media_type"),
            (
                Some("application/x-www-form-urlencoded"),
                b"a=b",
                415,
                "media_type",
            ),
            (Some("text/plain"), b"{}", 415, "media_type"),
            (Some(JSON), b"", 400, "body"),
            (Some(JSON), b"{", 400, "body"),
            (Some(JSON), b"{}", 400, "body"),
            (Some(JSON), b"[]", 400, "body"),
            (Some(JSON), b"null", 400, "body"),
            (
                Some(JSON),
                b"{\"question\": 7, \"id\": 7, \"prompt\": 7, \"messages\": 7}",
                400,
                "body",
            ),
            (Some(JSON), b"{\"question\": \"\xff\"}", 400, "body"),
            (Some(JSON), b"[[[[[[[[[[", 400, "body"),
        ] {
            let kind: Vec<(&str, &str)> = kind
                .map(|kind| ("Content-Type", kind))
                .into_iter()
                .collect();
            let reply = server.send_bytes("POST", path, &kind, body);
            assert_eq!((path, body, reply.status), (path, body, status));
            reply.refused(status, code);
        }
        let deep = "[".repeat(100_000);
        server.post(path, &deep).refused(400, "body");
    }
    server.wait_for("kgagent_questions_total{outcome=\"failed\"} 0");
    assert_eq!(server.get("/readyz").body, "ready\n");
}

#[test]
fn addresses_that_name_nothing_are_refused() {
    let server = Running::plain();
    for (path, status, code) in [
        ("/api/answers/%FF", 400, "address"),
        ("/api/answers/%FF/trace", 400, "address"),
        ("/api/graphs/%C3%28/schema", 400, "address"),
        ("/page/%FF", 400, "address"),
        ("/sparql/%FF?query=ASK%7B%7D", 400, "address"),
        ("/api/graphs/other/entity?id=peru", 404, "unknown_graph"),
        ("/api/graphs/other/schema", 404, "unknown_graph"),
        ("/api/graphs//schema", 404, "unknown_graph"),
        ("/api/graphs/demo/schema?limit=501", 400, "parameter"),
        ("/api/graphs/demo/schema?limit=1&limit=2", 400, "parameter"),
        (
            "/api/graphs/demo/entity?id=peru&limit=501",
            400,
            "parameter",
        ),
        ("/api/graphs/demo/entity?id=%FF", 404, "unknown_entity"),
        ("/api/graphs/demo/", 404, "unknown_address"),
        ("/api/answers/../../etc/passwd", 404, "unknown_address"),
        ("/page/..%2f..%2fCargo.toml", 404, "unknown_address"),
    ] {
        let reply = server.get(path);
        assert_eq!((path, reply.status), (path, status));
        reply.refused(status, code);
    }
}

#[test]
fn feedback_that_is_refused_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("feedback.jsonl");
    let options = ServiceOptions {
        feedback: Some(file.clone()),
        ..options()
    };
    let server = Running::start(options, AccessRules::default());
    let asked = server.post("/api/ask", r#"{"question": "capital of peru?"}"#);
    let id = asked.json()["id"].clone();
    for (body, status, code) in [
        (json!({ "id": id }), 400, "body"),
        (json!({ "verdict": "right" }), 400, "body"),
        (
            json!({ "id": id, "verdict": "right", "note": "a" }),
            400,
            "body",
        ),
        (
            json!({ "id": id, "verdict": "wrong", "answers": "Lima" }),
            400,
            "body",
        ),
        (
            json!({ "id": id, "verdict": "wrong", "answers": ["a".repeat(501)] }),
            400,
            "too_long",
        ),
        (
            json!({ "id": id, "verdict": "wrong", "answers": vec!["a"; 101] }),
            400,
            "too_long",
        ),
        (
            json!({ "id": "%FF", "verdict": "right" }),
            404,
            "unknown_answer",
        ),
    ] {
        let reply = server.post("/api/feedback", &body.to_string());
        reply.refused(status, code);
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "");
}
