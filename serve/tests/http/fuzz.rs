//! Bodies, messages and parameters that were changed at random: the server answers every one of
//! them, and is there afterwards. `KGAGENT_FUZZ_SECONDS=600` gives each of the three ten minutes.

use std::time::{Duration, Instant};

use common::rng::Rng;

use crate::support::Running;

const JSON: &str = "application/json";
const QUERY: &str = "application/sparql-query";
const FORM: &str = "application/x-www-form-urlencoded";

/// A request to begin with: address, media type, body.
type Seed = (&'static str, &'static str, &'static str);

const BODIES: [Seed; 5] = [
    (
        "/api/ask",
        JSON,
        r#"{"question": "capital of peru?", "entities": ["peru"]}"#,
    ),
    (
        "/api/ask",
        JSON,
        r#"{"question": "how many cities are in Portugal?", "graph": "demo", "agent": "words"}"#,
    ),
    (
        "/api/feedback",
        JSON,
        r#"{"id": "0123456789abcdef", "verdict": "wrong", "answers": ["Lima"]}"#,
    ),
    (
        "/v1/chat/completions",
        JSON,
        r#"{"model": "words@demo", "stream": true, "messages": [{"role": "assistant", "content": "**Lima**\\*"}, {"role": "user", "content": [{"type": "text", "text": "its country?"}]}]}"#,
    ),
    (
        "/v1/completions",
        JSON,
        r#"{"model": "words@demo", "prompt": ["capital of peru?"]}"#,
    ),
];

const MESSAGES: [Seed; 3] = [
    (
        "/mcp",
        JSON,
        r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "run_program", "arguments": {"program": "v0 = get_tail_entity(lisbon, location.city.country); ans = end(v0)"}, "_meta": {"progressToken": 1}}}"#,
    ),
    (
        "/mcp",
        JSON,
        r#"{"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {"name": "relations", "arguments": {"id": "portugal", "relation": "location.city.country", "direction": "in", "offset": 1, "limit": 3}}}"#,
    ),
    (
        "/mcp",
        JSON,
        r#"{"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "kgagent://graphs/demo/schema", "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}}"#,
    ),
];

const QUERIES: [Seed; 5] = [
    (
        "/sparql/demo",
        QUERY,
        "SELECT ?x (COUNT(?y) AS ?n) { ?x a ?y . OPTIONAL { ?x !<http://e/p>* ?z } FILTER (?y > 3) } GROUP BY ?x ORDER BY ?n LIMIT 5",
    ),
    (
        "/sparql/demo",
        QUERY,
        "CONSTRUCT { ?x <http://e/p> [] } WHERE { ?x a ?y MINUS { ?x <http://e/q> \"a\"@en } } LIMIT 3",
    ),
    (
        "/sparql/demo",
        FORM,
        "query=ASK%20%7B%20%3Fa%20%3Fb%20%3Fc%20%7D&default-graph-uri=&format=json",
    ),
    ("/sparql/demo", QUERY, ""),
    (
        "/text2sparql?dataset=demo&question=capital%20of%20peru",
        JSON,
        "",
    ),
];

/// A text with some bytes changed, left out, doubled, or swapped for what often does harm.
fn changed(text: &str, random: &mut Rng) -> Vec<u8> {
    const HARM: [&[u8]; 10] = [
        b"\"",
        b"\\u0000",
        b"{\"a\":",
        b"[[[[",
        b"-1",
        b"1e999",
        b"null",
        b"\xff\xfe",
        b"%00",
        b"{}",
    ];
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..1 + random.below(6) {
        let at = random.below(bytes.len() + 1);
        match random.below(4) {
            0 if at < bytes.len() => bytes[at] = random.below(256) as u8,
            1 if at < bytes.len() => {
                let end = (at + 1 + random.below(20)).min(bytes.len());
                bytes.drain(at..end);
            }
            2 if at < bytes.len() => {
                let end = (at + 1 + random.below(60)).min(bytes.len());
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            _ => {
                let harm = HARM[random.below(HARM.len())];
                bytes.splice(at..at, harm.iter().copied());
            }
        }
    }
    bytes
}

#[test]
fn changed_bodies_are_answered() {
    fuzz(&BODIES, 20);
}

#[test]
fn changed_messages_are_answered() {
    fuzz(&MESSAGES, 21);
}

#[test]
fn changed_queries_are_answered() {
    fuzz(&QUERIES, 22);
}

/// Sends requests for some seconds that begin as one of `seeds`.
#[allow(clippy::print_stdout, reason = "it says how much was tried")]
fn fuzz(seeds: &[Seed], start: u64) {
    let seconds = std::env::var("KGAGENT_FUZZ_SECONDS").ok();
    let seconds = seconds.map_or(2, |text| text.parse().unwrap());
    let server = Running::plain();
    let mut random = Rng::new(start);
    let begun = Instant::now();
    let (mut sent, mut good) = (0, 0);
    while begun.elapsed() < Duration::from_secs(seconds) {
        let (path, kind, body) = seeds[sent % seeds.len()];
        let bytes = changed(body, &mut random);
        let mut path = path.to_owned();
        if body.is_empty() || random.below(20) == 0 {
            let more = changed("query=ASK{}&limit=3&offset=0&q=lis", &mut random);
            let quoted: String = more.iter().map(|byte| format!("%{byte:02X}")).collect();
            path.push_str(if path.contains('?') { "&" } else { "?" });
            path.push_str(&quoted);
        }
        let method = if body.is_empty() { "GET" } else { "POST" };
        let asked = Instant::now();
        let reply = server.send_bytes(method, &path, &[("Content-Type", kind)], &bytes);
        let status = reply.status;
        assert!(
            asked.elapsed() < Duration::from_secs(15),
            "{path}: {}",
            String::from_utf8_lossy(&bytes)
        );
        assert!(
            status == 503 || (200..500).contains(&status),
            "{status} {path}: {}\n{}",
            String::from_utf8_lossy(&bytes),
            reply.body
        );
        sent += 1;
        good += usize::from(status == 200);
    }
    println!("{sent} requests, {good} with an answer");
    assert!(sent > 20 && good > 0, "{good} of {sent}");
    assert_eq!(server.get("/livez").body, "alive\n");
}
