//! Formats and invalid files.

use std::io::Write as _;
use std::path::PathBuf;

use kg::term::Term;
use kg::{FrozenKg, GraphFormat, Kg, LoadError, LoadOptions};
use proptest::prelude::*;

use crate::support::*;

#[test]
fn plain_text_formats_name_nodes_by_their_text() {
    for (name, content) in [
        (
            "kb.txt",
            "The Matrix|directed_by|Lana_Wachowski\nThe Matrix|release_year|1999\n",
        ),
        (
            "kb.tsv",
            "The Matrix\tdirected_by\tLana_Wachowski\r\n\nThe Matrix\trelease_year\t1999",
        ),
    ] {
        let kg = load(name, content);
        let film = node(&kg, "The Matrix");
        assert_eq!(
            kg.term(film),
            Term::Iri("urn:kgagent:The%20Matrix".to_owned())
        );
        assert_eq!(
            rel_names(&kg, &kg.out_relations(film)),
            ["directed_by", "release_year"]
        );
        assert_eq!(
            names(&kg, &kg.tails(film, rel(&kg, "directed_by"))),
            ["Lana_Wachowski"]
        );
        assert_eq!(
            kg.label(node(&kg, "Lana_Wachowski")).as_deref(),
            Some("Lana Wachowski")
        );
        assert_eq!(
            kg.label(node(&kg, "directed_by")).as_deref(),
            Some("directed by")
        );
        assert_eq!(
            names(&kg, &kg.by_label("lana wachowski")),
            ["Lana_Wachowski"]
        );
        assert_eq!(names(&kg, &kg.by_label("the_matrix")), ["The Matrix"]);
    }
}

#[test]
fn kqa_pro_is_recognised_by_file_name() {
    let kb = r#"{"concepts": {"Q5": {"name": "human", "instanceOf": []}},
        "entities": {"Q1": {"name": "Ada", "instanceOf": ["Q5"], "attributes": [], "relations": []}}}"#;
    let kg = load("kb.json", kb);
    assert_eq!(kg.label(node(&kg, "wd:Q1")).as_deref(), Some("Ada"));
    assert!(kg.has(
        node(&kg, "wd:Q1"),
        rel(&kg, "wdt:instance_of"),
        node(&kg, "wd:Q5")
    ));
    let forced = LoadOptions {
        format: Some(GraphFormat::KqaPro),
        ..LoadOptions::default()
    };
    assert_eq!(
        try_load("other.json", kb, &forced).unwrap().content_hash(),
        kg.content_hash()
    );
    let error = try_load("kb.json", "{\"concepts\":\n 7", &LoadOptions::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("kb.json:2: ") && error.contains("not KQA Pro"),
        "{error}"
    );
}

#[test]
fn formats_and_compression_give_the_same_graph() {
    let dir = tempfile::tempdir().unwrap();
    let nt = "<http://t.test/a> <http://t.test/r> <http://t.test/b> .\n<http://t.test/a> <http://t.test/r> \"x\"@EN .\n";
    let gz = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let paths = [
        file(dir.path(), "g.nt", nt.as_bytes()),
        file(dir.path(), "g.nt.gz", &gz(nt.as_bytes())),
        file(dir.path(), "g.nq", nt.replace(" .", " <http://t.test/graph> .").as_bytes()),
        file(dir.path(), "g.ttl", b"@prefix : <http://t.test/> . :a :r :b, \"x\"@en ."),
        file(dir.path(), "g.trig", b"@prefix : <http://t.test/> . { :a :r :b, \"x\"@en . }"),
        file(dir.path(), "g.jsonld", br#"{"@id":"http://t.test/a","http://t.test/r":[{"@id":"http://t.test/b"},{"@value":"x","@language":"en"}]}"#),
        file(dir.path(), "g.rdf", br#"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:t="http://t.test/"><rdf:Description rdf:about="http://t.test/a"><t:r rdf:resource="http://t.test/b"/><t:r xml:lang="en">x</t:r></rdf:Description></rdf:RDF>"#),
    ];
    let graphs: Vec<FrozenKg> = paths
        .iter()
        .map(|p| FrozenKg::load(std::slice::from_ref(p), &LoadOptions::default(), &|_| {}).unwrap())
        .collect();
    for (path, kg) in paths.iter().zip(&graphs) {
        assert_eq!(
            kg.content_hash(),
            graphs[0].content_hash(),
            "{}",
            path.display()
        );
    }
    let all = FrozenKg::load(&paths, &LoadOptions::default(), &|_| {}).unwrap();
    assert_eq!(all.len(), 2, "files join and repeated triples count once");
}

#[test]
fn blank_nodes_of_different_files_stay_apart_and_are_numbered() {
    let dir = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = ["a.ttl", "b.ttl"]
        .iter()
        .map(|n| file(dir.path(), n, b"_:x <x:r> [] ."))
        .collect();
    let load = |options: &LoadOptions| FrozenKg::load(&paths, options, &|_| {}).unwrap();
    let kg = load(&LoadOptions::default());
    assert_eq!(kg.len(), 2);
    assert_eq!(
        kg.content_hash(),
        load(&LoadOptions::default()).content_hash(),
        "anonymous nodes get the same names every time"
    );
    assert_eq!(
        names(&kg, &kg.entities().collect::<Vec<_>>()),
        ["_:f0_b0", "_:f0_b1", "_:f1_b0", "_:f1_b1"]
    );
}

#[test]
fn faulty_files_are_errors_with_file_and_line() {
    let none = LoadOptions::default();
    let message =
        |name: &str, content: &str| try_load(name, content, &none).unwrap_err().to_string();
    let text = message("kb.txt", "a|r|b\na|r\n");
    assert!(
        text.contains("kb.txt:2:")
            && text.contains("2 fields")
            && text.contains("subject|relation|object"),
        "{text}"
    );
    assert!(message("kb.tsv", "a\tr\t \n").contains("kb.tsv:1: an empty field"));
    let text = message("g.nt", "<x:a> <x:r> <x:b> .\n<x:a> <x:r> oops .\n");
    assert!(text.contains("g.nt:2:"), "{text}");
    let text = message(
        "g.ttl",
        "@prefix : <http://t.test/> .\n:a :r :b .\n:a :r .\n",
    );
    assert!(text.contains("g.ttl:3:"), "{text}");
    assert!(message("notes.txt", "hello world\n").contains("unknown graph format"));
    assert!(message("g.doc", "").contains("unknown graph format"));
    assert!(matches!(
        FrozenKg::load(&[PathBuf::from("/no/such.nt")], &none, &|_| {}),
        Err(LoadError::Io { .. })
    ));
    let tolerant = LoadOptions {
        max_faults: 1,
        ..none
    };
    assert_eq!(
        try_load(
            "g.nt",
            "<x:a> <x:r> <x:b> .\nnonsense\n<x:a> <x:r> <x:c> .\n",
            &tolerant
        )
        .unwrap()
        .len(),
        2
    );
    let forced = LoadOptions {
        format: Some(GraphFormat::Tsv),
        ..none
    };
    assert_eq!(try_load("odd.dat", "a\tr\tb\n", &forced).unwrap().len(), 1);
    assert_eq!(load("empty.nt", "").len(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_input_is_a_graph_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in "[<>a-z:\"@^_ .|\t\n\\\\{}\\[\\];,#]{0,120}") {
        let dir = tempfile::tempdir().unwrap();
        for name in ["g.nt", "g.ttl", "g.nq", "g.trig", "g.rdf", "g.jsonld", "g.tsv", "g.txt", "g.nt.gz"] {
            for content in [&bytes[..], text.as_bytes()] {
                match FrozenKg::load(&[file(dir.path(), name, content)], &LoadOptions::default(), &|_| {}) {
                    // Every triple has to be written somewhere.
                    Ok(kg) => prop_assert!(kg.len() <= content.len(), "{name}: {content:?}"),
                    Err(error) => prop_assert!(!error.to_string().is_empty(), "{name}: {content:?}"),
                }
            }
        }
    }
}

#[test]
fn odas_subgraphs_load_with_their_labels() {
    let dir = tempfile::tempdir().unwrap();
    let triples = r#"{"Q42": [["Q42", "P69", "Q691283"], ["Q42", "P569", "1952-03-11T00:00:00Z"]], "Q5": []}"#;
    let files = [
        file(dir.path(), "2-hop.json", triples.as_bytes()),
        file(
            dir.path(),
            "labels.json",
            br#"{"Q42": "Douglas Adams", "Q5": ""}"#,
        ),
    ];
    let kg = FrozenKg::load(&files, &LoadOptions::default(), &|_| {}).unwrap();
    assert_eq!(
        kg.label(node(&kg, "wd:Q42")).as_deref(),
        Some("Douglas Adams")
    );
    assert_eq!(
        names(&kg, &kg.tails(node(&kg, "wd:Q42"), rel(&kg, "wdt:P69"))),
        ["wd:Q691283"]
    );
    assert_eq!(kg.len(), 3);

    let damaged = try_load("cut.json", &triples[..60], &LoadOptions::default()).unwrap_err();
    assert!(
        matches!(damaged, LoadError::Syntax { line: 1, .. }),
        "{damaged}"
    );
    let other = try_load("other.json", "{\"Q1\": 3}", &LoadOptions::default())
        .unwrap_err()
        .to_string();
    assert!(
        other.contains("a list of [head, relation, tail] or a label"),
        "{other}"
    );
}
