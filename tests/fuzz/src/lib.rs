//! The fuzz targets: each function accepts any bytes and must return. A violated law is a panic,
//! which both drivers report: `cargo fuzz` with coverage, and `tests/agents/fuzzing.rs` on a stable
//! toolchain without.

pub mod opened;
pub mod sources;

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use common::acceptor::Acceptor;
use datagen::convert::{Context, convert};
use datagen::read::{QuestionSource, ReadOptions, readers};
use kg::term::{Literal, NodeId, Term};
use kg::{FrozenKg, GraphFolder, Kg, QueryLimits, parse_query};
use toolbox::call::{CallAcceptor, Live, LiveSet, parse_call, parse_program, print_program};

/// A fuzz target.
pub type Target = fn(&[u8]);

/// Initial inputs.
pub type Seeds = fn() -> Vec<Vec<u8>>;

/// All targets with their initial inputs.
pub const TARGETS: &[(&str, Target, Seeds)] = &[
    ("call", call, calls),
    ("acceptor", acceptor, calls),
    ("conversion", conversion, queries),
    ("dataset", dataset, lines),
    ("graph", graph, || vec![GRAPH_FILE.clone()]),
    ("sources", sources::load, sources::seeds),
    ("tokenizer", opened::tokenizer, opened::tokenizers),
    ("weights", opened::weights, opened::weight_files),
    ("gguf", opened::gguf, opened::gguf_files),
    ("adapter", opened::adapter, opened::adapters),
    ("trace", opened::traces, opened::trace_files),
    ("journal", opened::journal, opened::journals),
    ("manifest", opened::manifest, opened::manifests),
    ("words", opened::words, opened::word_files),
];

/// The call parser: printed calls and programs parse back to the same.
pub fn call(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(call) = parse_call(text) {
        assert_eq!(parse_call(&call.to_string()), Ok(call.clone()), "{text:?}");
    }
    if let Ok(program) = parse_program(text) {
        assert_eq!(
            parse_program(&print_program(&program)),
            Ok(program.clone()),
            "{text:?}"
        );
    }
}

/// The acceptor: every path that the bytes choose through the language ends in a call that parses
/// and prints the same. The bytes themselves are accepted only if they parse.
pub fn acceptor(bytes: &[u8]) {
    let (head, rest) = bytes.split_at(bytes.len().min(6));
    let number = |i: usize| usize::from(head.get(i).copied().unwrap_or(0) % 5);
    let names = |letter: &str, count: usize| {
        (0..count)
            .map(|i| format!("{letter}{i}"))
            .collect::<Vec<_>>()
    };
    let set = |i: usize| LiveSet {
        text: if i == 0 {
            "e0".to_owned()
        } else {
            format!("v{}", i - 1)
        },
        entity: i == 0,
        scalar: i == 3,
        just_listed: i == 1,
        out: names("a.b.out", number(1)),
        incoming: names("<in ", number(2))
            .into_iter()
            .map(|name| format!("{name}>"))
            .collect(),
        ..LiveSet::default()
    };
    let live = Live {
        next_var: u32::try_from(number(0)).unwrap_or(0),
        last_call: head.get(5).is_some_and(|byte| byte % 16 == 0),
        sets: (0..=number(0)).map(set).collect(),
        classes: names("c", number(3)),
        types: vec!["rdf:type".to_owned()],
        values: names("x", number(4)),
        mentions: vec!["\"a, (b)\"".to_owned()],
        ..Live::default()
    };
    let acceptor = CallAcceptor::new(live);
    if let Ok(text) = std::str::from_utf8(rest)
        && acceptor.accepts(text)
    {
        parse_call(text)
            .unwrap_or_else(|error| panic!("{text:?} is accepted and does not parse: {error}"));
    }
    let mut state = acceptor.start();
    let mut written = Vec::new();
    let mut choices = rest.iter().copied().chain(std::iter::repeat(0));
    while !acceptor.may_end(&state) {
        assert!(
            written.len() < 4_000,
            "a call without end: {}",
            String::from_utf8_lossy(&written)
        );
        let next: Vec<(u8, _)> = (0..=255)
            .filter_map(|byte| Some((byte, acceptor.step(&state, byte)?)))
            .collect();
        assert!(
            !next.is_empty(),
            "no way on behind {}",
            String::from_utf8_lossy(&written)
        );
        let at = usize::from(choices.next().unwrap_or(0)) % next.len();
        written.push(next[at].0);
        state = next[at].1.clone();
    }
    let text = String::from_utf8(written).unwrap_or_else(|error| panic!("{error}"));
    let call = parse_call(&text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    assert_eq!(call.to_string(), text);
}

/// A few films to query.
static FILMS: LazyLock<FrozenKg> = LazyLock::new(|| {
    let iri = |name: &str| Term::Iri(format!("http://a.test/{name}"));
    let typed = |i: usize| {
        [
            iri(&format!("f{i}")),
            Term::Iri("http://www.w3.org/1999/02/22-rdf-syntax-ns#type".to_owned()),
            iri("Film"),
        ]
    };
    let year = |i: usize| {
        [
            iri(&format!("f{i}")),
            iri("year"),
            Term::Literal(Literal::xsd((1990 + i).to_string(), "gYear")),
        ]
    };
    let by = |i: usize| {
        [
            iri(&format!("f{i}")),
            iri("director"),
            iri(&format!("p{}", i % 3)),
        ]
    };
    FrozenKg::from_triples((0..9).flat_map(|i| [typed(i), year(i), by(i)]))
});

/// SPARQL, parsed, run and converted, with and without a graph.
pub fn conversion(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(query) = parse_query(text) else { return };
    let kg: &dyn Kg = &*FILMS;
    let _ = convert(&query, &Context::default());
    let _ = kg.query(
        &query,
        QueryLimits {
            deadline: Duration::from_millis(500),
            rows: 1_000,
            ..QueryLimits::default()
        },
    );
    let _ = convert(
        &query,
        &Context {
            kg: Some(kg),
            ..Context::default()
        },
    );
}

/// Question files of every format; the first byte selects the format.
pub fn dataset(bytes: &[u8]) {
    let Some((&first, content)) = bytes.split_first() else {
        return;
    };
    let all = readers(&ReadOptions::default());
    let format = all[usize::from(first) % all.len()].format().name;
    let file = scratch().join(format!("{format}.json"));
    if fs::write(&file, content).is_ok()
        && let Ok(source) = format!("{format}={}", file.display()).parse::<QuestionSource>()
    {
        let _ = source.read(Some(&*FILMS as &dyn Kg), &ReadOptions::default());
    }
}

/// The value; an error of our own set-up ends the process.
fn must<T, E: std::fmt::Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

/// A folder for this process.
fn scratch() -> &'static PathBuf {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        tempfile::Builder::new()
            .prefix("kgagent-fuzz-")
            .tempdir()
            .map_or_else(|e| panic!("{e}"), tempfile::TempDir::keep)
    });
    &FOLDER
}

/// A graph folder whose graph file is replaced, and its original graph file.
static GRAPH_FILE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = scratch().join("graph");
    GraphFolder::write(&folder, &FILMS, &[]).unwrap_or_else(|error| panic!("{error}"));
    fs::read(folder.join("graph.kgf")).unwrap_or_else(|error| panic!("{error}"))
});

/// Graph files. Bytes that pass the checks when opening may contain anything.
pub fn graph(bytes: &[u8]) {
    let _ = &*GRAPH_FILE;
    let folder = scratch().join("graph");
    if fs::write(folder.join("graph.kgf"), bytes).is_ok()
        && let Ok(kg) = GraphFolder::open(&folder)
    {
        ask_everything(&kg);
        let _ = kg.verify();
    }
}

fn ask_everything(kg: &FrozenKg) {
    let most = u32::try_from(kg.term_count()).unwrap_or(u32::MAX).min(60) + 3;
    for node in (0..most).chain([u32::MAX]).map(NodeId) {
        let (name, _, _) = (kg.name(node), kg.label(node), kg.term(node));
        let _ = (
            kg.by_name(&name),
            kg.by_label(&name),
            kg.types(node),
            kg.instances(node).len(),
            kg.degree(node),
            kg.begins_literal(&name),
        );
        for r in kg
            .out_relations(node)
            .into_iter()
            .chain(kg.in_relations(node))
        {
            let _ = (
                kg.tails(node, r).len(),
                kg.heads(r, node).len(),
                kg.has(node, r, node),
            );
        }
    }
    let _ = (
        kg.triples().take(1_000).count(),
        kg.entities().take(1_000).count(),
        kg.classes().len(),
        kg.graphs().len(),
    );
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn calls() -> Vec<Vec<u8>> {
    texts(&[
        "v0 = get_tail_entity(e0, film.film.directed_by)",
        "v1 = get_entity_by_constraint(v0, ~r1, >=, \"2011-01-01\"^^xsd:date)",
        "v2 = intersect([v0, <Lisbon, (old town)>, v1])",
        "get_relation(m.02xt6q); v0 = judge(m.1, a.b.c, =, 2011); ans = end(v0)",
        "var_0 = obtain_kg_information(linked_entity_0)\n>>> start constraint on var_0",
        "\u{3}\u{2}\u{2}\u{2}\u{2}\u{1}v0 = get_tail_entity(e0, a.b.out0)",
    ])
}

fn queries() -> Vec<Vec<u8>> {
    texts(&[
        "PREFIX : <http://a.test/> SELECT DISTINCT ?x WHERE { ?x a :Film ; :year ?y ; :director :p1 FILTER(?y > 1992 && ?y != 1995) } ORDER BY DESC(?y) LIMIT 1",
        "PREFIX : <http://a.test/> ASK { :f1 :director ?p . ?q :director ?p FILTER(?q = :f4) }",
        "PREFIX : <http://a.test/> SELECT (COUNT(DISTINCT ?p) AS ?n) { { ?f :director ?p } UNION { ?p :year ?f } OPTIONAL { ?p :year ?z } }",
        "PREFIX : <http://a.test/> SELECT ?f { ?f :director/^:director ?g . FILTER NOT EXISTS { ?f :year ?y } FILTER(regex(?y, \"^1993\")) MINUS { ?g a :Film } } GROUP BY ?f HAVING (COUNT(?g) > 2)",
        "SELECT ?x WHERE { ?x ns:people.person.sibling_s ?y . FILTER(!isLiteral(?x) OR lang(?x) = '' OR langMatches(lang(?x), 'en')) VALUES ?y { ns:m.1 ns:m.2 } } LIMIT 3",
    ])
}

fn lines() -> Vec<Vec<u8>> {
    let records = [
        r#"{"id": "1", "question": "who?", "sparql": "SELECT ?x { ?x <http://a.test/director> <http://a.test/p1> }", "topic": {"p1": "P"}}"#,
        r#"[{"ID": "1", "question": "who?", "sparql": "ASK { ?x ?y ?z }", "topic_entity": {"m.1": "x"}, "answers": [{"answer": "a"}]}]"#,
        r#"{"questions": [{"id": 1, "question": [{"language": "en", "string": "q"}], "query": {"sparql": "ASK { }"}, "answers": []}]}"#,
        r#"[{"qid": 1, "question": "q", "graph_query": {"nodes": [{"nid": 0, "node_type": "class", "id": "a", "function": "none"}], "edges": []}, "s_expression": "(AND a (JOIN b m.1))"}]"#,
        "what does [f1] mean\tp0|p1\nwho\tx/y\tf1#director#p1#<end>#p1\n",
        "id,question,sparql\n1,\"who, and why\",ASK { }\n",
        r#"[{"question": "q", "program": [{"function": "Find", "inputs": ["a"], "dependencies": []}], "sparql": "ASK {}", "choices": [], "answer": "yes"}]"#,
    ];
    (0..24_u8)
        .flat_map(|format| records.map(|record| [&[format], record.as_bytes()].concat()))
        .collect()
}
