//! What clients leave open: fields that are null, whole numbers with a fraction, parameters without a
//! value. The walk follows the description of the interface, so that it reaches new fields as well.

use serde_json::{Map, Value, json};
use serve::{AccessRules, ServiceOptions};

use crate::support::{Running, options, quoted};

/// A schema, or the one that it names.
fn named<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(name) => document.pointer(name.strip_prefix('#').unwrap()).unwrap(),
        None => schema,
    }
}

/// Every way to write an optional field of a schema as null, or as an integer with a fraction of
/// zero, with the object that means the same.
fn variants(document: &Value, schema: &Value) -> Vec<(Map<String, Value>, Map<String, Value>)> {
    let schema = named(document, schema);
    let required = schema["required"].as_array();
    let mut all = Vec::new();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let field = named(document, field);
        let is_needed = required.is_some_and(|needed| needed.iter().any(|one| one == name));
        let mut add = |written: Value, meant: Option<Value>| {
            let one = |value| Map::from_iter([(name.clone(), value)]);
            all.push((one(written), meant.map(one).unwrap_or_default()));
        };
        if !is_needed {
            add(Value::Null, None);
        }
        if field["type"] == "integer" {
            let whole = field["enum"][0].as_f64().unwrap_or(2.0);
            add(json!(whole), Some(json!(whole as i64)));
        }
        if field["type"] == "object" && !is_needed {
            for (written, meant) in variants(document, field) {
                add(written.into(), Some(meant.into()));
            }
        }
    }
    all
}

fn with(base: &Value, more: &Map<String, Value>) -> String {
    let mut object = base.clone();
    object.as_object_mut().unwrap().extend(more.clone());
    object.to_string()
}

/// A response without what differs every time.
fn shown(mut reply: Value) -> Value {
    for name in ["id", "created", "kgagent"] {
        reply.as_object_mut().unwrap().remove(name);
    }
    reply
}

#[test]
fn null_is_absent_and_a_whole_float_is_an_integer_in_every_body() {
    let folder = tempfile::tempdir().unwrap();
    let options = ServiceOptions {
        feedback: Some(folder.path().join("feedback.jsonl")),
        ..options()
    };
    let server = Running::start(options, AccessRules::default());
    let document = server.get("/openapi.json").json();
    let asked = server.post("/api/ask", r#"{"question": "capital of peru?"}"#);
    let id = asked.json()["id"].clone();
    let mut walked = 0;
    for (path, base) in [
        ("/api/ask", json!({ "question": "capital of peru?" })),
        ("/api/feedback", json!({ "id": id, "verdict": "wrong" })),
        (
            "/v1/chat/completions",
            json!({ "model": "words@demo", "messages": [{ "role": "user", "content": "capital of peru?" }] }),
        ),
        (
            "/v1/completions",
            json!({ "model": "words@demo", "prompt": "capital of peru?" }),
        ),
    ] {
        let schema = &document["paths"][path]["post"]["requestBody"]["content"]["application/json"];
        for (written, meant) in variants(&document, &schema["schema"]) {
            // `response_format` has no meaning without its type.
            if written.contains_key("response_format") && !meant.is_empty() {
                continue;
            }
            let reply = server.post(path, &with(&base, &written));
            assert_eq!(reply.status, 200, "{path} {written:?}: {}", reply.body);
            let plain = server.post(path, &with(&base, &meant));
            assert_eq!(
                shown(reply.json()),
                shown(plain.json()),
                "{path} {written:?}"
            );
            walked += 1;
        }
        // All of them at once, as programs with fixed types send them.
        let fields = variants(&document, &schema["schema"]).into_iter();
        let nulls = fields.filter(|(_, meant)| meant.is_empty());
        let nulls: Map<String, Value> = nulls.flat_map(|(written, _)| written).collect();
        assert_eq!(
            server.post(path, &with(&base, &nulls)).status,
            200,
            "{nulls:?}"
        );
    }
    assert!(walked > 35, "{walked}");
    // Nulls in turns, and a stream whose options are open.
    let chat = json!({
        "model": "words@demo", "stream": true, "stream_options": { "include_usage": null },
        "messages": [
            { "role": "user", "content": "capital of chile?", "name": null },
            { "role": "assistant", "content": null, "tool_calls": null },
            { "role": "user", "content": "capital of peru?" },
        ],
    });
    let events = server
        .post("/v1/chat/completions", &chat.to_string())
        .events();
    assert!(
        events.iter().any(|(_, data)| data.contains("Lima")),
        "{events:?}"
    );
    assert!(!events.iter().any(|(_, data)| data.contains("total_tokens")));
}

#[test]
fn null_is_absent_and_a_whole_float_is_an_integer_for_every_tool() {
    let server = Running::plain();
    let message = |method: &str, params: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 1.0, "method": method, "params": params });
        let reply = server.post("/mcp", &body.to_string()).json();
        assert_eq!(reply["id"], json!(1));
        reply["result"].clone()
    };
    let call = |name: &str, arguments: Value| {
        let result = message(
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        );
        assert_eq!(result["isError"], false, "{name}: {result}");
        shown(result["structuredContent"].clone())
    };
    let mut walked = 0;
    for tool in message("tools/list", json!(null))["tools"]
        .as_array()
        .unwrap()
    {
        let name = tool["name"].as_str().unwrap();
        let base = match name {
            "ask" => json!({ "question": "capital of peru?" }),
            "search_entities" => json!({ "text": "lis" }),
            "describe_entity" => json!({ "id": "portugal" }),
            "relations" => json!({ "id": "portugal", "relation": "location.city.country" }),
            "run_program" => {
                json!({ "program": "v0 = get_tail_entity(lisbon, location.city.country); ans = end(v0)" })
            }
            "sparql" => json!({ "query": "SELECT ?x { ?x a ?y } ORDER BY ?x" }),
            other => panic!("the tool {other} is not walked over"),
        };
        for (written, meant) in variants(&json!({}), &tool["inputSchema"]) {
            let [written, meant] = [written, meant].map(|more| with(&base, &more));
            let reply = call(name, serde_json::from_str(&written).unwrap());
            let plain = call(name, serde_json::from_str(&meant).unwrap());
            assert_eq!(reply, plain, "{name} {written}");
            walked += 1;
        }
    }
    assert!(walked > 15, "{walked}");
    for wrong in [json!(2.5), json!("2"), json!(-1.0), json!([2])] {
        let arguments = json!({ "text": "lis", "limit": wrong });
        let result = message(
            "tools/call",
            json!({ "name": "search_entities", "arguments": arguments }),
        );
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(
            result["isError"] == true && text.contains("`limit`"),
            "{text}"
        );
    }
}

#[test]
fn a_parameter_without_a_value_is_absent_at_every_address() {
    let server = Running::plain();
    let document = server.get("/openapi.json").json();
    let mut walked = 0;
    for (path, base) in [
        ("/api/graphs/{name}/search", "q=lis"),
        ("/api/graphs/{name}/entity", "id=portugal"),
        (
            "/api/graphs/{name}/entity",
            "id=portugal&relation=location.city.country&direction=in",
        ),
        ("/api/graphs/{name}/schema", ""),
        ("/sparql/{name}", "query=ASK%7B%7D"),
        ("/text2sparql", "dataset=demo&question=capital%20of%20peru"),
    ] {
        let address = path.replace("{name}", "demo");
        let plain = server.get(&format!("{address}?{base}"));
        assert_eq!(plain.status, 200, "{}", plain.body);
        for parameter in document["paths"][path]["get"]["parameters"]
            .as_array()
            .unwrap()
        {
            let name = parameter["name"].as_str().unwrap();
            if base.contains(&format!("{name}=")) || parameter["in"] != "query" {
                continue;
            }
            let empty = server.get(&format!("{address}?{base}&{name}="));
            assert_eq!(
                (empty.status, empty.body),
                (200, plain.body.clone()),
                "{path} {name}"
            );
            if parameter["schema"]["type"] == "integer" {
                let [float, whole] = ["1.0", "1"]
                    .map(|number| server.get(&format!("{address}?{base}&{name}={number}")));
                assert_eq!(
                    (float.status, float.body),
                    (200, whole.body),
                    "{path} {name}"
                );
            }
            walked += 1;
        }
    }
    assert!(walked > 8, "{walked}");
    let path = "/api/graphs/demo/search?q=lis&limit=";
    for wrong in ["2.5", "null", "-1", "1.0.0"] {
        server
            .get(&format!("{path}{wrong}"))
            .refused(400, "parameter");
    }
    server
        .get("/api/graphs/demo/search?q=")
        .refused(400, "parameter");
    // A form that sends the field of updates empty asks a query.
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let body = format!("update=&query={}", quoted("ASK {}"));
    assert_eq!(
        server.send("POST", "/sparql/demo", &[form], &body).status,
        200
    );
}

#[test]
fn what_a_chat_cannot_have_is_refused_and_the_rest_is_obeyed() {
    let server = Running::plain();
    let ask = |more: Value| {
        let turns = json!([{ "role": "user", "content": "capital of peru?" }]);
        let base = json!({ "model": "words@demo", "messages": turns });
        server.post(
            "/v1/chat/completions",
            &with(&base, more.as_object().unwrap()),
        )
    };
    for more in [
        json!({ "n": 2 }),
        json!({ "n": 2.0 }),
        json!({ "tool_choice": "required" }),
        json!({ "response_format": { "type": "json_object" } }),
        json!({ "logprobs": true }),
        json!({ "max_tokens": 0 }),
        json!({ "stream": true, "n": 3 }),
    ] {
        let reply = ask(more.clone());
        reply.refused(400, "unsupported_value");
        let name = more.as_object().unwrap().keys().next_back().unwrap();
        let text = reply.json()["error"]["message"].to_string();
        assert!(text.contains(name), "{text}");
    }
    let first = |reply: Value| {
        let choice = &reply["choices"][0];
        (
            choice["message"]["content"].clone(),
            choice["finish_reason"].clone(),
        )
    };
    let whole = "**Lima**\n\nEvidence:\n\n- Peru · capital · Lima";
    for (more, content, reason) in [
        (json!({ "stop": "\n\n" }), "**Lima**", "stop"),
        (
            json!({ "max_completion_tokens": 5.0 }),
            "**Lima**",
            "length",
        ),
        (
            json!({ "n": 1, "tool_choice": "auto", "tools": [{ "type": "function" }], "temperature": 2.0, "user": "u" }),
            whole,
            "stop",
        ),
    ] {
        assert_eq!(first(ask(more).json()), (json!(content), json!(reason)));
    }
    let streamed = ask(json!({ "stream": true, "stop": ["\n"], "max_tokens": 3 })).events();
    let chunks = streamed
        .iter()
        .filter_map(|(_, data)| serde_json::from_str(data).ok());
    let choices: Vec<Value> = chunks
        .map(|chunk: Value| chunk["choices"][0].clone())
        .collect();
    let text: String = choices
        .iter()
        .filter_map(|one| one["delta"]["content"].as_str())
        .collect();
    assert_eq!(text, "**Lima");
    assert_eq!(choices.last().unwrap()["finish_reason"], "length");
    let prompt = json!({ "model": "words@demo", "prompt": "capital of peru?", "stop": " ", "max_tokens": 900 });
    let reply = server.post("/v1/completions", &prompt.to_string()).json();
    assert_eq!(reply["choices"][0]["text"], "**Lima**\n\nEvidence:\n\n-");
    let role = json!({ "model": "words@demo", "messages": [{ "role": "critic", "content": "a" }] });
    server
        .post("/v1/chat/completions", &role.to_string())
        .refused(400, "messages");
    // Work of the chat program itself ends in the same way.
    let task = json!({
        "model": "words@demo", "stream": true, "stream_options": { "include_usage": true },
        "messages": [{ "role": "user", "content": "### Task:\n{ \"tags\": [\"a\"] }" }],
    });
    let events = server
        .post("/v1/chat/completions", &task.to_string())
        .events();
    assert!(
        events[events.len() - 2].1.contains("total_tokens"),
        "{events:?}"
    );
}
