//! The kinds of inputs: what each is called and how it is made.

use common::rng::Rng;

use crate::change::{changed, known_or_changed, nested};
use crate::child::Sent;
use crate::place::Base;
use crate::servers::http;
use crate::{files, models};

/// Makes the input of this number.
pub(crate) type Kind = (&'static str, fn(&Base, usize, &mut Rng) -> Sent);

pub(crate) const KINDS: [Kind; 29] = [
    ("n-triples", files::n_triples),
    ("turtle", files::turtle),
    ("rdf-xml", files::rdf_xml),
    ("json-ld", files::json_ld),
    ("tables", files::tables),
    ("json-graphs", files::json_graphs),
    ("compressed", files::compressed),
    ("odd-graphs", files::odd_graphs),
    ("frozen-graph", frozen_graph),
    ("manifest", manifest),
    ("label-index", label_index),
    ("sparql", sparql),
    ("program", program),
    ("question", question),
    ("question-files", question_files),
    ("configuration", configuration),
    ("dataset", dataset),
    ("trace", trace),
    ("journal", journal),
    ("config", models::config),
    ("weights", models::weights),
    ("tokenizer", models::tokenizer),
    ("gguf", models::gguf),
    ("adapter", models::adapters),
    ("word-tables", models::word_tables),
    ("served-model", served_model),
    ("hub", hub),
    ("mcp", mcp),
    ("predictions", predictions),
];

fn bytes(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

/// A text for the command line: it cannot have a zero byte.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .replace('\0', "\u{1}")
        .chars()
        .take(100_000)
        .collect()
}

/// Four ways to use a graph folder in the working folder.
fn use_graph(sent: Sent, at: usize) -> Sent {
    let query = "SELECT * { ?s ?p ?o }";
    let runs: [&[&str]; 4] = [
        &["kg", "query", "--kg", "g", query],
        &["kg", "stats", "--kg", "g"],
        &["ask", "--kg", "g", "Which cities are in Portugal?"],
        &["tool", "--kg", "g", "get_relation(lisbon)"],
    ];
    Sent {
        copies: vec!["g"],
        ..sent
    }
    .then(&["kg", "check", "--kg", "g"])
    .then(runs[at % 4])
}

fn frozen_graph(base: &Base, at: usize, rng: &mut Rng) -> Sent {
    let good = base.read("g/graph.kgf");
    let cut = |length: usize| good[..length].to_vec();
    let known: [&dyn Fn() -> Vec<u8>; 5] = [
        &Vec::new,
        &|| cut(7),
        &|| cut(good.len() / 2),
        &|| good.iter().map(|_| 0xff).collect(),
        &|| [&good[..], &[0; 1 << 20]].concat(),
    ];
    use_graph(
        Sent::default().file("g/graph.kgf", known_or_changed(&known, &[&good], at, rng)),
        at,
    )
}

fn manifest(base: &Base, at: usize, rng: &mut Rng) -> Sent {
    let good = base.read("g/manifest.json");
    let set = |name: &'static str, value: &'static str| {
        let mut json: serde_json::Value = serde_json::from_slice(&good).unwrap();
        json[name] = serde_json::from_str(value).unwrap();
        json.to_string().into_bytes()
    };
    let known: [&dyn Fn() -> Vec<u8>; 7] = [
        &|| nested("{\"a\":", "1", "}", 100_000),
        &|| set("triples", "18446744073709551615"),
        &|| {
            set(
                "labels",
                r#"[{"path": "/dev/zero", "sha256": "", "bytes": 1}]"#,
            )
        },
        &|| set("deny", r#"["(a+)+$", "*", "", "http://x.test/country"]"#),
        &|| {
            set(
                "settings",
                r#"{"languages": ["\u001b[2J", ""], "now": "9999999-99-99"}"#,
            )
        },
        &|| bytes("null"),
        &|| vec![b' '; 20 << 20],
    ];
    use_graph(
        Sent::default().file(
            "g/manifest.json",
            known_or_changed(&known, &[&good], at, rng),
        ),
        at,
    )
}

fn label_index(base: &Base, at: usize, rng: &mut Rng) -> Sent {
    let names: Vec<String> = crate::place::files(&base.path("g")).into_keys().collect();
    let inside: Vec<&String> = names.iter().filter(|name| name.contains('/')).collect();
    let name = format!("g/{}", inside[at % inside.len()]);
    let bytes = match at % 3 {
        0 => Vec::new(),
        _ => changed(&base.read(&name), rng),
    };
    use_graph(Sent::default().file(&name, bytes), 2)
}

fn sparql(base: &Base, at: usize, rng: &mut Rng) -> Sent {
    let good: [&[u8]; 3] = [
        b"PREFIX : <http://x.test/> SELECT ?c (COUNT(?x) AS ?n) { ?x :country ?c ; :population ?p FILTER(?p > 5) } GROUP BY ?c ORDER BY DESC(?n) LIMIT 3",
        b"PREFIX : <http://x.test/> ASK { :lisbon (:country/:capital)+ ?x . OPTIONAL { ?x :founded ?d } MINUS { ?x :twin :porto } }",
        b"SELECT DISTINCT ?a { VALUES ?a { 1 2 } BIND(REPLACE(STR(?a), '(.)', '$1$1') AS ?b) { SELECT ?b { ?s ?p ?b } } UNION { ?a ?q ?r } }",
    ];
    let repeat = |open: &str, one: &str, close: &str, times: usize| {
        format!("{open}{}{close}", one.repeat(times)).into_bytes()
    };
    let known: [&dyn Fn() -> Vec<u8>; 9] = [
        &|| repeat("SELECT * { ", "?a ?b ?c . ", "}", 60),
        &|| {
            (0..12)
                .map(|i| format!("?a{i} ?b{i} ?c{i} . "))
                .fold(bytes("SELECT * { "), |all, one| {
                    [all, one.into_bytes()].concat()
                })
                .into_iter()
                .chain(*b"} ORDER BY ?a3")
                .collect()
        },
        &|| nested("ASK { FILTER(", "1", ") }", 60_000),
        &|| bytes("SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }"),
        &|| bytes("LOAD <file:///etc/passwd>"),
        &|| bytes("SELECT ?x FROM <file:///etc/passwd> { ?x ?p ?o }"),
        &|| {
            bytes(
                "ASK { ?s ?p ?o FILTER(regex(str(?s), '(((a+)+)+)+$')) FILTER(regex(str(?o), '(?:a{1000}){1000}')) }",
            )
        },
        &|| {
            bytes(
                "SELECT * { ?s (<x:a>|!<x:b>)* ?o . ?o (<x:a>|!<x:b>)* ?t . ?t (<x:a>|!<x:b>)* ?u . ?u (!<x:c>)+ ?v }",
            )
        },
        &|| {
            repeat(
                "SELECT (CONCAT(",
                "'aaaaaaaaaaaaaaa',",
                "'') AS ?x) {}",
                3_000,
            )
        },
    ];
    let query = text(&known_or_changed(&known, &good, at, rng));
    Sent::default().then(&["kg", "query", "--kg", &base.text("g"), &query])
}

fn program(base: &Base, at: usize, rng: &mut Rng) -> Sent {
    let good: [&[u8]; 3] = [
        b"v0 = get_tail_entity(lisbon, country); v1 = get_head_entity(v0, country); v2 = count(v1); ans = end(v2)",
        b"v0 = get_entity_by_type(city); v1 = get_entity_by_constraint(v0, population, >=, 300000); ans = end(v1)",
        b"v0 = get_relation(lisbon); v1 = judge(lisbon, country, =, portugal)",
    ];
    let known: [&dyn Fn() -> Vec<u8>; 5] = [
        &|| nested("v0 = count(", "lisbon", ")", 30_000),
        &|| bytes("v0 = get_relation(lisbon); ").repeat(3_000),
        &|| format!("v0 = count([{}lisbon])", "lisbon, ".repeat(9_000)).into_bytes(),
        &|| bytes("v4294967296 = count(v18446744073709551615)"),
        &|| bytes("v0 = get_tail_entity(\u{202e}, \u{1b}[2J)"),
    ];
    let calls = text(&known_or_changed(&known, &good, at, rng));
    let tools = ["paper", "extended"][at % 2];
    Sent::default().then(&["tool", "--kg", &base.text("g"), "--tools", tools, &calls])
}

fn question(base: &Base, at: usize, rng: &mut Rng) -> Sent {
    let good: [&[u8]; 3] = [
        b"Which cities are in Portugal?",
        b"How many cities per country have a population above 300,000 ordered by name?",
        b"Is Lisbon older than Porto, and which has the largest population?",
    ];
    let known: [&dyn Fn() -> Vec<u8>; 6] = [
        &Vec::new,
        &|| bytes("Lisbon and Porto or ").repeat(199),
        &|| bytes("\u{202e}\u{1b}[2J<|end|>").repeat(50),
        &|| bytes("e\u{301}\u{300}").repeat(800),
        &|| bytes("[[[Lisbon]]]").repeat(300),
        &|| bytes("99999999999999999999 1147-10-25 ").repeat(120),
    ];
    let question = text(&known_or_changed(&known, &good, at, rng));
    let agents = ["words", "retrieval", "tog", "kg-agent", "oda", "triad"];
    let agent = agents[rng.below(agents.len())];
    let (graph, model) = (base.text("g"), base.text("m"));
    let mut args = vec!["ask", "--kg", &graph, "--agent", agent, "--why"];
    if matches!(agent, "kg-agent" | "oda" | "triad") {
        args.extend(["--model", &model]);
    }
    args.extend(["--", &question]);
    Sent::default().then(&args)
}

fn question_files(_: &Base, at: usize, rng: &mut Rng) -> Sent {
    const RECORDS: [(&str, &str); 9] = [
        (
            "jsonl",
            r#"{"id": "1", "question": "who?", "sparql": "SELECT ?x { ?x <http://x.test/r> <http://x.test/b> }", "topic": {"b": "B"}}"#,
        ),
        (
            "webqsp",
            r#"{"Questions": [{"QuestionId": "1", "RawQuestion": "who?", "Parses": [{"Sparql": "SELECT ?x { ?x ns:a.b ns:m.1 }", "TopicEntityMid": "m.1", "Answers": []}]}]}"#,
        ),
        (
            "cwq",
            r#"[{"ID": "1", "question": "who?", "sparql": "SELECT ?x { ?x ns:a.b ns:m.1 }", "answers": []}]"#,
        ),
        (
            "grailqa",
            r#"[{"qid": 1, "question": "q", "sparql_query": "SELECT ?x { ?x :a.b :m.1 }", "graph_query": {"nodes": [], "edges": []}, "s_expression": "(AND a (JOIN b m.1))"}]"#,
        ),
        (
            "qald",
            r#"{"questions": [{"id": 1, "question": [{"language": "en", "string": "q"}], "query": {"sparql": "ASK { ?a ?b ?c }"}, "answers": []}]}"#,
        ),
        (
            "lcquad2",
            r#"[{"uid": 1, "question": "q", "sparql_wikidata": "SELECT ?x { wd:Q1 wdt:P1 ?x }"}]"#,
        ),
        ("csv", "id,question,sparql\n1,\"who, and why\",ASK { }\n"),
        (
            "kqapro",
            r#"[{"question": "q", "program": [{"function": "Find", "inputs": ["a"], "dependencies": []}], "sparql": "ASK {}", "choices": [], "answer": "yes"}]"#,
        ),
        ("trex", r#"[{"docid": "1", "text": "a", "triples": []}]"#),
    ];
    let (format, good) = RECORDS[at % RECORDS.len()];
    let known: [&dyn Fn() -> Vec<u8>; 4] = [
        &|| nested("[", "1", "]", 500_000),
        &|| nested("{\"a\":", "1", "}", 500_000),
        &|| vec![b' '; 70 << 20],
        &|| format!("\"{}", "\\u0000".repeat(1 << 20)).into_bytes(),
    ];
    let name = if format == "csv" { "q.csv" } else { "q.json" };
    let bytes = known_or_changed(&known, &[good.as_bytes()], at, rng);
    Sent::to(&format!("datagen check --source {format}={name}")).file(name, bytes)
}

fn configuration(base: &Base, at: usize, rng: &mut Rng) -> Sent {
    let good: &[u8] = b"kg = \"g\"\n[ask]\nmode = \"paper\"\ncandidates = 6\n[train]\nlora-rank = 8\nlora-targets = [\"q_proj\"]\n";
    let known: [&dyn Fn() -> Vec<u8>; 8] = [
        &|| nested("a = [", "1", "]", 100_000),
        &|| bytes("a.").repeat(60_000),
        &|| format!("kg = \"{}\"", "g".repeat(1 << 20)).into_bytes(),
        &|| bytes("model = \"http://127.0.0.1:9/v1\""),
        &|| bytes("[ask]\ntrace = \"../trace.jsonl\""),
        &|| bytes("out = \"../elsewhere\""),
        &|| bytes("config = \"/dev/zero\"\nkg = \"\u{1b}[2J\""),
        &|| vec![b'#'; 30 << 20],
    ];
    let bytes = known_or_changed(&known, &[good], at, rng);
    let graph = base.text("g");
    Sent::default()
        .file("kgagent.toml", bytes)
        .then(&["ask", "--kg", &graph, "Where is Lisbon?"])
}

fn dataset(base: &Base, at: usize, rng: &mut Rng) -> Sent {
    let good = base.read("data/train.jsonl");
    let messages = |content: &str| {
        format!("{{\"id\":\"1\",\"messages\":{content},\"agent\":\"kg-agent\",\"template_hash\":\"aa\"}}\n").into_bytes()
    };
    let known: [&dyn Fn() -> Vec<u8>; 6] = [
        &Vec::new,
        &|| nested("{\"id\":", "1", "}", 100_000),
        &|| messages("[]"),
        &|| {
            messages(&format!(
                "[{{\"role\":\"user\",\"content\":\"{}\"}}]",
                "x ".repeat(1 << 20)
            ))
        },
        &|| messages("[{\"role\":\"root\",\"content\":\"\\u0000\"}]"),
        &|| good.repeat(200),
    ];
    let bytes = known_or_changed(&known, &[&good], at, rng);
    let sent = match at % 3 {
        0 => Sent::to("train inspect --data data"),
        1 => Sent::to("datagen export --data data --format sharegpt --out out"),
        _ => Sent::to("train --data data --base scratch:tiny --vocab-size 300 --out out --dry-run"),
    };
    Sent {
        copies: vec!["data"],
        writes: "out",
        ..sent.file("data/train.jsonl", bytes)
    }
}

fn trace(base: &Base, at: usize, rng: &mut Rng) -> Sent {
    let (words, oda) = (base.read("t.jsonl"), base.read("oda.jsonl"));
    let known: [&dyn Fn() -> Vec<u8>; 4] = [
        &|| nested("{\"event\":", "1", "}", 100_000),
        &|| words.repeat(3_000),
        &|| [&words[..words.len() / 2], &oda[..]].concat(),
        &|| vec![b'\n'; 30 << 20],
    ];
    let bytes = known_or_changed(&known, &[&words, &oda], at, rng);
    Sent::default()
        .file("t.jsonl", bytes)
        .then(&["replay", "--kg", &base.text("g"), "t.jsonl"])
}

/// Unfinished work of somebody else, or of a damaged disk.
fn journal(base: &Base, at: usize, rng: &mut Rng) -> Sent {
    let graph = base.text("g");
    let good: &[u8] = b"kgagent journal 2 any neighbourhoods 0123456789abcdef\n\0\0\0\0\0\0\0\0\x05\0\0\0\x12\x34\x56\x78abcde";
    let known: [&dyn Fn() -> Vec<u8>; 4] = [
        &|| bytes("half of my thesis"),
        &|| [good, &[0xff; 64]].concat(),
        &|| [good, &(0..16_u8).collect::<Vec<_>>(), &[0xff; 4]].concat(),
        &|| [&good[..30], &vec![b'x'; 1 << 20][..]].concat(),
    ];
    let bytes = known_or_changed(&known, &[good], at, rng);
    let source = format!("jsonl={}", base.text("q.jsonl"));
    let sent = match at % 2 {
        0 => Sent::default().file("near.nt.partial", bytes).then(&[
            "kg", "subgraph", "--kg", &graph, "--entity", "lisbon", "--out", "near.nt",
        ]),
        _ => Sent::default().file("out.partial", bytes).then(&[
            "eval", "--kg", &graph, "--agent", "words", "--source", &source, "--out", "out",
        ]),
    };
    Sent {
        writes: "near out",
        ..sent
    }
}

/// Replies of a model server, whole responses and bodies.
fn served_model(base: &Base, at: usize, rng: &mut Rng) -> Sent {
    let body = |content: &str| {
        let message = serde_json::json!({ "role": "assistant", "content": content });
        serde_json::json!({ "choices": [{ "message": message }], "usage": { "prompt_tokens": 5 } })
            .to_string()
    };
    let good = body("v0 = get_tail_entity(e0, country)");
    let whole = http("content-type: application/json\r\n", good.as_bytes());
    let known: [&dyn Fn() -> Vec<u8>; 10] = [
        &|| http("", &nested("{\"choices\":[", "1", "]}", 100_000)),
        &|| http("", body(&"v0 = count(e0)\n".repeat(60_000)).as_bytes()),
        &|| http("", body("\u{1b}[2J\u{202e}").as_bytes()),
        &|| bytes("HTTP/1.1 307 See\r\nlocation: file:///etc/passwd\r\ncontent-length: 0\r\n\r\n"),
        &|| bytes("HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551615\r\n\r\n{"),
        &|| [&b"HTTP/1.1 200 OK\r\n"[..], &b"x: y\r\n".repeat(100_000)].concat(),
        &|| http("content-encoding: gzip\r\n", &[0x1f, 0x8b, 8, 0, 0, 0]),
        &|| http("", &[0xff; 1 << 16]),
        &|| {
            [
                &b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n"[..],
                &[b'a'; 1000],
            ]
            .concat()
        },
        &|| http("", &vec![b' '; 60 << 20]),
    ];
    let reply = match at {
        _ if at >= known.len() && at.is_multiple_of(2) => http("", &changed(good.as_bytes(), rng)),
        _ => known_or_changed(&known, &[&whole], at, rng),
    };
    let graph = base.text("g");
    let mut args = vec![
        "ask",
        "--kg",
        &graph,
        "--model",
        "{url}/v1",
        "--timeout",
        "3",
    ];
    if at % 3 == 1 {
        args.push("--stream");
    }
    args.extend(["--entity", "lisbon", "Which country is Lisbon in?"]);
    Sent {
        reply: Some(reply),
        ..Sent::default().then(&args)
    }
}

fn hub(_: &Base, at: usize, rng: &mut Rng) -> Sent {
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let list = |name: &str| {
        serde_json::json!({ "siblings": [{ "rfilename": name }], "sha": commit }).to_string()
    };
    let head = format!(
        "etag: \"{commit}\"\r\nx-repo-commit: {commit}\r\ncontent-range: bytes 0-0/100\r\n"
    );
    let evil = head.replace(commit, "../../../../elsewhere");
    let good = http(&head, list("config.json").as_bytes());
    let known: [&dyn Fn() -> Vec<u8>; 7] = [
        &|| http(&head, list("../../../elsewhere/config.json").as_bytes()),
        &|| http(&evil, list("config.json").as_bytes()),
        &|| http(&head, list("/etc/elsewhere").as_bytes()),
        &|| http(&head, &nested("{\"siblings\":", "1", "}", 100_000)),
        &|| {
            http(
                &head.replace("0-0/100", "0-0/18446744073709551615"),
                list("config.json").as_bytes(),
            )
        },
        &|| http(&head, list(&"a/".repeat(9_000)).as_bytes()),
        &|| http(&head, &vec![b' '; 60 << 20]),
    ];
    let reply = known_or_changed(&known, &[&good], at, rng);
    // The cache of the hub is the command's output.
    Sent {
        reply: Some(reply),
        writes: "home/hf",
        ..Sent::to("fetch some/model")
    }
}

/// Messages for the tools of the Model Context Protocol.
fn mcp(base: &Base, at: usize, rng: &mut Rng) -> Sent {
    let call = |name: &str, arguments: serde_json::Value| {
        let params = serde_json::json!({ "name": name, "arguments": arguments });
        serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
            .to_string()
    };
    let good = [
        r#"{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}"#.to_owned(),
        call("ask", serde_json::json!({ "question": "Which cities are in Portugal?" })),
        call("search_entities", serde_json::json!({ "text": "Lis", "limit": 5 })),
        call("describe_entity", serde_json::json!({ "id": "lisbon" })),
        call("relations", serde_json::json!({ "id": "lisbon", "relation": "country", "limit": 3 })),
        call("run_program", serde_json::json!({ "program": "v0 = get_relation(lisbon)" })),
        call("sparql", serde_json::json!({ "query": "SELECT * { ?s ?p ?o }" })),
    ]
    .join("\n");
    let long = "x".repeat(1_000_000);
    let huge = serde_json::json!(u64::MAX);
    let known: [&dyn Fn() -> Vec<u8>; 7] = [
        &|| nested("[", "1", "]", 500_000),
        &|| vec![b'x'; 9 << 20],
        &|| {
            call(
                "search_entities",
                serde_json::json!({ "text": long, "limit": huge }),
            )
            .into_bytes()
        },
        &|| {
            call("relations", serde_json::json!({ "id": "lisbon", "relation": "country", "offset": huge, "limit": huge })).into_bytes()
        },
        &|| {
            call(
                "run_program",
                serde_json::json!({ "program": "v0 = count(e0); ".repeat(900) }),
            )
            .into_bytes()
        },
        &|| bytes(&good).repeat(20),
        &|| {
            call("sparql", serde_json::json!({ "query": "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }" })).into_bytes()
        },
    ];
    let graph = base.text("g");
    Sent {
        stdin: known_or_changed(&known, &[good.as_bytes()], at, rng),
        ..Sent::default().then(&["mcp", "--kg", &graph])
    }
}

/// Predictions from which weights are fitted, and files of words.
fn predictions(_: &Base, at: usize, rng: &mut Rng) -> Sent {
    let good: &[u8] = br#"{"id": "1", "question": "q", "candidates": [{"terms": [1.0, 2.0], "score": 1e3, "right": true}], "f1": 1.0}"#;
    let known: [&dyn Fn() -> Vec<u8>; 3] = [
        &|| nested("{\"id\":", "1", "}", 100_000),
        &|| bytes(r#"{"candidates": []}"#).repeat(20_000),
        &|| vec![b'\n'; 30 << 20],
    ];
    let bytes = known_or_changed(&known, &[good], at, rng);
    let sent =
        Sent::to("datagen weights --predictions p.jsonl --out w.json").file("p.jsonl", bytes);
    Sent {
        writes: "w.json",
        ..sent
    }
}
