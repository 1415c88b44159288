//! A model behind a server: the requests, and the effects of a faulty server. The server is a
//! thread of the test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::{graph, questions};
use common::cancel::Cancel;
use common::transcript::{Part, Role, Turn};
use datagen::pipeline::{GenerateOptions, generate};
use infer::planner::{Constraint, Planner, RemoteOptions, RemotePlanner, shots};
use serde_json::{Value, json};
use toolbox::agent::Agent;
use toolbox::grammar::Grammar;

/// How the server answers one request.
#[derive(Clone)]
enum Answer {
    /// A completion with this text.
    Say(&'static str),
    /// The only text that the request's grammar allows.
    Allowed,
    /// The next of these calls, by the number of turns that the request already has.
    Program(&'static [&'static str]),
    /// A status and a body.
    Raw(u16, &'static str),
    /// Half a body, then the connection ends.
    Close,
    /// Nothing while the client waits.
    Hang,
    /// A body that never ends, in small pieces.
    Drip,
}

/// The body and the authorization header of a request.
type Request = (Value, Option<String>);

/// A server that gives these answers in order and repeats the last one.
struct Server {
    url: String,
    /// The requests it received.
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let index = kept.lock().unwrap().len().min(answers.len() - 1);
                let answer = answers[index].clone();
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || serve(stream, &answer, &kept));
            }
        });
        Self { url, seen }
    }

    fn planner(&self, change: impl FnOnce(&mut RemoteOptions)) -> RemotePlanner {
        let mut options = RemoteOptions {
            deadline: Duration::from_secs(20),
            ..RemoteOptions::new(&self.url)
        };
        change(&mut options);
        RemotePlanner::new(options).unwrap()
    }

    fn requests(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

/// The body of a completion with this text.
fn completion(text: &str) -> String {
    json!({ "choices": [{ "message": { "role": "assistant", "content": text } }], "usage": { "prompt_tokens": 7, "completion_tokens": 3 } }).to_string()
}

fn serve(mut stream: TcpStream, answer: &Answer, seen: &Mutex<Vec<(Value, Option<String>)>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut length, mut key) = (0, None);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let Some((name, value)) = line.trim().split_once(':') else {
            if line.trim().is_empty() {
                break;
            }
            assert!(line.starts_with("POST /v1/chat/completions "), "{line}");
            continue;
        };
        match name.to_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap(),
            "authorization" => key = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let request: Value = serde_json::from_slice(&body).unwrap();
    seen.lock().unwrap().push((request.clone(), key));
    let send = |stream: &mut TcpStream, status: u16, body: &str| {
        let _ = write!(
            stream,
            "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
    };
    match answer {
        Answer::Say(text) => {
            send(&mut stream, 200, &completion(text));
        }
        Answer::Allowed => {
            let grammar = request["grammar"].as_str().unwrap();
            send(
                &mut stream,
                200,
                &completion(grammar.split('"').nth(1).unwrap()),
            );
        }
        Answer::Program(calls) => {
            // The turn follows from the request alone, so the order of requests does not matter.
            let turns = request["messages"].as_array().unwrap();
            let written = turns
                .iter()
                .filter(|turn| turn["role"] == "assistant")
                .count();
            let text = calls[written.min(calls.len() - 1)];
            std::thread::sleep(Duration::from_millis(20));
            send(&mut stream, 200, &completion(text));
        }
        Answer::Raw(status, body) => send(&mut stream, *status, body),
        Answer::Close => {
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{{\"choices\":"
            );
        }
        Answer::Hang => std::thread::sleep(Duration::from_secs(60)),
        Answer::Drip => {
            let _ = write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n");
            while stream.write_all(b" ").is_ok() {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

fn turns() -> Vec<Turn> {
    vec![
        Turn::shown(Role::System, vec![Part::ours("pick one")]),
        Turn::shown(Role::User, vec![Part::user("red or blue?")]),
    ]
}

fn colours() -> Grammar {
    Grammar::one_of(["red", "blue"])
}

#[test]
fn a_request_is_a_chat_and_its_reply_is_used() {
    let server = Server::start(vec![Answer::Say("```\nblue\n```")]);
    let proposal = server
        .planner(|options| options.key = Some("secret".to_owned()))
        .write(&turns(), &colours())
        .unwrap();
    assert_eq!(
        (proposal.text.as_str(), proposal.read, proposal.decided),
        ("blue", 7, 3)
    );
    let seen = server.seen.lock().unwrap();
    let (body, key) = &seen[0];
    assert_eq!(
        body["messages"][1],
        json!({ "role": "user", "content": "red or blue?" })
    );
    assert_eq!(
        (body["temperature"].as_f64(), key.as_deref()),
        (Some(0.0), Some("Bearer secret"))
    );
    // Server-specific fields are only sent to that server.
    assert!(
        [
            "grammar",
            "structured_outputs",
            "ebnf",
            "response_format",
            "tools",
            "repeat_penalty",
            "repetition_penalty"
        ]
        .iter()
        .all(|field| body.get(field).is_none())
    );
}

#[test]
fn a_server_that_takes_grammars_gets_one() {
    let grammar = json!("root ::= (\"red\" | \"blue\")\n");
    let own = [
        (
            Constraint::Grammar,
            "grammar",
            "repeat_penalty",
            grammar.clone(),
        ),
        (
            Constraint::StructuredOutputs,
            "structured_outputs",
            "repetition_penalty",
            json!({ "grammar": grammar }),
        ),
        (
            Constraint::Ebnf,
            "ebnf",
            "repetition_penalty",
            grammar.clone(),
        ),
    ];
    for (constraint, field, penalty, value) in own {
        let server = Server::start(vec![Answer::Say("red")]);
        server
            .planner(|options| options.constraint = constraint)
            .write(&turns(), &colours())
            .unwrap();
        let body = &server.seen.lock().unwrap()[0].0;
        assert_eq!((&body[field], body[penalty].as_f64()), (&value, Some(1.0)));
    }
}

#[test]
fn an_invalid_reply_is_requested_again_at_most_twice() {
    let server = Server::start(vec![Answer::Say("green"), Answer::Say("red")]);
    assert_eq!(
        server
            .planner(|_| {})
            .write(&turns(), &colours())
            .unwrap()
            .text,
        "red"
    );
    let seen = server.seen.lock().unwrap();
    let messages = seen[1].0["messages"].as_array().unwrap();
    assert_eq!(
        (seen.len(), messages.len(), &messages[2]["content"]),
        (2, 4, &json!("green"))
    );
    drop(seen);
    // A model that never gives a valid reply: after three requests the last reply goes to the
    // agent, which rejects it.
    let server = Server::start(vec![Answer::Say("green")]);
    assert_eq!(
        server
            .planner(|_| {})
            .write(&turns(), &colours())
            .unwrap()
            .text,
        "green"
    );
    assert_eq!(server.requests(), 3);
}

#[test]
fn transient_failures_are_retried_and_permanent_ones_are_not() {
    let server = Server::start(vec![
        Answer::Raw(503, "loading"),
        Answer::Close,
        Answer::Say("red"),
    ]);
    assert_eq!(
        server
            .planner(|_| {})
            .write(&turns(), &colours())
            .unwrap()
            .text,
        "red"
    );
    assert_eq!(server.requests(), 3);
    for (answer, requests, says) in [
        (
            Answer::Raw(401, "no such key"),
            1,
            "status 401: no such key",
        ),
        (
            Answer::Raw(500, "out of memory"),
            3,
            "status 500: out of memory (3 tries)",
        ),
        (
            Answer::Raw(200, "<html>hello"),
            3,
            "the answer is not JSON: <html>hello",
        ),
        (
            Answer::Raw(200, "{\"choices\":[]}"),
            3,
            "has no choices[0].message.content",
        ),
        (Answer::Raw(302, ""), 1, "status 302"),
        (Answer::Close, 3, "broke off"),
    ] {
        let server = Server::start(vec![answer]);
        let error = server
            .planner(|_| {})
            .write(&turns(), &colours())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(says) && error.contains(&server.url),
            "{error}"
        );
        assert_eq!(server.requests(), requests, "{error}");
    }
}

#[test]
fn a_server_that_hangs_or_drips_is_abandoned_at_the_deadline() {
    for answer in [Answer::Hang, Answer::Drip] {
        let server = Server::start(vec![answer]);
        let begun = Instant::now();
        let error = server
            .planner(|options| options.deadline = Duration::from_millis(700))
            .write(&turns(), &colours())
            .unwrap_err();
        assert!(error.to_string().contains("700ms"), "{error}");
        // Generous for a busy machine; the point is that the call ends.
        assert!(
            begun.elapsed() < Duration::from_secs(15),
            "{:?}",
            begun.elapsed()
        );
        assert_eq!(server.requests(), 1);
    }
}

#[test]
fn a_cancelled_question_does_not_wait_for_the_server() {
    let unavailable = Answer::Raw(503, "busy");
    for answer in [Answer::Hang, Answer::Drip, unavailable] {
        let server = Server::start(vec![answer]);
        let mut planner = server.planner(|options| {
            options.deadline = Duration::from_secs(60);
            options.retries = 60;
        });
        let begun = Instant::now();
        let cancel = Cancel::default();
        planner.begin(&cancel);
        let error = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(300));
                cancel.cancel();
            });
            planner.write(&turns(), &colours()).unwrap_err()
        });
        assert_eq!(error.to_string(), "the question was cancelled");
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "{:?}",
            begun.elapsed()
        );
    }
}

#[test]
fn an_unreachable_server_and_other_protocols_are_errors() {
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let options = RemoteOptions::new(&format!("http://{closed}/v1"));
    let error = RemotePlanner::new(options)
        .unwrap()
        .write(&turns(), &colours())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("no answer") && error.contains("(3 tries)"),
        "{error}"
    );
    let error = RemotePlanner::new(RemoteOptions::new("ftp://example.com/v1"))
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("begins with http:// or https://"), "{error}");
}

/// A server behind https is trusted only with the certificate of its own authority.
#[test]
fn https_needs_a_certificate_that_is_trusted() {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!(
        "https://localhost:{}/v1",
        listener.local_addr().unwrap().port()
    );
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = rustls::StreamOwned::new(connection, stream.unwrap());
            let mut request = [0; 1 << 16];
            // The client gives up during the handshake if it does not trust the certificate.
            if stream.read(&mut request).is_err() {
                continue;
            }
            let body = completion("red");
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n", body.len());
            let _ = write!(stream, "{head}connection: close\r\n\r\n{body}");
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
    });
    let ask = |authorities: Option<&str>| {
        let options = RemoteOptions {
            authorities: authorities.map(|pem| pem.as_bytes().to_vec()),
            deadline: Duration::from_secs(20),
            ..RemoteOptions::new(&url)
        };
        let turn = RemotePlanner::new(options)?.write(&turns(), &colours());
        turn.map(|proposal| proposal.text)
    };
    assert_eq!(ask(Some(&made.cert.pem())).unwrap(), "red");
    let error = ask(None).unwrap_err().to_string();
    assert!(
        error.contains("certificate") && error.contains("--ca"),
        "{error}"
    );
    // The system's authorities are those of this variable, if it is set.
    let place = tempfile::tempdir().unwrap();
    let file = |name: &str| place.path().join(name);
    std::fs::write(file("g.nt"), "<x:a> <x:b> <x:c> .\n").unwrap();
    std::fs::write(file("ca.pem"), made.cert.pem()).unwrap();
    let run = |trusted: bool, args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_kgagent"));
        command.current_dir(place.path()).args(args);
        if trusted {
            command.env("SSL_CERT_FILE", file("ca.pem"));
        }
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    run(false, &["kg", "load", "--kg", "g", "g.nt"]);
    let ask_by = [
        "ask",
        "--kg",
        "g",
        "--model",
        &url,
        "--entity",
        "x:a",
        "what is b of a?",
    ];
    let error = run(false, &ask_by);
    assert!(error.contains("certificate"), "{error}");
    let error = run(true, &ask_by);
    assert!(!error.contains("certificate"), "{error}");
    let error = ask(Some("no certificate")).unwrap_err().to_string();
    assert!(error.contains("must be PEM"), "{error}");
}

const QUESTION: &str = "Who was the partner of Johann Wolfgang von Goethe?";

/// The calls that lead to its answer, and one that is impossible.
const CALLS: [&str; 4] = [
    "get_relation(e0)",
    "`v0 = get_tail_entity(e0, people.person.partner);`",
    "ans = end(v9)",
    "ans = end(v0)",
];

fn data(name: &str) -> String {
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    data.join(name).display().to_string()
}

/// A folder with the graph `g`.
struct Loaded(tempfile::TempDir);

impl Loaded {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        let files = [data("graph.ttl"), data("ontology.ttl")];
        let load = ["kg", "load", "--kg", "g", &files[0], &files[1]];
        assert_eq!(place.run(&load).0, 0);
        place
    }

    /// The exit code, and everything that the binary wrote.
    fn run(&self, args: &[&str]) -> (i32, String) {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_kgagent"));
        let out = command
            .args(args)
            .current_dir(self.0.path())
            .env("KGAGENT_API_KEY", "from-the-environment")
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            out.status.code().unwrap(),
            text(&out.stdout) + &text(&out.stderr),
        )
    }
}

#[test]
fn the_agent_asks_a_server_through_the_binary_and_gets_its_answer() {
    let place = Loaded::new();
    // The first request tries whether the server obeys the grammar.
    let probed = std::iter::once(Answer::Allowed).chain(CALLS.map(Answer::Say));
    let server = Server::start(probed.collect());
    let ask = [
        "ask",
        "--kg",
        "g",
        "--model",
        &server.url,
        "--served-model",
        "big",
        "--constraint",
        "grammar",
        "--entity",
        "goethe",
        QUESTION,
    ];
    let (code, out) = place.run(&[&ask[..], &["--trace", "t.jsonl"]].concat());
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("answer    Christiane Vulpius"), "{out}");
    let seen = server.seen.lock().unwrap();
    let (body, key) = &seen[1];
    assert_eq!(
        (seen.len(), &body["model"], key.as_deref()),
        (5, &json!("big"), Some("Bearer from-the-environment"))
    );
    assert!(
        body["messages"][0]["content"]
            .as_str()
            .unwrap()
            .contains("get_tail_entity"),
        "a model that was not trained here reads the tools"
    );
    let grammar = |i: usize| seen[i + 1].0["grammar"].as_str().unwrap();
    assert!(
        grammar(0).starts_with("root ::= ")
            && grammar(0).contains("\"get_relation(\"")
            && grammar(0).contains("\"e0)\""),
        "{}",
        grammar(0)
    );
    assert!(
        !grammar(0).contains("people.person.partner")
            && grammar(1).contains("\"people.person.partner)\""),
        "only what has been shown is live"
    );
    drop(seen);
    let (code, out) = place.run(&["replay", "t.jsonl", "--kg", "g"]);
    assert_eq!(code, 0, "{out}");
}

/// An export of our own model gets the turns of its training: no tool list, and tool results in the tool
/// role.
#[test]
fn an_export_of_our_own_gets_the_turns_of_its_training() {
    let place = Loaded::new();
    let server = Server::start(CALLS.map(Answer::Say).to_vec());
    let (code, out) = place.run(&[
        "ask",
        "--kg",
        "g",
        "--model",
        &server.url,
        "--served",
        "own",
        "--entity",
        "goethe",
        QUESTION,
    ]);
    assert_eq!(code, 0, "{out}");
    let seen = server.seen.lock().unwrap();
    let roles: Vec<&str> = seen[1].0["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| turn["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool"]);
    assert!(
        !seen[0].0["messages"][0]["content"]
            .as_str()
            .unwrap()
            .contains("get_tail_entity")
    );
    drop(seen);
}

/// A question that the server rejects has no answer; if it rejects all of them, that is an error.
#[test]
fn questions_that_a_server_rejects_are_unanswered() {
    let place = Loaded::new();
    let source = format!("jsonl={}", data("questions.cases.jsonl"));
    let eval = |server: &Server, out: &str| {
        let threads = ["--concurrency", "1", "--traces", "--json"];
        place.run(
            &[
                &[
                    "eval",
                    "--kg",
                    "g",
                    "--model",
                    &server.url,
                    "--source",
                    &source,
                    "--out",
                    out,
                ][..],
                &threads,
            ]
            .concat(),
        )
    };
    let answers = [
        Answer::Say("get_relation(e0)"),
        Answer::Raw(400, "no"),
        Answer::Say("ans = end([])"),
    ];
    let (code, out) = eval(&Server::start(answers.to_vec()), "some");
    assert!(
        code == 0
            && out.contains("1 of 3 questions count as unanswered")
            && out.contains("status 400"),
        "{out}"
    );
    let predictions =
        std::fs::read_to_string(place.0.path().join("some/predictions.jsonl")).unwrap();
    assert!(
        predictions.lines().count() == 3 && predictions.contains("planner_failed"),
        "{predictions}"
    );
    let (code, out) = eval(&Server::start(vec![Answer::Raw(400, "no")]), "none");
    assert!(
        code == 2 && out.contains("failed at all 3") && !place.0.path().join("none").exists(),
        "{out}"
    );
}

/// Any number of questions at a time gives the same results, and the tokens are counted.
#[test]
fn results_do_not_depend_on_the_number_of_questions_at_a_time() {
    let place = Loaded::new();
    let source = format!("jsonl={}", data("questions.cases.jsonl"));
    let program: &[&str] = &["get_relation(e0)", "ans = end([])"];
    let results = ["1", "8"].map(|concurrency| {
        let server = Server::start(vec![Answer::Program(program)]);
        let folder = format!("at-{concurrency}");
        let given = ["eval", "--kg", "g", "--model", &server.url, "--served", "own"];
        let more = ["--source", &source, "--out", &folder, "--concurrency", concurrency];
        let (code, out) = place.run(&[&given[..], &more, &["--price", "1,2"]].concat());
        assert_eq!(code, 0, "{out}");
        assert!(out.contains("written tokens"), "{out}");
        let file = |name: &str| std::fs::read_to_string(place.0.path().join(&folder).join(name));
        let metrics: Value = serde_json::from_str(&file("metrics.json").unwrap()).unwrap();
        assert_eq!(
            metrics["served"],
            json!({ "requests": 6, "prompt_tokens": 42, "cached_tokens": 0, "completion_tokens": 18, "cost": 0.000_078 })
        );
        file("predictions.jsonl").unwrap()
    });
    assert_eq!(results[0], results[1]);
}

/// A hanging server ends the command with an error that names it.
#[test]
fn a_hanging_server_ends_the_command() {
    let place = Loaded::new();
    let server = Server::start(vec![Answer::Hang]);
    let (code, out) = place.run(&[
        "ask",
        "--kg",
        "g",
        "--model",
        &server.url,
        "--timeout",
        "1",
        "--entity",
        "goethe",
        QUESTION,
    ]);
    assert_eq!(code, 2, "{out}");
    assert!(
        out.contains(&server.url) && out.contains("no answer within 1s"),
        "{out}"
    );
}

/// The worked examples in the crate equal conversations that data generation makes, for every
/// agent, and come between the rules and the question.
#[test]
fn a_served_model_reads_rules_and_worked_examples_first() {
    let kg = graph();
    let options = GenerateOptions {
        agents: Agent::ALL.to_vec(),
        seed: 1,
        valid: 0.0,
        ..GenerateOptions::default()
    };
    let made = generate(
        &questions(&kg, "questions.train.jsonl"),
        &kg,
        &options,
        &|_, _| {},
        &AtomicBool::new(false),
    )
    .unwrap()
    .train;
    let texts = |turns: &[Turn]| {
        turns
            .iter()
            .map(|turn| (turn.role, turn.text()))
            .collect::<Vec<_>>()
    };
    for agent in Agent::ALL {
        let own: Vec<Vec<(Role, String)>> = made
            .iter()
            .filter(|example| example.agent == agent)
            .map(|example| {
                example
                    .messages
                    .iter()
                    .skip(1)
                    .map(|message| (message.role, message.content.clone()))
                    .collect()
            })
            .collect();
        let all = shots(agent, usize::MAX).unwrap();
        assert!(all.len() >= 8, "{agent:?}");
        for shot in &all {
            assert!(
                own.contains(&texts(shot)),
                "{agent:?}: no longer what is rendered: {:?}",
                shot[0].text()
            );
        }
        let server = Server::start(vec![Answer::Say("red")]);
        let asked = [
            Turn::shown(Role::System, vec![Part::ours(agent.name())]),
            turns().remove(1),
        ];
        server
            .planner(|options| options.shots = 2)
            .write(&asked, &colours())
            .unwrap();
        let seen = server.seen.lock().unwrap();
        let messages = seen[0].0["messages"].as_array().unwrap();
        let content = |i: usize| messages[i]["content"].as_str().unwrap();
        assert!(
            content(0).starts_with(agent.name())
                && content(0).contains("Answer a question over a knowledge graph")
        );
        assert!(content(1).starts_with(&all[0][0].text()), "{}", content(1));
        assert!(content(messages.len() - 1).ends_with("red or blue?"));
        assert!(
            messages
                .windows(2)
                .all(|pair| pair[0]["role"] != pair[1]["role"]),
            "they take turns"
        );
        let written = |shots: &[Vec<Turn>]| {
            shots
                .iter()
                .flatten()
                .filter(|turn| turn.role == Role::Assistant)
                .count()
        };
        assert_eq!(
            messages
                .iter()
                .filter(|message| message["role"] == "assistant")
                .count(),
            written(&all[..2])
        );
    }
}
