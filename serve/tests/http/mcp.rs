//! The tools of the Model Context Protocol over lines of JSON.

use serde_json::{Value, json};
use serve::{Service, serve_mcp};

use crate::support::options;

/// The replies to these lines.
fn talk(lines: &str) -> Vec<Value> {
    let service = Service::open(options()).unwrap();
    let mut out = Vec::new();
    serve_mcp(&service, lines.as_bytes(), &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    out.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn call(name: &str, arguments: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": name, "arguments": arguments } }).to_string() + "\n"
}

#[test]
fn a_client_begins_lists_the_tools_and_asks() {
    let begin = json!({ "jsonrpc": "2.0", "id": "a", "method": "initialize", "params": { "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {} } });
    let lines = format!(
        "{begin}\n{}\n\n{}\n{}",
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }),
        call("ask", &json!({ "question": "capital of peru?" })),
    );
    let replies = talk(&lines);
    assert_eq!(replies.len(), 3);
    assert_eq!(
        (&replies[0]["id"], &replies[0]["result"]["protocolVersion"]),
        (&json!("a"), &json!("2025-03-26"))
    );
    let tools = replies[1]["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "ask",
            "search_entities",
            "describe_entity",
            "relations",
            "run_program",
            "sparql"
        ]
    );
    let result = &replies[2]["result"];
    assert_eq!(
        (&result["isError"], &result["structuredContent"]["text"]),
        (&json!(false), &json!("Lima"))
    );
    let copy: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(copy, result["structuredContent"]);
}

#[test]
fn every_tool_works_and_refuses_what_is_wrong() {
    let content = |name: &str, arguments: Value| {
        talk(&call(name, &arguments))[0]["result"]["structuredContent"].clone()
    };
    let found = content("search_entities", json!({ "text": "Lisb", "limit": 3 }));
    assert_eq!(found["results"][0]["name"], "lisbon");
    assert_eq!(
        content("describe_entity", json!({ "id": "lisbon" }))["label"],
        "Lisbon"
    );
    let page = json!({ "id": "portugal", "relation": "location.city.country", "direction": "in", "limit": 2 });
    assert_eq!(
        content("relations", page)["nodes"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let program = "v0 = get_tail_entity(lisbon, location.city.country); ans = end(v0)";
    let ran = content("run_program", json!({ "program": program }));
    assert_eq!(
        ran["steps"][1]["result"],
        json!({ "set": { "size": 1, "first": ["portugal"] } })
    );
    let rows = content("sparql", json!({ "query": "SELECT ?x { ?x a ?y }" }));
    assert_eq!(
        (
            rows["results"]["bindings"].as_array().unwrap().len(),
            rows["rows_in_all"].as_u64().unwrap() > 200
        ),
        (200, true)
    );
    for (name, arguments, code) in [
        ("ask", json!({}), "arguments"),
        ("ask", json!({ "question": "" }), "no_question"),
        (
            "search_entities",
            json!({ "text": "a", "graph": "x" }),
            "unknown_graph",
        ),
        (
            "describe_entity",
            json!({ "id": "nowhere" }),
            "unknown_entity",
        ),
        (
            "relations",
            json!({ "id": "lisbon", "relation": "nothing" }),
            "unknown_relation",
        ),
        ("run_program", json!({ "program": "v0 = fly()" }), "syntax"),
        (
            "run_program",
            json!({ "program": "v0 = get_tail_entity(nowhere, x); ans = end(v0)" }),
            "call",
        ),
        ("sparql", json!({ "query": "DROP ALL" }), "syntax"),
    ] {
        let reply = talk(&call(name, &arguments));
        let text = reply[0]["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(
            reply[0]["result"]["isError"] == true && text.starts_with(code),
            "{name}: {reply:?}"
        );
    }
}

#[test]
fn what_is_no_message_is_answered_with_an_error_and_the_next_one_works() {
    let long = "x".repeat((1 << 20) + 10);
    let ping = json!({ "jsonrpc": "2.0", "id": 9, "method": "ping" });
    let lines = format!(
        "nonsense\n[]\n{{\"id\": 3}}\n{{\"id\": 4, \"method\": \"fly\"}}\n{long}\n{}{ping}",
        call("fly", &json!({}))
    );
    let codes: Vec<i64> = talk(&lines)
        .iter()
        .map(|reply| reply["error"]["code"].as_i64().unwrap_or(0))
        .collect();
    assert_eq!(codes, [-32700, -32600, -32600, -32601, -32600, -32602, 0]);
}
