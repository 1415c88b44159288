//! Inputs that would take the memory, the time or the files of the process. Each one that would end
//! the process runs in a child with little memory.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

use kg::limits::{JSON_DEPTH, STATEMENT_BYTES};
use kg::search::NodeRole;
use kg::term::Term;
use kg::{FolderError, FrozenKg, GraphFolder, Kg, LoadError, LoadOptions, QueryLimits};

use crate::support::*;

/// Names the input of the child.
const INPUT: &str = "KGAGENT_HOSTILE_INPUT";

/// Address space of a child in KiB; the test program itself takes a few hundred MiB of it.
const ADDRESSES: u32 = 500_000;

/// Open files of a child.
const FILES: u32 = 64;

/// Runs one of the tests below in a child with limited memory; returns what it printed.
fn in_child(test: &str, input: &Path) -> String {
    let child = child(test, input);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&child.stdout), text(&child.stderr));
    assert!(
        child.status.success() && out.contains("1 passed"),
        "{}: {out}{err}",
        input.display()
    );
    out
}

fn child(test: &str, input: &Path) -> Output {
    Command::new("sh")
        .arg("-c")
        .arg(format!(
            "ulimit -v {ADDRESSES}; ulimit -n {FILES}; exec \"$0\" \"$@\""
        ))
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--ignored", "--nocapture"])
        .env(INPUT, input)
        // Otherwise the C library sets 64 MiB of addresses aside for each thread.
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .unwrap()
}

/// The input of a child; `None` if the test was started by hand.
fn input() -> Option<PathBuf> {
    std::env::var_os(INPUT).map(PathBuf::from)
}

#[test]
#[ignore = "runs as a child of other tests"]
fn load_in_child() {
    let Some(path) = input() else { return };
    let options = LoadOptions {
        memory: 1 << 26,
        ..LoadOptions::default()
    };
    match FrozenKg::load(&[path], &options, &|_| {}) {
        Ok(kg) => println!("triples: {}", kg.len()),
        Err(error) => println!("error: {error}"),
    }
}

/// Each entity expands to ten copies of the one before it.
fn nested_entities() -> String {
    let mut text = "<!DOCTYPE r [\n<!ENTITY e0 \"0123456789\">\n".to_owned();
    for i in 1..=9 {
        let inner = format!("&e{};", i - 1).repeat(10);
        writeln!(text, "<!ENTITY e{i} \"{inner}\">").unwrap();
    }
    text + "]>\n<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns:t=\"http://t.test/\">\n<rdf:Description rdf:about=\"http://t.test/a\"><t:r>&e9;</t:r></rdf:Description></rdf:RDF>"
}

#[test]
fn small_files_do_not_fill_the_memory() {
    let dir = tempfile::tempdir().unwrap();
    let objects = format!(
        "{{\"@id\":\"x:a\",\"x:r\":{}1{}",
        "{\"http://t.test/r\":".repeat(5_000),
        "}".repeat(5_001)
    );
    let contexts = format!(
        "{}{{}}{}",
        "{\"@context\":{\"a\":{\"@id\":\"x:a\",\"@context\":".repeat(2_000),
        "}}}".repeat(2_000)
    );
    let long_entity = format!(
        "<!DOCTYPE r [<!ENTITY e \"{}\">]><rdf:RDF/>",
        "x".repeat(60_000)
    );
    let many = nested_entities()
        .lines()
        .filter(|line| !line.contains("<!ENTITY e") || line.contains("e0 "))
        .collect::<Vec<_>>()
        .join("\n")
        .replace("&e9;", &"&e0;".repeat(70_000));
    let attributes = format!(
        "<r{}/>",
        (0..5_000)
            .map(|i| format!(" xmlns:p{i}=\"x:p\""))
            .collect::<String>()
    );
    let prefix = format!(
        "@prefix a: <x:{}> .\n{}a: a: .",
        "x".repeat(1_000_000),
        "a: a: a: .\n".repeat(300)
    );
    for (name, content, line, why) in [
        ("prefix.ttl", prefix, 302, "column"),
        ("attributes.rdf", attributes, 1, "more than 4000 attributes"),
        (
            "deep.rdf",
            "<r>".repeat(5_000),
            1,
            "nested deeper than 1000",
        ),
        (
            "entities.rdf",
            nested_entities(),
            5,
            "stands for more than 1024 bytes",
        ),
        (
            "entity.rdf",
            long_entity,
            1,
            "stands for more than 1024 bytes",
        ),
        ("references.rdf", many, 5, "65536 references to entities"),
        ("objects.jsonld", objects, 1, "nested more than 64 deep"),
        ("contexts.jsonld", contexts, 1, "nested more than 64 deep"),
    ] {
        let out = in_child(
            "hostile::load_in_child",
            &file(dir.path(), name, content.as_bytes()),
        );
        assert!(
            out.contains(&format!("{name}:{line}: ")) && out.contains(why),
            "{out}"
        );
    }
}

/// JSON-LD that passes the check fits in memory, whatever it looks like.
#[test]
fn json_at_its_limits_fits_the_memory() {
    let dir = tempfile::tempdir().unwrap();
    let lists = (JSON_DEPTH - 2) / 2;
    let inside = |inner: &str, depth: usize| {
        format!(
            "{}{{{inner}\"x:z\":1}}{}",
            "{\"http://t.test/r\":[".repeat(depth),
            "]}".repeat(depth)
        )
    };
    let members =
        |count: usize| -> String { (0..count).map(|i| format!("\"x:p{i}\":{i},")).collect() };
    let many =
        |item: &str, count: usize| format!("\"x:l\":[{}1],", format!("{item},").repeat(count));
    let names = |terms: &str| {
        format!(
            "{{\"@context\":{{{terms}\"z\":\"x:z\"}},\"@graph\":[{}1]}}",
            "{\"a\":1},".repeat(2_500)
        )
    };
    let long = format!("\"a\":\"x:{}\",", "y".repeat(8_000));
    let hidden = names(&long).replace("@context", "\\u0040\\u0063ontext");
    // The terms are in the order that needs the deepest recursion.
    let chain: String = (0..400)
        .rev()
        .map(|i| format!("\"a{}\":\"a{i}:y\",", i + 1))
        .collect();
    for (name, content) in [
        ("deep.jsonld", inside(&members(250), lists)),
        ("deep-lists.jsonld", inside(&many("1", 1_200), lists)),
        ("members.jsonld", inside(&members(10_000), 0)),
        ("numbers.jsonld", inside(&many("1", 100_000), 0)),
        ("lists.jsonld", inside(&many("[]", 100_000), 0)),
        ("names.jsonld", names(&long)),
        ("hidden.jsonld", hidden),
        (
            "chain.jsonld",
            names(&format!("{chain}\"a0\":\"x:y\",\"a\":\"a400:y\",")),
        ),
    ] {
        let path = file(dir.path(), name, content.as_bytes());
        let start = Instant::now();
        let out = in_child("hostile::load_in_child", &path);
        println!(
            "{name}: {:?} {}",
            start.elapsed(),
            out.lines().nth(2).unwrap_or_default()
        );
        assert!(
            out.contains("triples: ") || out.contains("raise --memory"),
            "{out}"
        );
    }
}

#[test]
fn files_of_kqa_pro_at_their_limits_fit_the_memory() {
    let kb = |entities: &str| format!("{{\"concepts\":{{}},\"entities\":{{{entities}}}}}");
    let entity = |id: &str, inner: &str| format!("\"{id}\":{{\"name\":\"a\",\"x\":{inner}}}");
    let list = |count: usize| format!("[{}1]", "{\"\":1},".repeat(count));
    let many: String = (0..700_000).map(|i| format!("\"{i}\":1,")).collect();
    for (content, expected) in [
        (kb(&entity("Q1", &list(100_000))), "triples: 1"),
        (
            kb(&entity("Q1", &list(200_000))),
            "Q1: its values do not fit",
        ),
        (kb(&format!("{many}\"a\":1")), "more entries than fit"),
        (
            kb(&entity("Q1", &"[".repeat(1_000_000))),
            "not KQA Pro's kb.json",
        ),
        (
            kb(&entity(
                "Q1",
                &format!("{}{}", "[".repeat(500), "]".repeat(500)),
            )),
            "recursion limit",
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = file(dir.path(), "kb.json", content.as_bytes());
        let out = in_child("hostile::load_in_child", &path);
        assert!(out.contains(expected), "{expected}: {out}");
    }
}

#[test]
fn namespaces_as_entities_are_read() {
    let owl = "<!DOCTYPE rdf:RDF [\n<!ENTITY t \"http://t.test/\">\n<!ENTITY u 'x'>]>\n<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns:t=\"&t;\"><rdf:Description rdf:about=\"&t;a\"><t:r>R&amp;D</t:r></rdf:Description></rdf:RDF>";
    let kg = load("g.owl", &owl.replace("<!ENTITY u 'x'>", ""));
    assert_eq!(kg.len(), 1);
    assert!(kg.by_name("http://t.test/a").is_some());
}

#[test]
fn statements_and_whole_files_fit_the_memory() {
    let little = LoadOptions {
        memory: 1 << 16,
        ..LoadOptions::default()
    };
    let long = format!("<x:a> <x:r> \"{}\" .", "x".repeat(STATEMENT_BYTES + 1));
    for name in ["long.ttl", "long.trig", "long.nt"] {
        let error = try_load(name, &long, &little).unwrap_err().to_string();
        assert!(error.contains("16777216"), "{error}");
    }
    let label = format!("{{\"Q1\": \"{}\"}}", "x".repeat(STATEMENT_BYTES));
    let error = try_load("labels.json", &label, &little)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("labels.json:1: more than 16777216 bytes"),
        "{error}"
    );
    let filler = format!("{{\"a\": \"{}\"}}", "x".repeat(1 << 15));
    for name in ["kb.json", "big.jsonld"] {
        let error = try_load(name, &filler, &little).unwrap_err();
        assert!(
            matches!(error, LoadError::Syntax { line: 1, .. })
                && error.to_string().contains("raise --memory"),
            "{error}"
        );
    }
}

fn pipe(dir: &Path, name: &str, content: &'static [u8]) -> PathBuf {
    let path = dir.join(name);
    let made = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    let writer = path.clone();
    std::thread::spawn(move || {
        let mut pipe = std::fs::File::options().write(true).open(writer).unwrap();
        pipe.write_all(content).unwrap();
    });
    path
}

#[test]
fn pipes_load_as_files_do() {
    let dir = tempfile::tempdir().unwrap();
    let nt = b"_:a <x:r> <x:b> .\n";
    let from_file = [file(dir.path(), "a.nt", nt)];
    let from_pipe = [pipe(dir.path(), "pipe.nt", nt)];
    let (out, none) = (dir.path().join("graph"), LoadOptions::default());
    let (kg, manifest) = GraphFolder::load(&out, &from_pipe, &none, &|_| {}).unwrap();
    let (same, of_file) =
        GraphFolder::load(&dir.path().join("other"), &from_file, &none, &|_| {}).unwrap();
    assert_eq!((kg.len(), kg.content_hash()), (1, same.content_hash()));
    assert_eq!(manifest.sources[0].sha256, of_file.sources[0].sha256);
    let in_memory = [pipe(dir.path(), "second.nt", nt)];
    assert_eq!(FrozenKg::load(&in_memory, &none, &|_| {}).unwrap().len(), 1);
    let error = FrozenKg::load(&[PathBuf::from("/dev/zero")], &none, &|_| {}).unwrap_err();
    assert!(error.to_string().contains("not a file"), "{error}");
}

#[test]
#[ignore = "runs as a child of other tests"]
fn load_in_parts_in_child() {
    let Some(path) = input() else { return };
    // Every triple gets its own part.
    let options = LoadOptions {
        memory: 1,
        threads: 8,
        ..LoadOptions::default()
    };
    let out = path.with_extension("graph");
    let (kg, _) = GraphFolder::load(&out, &[path], &options, &|_| {}).unwrap();
    println!("{}", kg.content_hash());
}

#[test]
fn many_parts_need_few_files() {
    let dir = tempfile::tempdir().unwrap();
    let lines: String = (0..500)
        .map(|i| format!("<x:s{i}> <x:r> \"{}\" .\n", i % 7))
        .collect();
    let whole = load("parts.nt", &lines);
    let path = file(dir.path(), "parts.nt", lines.as_bytes());
    let out = in_child("hostile::load_in_parts_in_child", &path);
    assert!(out.contains(whole.content_hash()), "{out}");
}

#[test]
fn an_empty_input_does_not_replace_a_graph() {
    let dir = tempfile::tempdir().unwrap();
    let (out, none) = (dir.path().join("graph"), LoadOptions::default());
    let full = [file(dir.path(), "a.nt", b"<x:a> <x:r> <x:b> .\n")];
    let empty = [file(dir.path(), "b.nt", b"# nothing\n")];
    GraphFolder::load(&out, &empty, &none, &|_| {}).unwrap();
    GraphFolder::load(&dir.path().join("new"), &empty, &none, &|_| {}).unwrap();
    std::fs::remove_dir_all(&out).unwrap();
    GraphFolder::load(&out, &full, &none, &|_| {}).unwrap();
    let error = GraphFolder::load(&out, &empty, &none, &|_| {}).unwrap_err();
    assert!(matches!(error, FolderError::Empty { .. }), "{error}");
    assert_eq!(GraphFolder::open(&out).unwrap().len(), 1);
}

#[test]
fn an_empty_graph_has_no_names() {
    for kg in [load("empty.nt", ""), load("one.nt", "<x:1> <x:2> <x:3> .")] {
        let index = kg.label_index().unwrap();
        for text in ["", "a", "lisbon", "who was born in lisbon"] {
            for role in [NodeRole::Entity, NodeRole::Class, NodeRole::Relation] {
                assert!(index.search(text, 5, role).unwrap().is_empty());
                assert!(index.containing(text, 5, role).unwrap().is_empty());
                assert!(index.resembling(text, 5, role).unwrap().is_empty());
                assert!(index.initials(text, 5, role).unwrap().is_empty());
                assert!(!index.knows(text, role).unwrap());
            }
        }
    }
}

#[test]
#[ignore = "runs as a child of other tests"]
fn read_a_cut_graph_in_child() {
    let Some(path) = input() else { return };
    let kg = GraphFolder::open(&path).unwrap();
    let graph = std::fs::File::options()
        .write(true)
        .open(path.join("graph.kgf"))
        .unwrap();
    graph.set_len(4096).unwrap();
    println!("triples: {}", kg.triples().count());
}

#[test]
fn a_graph_cut_short_under_a_reader_ends_with_a_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("graph");
    let lines: String = (0..5_000)
        .map(|i| format!("<x:s{i}> <x:r> <x:o{i}> .\n"))
        .collect();
    let files = [file(dir.path(), "a.nt", lines.as_bytes())];
    GraphFolder::load(&out, &files, &LoadOptions::default(), &|_| {}).unwrap();
    let child = child("hostile::read_a_cut_graph_in_child", &out);
    let errors = String::from_utf8_lossy(&child.stderr);
    assert_eq!(child.status.code(), Some(2), "{errors}");
    assert!(
        errors.contains("error: a file in use") && errors.contains("was cut short"),
        "{errors}"
    );
}

#[test]
fn a_check_stays_in_its_folder() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("graph");
    let files = [file(dir.path(), "a.nt", b"<x:a> <x:r> <x:b> .\n")];
    let (_, manifest) = GraphFolder::load(&out, &files, &LoadOptions::default(), &|_| {}).unwrap();
    let elsewhere = file(dir.path(), "elsewhere", b"text");
    for path in [
        "/dev/zero".to_owned(),
        elsewhere.display().to_string(),
        "labels/../../elsewhere".to_owned(),
        "../elsewhere".to_owned(),
        "labels".to_owned(),
    ] {
        let mut changed = serde_json::to_value(&manifest).unwrap();
        changed["labels"][0]["path"] = path.clone().into();
        // A folder of an earlier version has no hash of its manifest.
        changed["sha256"] = "".into();
        std::fs::write(out.join("manifest.json"), changed.to_string()).unwrap();
        let error = GraphFolder::verify(&out).unwrap_err();
        assert!(
            matches!(&error, FolderError::NotAGraph { why, .. } if why.contains(&path)),
            "{error}"
        );
    }
    std::fs::remove_file(out.join("manifest.json")).unwrap();
    let fifo = Command::new("mkfifo")
        .arg(out.join("manifest.json"))
        .status();
    assert!(fifo.unwrap().success());
    let error = GraphFolder::open(&out).unwrap_err().to_string();
    assert!(error.contains("not a file"), "{error}");
}

/// Memory of the queries below: little, so that the tests are quick.
const MEMORY: usize = 1 << 26;

#[test]
#[ignore = "runs as a child of other tests"]
fn query_in_child() {
    let Some(path) = input() else { return };
    let nodes = (0..2_000).map(|i| {
        ["s", "r", "o"].map(|letter| {
            let number = if letter == "r" { 0 } else { i };
            Term::Iri(format!("x:{letter}{number}"))
        })
    });
    let kg = FrozenKg::from_triples(nodes);
    let limits = QueryLimits {
        memory: MEMORY,
        ..QueryLimits::default()
    };
    let query = kg::parse_query(&std::fs::read_to_string(path).unwrap()).unwrap();
    match kg.query(&query, limits) {
        Ok(answer) => println!("answer: {answer:?}"),
        Err(error) => println!("error: {error}"),
    }
}

#[test]
fn queries_do_not_fill_the_memory() {
    let dir = tempfile::tempdir().unwrap();
    let doubled = |times: usize| -> String {
        (0..times)
            .map(|i| format!("BIND(CONCAT(?a{i}, ?a{i}) AS ?a{}) ", i + 1))
            .collect()
    };
    let large = format!("BIND('{}' AS ?a0) {}", "x".repeat(64), doubled(13));
    let names = |count: usize| -> Vec<String> { (0..count).map(|i| format!("?u{i}")).collect() };
    let undefined: String = names(8)
        .iter()
        .map(|name| format!("VALUES {name} {{ {} }} ", "UNDEF ".repeat(40)))
        .collect();
    let (text, memory) = ("text longer than", "holds more than");
    for (name, query, why) in [
        ("replace", format!("SELECT ?r {{ {large} BIND(REPLACE(?a13, 'x', ?a13) AS ?r) }}"), text),
        ("filter", format!("ASK {{ {large} FILTER(STRLEN(REPLACE(?a13, 'x', ?a13)) > 1) }}"), text),
        ("groups", format!("ASK {{ {large} FILTER(STRLEN(REPLACE(?a13, '(x+)', '{}')) > 1) }}", "$1".repeat(5_000)), text),
        ("concat", format!("ASK {{ {large} FILTER(STRLEN(CONCAT({})) > 1) }}", vec!["?a13"; 8_000].join(",")), text),
        ("rows", format!("SELECT ?t {{ ?s ?p ?o {large} BIND(CONCAT(?a13, STR(?s)) AS ?t) }}"), memory),
        ("sorted", format!("SELECT ?t {{ ?s ?p ?o {large} BIND(CONCAT(?a13, STR(?s)) AS ?t) }} ORDER BY ?s"), memory),
        ("cross", "SELECT ?a { ?a <x:r0> ?b . ?c <x:r0> ?d } ORDER BY ?d".to_owned(), memory),
        ("distinct", "SELECT (COUNT(*) AS ?n) { SELECT DISTINCT ?a ?d { ?a <x:r0> ?b . ?c <x:r0> ?d } }".to_owned(), memory),
        ("groups", "SELECT ?a (COUNT(*) AS ?n) { ?a <x:r0> ?b . ?c <x:r0> ?d } GROUP BY ?a ?d".to_owned(), memory),
        ("minimum", format!("SELECT ?s (MIN(?t) AS ?m) {{ ?s ?p ?o {large} BIND(CONCAT(STR(?s), ?a13) AS ?t) }} GROUP BY ?s"), memory),
        ("listed", format!("SELECT (GROUP_CONCAT(?a13) AS ?m) {{ ?s ?p ?o {large} }}"), memory),
        ("separated", format!("SELECT (GROUP_CONCAT(?s; separator='{}') AS ?m) {{ ?s ?p ?o }}", "x".repeat(60_000)), memory),
        ("summed", format!("SELECT (SUM(DISTINCT CONCAT(STR(?s), ?a13)) AS ?m) {{ ?s ?p ?o {large} }}"), memory),
        ("unbound", format!("SELECT * {{ {undefined} }} ORDER BY ?u0"), memory),
        ("unions", format!("SELECT ?x {{ {} }} ORDER BY ?x", "{ {} UNION {} UNION {} } ".repeat(24)), memory),
        ("projected", "SELECT * { { SELECT ?u { ?a ?b ?c } } { SELECT ?v { ?a ?b ?c } } { SELECT ?w { ?a ?b ?c } } } ORDER BY ?u".to_owned(), memory),
    ] {
        let path = file(dir.path(), name, query.as_bytes());
        let start = Instant::now();
        let out = in_child("hostile::query_in_child", &path);
        println!("{name}: {:?}", start.elapsed());
        assert!(out.contains("error: ") && out.contains(why), "{name}: {out}");
    }
}

#[test]
fn comments_cost_no_time() {
    let start = Instant::now();
    let query = format!("ASK {{ {} ?s ?p ?o }}", "#\n".repeat(30_000));
    kg::parse_query(&query).unwrap();
    assert!(start.elapsed().as_millis() < 500, "{:?}", start.elapsed());
}

#[test]
fn memory_limits_do_not_change_answers() {
    let kg = load("cities.ttl", CITIES);
    let p = "PREFIX : <http://kg.test/> PREFIX o: <http://kg.test/ontology#> ";
    for (query, answer) in [
        ("SELECT (CONCAT('a', 'b', 'c', 'd', 'e') AS ?x) {}", "abcde"),
        (
            "SELECT (LANG(CONCAT('a'@en, 'b'@en, 'c'@en)) AS ?x) {}",
            "en",
        ),
        ("SELECT (LANG(CONCAT('a'@en, 'b'@en, 'c')) AS ?x) {}", ""),
        ("SELECT (CONCAT() AS ?x) {}", ""),
        (
            "SELECT (REPLACE('a-b-c', '(-)', '<$1>') AS ?x) {}",
            "a<->b<->c",
        ),
        (
            "SELECT (GROUP_CONCAT(DISTINCT ?c; separator='|') AS ?x) { ?y o:population ?z BIND('c' AS ?c) }",
            "c",
        ),
        ("SELECT (MAX(?z) AS ?x) { ?y o:population ?z }", "545796"),
        (
            "SELECT (SUM(DISTINCT ?z) AS ?x) { ?y o:population ?z }",
            "777596",
        ),
        (
            "SELECT (COUNT(*) AS ?n) { VALUES ?a { UNDEF UNDEF } VALUES ?b { UNDEF 1 } }",
            "4",
        ),
        (
            "SELECT (COUNT(*) AS ?n) { { {} UNION {} } { {} UNION { ?y o:population ?z } } }",
            "6",
        ),
        (
            "SELECT (COUNT(*) AS ?n) { { SELECT ?u { ?y o:population ?z } } ?y o:population ?z }",
            "4",
        ),
        (
            "SELECT (COUNT(*) AS ?n) { { SELECT DISTINCT ?u { ?y o:population ?z } } ?y o:population ?z }",
            "2",
        ),
        (
            "SELECT (COUNT(*) AS ?n) { ?y o:population ?z MINUS { SELECT ?y { ?y o:twin ?t } } }",
            "1",
        ),
    ] {
        assert_eq!(
            column(&kg, &format!("{p}{query}")).unwrap(),
            [answer],
            "{query}"
        );
    }
    let error = column(
        &kg,
        "SELECT (REPLACE('a', 'b', STR(?x)) AS ?y) { ?x ?p ?o }",
    )
    .unwrap_err();
    assert!(
        error.to_string().contains("computed replacement"),
        "{error}"
    );
}
