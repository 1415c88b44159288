//! The server as a process: signals, faults of disk and power, certificates, and the clients of others.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use serde_json::Value;

const KGAGENT: &str = env!("CARGO_BIN_EXE_kgagent");
const QUESTION: &str = r#"{"question": "capital of peru?"}"#;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The demo graph as a folder, loaded once.
fn graph() -> &'static Path {
    static GRAPH: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = GRAPH.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph");
        let mut load = Command::new(KGAGENT);
        load.args(["kg", "load", "--kg"]).arg(&path);
        load.args(["graph.ttl", "ontology.ttl"].map(|name| root().join("data").join(name)));
        assert!(load.output().unwrap().status.success());
        (folder, path)
    });
    path
}

/// A server process; it ends with this value.
struct Serving {
    process: Child,
    /// Host and port.
    address: String,
}

impl Serving {
    fn start(args: &[&str]) -> Self {
        let mut serve = Command::new(KGAGENT);
        serve.args(["serve", "--listen", "127.0.0.1:0", "--kg"]);
        serve.arg(format!("demo={}", graph().display())).args(args);
        let mut process = serve
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = process.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        let address = line.trim().rsplit("//").next().unwrap();
        Self {
            address: address.trim_end_matches('/').to_owned(),
            process,
        }
    }

    fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        let kill = Command::new("kill").args([name, &pid]).status();
        assert!(kill.unwrap().success());
    }

    /// Status and body of a reply; `None` if the connection broke.
    fn send(&self, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .ok()?;
        exchange(&mut stream, method, path, body)
    }

    fn post(&self, path: &str, body: &str) -> Option<(u16, Value)> {
        let (status, body) = self.send("POST", path, body)?;
        Some((status, serde_json::from_str(&body).ok()?))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn exchange(
    stream: &mut (impl Read + Write),
    method: &str,
    path: &str,
    body: &str,
) -> Option<(u16, String)> {
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes()).ok()?;
    let mut reply = Vec::new();
    // A TLS connection may end without a farewell.
    let _ = stream.read_to_end(&mut reply);
    let reply = String::from_utf8(reply).ok()?;
    let (head, body) = reply.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let length = head.lines().find_map(|line| {
        line.to_lowercase()
            .strip_prefix("content-length: ")?
            .parse()
            .ok()
    });
    let whole = length.is_none_or(|length: usize| length == body.len());
    whole.then(|| (status, body.to_owned()))
}

#[test]
fn a_hangup_opens_graphs_again_and_a_request_to_stop_ends_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let small = folder.path().join("small");
    let load = |text: &str| {
        let file = folder.path().join("graph.nt");
        std::fs::write(&file, text).unwrap();
        let mut load = Command::new(KGAGENT);
        load.args(["kg", "load", "--kg"]).arg(&small).arg(&file);
        assert!(load.output().unwrap().status.success());
    };
    load("<http://e/a> <http://e/p> <http://e/b> .\n");
    let more = format!("small={}", small.display());
    let mut server = Serving::start(&["--kg", &more]);
    let triples = |server: &Serving| {
        let (_, body) = server.send("GET", "/api/graphs", "").unwrap();
        let graphs: Value = serde_json::from_str(&body).unwrap();
        graphs["graphs"][1]["triples"].as_u64().unwrap()
    };
    assert_eq!(triples(&server), 1);
    load("<http://e/a> <http://e/p> <http://e/b> .\n<http://e/a> <http://e/p> <http://e/c> .\n");
    server.signal("-HUP");
    let begun = Instant::now();
    while triples(&server) != 2 {
        assert!(begun.elapsed() < Duration::from_secs(10), "not reloaded");
        std::thread::sleep(Duration::from_millis(20));
    }
    let begun = Instant::now();
    server.signal("-TERM");
    assert!(server.process.wait().unwrap().success());
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_request_to_stop_under_load_loses_no_accepted_question() {
    let mut server = Serving::start(&[]);
    let stopped = AtomicBool::new(false);
    let answers = AtomicUsize::new(0);
    let address = server.address.clone();
    let ask = || {
        let mut counts = (0, 0, 0);
        while !stopped.load(Ordering::Relaxed) {
            let Ok(mut stream) = TcpStream::connect(&address) else {
                break;
            };
            stream
                .set_read_timeout(Some(Duration::from_secs(30)))
                .unwrap();
            match exchange(&mut stream, "POST", "/api/ask", QUESTION) {
                Some((200, _)) => {
                    counts.0 += 1;
                    answers.fetch_add(1, Ordering::Relaxed);
                }
                Some((503, _)) => counts.1 += 1,
                Some((status, body)) => panic!("{status}: {body}"),
                // It was not accepted any more.
                None => counts.2 += 1,
            }
        }
        counts
    };
    std::thread::scope(|scope| {
        let askers: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        let begun = Instant::now();
        while answers.load(Ordering::Relaxed) < 16 && begun.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let begun = Instant::now();
        server.signal("-TERM");
        assert!(server.process.wait().unwrap().success());
        assert!(begun.elapsed() < Duration::from_secs(5));
        stopped.store(true, Ordering::Relaxed);
        let counts: Vec<_> = askers.into_iter().map(|one| one.join().unwrap()).collect();
        let answered: usize = counts.iter().map(|count| count.0).sum();
        let broken: usize = counts.iter().map(|count| count.2).sum();
        assert!(answered > 8, "{counts:?}");
        // At most the last connection of each asker, which waited to be accepted.
        assert!(broken <= 8, "{counts:?}");
    });
}

#[test]
fn a_crash_leaves_whole_lines_of_feedback() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("feedback.jsonl");
    let path = file.display().to_string();
    let said = AtomicUsize::new(0);
    for _ in 0..3 {
        let server = Serving::start(&["--feedback", &path, "--client-verdicts", "10000"]);
        let (_, asked) = server.post("/api/ask", QUESTION).unwrap();
        // The same verdict is kept once, so each names another answer.
        let say = || {
            let number = said.fetch_add(1, Ordering::Relaxed);
            let body = serde_json::json!({
                "id": asked["id"], "verdict": "wrong", "answers": [format!("answer {number}")],
            });
            server.post("/api/feedback", &body.to_string()).is_some()
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| while say() {});
            }
            std::thread::sleep(Duration::from_millis(300));
            server.signal("-KILL");
        });
    }
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.lines().count() > 3);
    for line in text.lines() {
        let line: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(line["verdict"], "wrong");
    }
}

#[test]
fn a_full_disk_stops_feedback_but_no_answers() {
    if !Path::new("/dev/full").exists() {
        say("skipped: there is no /dev/full on this machine");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("feedback.jsonl");
    std::os::unix::fs::symlink("/dev/full", &file).unwrap();
    let server = Serving::start(&["--feedback", &file.display().to_string()]);
    let (_, asked) = server.post("/api/ask", QUESTION).unwrap();
    let said = format!(r#"{{"id": {}, "verdict": "right"}}"#, asked["id"]);
    let (status, refused) = server.post("/api/feedback", &said).unwrap();
    assert_eq!(
        (status, &refused["error"]["code"]),
        (507, &"not_saved".into())
    );
    assert_eq!(server.post("/api/ask", QUESTION).unwrap().0, 200);
}

#[test]
fn connections_are_secret_with_a_certificate() {
    use rustls::pki_types::ServerName;

    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let [cert, key] = [&cert, &key].map(|path| path.display().to_string());
    let server = Serving::start(&["--tls-cert", &cert, "--tls-key", &key]);
    let mut trusted = rustls::RootCertStore::empty();
    trusted.add(made.cert.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(trusted)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let connection = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let socket = TcpStream::connect(&server.address).unwrap();
    let mut stream = rustls::StreamOwned::new(connection, socket);
    let reply = exchange(&mut stream, "POST", "/api/ask", QUESTION).unwrap();
    assert_eq!(reply.0, 200);
    assert!(reply.1.contains("Lima"));
    assert!(
        server.send("GET", "/livez", "").is_none(),
        "plain text is no TLS"
    );
    // A missing or wrong file ends the start with a message.
    for args in [
        &["--tls-cert", &cert][..],
        &["--tls-cert", &key, "--tls-key", &cert],
        &["--tls-cert", "/nowhere.pem", "--tls-key", &key],
    ] {
        let mut serve = Command::new(KGAGENT);
        serve.args(["serve", "--listen", "127.0.0.1:0", "--kg"]);
        let out = serve.arg(graph()).args(args).output().unwrap();
        assert_eq!(out.status.code(), Some(2), "{args:?}");
    }
}

/// Needs the packages `mcp`, `openai` and others from PyPI; what is missing is skipped and named.
#[test]
fn the_clients_of_others_are_served() {
    let python = std::env::var("KGAGENT_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let server = Serving::start(&[]);
    let mut clients = Command::new(python);
    clients.arg(root().join("tests/clients.py"));
    clients.args([
        &format!("http://{}", server.address),
        "demo",
        "--",
        KGAGENT,
        "mcp",
        "--kg",
    ]);
    clients.arg(format!("demo={}", graph().display()));
    report(&mut clients);
}

/// Needs the packages `playwright` and `axe-playwright-python` from PyPI and Debian's `chromium`; what is
/// missing is skipped and named.
#[test]
fn the_page_works_in_a_browser() {
    let folder = tempfile::tempdir().unwrap();
    let feedback = folder.path().join("feedback.jsonl");
    let hostile = folder.path().join("hostile.ttl");
    let text = "@prefix : <http://kgagent.example/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n\
        :evil rdfs:label \"Evil <script>alert(1)</script> [x](http://evil.example) \\u202eabc\"@en ; a :location.city ; :location.city.country :evilland .\n\
        :evilland rdfs:label \"Evilland <img src=x onerror=alert(1)>\"@en ; a :location.country ; :location.country.capital :evil .\n";
    let long = "long ".repeat(200_000);
    let more = format!(
        ":huge a :location.city ; rdfs:label \"Huge {long}\"@en ; :location.city.country :evilland .\n"
    );
    std::fs::write(&hostile, text.to_owned() + &more).unwrap();
    let graph = folder.path().join("graph");
    let mut load = Command::new(KGAGENT);
    load.args(["kg", "load", "--kg"]).arg(&graph).arg(&hostile);
    load.args(["graph.ttl", "ontology.ttl"].map(|name| root().join("data").join(name)));
    assert!(load.output().unwrap().status.success());
    let (more, feedback) = (
        format!("hostile={}", graph.display()),
        feedback.display().to_string(),
    );
    let server = Serving::start(&["--kg", &more, "--feedback", &feedback]);
    let python = std::env::var("KGAGENT_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut browse = Command::new(python);
    browse.arg(root().join("tests/page.py"));
    browse.args([&format!("http://{}", server.address), "demo", &feedback]);
    if let Ok(shots) = std::env::var("KGAGENT_SCREENSHOTS") {
        browse.args(["--shots", &shots]);
    }
    browse.args(["--serve", KGAGENT, "serve", "--workers", "1", "--kg"]);
    browse.arg(&graph);
    report(&mut browse);
}

/// Runs a program of others, whose output says what it skipped.
fn report(command: &mut Command) {
    match command.output() {
        Err(error) => say(&format!("skipped: there is no Python: {error}")),
        Ok(out) => {
            let text = String::from_utf8_lossy(&out.stdout);
            println!("{text}");
            for line in text.lines().filter(|line| line.starts_with("skipped")) {
                say(line);
            }
            let wrong = String::from_utf8_lossy(&out.stderr);
            assert!(out.status.success(), "{text}\n{wrong}");
        }
    }
}

/// Says what was skipped, although the test passes: the test program shows what `println!` writes
/// only if a test fails.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A model with random weights: what it answers is of no use, but it is the same every time.
fn random_model(folder: &Path) -> String {
    let path = folder.join("model");
    let template = toolbox::prompt::Template::of(toolbox::agent::Agent::KgAgent);
    crate::support::random_model(&path, &[&template], 3);
    path.display().to_string()
}

#[test]
fn questions_that_share_the_steps_of_a_model_have_the_same_answers() {
    let folder = tempfile::tempdir().unwrap();
    let model = random_model(folder.path());
    let questions = std::fs::read_to_string(root().join("data/questions.train.jsonl")).unwrap();
    let questions: Vec<Value> = questions
        .lines()
        .take(12)
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let bodies: Vec<String> = questions
        .iter()
        .map(|one| {
            serde_json::json!({ "question": one["question"], "agent": "kg-agent" }).to_string()
        })
        .collect();
    let answers = |args: &[&str], at_once: usize| -> Vec<Value> {
        let server = Serving::start(&[&["--model", &model], args].concat());
        let ask = |body: &String| {
            let (status, object) = server.post("/api/ask", body).unwrap();
            assert_eq!(status, 200, "{object}");
            object["answer"].clone()
        };
        std::thread::scope(|scope| {
            let ask = &ask;
            let groups = bodies.chunks(bodies.len() / at_once);
            let threads: Vec<_> = groups
                .map(|group| scope.spawn(move || group.iter().map(ask).collect::<Vec<_>>()))
                .collect();
            threads
                .into_iter()
                .flat_map(|one| one.join().unwrap())
                .collect()
        })
    };
    let alone = answers(&["--workers", "1"], 1);
    assert_eq!(alone, answers(&["--batch", "4"], 4));
}

#[test]
fn a_client_that_leaves_stops_the_decoding_of_its_question() {
    let folder = tempfile::tempdir().unwrap();
    let model = random_model(folder.path());
    let server = Serving::start(&["--model", &model, "--workers", "1"]);
    let counted = |name: &str| -> Option<f64> {
        let (_, text) = server.send("GET", "/metrics", "")?;
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    let wait_for = |name: &str, number: f64| {
        let begun = Instant::now();
        while counted(name) != Some(number) {
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "{name}: {:?}",
                counted(name)
            );
            std::thread::sleep(Duration::from_millis(1));
        }
        begun.elapsed()
    };
    let body = r#"{"question": "Which teams did Cristiano Ronaldo play for before 2011?", "agent": "kg-agent"}"#;
    let cancelled = "kgagent_questions_total{outcome=\"cancelled\"}";
    let mut stopped = 0.0;
    for _ in 0..12 {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        let head = format!(
            "POST /api/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + body).as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        drop(stream);
        let waited = wait_for("kgagent_running ", 0.0);
        // The histogram below is exact; this includes requests of a machine that may be busy.
        assert!(waited < Duration::from_secs(5), "{waited:?}");
        stopped = counted(cancelled).unwrap();
    }
    // A question may have been answered before its client left.
    assert!(stopped >= 1.0, "no question was stopped");
    let left = counted("kgagent_leaving_seconds_count ").unwrap();
    let soon = counted("kgagent_leaving_seconds_bucket{le=\"0.1\"} ").unwrap();
    // A busy machine takes the processor away from the thread now and then.
    assert!(left >= stopped && soon >= left / 2.0, "{soon} of {left}");
}
