//! Asking: plain, streamed, as a chat; kept answers; feedback; a full queue; leaving and stopping.

use std::net::TcpStream;
use std::time::Duration;

use datagen::read::{QuestionSource, ReadOptions};
use kg::GraphFolder;
use serde_json::{Value, json};
use serve::{AccessRules, ClientLimits, ServiceOptions};

use crate::support::{Running, graph, options, quoted};

/// A query that keeps a thread busy for seconds, and one that does until its deadline.
const SLOW: &str = "SELECT (COUNT(*) AS ?n) { ?a a ?b . ?c ?p ?d }";
const SLOWEST: &str = "SELECT (COUNT(*) AS ?n) { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f }";

fn labels(object: &Value) -> Vec<&str> {
    let members = object["answer"]["value"]["set"].as_array().unwrap();
    members
        .iter()
        .map(|member| member["label"].as_str().unwrap())
        .collect()
}

#[test]
fn a_question_gets_the_object_of_the_command_line() {
    let server = Running::plain();
    let reply = server.post("/api/ask", r#"{"question": "capital of peru?"}"#);
    assert_eq!(
        (reply.status, reply.header("content-type")),
        (200, "application/json")
    );
    let object = reply.json();
    assert_eq!(labels(&object), ["Lima"]);
    let keys: Vec<&str> = object
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let of_ask = ["question", "entities", "answer", "calls", "tokens"];
    assert_eq!(
        keys,
        [&of_ask[..], &["id", "graph", "agent", "model"]].concat()
    );
    assert_eq!(
        (&object["graph"], &object["agent"], &object["model"]),
        (&json!("demo"), &json!("words"), &json!(null))
    );
    let named = server.post(
        "/api/ask",
        r#"{"question": "its capital?", "entities": ["peru"], "graph": "demo", "agent": "words"}"#,
    );
    assert_eq!(labels(&named.json()), ["Lima"]);
}

#[test]
fn a_bad_question_is_refused_with_the_reason() {
    let server = Running::plain();
    for (body, status, code) in [
        ("", 400, "body"),
        ("{}", 400, "body"),
        ("[1]", 400, "body"),
        (r#"{"question": "a", "grpah": "demo"}"#, 400, "body"),
        (r#"{"question": "  "}"#, 400, "no_question"),
        (
            r#"{"question": "a", "graph": "other"}"#,
            404,
            "unknown_graph",
        ),
        (
            r#"{"question": "a", "model": "other"}"#,
            404,
            "unknown_model",
        ),
        (
            r#"{"question": "a", "agent": "other"}"#,
            404,
            "unknown_agent",
        ),
        (
            r#"{"question": "a", "agent": "kg-agent"}"#,
            404,
            "unknown_agent",
        ),
        (
            r#"{"question": "a", "entities": ["no such thing at all"]}"#,
            400,
            "unknown_entity",
        ),
    ] {
        server.post("/api/ask", body).refused(status, code);
    }
    let refused = server.post("/api/ask", r#"{"question": "a", "agent": "other"}"#);
    let message = "there is no agent `other` here; with no model there are words, retrieval, tog";
    assert_eq!(refused.json()["error"]["message"], message);
    let long = json!({ "question": "a".repeat(3000) }).to_string();
    server.post("/api/ask", &long).refused(400, "too_long");
    server
        .send("POST", "/api/ask", &[("Content-Type", "text/plain")], "{}")
        .refused(415, "media_type");
    server
        .send("POST", "/api/ask", &[], "{}")
        .refused(415, "media_type");
    server.get("/api/ask").refused(405, "method");
    server
        .get("/api/answers/0000")
        .refused(404, "unknown_answer");
    server.get("/nothing").refused(404, "unknown_address");
}

#[test]
fn events_come_in_the_order_of_the_trace_and_end_with_the_answer() {
    let server = Running::plain();
    let headers = [
        ("Content-Type", "application/json"),
        ("Accept", "text/event-stream"),
    ];
    let reply = server.send(
        "POST",
        "/api/ask",
        &headers,
        r#"{"question": "capital of peru?"}"#,
    );
    assert_eq!(reply.header("content-type"), "text/event-stream");
    let events = reply.events();
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "observe", "decision", "result", "result", "result", "answer", "timing", "done"
        ]
    );
    let done: Value = serde_json::from_str(&events.last().unwrap().1).unwrap();
    assert_eq!(labels(&done), ["Lima"]);
    let kept = server
        .get(&format!("/api/answers/{}", done["id"].as_str().unwrap()))
        .json();
    let trace: Vec<Value> = events[..events.len() - 1]
        .iter()
        .map(|(name, data)| {
            let mut value: Value = serde_json::from_str(data).unwrap();
            value["event"] = json!(name);
            value
        })
        .collect();
    assert_eq!(kept["trace"], json!(trace));
    let failed = server.send(
        "POST",
        "/api/ask",
        &headers,
        r#"{"question": "a", "entities": ["no such thing"]}"#,
    );
    let [(name, data)] = &failed.events()[..] else {
        panic!("{failed:?}")
    };
    assert!(
        name == "failed" && data.contains("unknown_entity"),
        "{data}"
    );
}

#[test]
fn a_kept_answer_has_its_query_and_the_triples_of_each_step() {
    let server = Running::plain();
    let asked = server
        .post("/api/ask", r#"{"question": "capital of peru?"}"#)
        .json();
    let kept = server
        .get(&format!("/api/answers/{}", asked["id"].as_str().unwrap()))
        .json();
    let query = kept["sparql"].as_str().unwrap();
    assert!(
        query.starts_with("SELECT") && query.contains("location.country.capital"),
        "{query}"
    );
    assert_eq!(kept["steps"], json!([[1]]));
    assert_eq!(
        kept["names"],
        json!([["peru", "location.country.capital", "lima"]])
    );
    assert_eq!(
        kept["topics"],
        json!([{ "iri": "http://kgagent.example/peru" }])
    );
    let result = server
        .send(
            "POST",
            "/sparql/demo",
            &[("Content-Type", "application/sparql-query")],
            query,
        )
        .json();
    assert_eq!(
        result["results"]["bindings"][0]["x"]["value"],
        "http://kgagent.example/lima"
    );
}

#[test]
fn the_evidence_of_an_answer_is_rdf_and_its_trace_is_a_file() {
    let server = Running::plain();
    let asked = server
        .post("/api/ask", r#"{"question": "capital of peru?"}"#)
        .json();
    let path = format!("/api/answers/{}", asked["id"].as_str().unwrap());
    let get = |what: &str, accept: &str| {
        server.send("GET", &format!("{path}/{what}"), &[("Accept", accept)], "")
    };
    let lines = get("evidence", "*/*");
    assert_eq!(lines.header("content-type"), "application/n-triples");
    assert_eq!(
        lines.body,
        "<http://kgagent.example/peru> <http://kgagent.example/location.country.capital> <http://kgagent.example/lima> .\n"
    );
    assert_eq!(
        get("evidence", "text/turtle").body,
        "@prefix n0: <http://kgagent.example/> .\nn0:peru n0:location.country.capital n0:lima .\n"
    );
    let linked = get("evidence", "application/ld+json").json();
    assert_eq!(
        linked[0]["http://kgagent.example/location.country.capital"][0]["@id"],
        "http://kgagent.example/lima"
    );
    get("evidence", "text/html").refused(406, "not_acceptable");
    let trace = get("trace", "*/*");
    assert_eq!(trace.header("content-type"), "application/x-ndjson");
    let events = toolbox::trace::read(trace.body.as_bytes()).unwrap();
    assert_eq!(
        json!(events),
        server.get(&path).json()["trace"],
        "the file has the events of the answer"
    );
    for what in ["evidence", "trace"] {
        let path = format!("/api/answers/0/{what}");
        server.get(&path).refused(404, "unknown_answer");
    }
}

#[test]
fn a_question_has_a_query_in_the_form_of_the_challenge() {
    let server = Running::plain();
    for dataset in ["demo", "http://e/2026/demo/", "urn:data:demo"] {
        let path = format!("/text2sparql?dataset={}&question=", quoted(dataset));
        let reply = server.get(&format!("{path}{}", quoted("capital of peru?")));
        let object = reply.json();
        assert_eq!(
            (&object["dataset"], &object["question"]),
            (&json!(dataset), &json!("capital of peru?"))
        );
        let headers = [("Content-Type", "application/sparql-query")];
        let query = object["query"].as_str().unwrap();
        let rows = server.send("POST", "/sparql/demo", &headers, query).json();
        let found = &rows["results"]["bindings"][0]["x"]["value"];
        assert_eq!(found, "http://kgagent.example/lima");
    }
    for (path, status, code) in [
        ("?dataset=demo&question=colour%20of%20nine", 422, "no_query"),
        ("?dataset=other&question=a", 404, "unknown_graph"),
        ("?dataset=demo", 400, "parameter"),
        ("?question=a", 400, "parameter"),
        ("?dataset=demo&question=a&graph=b", 400, "parameter"),
    ] {
        let path = format!("/text2sparql{path}");
        server.get(&path).refused(status, code);
    }
}

#[test]
fn a_program_without_chats_gets_a_completion() {
    let server = Running::plain();
    let ask = |body: Value| server.post("/v1/completions", &body.to_string());
    let whole = ask(json!({ "model": "words@demo", "prompt": "capital of peru?" })).json();
    assert_eq!(
        (&whole["object"], &whole["choices"][0]["text"]),
        (
            &json!("text_completion"),
            &json!("**Lima**\n\nEvidence:\n\n- Peru · capital · Lima")
        )
    );
    let streamed = json!({
        "model": "words@demo", "prompt": ["capital of peru?"], "stream": true,
        "stream_options": { "include_usage": true },
    });
    let events = ask(streamed).events();
    let [(_, text), (_, usage), (_, done)] = &events[..] else {
        panic!("{events:?}")
    };
    let text: Value = serde_json::from_str(text).unwrap();
    assert_eq!(text["choices"][0]["text"], whole["choices"][0]["text"]);
    assert!(usage.contains("total_tokens"), "{usage}");
    assert_eq!(done, "[DONE]");
    ask(json!({ "model": "words@demo", "prompt": [1, 2] })).refused(400, "prompt");
    ask(json!({ "model": "gpt-9", "prompt": "a" })).refused(404, "model_not_found");
}

#[test]
fn a_follow_up_question_is_about_the_last_answer_and_titles_need_no_agent() {
    let server = Running::plain();
    let chat = |turns: &[(&str, &str)]| {
        let turn = |(role, content): &(&str, &str)| json!({ "role": role, "content": content });
        let turns: Vec<Value> = turns.iter().map(turn).collect();
        let body = json!({ "model": "words@demo", "messages": turns });
        server
            .post("/v1/chat/completions", &body.to_string())
            .json()
    };
    let first = chat(&[("user", "which country is Lisbon in?")]);
    let said = first["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(said.starts_with("**Portugal**"), "{said}");
    let before = [("user", "which country is Lisbon in?"), ("assistant", said)];
    let ask = |question| chat(&[&before[..], &[("user", question)]].concat());
    let next = ask("what is its capital?");
    assert_eq!(next["kgagent"]["entities"], json!(["portugal"]));
    assert_eq!(labels(&next["kgagent"]), ["Lisbon"]);
    // A question that names something is about that.
    let other = ask("what is the capital of peru, and where is it?");
    assert_eq!(other["kgagent"]["entities"], json!(["peru"]));
    let task = "### Task:\nGenerate a title. { \"title\": \"your title\" }\nUSER: capital of peru?";
    let titled = chat(&[("user", task)]);
    assert_eq!(
        titled["choices"][0]["message"]["content"],
        r#"{"title":"capital of peru?"}"#
    );
    server.wait_for("kgagent_queue_seconds_count 3");
}

#[test]
fn a_chat_program_gets_answer_evidence_and_steps_as_text() {
    let server = Running::plain();
    let models = server.get("/v1/models").json();
    assert_eq!(
        (&models["object"], &models["data"][0]["id"]),
        (&json!("list"), &json!("words@demo"))
    );
    let body = json!({
        "model": "words@demo", "temperature": 0.5, "tools": [],
        "messages": [
            { "role": "system", "content": "be brief" }, { "role": "user", "content": "capital of chile?" },
            { "role": "assistant", "content": "Santiago" },
            { "role": "user", "content": [{ "type": "text", "text": "capital of peru?" }] },
        ],
    });
    let reply = server.post("/v1/chat/completions", &body.to_string());
    let whole = reply.json();
    let message = &whole["choices"][0]["message"];
    assert_eq!(
        message["content"],
        "**Lima**\n\nEvidence:\n\n- Peru · capital · Lima"
    );
    assert!(
        message["reasoning_content"]
            .as_str()
            .unwrap()
            .contains("location\\.country\\.capital")
    );
    assert_eq!(
        (&whole["object"], &whole["choices"][0]["finish_reason"]),
        (&json!("chat.completion"), &json!("stop"))
    );
    assert_eq!(reply.header("x-request-id"), whole["kgagent"]["id"]);

    let mut streamed = body;
    streamed["stream"] = json!(true);
    streamed["stream_options"] = json!({ "include_usage": true });
    let reply = server.post("/v1/chat/completions", &streamed.to_string());
    let mut events = reply.events();
    assert_eq!(events.pop().unwrap().1, "[DONE]");
    let chunks: Vec<Value> = events
        .iter()
        .map(|(_, data)| serde_json::from_str(data).unwrap())
        .collect();
    assert!(
        chunks
            .iter()
            .all(|chunk| chunk["object"] == "chat.completion.chunk")
    );
    assert_eq!(chunks[0]["choices"][0]["delta"]["role"], "assistant");
    let [.., content, last, usage] = &chunks[..] else {
        panic!("{chunks:?}")
    };
    assert_eq!(
        content["choices"][0]["delta"]["content"],
        message["content"]
    );
    assert_eq!(
        (
            &last["choices"][0]["finish_reason"],
            &last["kgagent"]["answer"]
        ),
        (&json!("stop"), &whole["kgagent"]["answer"])
    );
    assert_eq!(
        (&usage["choices"], &usage["usage"]),
        (&json!([]), &whole["usage"])
    );
}

#[test]
fn a_bad_chat_request_is_refused_in_the_form_of_that_interface() {
    let server = Running::plain();
    let ask = |model: &str, messages: Value| {
        server.post(
            "/v1/chat/completions",
            &json!({ "model": model, "messages": messages }).to_string(),
        )
    };
    let turn = |content: Value| json!([{ "role": "user", "content": content }]);
    ask("gpt-9", turn(json!("a"))).refused(404, "model_not_found");
    ask("oda@demo", turn(json!("a"))).refused(404, "model_not_found");
    ask("words@other", turn(json!("a"))).refused(404, "model_not_found");
    ask("words@demo", json!([])).refused(400, "messages");
    ask("words@demo", turn(json!(7))).refused(400, "messages");
    ask("words@demo", turn(json!([{ "type": "image_url" }]))).refused(400, "messages");
    let reply = server.post("/v1/chat/completions", "{");
    reply.refused(400, "body");
    assert_eq!(reply.json()["error"]["type"], "invalid_request_error");
    server.get("/v1/nothing").refused(404, "unknown_address");
}

#[test]
fn hostile_labels_are_text_in_every_form() {
    let server = Running::plain();
    let ask = r#"{"question": "its capital?", "entities": ["evilland"]}"#;
    let object = server.post("/api/ask", ask).json();
    assert_eq!(
        labels(&object),
        ["Evil <script>alert(1)</script> [x](http://evil.example)"]
    );
    let page = server.get("/api/graphs/demo/entity?id=evil");
    assert_eq!(
        (
            page.header("content-type"),
            page.header("x-content-type-options")
        ),
        ("application/json", "nosniff")
    );
    let chat = json!({ "model": "words@demo", "messages": [{ "role": "user", "content": "capital of Evilland ![i](x) <img src=x onerror=alert(1)>?" }] });
    let content = server
        .post("/v1/chat/completions", &chat.to_string())
        .json()["choices"][0]["message"]["content"]
        .to_string();
    for hostile in ["<script", "<img", "](http", "![i]"] {
        assert!(
            !content.replace("\\\\", "\\").contains(hostile)
                || content.contains(&format!("\\\\{hostile}")),
            "{content}"
        );
    }
    assert!(content.contains("\\\\<script\\\\>"), "{content}");
}

#[test]
fn feedback_becomes_questions_that_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("feedback.jsonl");
    let server = Running::start(
        ServiceOptions {
            feedback: Some(path.clone()),
            ..options()
        },
        AccessRules::default(),
    );
    let id = server
        .post("/api/ask", r#"{"question": "capital of peru?"}"#)
        .json()["id"]
        .clone();
    let say = |body: Value| server.post("/api/feedback", &body.to_string());
    assert_eq!(
        say(json!({ "id": id, "verdict": "right" })).json(),
        json!({ "kept": true })
    );
    assert_eq!(
        say(json!({ "id": id, "verdict": "wrong", "answers": ["Chile"] })).status,
        200
    );
    assert_eq!(say(json!({ "id": id, "verdict": "wrong" })).status, 200);
    say(json!({ "id": "0", "verdict": "right" })).refused(404, "unknown_answer");
    say(json!({ "id": id, "verdict": "maybe" })).refused(400, "body");
    say(json!({ "id": id, "verdict": "right", "answers": ["x"] })).refused(400, "answers");
    let kg = GraphFolder::open(graph()).unwrap();
    let source: QuestionSource = format!("jsonl={}", path.display()).parse().unwrap();
    let questions = source.read(Some(&kg), &ReadOptions::default()).unwrap();
    assert_eq!(questions.len(), 2);
    assert!(
        questions
            .iter()
            .all(|one| one.question == "capital of peru?")
    );
    // The answer that a verdict is about is in its line, and the same verdict is there once.
    for (verdict, rows) in [("right", 1), ("wrong", 1)] {
        let text = std::fs::read_to_string(&path).unwrap();
        let lines = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let lines: Vec<Value> = lines.filter(|line| line["verdict"] == verdict).collect();
        assert_eq!(lines.len(), rows);
        assert_eq!(lines[0]["given"], json!(["lima"]));
        let again = server
            .post("/api/ask", r#"{"question": "capital of peru?"}"#)
            .json();
        let answers = if verdict == "right" {
            json!([])
        } else {
            json!(["chile"])
        };
        let body = json!({ "id": again["id"], "verdict": verdict, "answers": answers });
        assert_eq!(say(body).json(), json!({ "kept": true }));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
    let wrong = std::fs::read_to_string(folder.path().join("feedback.wrong.jsonl")).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&wrong).unwrap()["given"],
        json!(["lima"])
    );
    Running::plain()
        .post(
            "/api/feedback",
            &json!({ "id": id, "verdict": "right" }).to_string(),
        )
        .refused(404, "no_feedback");
}

#[test]
fn a_client_gives_only_so_many_verdicts_in_a_minute_and_a_full_file_takes_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("feedback.jsonl");
    let limits = ClientLimits {
        verdicts: 4,
        ..ClientLimits::default()
    };
    let access = AccessRules {
        limits,
        ..AccessRules::default()
    };
    let options = ServiceOptions {
        feedback: Some(path.clone()),
        ..options()
    };
    let server = Running::start(options, access);
    let asked = server.post("/api/ask", r#"{"question": "capital of peru?"}"#);
    let id = asked.json()["id"].clone();
    let say = |answer: &str| {
        let body = json!({ "id": id, "verdict": "wrong", "answers": [answer] });
        server.post("/api/feedback", &body.to_string())
    };
    assert_eq!(say("a").status, 200);
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    let length = file.metadata().unwrap().len();
    file.set_len((16 << 20) - 20).unwrap();
    say("b").refused(507, "feedback_full");
    // Its operator moves it away and reloads.
    std::fs::rename(&path, folder.path().join("old.jsonl")).unwrap();
    assert_eq!(server.post("/api/reload", "").status, 200);
    assert_eq!(say("c").status, 200);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), length);
    assert_eq!(say("d").status, 200);
    say("e").refused(429, "too_many");
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 2);
}

/// Keeps the only thread of a server busy as long as the connection is open.
fn busy(queue: Option<usize>, query: &str) -> (Running, TcpStream) {
    let server = Running::start(
        ServiceOptions {
            workers: Some(1),
            queue,
            ..options()
        },
        AccessRules::default(),
    );
    let headers = [("Content-Type", "application/sparql-query")];
    let asker = server.open("POST", "/sparql/demo", &headers, query);
    server.wait_for("kgagent_running 1");
    (server, asker)
}

#[test]
fn a_full_queue_refuses_and_says_when_to_come_again() {
    let (server, asker) = busy(None, SLOWEST);
    let question = r#"{"question": "capital of peru?"}"#;
    // A small burst waits by default, even where there is only one thread.
    let headers = [("Content-Type", "application/json")];
    let waiting = [(); 4].map(|()| server.open("POST", "/api/ask", &headers, question));
    server.wait_for("kgagent_queue_waiting 4");
    let reply = server.post("/api/ask", question);
    reply.refused(503, "busy");
    assert_eq!(reply.header("retry-after"), "2");
    server.wait_for("kgagent_rejected_total 1");
    drop((waiting, asker));
}

#[test]
fn a_question_whose_asker_has_left_is_not_answered() {
    let (server, _asker) = busy(Some(8), SLOW);
    let headers = [
        ("Content-Type", "application/json"),
        ("Accept", "text/event-stream"),
    ];
    let question = r#"{"question": "capital of peru?"}"#;
    let askers = [&headers[..1], &headers[..]]
        .map(|headers| server.open("POST", "/api/ask", headers, question));
    server.wait_for("kgagent_queue_waiting 2");
    drop(askers);
    server.wait_for("kgagent_questions_total{outcome=\"cancelled\"} 2");
    server.wait_for("kgagent_questions_total{outcome=\"answered\"} 0");
}

#[test]
fn a_question_past_its_deadline_ends_with_the_reason() {
    let options = ServiceOptions {
        deadline: Duration::ZERO,
        ..options()
    };
    let server = Running::start(options, AccessRules::default());
    server
        .post("/api/ask", r#"{"question": "capital of peru?"}"#)
        .refused(503, "deadline");
}

#[test]
fn stopping_takes_seconds_even_with_open_connections() {
    let mut server = Running::plain();
    let idle = TcpStream::connect(server.address).unwrap();
    assert_eq!(server.get("/readyz").body, "ready\n");
    assert!(server.stop() < Duration::from_secs(5));
    drop(idle);
}
