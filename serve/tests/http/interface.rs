//! The description of the interface: what `/openapi.json` says is what the server does.

use serde_json::{Value, json};

use crate::support::Running;

/// Says where a value is not what a schema says: the keywords that the document uses.
fn check(value: &Value, schema: &Value, document: &Value, at: &str) -> Result<(), String> {
    if let Some(name) = schema["$ref"].as_str() {
        let path = name.strip_prefix('#').unwrap();
        let schema = document.pointer(path).ok_or(format!("{at}: no {name}"))?;
        return check(value, schema, document, at);
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        let fits = |choice: &&Value| check(value, choice, document, at).is_ok();
        let count = choices.iter().filter(fits).count();
        return (count == 1)
            .then_some(())
            .ok_or(format!("{at}: {count} choices fit {value}"));
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => return Err(format!("{at}: the schema has no type: {schema}")),
    };
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    if !types.contains(&kind) {
        return Err(format!("{at}: {kind} instead of {types:?}"));
    }
    let known = schema["enum"].as_array();
    if known.is_some_and(|known| !known.contains(value)) {
        return Err(format!("{at}: {value} is not one of {known:?}"));
    }
    for (i, item) in value.as_array().into_iter().flatten().enumerate() {
        check(item, &schema["items"], document, &format!("{at}/{i}"))?;
    }
    for needed in schema["required"].as_array().into_iter().flatten() {
        let name = needed.as_str().unwrap();
        if value.get(name).is_none() {
            return Err(format!("{at}: no `{name}`"));
        }
    }
    for (name, field) in value.as_object().into_iter().flatten() {
        match schema["properties"].get(name) {
            Some(schema) => check(field, schema, document, &format!("{at}/{name}"))?,
            None if schema["additionalProperties"] == false => {
                return Err(format!("{at}: `{name}` is not described"));
            }
            None => {}
        }
    }
    Ok(())
}

/// The schema of a JSON response.
fn described<'a>(document: &'a Value, path: &str, method: &str, status: u16) -> &'a Value {
    let mut response = &document["paths"][path][method]["responses"][status.to_string()];
    if let Some(name) = response["$ref"].as_str() {
        response = document.pointer(name.strip_prefix('#').unwrap()).unwrap();
    }
    let schema = &response["content"]["application/json"]["schema"];
    assert!(
        schema.is_object(),
        "{method} {path} {status} is not described"
    );
    schema
}

#[test]
fn every_address_takes_the_methods_that_are_described() {
    let server = Running::plain();
    let document = server.get("/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    let mut seen = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        let path = path.replace("{name}", "demo").replace("{id}", "0");
        let reply = server.send("PATCH", &path.replace("{file}", "main.js"), &[], "");
        reply.refused(405, "method");
        let mut allowed: Vec<String> = reply
            .header("allow")
            .split(',')
            .map(str::to_lowercase)
            .filter(|method| method != "head")
            .collect();
        allowed.sort();
        let mut own: Vec<&String> = methods.as_object().unwrap().keys().collect();
        own.sort();
        assert_eq!(allowed.iter().collect::<Vec<_>>(), own, "{path}");
        seen += 1;
    }
    assert!(seen > 20);
}

#[test]
fn responses_are_what_is_described() {
    let server = Running::plain();
    let document = server.get("/openapi.json").json();
    let fits = |path: &str, method: &str, reply: &crate::support::Reply| {
        let schema = described(&document, path, method, reply.status);
        let result = check(&reply.json(), schema, &document, path);
        assert!(
            result.is_ok(),
            "{method} {path}: {result:?}\n{}",
            reply.body
        );
    };
    let mut last = String::new();
    for question in [
        r#"{"question": "capital of peru?"}"#,
        r#"{"question": "how many cities are in Portugal?"}"#,
        r#"{"question": "colour of the number nine?"}"#,
        r#"{"question": "number of cities per country?"}"#,
        r#"{"question": "a", "graph": "x"}"#,
        "{",
    ] {
        let reply = server.post("/api/ask", question);
        fits("/api/ask", "post", &reply);
        if reply.status == 200 {
            last = reply.json()["id"].as_str().unwrap().to_owned();
            let kept = server.get(&format!("/api/answers/{last}"));
            fits("/api/answers/{id}", "get", &kept);
        }
    }
    for (described, path) in [
        ("/api/answers/{id}", "/api/answers/0"),
        ("/api/agents", "/api/agents"),
        ("/api/graphs", "/api/graphs"),
        ("/api/graphs/{name}/search", "/api/graphs/demo/search?q=lis"),
        ("/api/graphs/{name}/search", "/api/graphs/demo/search"),
        (
            "/api/graphs/{name}/entity",
            "/api/graphs/demo/entity?id=portugal",
        ),
        (
            "/api/graphs/{name}/entity",
            "/api/graphs/demo/entity?id=s0003",
        ),
        (
            "/api/graphs/{name}/entity",
            "/api/graphs/demo/entity?id=portugal&relation=location.city.country&direction=in",
        ),
        (
            "/api/graphs/{name}/schema",
            "/api/graphs/demo/schema?limit=500",
        ),
        (
            "/text2sparql",
            "/text2sparql?dataset=demo&question=capital%20of%20peru",
        ),
        (
            "/text2sparql",
            "/text2sparql?dataset=demo&question=colour%20of%20nine",
        ),
        ("/v1/models", "/v1/models"),
        ("/sparql/{name}", "/sparql/demo?query=SELECT"),
    ] {
        fits(described, "get", &server.get(path));
    }
    fits("/api/reload", "post", &server.post("/api/reload", ""));
    let feedback = json!({ "id": last, "verdict": "right" }).to_string();
    fits(
        "/api/feedback",
        "post",
        &server.post("/api/feedback", &feedback),
    );
    fits(
        "/v1/chat/completions",
        "post",
        &server.post("/v1/chat/completions", "{"),
    );
}

#[test]
fn the_results_of_tools_are_what_their_schemas_say() {
    let server = Running::plain();
    let message = |method: &str, params: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        server.post("/mcp", &body.to_string()).json()["result"].clone()
    };
    let tools = message("tools/list", json!({}));
    for (name, arguments) in [
        ("ask", json!({ "question": "capital of peru?" })),
        ("search_entities", json!({ "text": "lis" })),
        ("describe_entity", json!({ "id": "portugal" })),
        (
            "relations",
            json!({ "id": "portugal", "relation": "location.city.country", "direction": "in" }),
        ),
        (
            "run_program",
            json!({ "program": "v0 = get_tail_entity(lisbon, location.city.country); ans = end(v0)" }),
        ),
        (
            "sparql",
            json!({ "query": "SELECT ?x { ?x a ?y }", "offset": 3, "limit": 2 }),
        ),
        ("sparql", json!({ "query": "ASK {}" })),
    ] {
        let tools = tools["tools"].as_array().unwrap();
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        let result = message(
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        );
        let schema = &tool["outputSchema"];
        let fits = check(&result["structuredContent"], schema, schema, name);
        assert!(fits.is_ok(), "{fits:?}\n{result}");
    }
    let rows = message(
        "tools/call",
        json!({ "name": "sparql", "arguments": { "query": "SELECT ?x { ?x a ?y } ORDER BY ?x", "offset": 3, "limit": 2 } }),
    );
    let rows = &rows["structuredContent"];
    assert_eq!(rows["results"]["bindings"].as_array().unwrap().len(), 2);
    assert_eq!(rows["offset"], 3);
    assert!(rows["rows_in_all"].as_u64().unwrap() > 200);
}

#[test]
fn the_check_finds_what_is_wrong() {
    let document = json!({ "s": { "type": "object", "properties": { "a": { "type": "array", "items": { "$ref": "#/t" } } }, "required": ["a"], "additionalProperties": false }, "t": { "oneOf": [{ "type": "string", "enum": ["x"] }, { "type": "integer" }] } });
    let wrong = |value: Value| check(&value, &document["s"], &document, "").is_err();
    assert!(!wrong(json!({ "a": ["x", 3] })));
    for value in [
        json!({}),
        json!({ "a": ["y"] }),
        json!({ "a": [], "b": 1 }),
        json!([]),
    ] {
        assert!(wrong(value));
    }
}
