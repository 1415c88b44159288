//! How much one client may have at the same time, and what happens to work whose client leaves.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serve::{AccessRules, ClientLimits};

use crate::support::{Running, options};

/// A query that keeps a thread busy until it is stopped.
const SLOWEST: &str = "SELECT (COUNT(*) AS ?n) { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f }";
const QUERY: (&str, &str) = ("Content-Type", "application/sparql-query");

fn limited(connections: usize, questions: usize) -> Running {
    let access = AccessRules {
        limits: ClientLimits {
            connections,
            questions,
            ..ClientLimits::default()
        },
        ..AccessRules::default()
    };
    Running::start(options(), access)
}

#[test]
fn a_client_that_asks_too_much_at_once_is_told_so() {
    let server = limited(64, 1);
    let asker = server.open("POST", "/sparql/demo", &[QUERY], SLOWEST);
    server.wait_for("kgagent_running 1");
    let question = r#"{"question": "capital of peru?"}"#;
    let chat = r#"{"model": "words@demo", "messages": [{"role": "user", "content": "a"}]}"#;
    let message = r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}"#;
    for (path, body) in [
        ("/api/ask", question),
        ("/v1/chat/completions", chat),
        (
            "/v1/completions",
            r#"{"model": "words@demo", "prompt": "a"}"#,
        ),
        ("/mcp", message),
    ] {
        let reply = server.post(path, body);
        reply.refused(429, "too_many");
        assert_eq!(reply.header("retry-after"), "2");
    }
    server
        .get("/sparql/demo?query=ASK%7B%7D")
        .refused(429, "too_many");
    // Looking around is not asking.
    assert_eq!(server.get("/api/graphs/demo/search?q=lis").status, 200);
    drop(asker);
    server.wait_for("kgagent_running 0");
    assert_eq!(server.post("/api/ask", question).status, 200);
}

#[test]
fn a_client_with_too_many_connections_is_told_so_until_it_closes_some() {
    let server = limited(3, 8);
    let connect = || TcpStream::connect(server.address).unwrap();
    let idle = [connect(), connect(), connect()];
    let begun = Instant::now();
    loop {
        let mut one = connect();
        one.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let mut text = String::new();
        let _ = one.read_to_string(&mut text);
        if text.starts_with("HTTP/1.1 429") {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{text}");
    }
    drop(idle);
    // Places are given back when the server has noticed.
    let begun = Instant::now();
    loop {
        let mut one = connect();
        let request = "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let _ = one.write_all(request.as_bytes());
        let mut text = String::new();
        let _ = one.read_to_string(&mut text);
        if text.ends_with("alive\n") {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{text}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_query_whose_asker_leaves_frees_its_thread() {
    let server = Running::plain();
    let asker = server.open("POST", "/sparql/demo", &[QUERY], SLOWEST);
    server.wait_for("kgagent_running 1");
    drop(asker);
    let begun = Instant::now();
    server.wait_for("kgagent_running 0");
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "its time is ten seconds"
    );
}
