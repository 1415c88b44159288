//! One server and 32 clients at a time, an eighth of them hostile: the others get the answers that
//! they get when nobody else asks, and the memory stays as it is. `KGAGENT_HOSTILE_SECONDS=300` asks
//! longer.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::rng::Rng;
use serde_json::{Value, json};

use crate::change::{changed, nested};
use crate::number;
use crate::place::Base;

const CLIENTS: usize = 32;

/// Memory by which the server may grow while it is asked, in KiB.
const GROWTH: u64 = 64 << 10;

const QUESTIONS: [&str; 5] = [
    "Which cities are in Portugal?",
    "Which country is Lisbon in?",
    "What is the capital of Spain?",
    "How many cities are in Portugal?",
    "Which city has the largest population?",
];

/// A running server; it ends when this is dropped.
struct Served {
    child: Child,
    address: String,
}

impl Served {
    fn start(base: &Base) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_kgagent"))
            .args([
                "serve",
                "--json",
                "--listen",
                "127.0.0.1:0",
                "--workers",
                "2",
                "--client-questions",
                "64",
                "--client-connections",
                "256",
                "--kg",
            ])
            .arg(base.path("g"))
            .env("MALLOC_ARENA_MAX", "2")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let url = said["listening"].as_str().unwrap();
        let address = url
            .trim_start_matches("http://")
            .trim_end_matches('/')
            .to_owned();
        Self { child, address }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream
    }

    /// A question and its answer, without what differs each time; `None` if the queue was full.
    fn ask(&self, question: &str) -> Option<Value> {
        let body = json!({ "question": question }).to_string();
        let mut stream = self.connect();
        stream
            .write_all(&self.post("/api/ask", "application/json", &body))
            .unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        if head.starts_with("HTTP/1.1 503") {
            return None;
        }
        assert!(head.starts_with("HTTP/1.1 200"), "{reply}");
        let mut value: Value = serde_json::from_str(body).unwrap();
        value.as_object_mut().unwrap().remove("id");
        Some(value)
    }

    fn post(&self, path: &str, kind: &str, body: &str) -> Vec<u8> {
        let (host, length) = (&self.address, body.len());
        format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
    }

    /// Resident memory in KiB; `None` on a system that does not tell.
    fn memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        line.split_whitespace().nth(1)?.parse().ok()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One hostile request. Half of them leave before they have read the reply.
fn attack(served: &Served, rng: &mut Rng) {
    let ask = |question: &str| {
        served.post(
            "/api/ask",
            "application/json",
            &json!({ "question": question }).to_string(),
        )
    };
    let query = |query: &str| served.post("/sparql/g", "application/sparql-query", query);
    let get = |path: &str| {
        format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            served.address
        )
        .into_bytes()
    };
    let good = ask(QUESTIONS[0]);
    let bytes = match rng.below(14) {
        0 => changed(&good, rng),
        1 => good[..rng.below(good.len())].to_vec(),
        2 => served.post("/api/ask", "application/json", &String::from_utf8(nested("{\"a\":", "1", "}", 100_000)).unwrap()),
        3 => ask(&"average population of the cities per country ordered by name and ".repeat(30)),
        4 => query("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY ?i"),
        5 => query("SELECT (GROUP_CONCAT(CONCAT(STR(?a), STR(?d), STR(?g))) AS ?x) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"),
        6 => get(&format!("/api/graphs/g/search?q={}&limit=18446744073709551615", "%F0%9F%98%80".repeat(16))),
        7 => get(&format!("/api/graphs/g/entity?id={}", "x".repeat(7_000))),
        8 => get("/api/graphs/g/schema?offset=18446744073709551615&limit=200"),
        9 => good.repeat(50),
        10 => b"POST /api/ask HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nx".to_vec(),
        11 => [&b"GET / HTTP/1.1\r\n"[..], &b"A: b\r\n".repeat(2_000)].concat(),
        12 => served.post("/v1/chat/completions", "application/json", &json!({ "model": "words@g", "stream": true, "messages": [{ "role": "user", "content": QUESTIONS[3] }] }).to_string()),
        _ => served.post("/api/feedback", "application/json", "{\"id\": \"../../x\", \"right\": true}"),
    };
    let mut stream = served.connect();
    let _ = stream.write_all(&bytes);
    if rng.chance(0.5) {
        let _ = stream.shutdown(Shutdown::Both);
        return;
    }
    let _ = stream.set_read_timeout(Some(Duration::from_millis(500)));
    let _ = stream.read(&mut [0; 1 << 12]);
}

#[test]
fn hostile_clients_change_nothing_for_the_others() {
    let base = Base::small();
    let served = Served::start(&base);
    let expected: Vec<Value> = QUESTIONS
        .iter()
        .map(|question| served.ask(question).unwrap())
        .collect();
    let time = Duration::from_secs(number("KGAGENT_HOSTILE_SECONDS", 6) as u64);
    let (begun, answered, attacks) = (Instant::now(), AtomicUsize::new(0), AtomicUsize::new(0));
    let mut settled = None;
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (served, expected, answered, attacks) = (&served, &expected, &answered, &attacks);
            scope.spawn(move || {
                let mut rng = Rng::new(client as u64);
                while begun.elapsed() < time {
                    if client % 8 == 0 {
                        attack(served, &mut rng);
                        attacks.fetch_add(1, Ordering::Relaxed);
                        continue;
                    }
                    let at = rng.below(QUESTIONS.len());
                    match served.ask(QUESTIONS[at]) {
                        Some(answer) => {
                            assert_eq!(answer, expected[at], "{}", QUESTIONS[at]);
                            answered.fetch_add(1, Ordering::Relaxed);
                        }
                        None => std::thread::sleep(Duration::from_millis(20)),
                    }
                }
            });
        }
        std::thread::sleep(time / 2);
        settled = served.memory();
    });
    let (answered, attacks) = (answered.into_inner(), attacks.into_inner());
    println!(
        "{answered} answers, {attacks} attacks, {settled:?} and {:?} KiB",
        served.memory()
    );
    assert!(
        answered > CLIENTS && attacks > 4,
        "{answered} answers, {attacks} attacks"
    );
    if let (Some(settled), Some(end)) = (settled, served.memory()) {
        assert!(end < settled + GROWTH, "{settled} KiB, then {end} KiB");
    }
}
