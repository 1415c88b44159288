//! Input from strangers does no harm: folders that contain a user's files, texts that act on a
//! terminal, a configuration file that came with the data, questions of any length.
//! `docs/threats.md` names these tests.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A folder with a small graph in `g/`, made of `source.nt`.
struct Place(tempfile::TempDir);

const TRIPLES: &str = "<http://x/lisbon> <http://x/country> <http://x/portugal> .\n\
    <http://x/lisbon> <http://www.w3.org/2000/01/rdf-schema#label> \"Lisbon\" .\n";

const QUESTION: &str = r#"{"id": "1", "question": "Where is Lisbon?", "sparql": "SELECT ?x { <http://x/lisbon> <http://x/country> ?x }", "topic": {"lisbon": "Lisbon"}}
"#;

impl Place {
    fn new(triples: &str) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.write("source.nt", triples);
        place.write("q.jsonl", QUESTION);
        place.done(&["kg", "load", "--kg", "g", "source.nt"]);
        place
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kgagent"));
        command.args(args).current_dir(self.path());
        command.env_remove("KGAGENT_API_KEY");
        command
    }

    fn run(&self, args: &[&str]) -> (i32, String) {
        printed(&self.command(args).output().unwrap())
    }

    fn done(&self, args: &[&str]) -> String {
        let (code, printed) = self.run(args);
        assert_eq!(code, 0, "{args:?}: {printed}");
        printed
    }

    /// Runs a command that must refuse with all of these words and leave every file as it is.
    fn refused(&self, args: &[&str], words: &[&str]) {
        let before = tree(self.path());
        let (code, printed) = self.run(args);
        assert_eq!(code, 2, "{args:?}: {printed}");
        for word in words {
            assert!(
                printed.contains(word),
                "{args:?}: {word} is not in {printed}"
            );
        }
        assert!(
            tree(self.path()) == before,
            "{args:?} changed the folder: {printed}"
        );
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }
}

/// The exit code, and everything on both outputs. A process ended by a signal has no code.
fn printed(output: &Output) -> (i32, String) {
    let both = [&output.stdout[..], &output.stderr].concat();
    let text = String::from_utf8_lossy(&both).into_owned();
    (output.status.code().unwrap_or(-1), text)
}

/// All files below a folder with their contents.
fn tree(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(tree(&path));
        } else {
            files.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
    files.sort();
    files
}

#[test]
fn an_input_is_never_replaced() {
    let place = Place::new(TRIPLES);
    place.write("g/source.nt", TRIPLES);
    let reads = "the same command reads";
    place.refused(&["kg", "load", "--kg", "g", "g/source.nt"], &[reads]);
    fs::remove_file(place.path().join("g/source.nt")).unwrap();
    let gold = ["datagen", "gold", "--kg", "g", "--source"];
    let gold = |source, out| place.run(&[&gold[..], &[source, "--out", out]].concat());
    assert_eq!(gold("jsonl=q.jsonl", "data0").0, 0);
    place.write("data0/q.jsonl", QUESTION);
    let before = tree(place.path());
    let (code, printed) = gold("jsonl=data0/q.jsonl", "data0");
    assert!(code == 2 && printed.contains(reads), "{printed}");
    // A file of a dataset that we wrote counts as an input, too.
    let (code, printed) = gold("jsonl=data0/train.jsonl", "data0");
    assert!(code == 2 && printed.contains(reads), "{printed}");
    assert!(tree(place.path()) == before);
    place.refused(
        &[
            "datagen",
            "gold",
            "--kg",
            "g",
            "--source",
            "jsonl=q.jsonl",
            "--out",
            "g",
        ],
        &[reads],
    );
    let base = [
        "train",
        "--data",
        "data0",
        "--base",
        "scratch:tiny",
        "--out",
        "data0",
    ];
    place.refused(&base, &[reads]);
    let eval = ["eval", "--kg", "g", "--model", "oracle", "--source"];
    place.refused(
        &[&eval[..], &["jsonl=data0/q.jsonl", "--out", "data0"]].concat(),
        &[reads],
    );
    let export = ["datagen", "export", "--data", "data0", "--format", "alpaca"];
    place.refused(&[&export[..], &["--out", "data0"]].concat(), &[reads]);
}

#[test]
fn a_folder_with_something_else_in_it_is_not_replaced() {
    let place = Place::new(TRIPLES);
    place.write("g/notes.txt", "years of work");
    place.refused(
        &["kg", "load", "--kg", "g", "source.nt"],
        &["notes.txt", "kgagent did not write", "name a new folder"],
    );
    fs::remove_file(place.path().join("g/notes.txt")).unwrap();
    place.done(&["kg", "load", "--kg", "g", "source.nt"]);
    let gold: Vec<&str> = "datagen gold --kg g --source jsonl=q.jsonl --out data0"
        .split(' ')
        .collect();
    place.done(&gold);
    place.done(&gold);
    place.write("data0/more/notes.txt", "years of work");
    place.refused(&gold, &["more/notes.txt", "kgagent did not write"]);
    // Folders with similar names may belong to the user.
    fs::remove_dir_all(place.path().join("data0/more")).unwrap();
    place.write("data0.replaced/notes.txt", "years of work");
    place.write("data0.partial/journal", "my own journal, not yours");
    place.refused(&gold, &["not a file of kgagent's unfinished work"]);
    fs::remove_file(place.path().join("data0.partial/journal")).unwrap();
    place.done(&gold);
    assert_eq!(place.read("data0.replaced/notes.txt"), "years of work");
}

#[test]
fn a_file_of_somebody_else_is_not_replaced() {
    let place = Place::new(TRIPLES);
    let near = |out| {
        [
            "kg", "subgraph", "--kg", "g", "--entity", "lisbon", "--out", out,
        ]
    };
    place.done(&near("near.nt"));
    let demo = ["demo", "--quick", "--out", "mine", "--graph", "source.nt"];
    place.write("mine/report.html", "my report");
    place.refused(&demo, &["mine/report.html", "this exists"]);
    place.write("near.labels.json", "{}");
    place.refused(&near("near.json"), &["near.labels.json", "this exists"]);
    for (file, content) in [("near.nt", TRIPLES), ("deep/far.json", "[]")] {
        place.write(file, content);
        place.refused(&near(file), &["this exists", file]);
    }
    fs::remove_file(place.path().join("near.nt")).unwrap();
    place.write("near.nt.partial", "half of my thesis");
    place.refused(
        &near("near.nt"),
        &["not a file of kgagent's unfinished work"],
    );
    let ask = [
        "ask",
        "--kg",
        "g",
        "--trace",
        "t.jsonl",
        "What country is Lisbon in?",
    ];
    place.done(&ask);
    place.done(&ask);
    place.write("t.jsonl", "my notes");
    place.refused(&ask, &["t.jsonl", "did not write it"]);
}

/// Characters that act on a terminal, in the names and labels of a graph, in a question and in the
/// reply of a server.
#[test]
fn nothing_of_a_stranger_acts_on_the_terminal() {
    let hostile = "Lis\\u001B[31mbon\\u0007\\u009B2J\\u202E\\u2066";
    let place = Place::new(&format!(
        "<http://x/lisbon> <http://x/cou%C2%9B2Jntry%1B%5B31m> <http://x/port%E2%80%AEugal%0D> .\n\
         <http://x/lisbon> <http://x/motto> \"{hostile}\\nanswer    no\" .\n\
         <http://x/lisbon> <http://www.w3.org/2000/01/rdf-schema#label> \"{hostile}\" .\n"
    ));
    let raw = "Lis\u{1b}[31mbon\u{9b}2J\u{202e} Lisbon?";
    let server = Server::start(&format!("{raw} is not a call"));
    let (_, url) = (&server, &server.url);
    let runs: [&[&str]; 9] = [
        &["kg", "query", "--kg", "g", "SELECT * { ?s ?p ?o }"],
        &[
            "kg",
            "query",
            "--kg",
            "g",
            "--json",
            "SELECT * { ?s ?p ?o }",
        ],
        &["kg", "stats", "--kg", "g"],
        &["tool", "--kg", "g", "get_relation(lisbon)"],
        &["tool", "--kg", "g", "--json", "get_relation(lisbon)"],
        &["ask", "--kg", "g", "--entity", "lisbon", raw],
        &["ask", "--kg", "g", "--json", "--entity", "lisbon", raw],
        &["ask", "--kg", "g", "--entity", raw, raw],
        &[
            "ask", "--kg", "g", "--model", url, "--entity", "lisbon", raw,
        ],
    ];
    for args in runs {
        let (code, printed) = place.run(args);
        assert!((0..=2).contains(&code), "{args:?}: {printed}");
        let acts = |c: char| c != '\n' && c != '\t' && kg::is_unsafe(c);
        assert!(!printed.contains(acts), "{args:?}: {printed:?}");
    }
    let printed = place.done(runs[0]);
    assert!(
        printed.contains("\\u{1b}[31m") && !printed.contains("\nanswer    no"),
        "{printed}"
    );
    // JSON escapes the same characters and keeps the value.
    let rows: serde_json::Value = serde_json::from_str(&place.done(runs[1])).unwrap();
    assert!(rows.to_string().contains("\u{9b}2J\u{202e}"));
    // A file of options can come from a stranger, too.
    place.write("kgagent.toml", "agent = \"o\\u001b[2Jda\"\n");
    let (code, printed) = place.run(&["ask", "--kg", "g", "Lisbon?"]);
    assert!(code == 2 && !printed.contains('\u{1b}'), "{printed:?}");
}

/// A server that answers every request with `text` and keeps what it was sent.
struct Server {
    url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(text: &str) -> Self {
        Self::slow(text, Duration::ZERO)
    }

    /// Waits before each answer.
    fn slow(text: &str, pause: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (kept, text) = (Arc::clone(&seen), text.to_owned());
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let (mut head, mut length) = (String::new(), 0);
                while reader.read_line(&mut head).unwrap_or(0) > 2 {
                    let line = head.lines().last().unwrap().to_lowercase();
                    if let Some(value) = line.strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                }
                let _ = reader.read_exact(&mut vec![0; length]);
                kept.lock().unwrap().push(head);
                std::thread::sleep(pause);
                let message = serde_json::json!({ "role": "assistant", "content": text });
                let body = serde_json::json!({ "choices": [{ "message": message }] }).to_string();
                let length = body.len();
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}");
                let _ = write!(stream, "{head}\r\nconnection: close\r\n\r\n{body}");
            }
        });
        Self { url, seen }
    }
}

#[test]
fn a_configuration_file_that_nobody_named_neither_writes_nor_sends() {
    let place = Place::new(TRIPLES);
    let server = Server::start("none");
    let ask = ["ask", "--kg", "g", "--entity", "lisbon", "Where is Lisbon?"];
    let (url, subgraph) = (
        &server.url,
        ["kg", "subgraph", "--kg", "g", "--entity", "lisbon"],
    );
    place.write("kgagent.toml", &format!("model = \"{url}\"\n"));
    let key = |args: &[&str]| {
        let mut command = place.command(args);
        printed(&command.env("KGAGENT_API_KEY", "secret").output().unwrap())
    };
    let (code, text) = key(&ask);
    assert!(
        code == 2 && text.contains("`model` names a server") && text.contains("--config"),
        "{text}"
    );
    assert!(server.seen.lock().unwrap().is_empty());
    // It is enough that the user names the file.
    key(&[&ask[..], &["--config", "kgagent.toml"]].concat());
    let sent = server.seen.lock().unwrap().concat();
    assert!(
        sent.to_lowercase().contains("authorization: bearer secret"),
        "{sent}"
    );
    for (content, args, word) in [
        ("out = \"else.nt\"", &subgraph[..], "`out`"),
        (
            "[kg.subgraph]\nout = \"else.nt\"",
            &subgraph,
            "`kg subgraph out`",
        ),
        ("trace = \"else.jsonl\"", &ask, "`trace`"),
        ("[ask]\ntrace = \"else.jsonl\"", &ask, "`ask trace`"),
        ("vectors = \"else\"", &ask, "`vectors`"),
        (
            "[kg.load]\nkg = \"else\"",
            &["kg", "load", "source.nt"],
            "`kg load kg`",
        ),
    ] {
        place.write("kgagent.toml", content);
        place.refused(args, &[word, "where to write", "--config kgagent.toml"]);
    }
    for key in [
        "listen = \"0.0.0.0:1\"",
        "token-file = \"t\"",
        "operator-token-file = \"t\"",
        "host = \"evil.example\"",
    ] {
        place.write("kgagent.toml", &format!("[serve]\n{key}"));
        place.refused(&["serve", "--kg", "g"], &["who may ask"]);
    }
    place.write("kgagent.toml", "ca = \"ca.pem\"\n");
    place.refused(&ask, &["`ca`", "which servers to trust"]);
    // The program shows the options that the file sets; `kg` as the target of `kg load` is ignored.
    place.write("kgagent.toml", "kg = \"g\"\n[ask]\nmode = \"paper\"\n");
    let shown = place.done(&["kg", "stats"]);
    assert!(
        shown.contains("kgagent.toml in this folder sets ask mode, kg"),
        "{shown}"
    );
    place.refused(&["kg", "load", "source.nt"], &["--kg"]);
}

#[cfg(unix)]
#[test]
fn an_interrupted_evaluation_keeps_what_is_answered_and_continues() {
    let place = Place::new(TRIPLES);
    let questions = (0..6).map(|i| QUESTION.replace("\"1\"", &format!("\"{i}\"")));
    place.write("q.jsonl", &questions.collect::<String>());
    let server = Server::slow("no call", Duration::from_millis(60));
    // Another number of questions at a time continues the same evaluation.
    let eval = |out, concurrency| {
        let source = ["--source", "jsonl=q.jsonl", "--concurrency", concurrency];
        let model = ["eval", "--kg", "g", "--model", &server.url, "--out", out];
        place.command(&[&model[..], &source].concat())
    };
    let asked = || std::mem::take(&mut *server.seen.lock().unwrap()).len();
    let mut running = eval("result", "1")
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let partial = place.path().join("result.partial");
    let begun = std::time::Instant::now();
    while fs::metadata(&partial).map_or(0, |data| data.len()) < 200 {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
    let pid = running.id().to_string();
    Command::new("kill")
        .args(["-s", "INT", &pid])
        .status()
        .unwrap();
    let mut printed = String::new();
    running
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut printed)
        .unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(2), "{printed}");
    assert!(
        printed.contains("of 6 questions; the same command continues"),
        "{printed}"
    );
    assert!(partial.exists() && !place.path().join("result").exists());
    // Another build may answer otherwise, so it neither continues nor discards this work.
    let elsewhere = tempfile::tempdir().unwrap();
    let other = super::support::other_build(elsewhere.path());
    let begun = fs::read(&partial).unwrap();
    let same = eval("result", "1");
    let output = Command::new(&other)
        .args(same.get_args())
        .current_dir(place.path())
        .output()
        .unwrap();
    let (code, said) = self::printed(&output);
    assert!(
        code == 2 && said.contains("result.partial: another build of kgagent began this work"),
        "{said}"
    );
    assert_eq!(fs::read(&partial).unwrap(), begun);
    asked();
    let output = eval("result", "8").output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        self::printed(&output).1
    );
    assert!(!partial.exists());
    let rest = asked();
    eval("whole", "2").output().unwrap();
    assert!(rest < asked(), "{rest} requests after the interruption");
    let predictions = place.read("result/predictions.jsonl");
    assert_eq!(predictions.lines().count(), 6);
    assert_eq!(predictions, place.read("whole/predictions.jsonl"));
}

#[test]
fn questions_and_names_have_a_length() {
    let long = "r".repeat(20_000);
    let place = Place::new(&format!(
        "{TRIPLES}<http://x/lisbon> <http://x/{long}> <http://x/portugal> .\n"
    ));
    let shown = place.done(&["tool", "--kg", "g", "get_relation(lisbon)"]);
    assert!(
        shown.contains("country") && shown.len() < 1000,
        "{}",
        shown.len()
    );
    let question = "Lisbon ".repeat(1000);
    let begun = std::time::Instant::now();
    place.refused(
        &["ask", "--kg", "g", &question],
        &["has 7000 characters, the limit is 4000"],
    );
    let tool = [
        "tool",
        "--kg",
        "g",
        "--question",
        &question,
        "get_relation(lisbon)",
    ];
    place.refused(&tool, &["the limit is 4000"]);
    place.write(
        "q.jsonl",
        &(QUESTION.replace("Where", &question) + QUESTION),
    );
    let eval = [
        "eval",
        "--kg",
        "g",
        "--agent",
        "words",
        "--source",
        "jsonl=q.jsonl",
    ];
    place.done(&[&eval[..], &["--out", "result"]].concat());
    assert!(
        place
            .read("result/skipped.jsonl")
            .contains("the limit is 4000")
    );
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn a_password_in_an_address_is_not_shown() {
    let place = Place::new(TRIPLES);
    let server = Server::start("no call");
    let secret = server.url.replace("http://", "http://me:pass/word@");
    let closed = "http://me:pass/word@127.0.0.1:9/v1";
    let https = "https://me:pass/word@example.org/v1";
    for (i, url) in [secret.as_str(), closed, https].into_iter().enumerate() {
        let trace = format!("t{i}.jsonl");
        let out = format!("e{i}");
        let (_, printed) = place.run(&[
            "ask",
            "--kg",
            "g",
            "--model",
            url,
            "--entity",
            "lisbon",
            "--trace",
            &trace,
            "Where is Lisbon?",
        ]);
        assert!(!printed.contains("pass"), "{printed}");
        let (_, printed) = place.run(&[
            "eval",
            "--kg",
            "g",
            "--model",
            url,
            "--source",
            "jsonl=q.jsonl",
            "--out",
            &out,
            "--traces",
        ]);
        assert!(!printed.contains("pass"), "{printed}");
    }
    for (path, content) in tree(place.path()) {
        let text = String::from_utf8_lossy(&content);
        assert!(!text.contains("pass/word"), "{path}");
    }
}

/// Every test that `docs/threats.md` names is there.
#[test]
fn the_page_of_threats_names_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/threats.md")).unwrap();
    let (mut file, mut named) = (String::new(), 0);
    // The code spans in the last cell of a row: a file, then its tests.
    for row in page.lines().filter(|line| line.starts_with("| ")) {
        let cell = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        for quoted in cell.split('`').skip(1).step_by(2) {
            if quoted.ends_with(".rs") {
                file = fs::read_to_string(root.join(quoted))
                    .unwrap_or_else(|error| panic!("{quoted}: {error}"));
            } else {
                assert!(file.contains(&format!("fn {quoted}(")), "{row}");
                named += 1;
            }
        }
    }
    assert!(named > 25, "{named}");
}

/// The limits that `SECURITY.md` lists are those of the code.
#[test]
fn the_page_on_security_has_the_limits_of_the_code() {
    let page = include_str!("../../SECURITY.md");
    let row = |name: &str| {
        let start = format!("| {name} |");
        let found = page.lines().find(|line| line.starts_with(&start));
        found.unwrap_or_else(|| panic!("SECURITY.md has no row `{name}`"))
    };
    let (kib, mib) = (|n: usize| n >> 10, |n: usize| n >> 20);
    let thousands = |n: usize| match (n / 1_000_000, n / 1_000 % 1_000) {
        (0, thousands) => format!("{thousands},000"),
        (millions, _) => format!("{millions},000,000"),
    };
    use kg::limits as graph;
    use toolbox::limits as tools;
    let limits = [
        (
            "a SPARQL query",
            format!("{} KiB of text", kib(graph::QUERY_BYTES)),
        ),
        (
            "a SPARQL query",
            format!("{} triple patterns", graph::QUERY_PATTERNS),
        ),
        ("a SPARQL query", format!("{} levels", graph::QUERY_DEPTH)),
        (
            "a SPARQL query",
            format!("{} operators", graph::QUERY_JOINTS),
        ),
        (
            "a SPARQL query",
            format!("; {} s", graph::QUERY_DEADLINE.as_secs()),
        ),
        (
            "a SPARQL query",
            format!("{} rows", thousands(graph::QUERY_ROWS)),
        ),
        (
            "a SPARQL query",
            format!("{} GiB", mib(graph::QUERY_MEMORY) >> 10),
        ),
        (
            "a SPARQL query",
            format!("{} MiB for a single text", mib(graph::QUERY_TEXT)),
        ),
        (
            "the tool calls of a question",
            format!("{} s", tools::QUESTION_DEADLINE.as_secs()),
        ),
        (
            "the tool calls of a question",
            format!("{} calls", tools::MAX_STEPS),
        ),
        (
            "sets of a program",
            format!("{} members", thousands(tools::SET_SIZE)),
        ),
        (
            "sets of a program",
            format!("{} together", thousands(tools::SESSION_SIZE)),
        ),
        ("sets of a program", format!("{} items", tools::LIST_ITEMS)),
        (
            "an answer",
            format!("{} members", thousands(tools::ANSWER_MEMBERS)),
        ),
        (
            "an answer",
            format!("{} triples", thousands(tools::EVIDENCE_TRIPLES)),
        ),
        (
            "RDF/XML, Turtle, TriG, ODA's JSON",
            format!("{} MiB", mib(graph::STATEMENT_BYTES)),
        ),
        (
            "XML elements",
            format!("nested {} deep", thousands(graph::XML_DEPTH)),
        ),
        (
            "XML elements",
            format!("{} attributes", thousands(graph::XML_ATTRIBUTES)),
        ),
        (
            "XML entities",
            format!("{} bytes each", graph::ENTITY_BYTES),
        ),
        ("JSON-LD", format!("{} levels", graph::JSON_DEPTH)),
        ("JSON-LD", format!("{} KiB", kib(graph::JSON_CONTEXT))),
    ];
    for (name, limit) in limits {
        assert!(
            row(name).contains(&limit),
            "`{limit}` is not in {}",
            row(name)
        );
    }
}
