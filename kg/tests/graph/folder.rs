//! The graph folder is replaced atomically.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use kg::term::{Literal, Term};
use kg::{
    FolderError, FrozenKg, GraphFolder, GraphSource, Kg, LoadError, LoadOptions, LoadProgress,
    Settings,
};

use crate::support::*;

#[test]
fn a_graph_folder_gives_the_graph_back() {
    let dir = tempfile::tempdir().unwrap();
    let source = file(dir.path(), "cities.ttl", CITIES.as_bytes());
    let kg = FrozenKg::load(
        std::slice::from_ref(&source),
        &LoadOptions::default(),
        &|_| {},
    )
    .unwrap();
    let out = dir.path().join("graph");
    let manifest = GraphFolder::write(&out, &kg, &[GraphSource::of(&source).unwrap()]).unwrap();
    assert_eq!(
        (manifest.triples, manifest.sources[0].bytes),
        (kg.len(), CITIES.len() as u64)
    );
    assert!(
        manifest
            .deny
            .contains(&"http://www.w3.org/2004/02/skos/core#altLabel".to_owned())
    );
    // All files of a folder have the same permissions.
    let ordinary = std::fs::metadata(&source).unwrap().permissions();
    for file in [&out, &out.join("labels")]
        .into_iter()
        .flat_map(|dir| std::fs::read_dir(dir).unwrap().map(Result::unwrap))
    {
        let metadata = file.metadata().unwrap();
        assert!(
            metadata.is_dir() || metadata.permissions() == ordinary,
            "{:?}: {:?}",
            file.file_name(),
            metadata.permissions()
        );
    }
    let bytes = std::fs::read(out.join("graph.kgf")).unwrap();
    let back = GraphFolder::open(&out).unwrap();
    assert_eq!(back.content_hash(), kg.content_hash());
    assert_eq!(
        names(&back, &back.entities().collect::<Vec<_>>()),
        names(&kg, &kg.entities().collect::<Vec<_>>())
    );
    GraphFolder::write(&out, &back, &[]).unwrap();
    assert_eq!(
        std::fs::read(out.join("graph.kgf")).unwrap(),
        bytes,
        "equal graphs give equal bytes, and a graph folder may be replaced"
    );
    let left: Vec<_> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 2, "nothing else is left behind: {left:?}");
}

#[test]
fn unusual_terms_survive_the_folder() {
    let iri = |t: &str| Term::Iri(t.to_owned());
    let kg = FrozenKg::from_triples([
        [
            iri("has space \"and\" <more>"),
            iri("x:r"),
            Term::Literal(Literal::plain("tab\t\u{0}nul\u{7}\u{85}\u{2028}\\\"\r\n")),
        ],
        [
            Term::Blank("b.1".to_owned()),
            iri("relative"),
            iri("x:é{}|^`"),
        ],
        [
            iri("x:a"),
            iri("x:r"),
            Term::Literal(Literal {
                lexical: String::new(),
                datatype: None,
                lang: Some("en-gb".to_owned()),
            }),
        ],
        [
            Term::Literal(Literal::plain("no subject")),
            iri("x:r"),
            iri("x:a"),
        ],
    ]);
    assert_eq!(kg.len(), 3);
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("graph");
    GraphFolder::write(&out, &kg, &[]).unwrap();
    let back = GraphFolder::open(&out).unwrap();
    let all = |kg: &FrozenKg| {
        kg.triples()
            .map(|(s, r, o)| [kg.term(s), kg.term(r.node()), kg.term(o)])
            .collect::<Vec<_>>()
    };
    assert_eq!(all(&back), all(&kg));
}

#[test]
fn foreign_folders_stay_and_damage_is_detected() {
    let dir = tempfile::tempdir().unwrap();
    let kg = load("kb.txt", "a|r|b\n");
    let mine = dir.path().join("mine");
    std::fs::create_dir(&mine).unwrap();
    std::fs::write(mine.join("thesis.tex"), "years of work").unwrap();
    assert!(matches!(
        GraphFolder::write(&mine, &kg, &[]),
        Err(FolderError::Occupied { .. })
    ));
    assert_eq!(
        std::fs::read_to_string(mine.join("thesis.tex")).unwrap(),
        "years of work"
    );
    assert!(matches!(
        GraphFolder::write(&mine.join("thesis.tex"), &kg, &[]),
        Err(FolderError::Occupied { .. })
    ));
    assert!(matches!(
        GraphFolder::write(Path::new(".."), &kg, &[]),
        Err(FolderError::Unnamed { .. })
    ));
    assert!(matches!(
        GraphFolder::open(&mine),
        Err(FolderError::NotAGraph { .. })
    ));
    let out = dir.path().join("graph");
    GraphFolder::write(&out, &kg, &[]).unwrap();
    let manifest = std::fs::read_to_string(out.join("manifest.json")).unwrap();
    std::fs::write(
        out.join("manifest.json"),
        manifest.replace("\"version\": 2", "\"version\": 99"),
    )
    .unwrap();
    assert!(matches!(
        GraphFolder::open(&out),
        Err(FolderError::Version { found: 99, .. })
    ));
    std::fs::write(
        out.join("manifest.json"),
        manifest.replace(kg.content_hash(), "00"),
    )
    .unwrap();
    assert!(matches!(
        GraphFolder::open(&out),
        Err(FolderError::Hash { .. })
    ));
    std::fs::write(out.join("manifest.json"), &manifest).unwrap();
    std::fs::write(out.join("graph.kgf"), b"garbage").unwrap();
    assert!(matches!(
        GraphFolder::open(&out),
        Err(FolderError::Damage { .. })
    ));
}

#[test]
fn an_interrupted_load_leaves_nothing_and_a_killed_one_is_swept() {
    let dir = tempfile::tempdir().unwrap();
    let many: String = (0..5_000).map(|i| format!("a{i}|r|b{i}\n")).collect();
    let source = file(dir.path(), "kb.txt", many.as_bytes());
    let out = dir.path().join("graph");
    let (options, settings) = (LoadOptions::default(), Settings::default());
    let left = || -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    for at_sorting in [false, true] {
        let stop = AtomicBool::new(!at_sorting);
        let progress = |progress| {
            stop.store(
                !at_sorting || progress == LoadProgress::Sort,
                Ordering::Relaxed,
            );
        };
        let result = GraphFolder::load_with(
            &out,
            std::slice::from_ref(&source),
            &options,
            &settings,
            &progress,
            &stop,
        );
        assert!(
            matches!(result, Err(FolderError::Load(LoadError::Stopped))),
            "{at_sorting}"
        );
        assert_eq!(left(), ["kb.txt"]);
    }

    // A killed load leaves its work folder with an unlocked lock file. The folder of a running load
    // stays.
    let (killed, alive) = (
        dir.path().join(".partial-graph-killed"),
        dir.path().join(".partial-graph-alive"),
    );
    for folder in [&killed, &alive] {
        std::fs::create_dir(folder).unwrap();
        std::fs::write(folder.join("lock"), "").unwrap();
    }
    let held = std::fs::File::open(alive.join("lock")).unwrap();
    held.lock().unwrap();
    GraphFolder::load(&out, &[source], &options, &|_| {}).unwrap();
    assert_eq!(left(), [".partial-graph-alive", "graph", "kb.txt"]);
}

#[test]
fn a_graph_can_be_opened_while_it_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("graph");
    let graph = |number: usize| {
        let iri = |text: String| Term::Iri(text);
        FrozenKg::from_triples([[
            iri(format!("x:s{number}")),
            iri("x:r".to_owned()),
            iri("x:o".to_owned()),
        ]])
    };
    GraphFolder::write(&out, &graph(0), &[]).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut opened = 0;
            while !done.load(Ordering::Relaxed) {
                assert_eq!(GraphFolder::open(&out).unwrap().len(), 1);
                opened += 1;
            }
            opened
        });
        for number in 1..40 {
            GraphFolder::write(&out, &graph(number), &[]).unwrap();
        }
        done.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap() > 10);
    });
}

/// Loads Turtle into a new graph folder.
fn loaded(text: &str) -> (tempfile::TempDir, FrozenKg) {
    let dir = tempfile::tempdir().unwrap();
    let source = file(dir.path(), "a.ttl", text.as_bytes());
    let out = dir.path().join("graph");
    GraphFolder::load(&out, &[source], &LoadOptions::default(), &|_| {}).unwrap();
    let kg = GraphFolder::open(&out).unwrap();
    (dir, kg)
}

#[test]
fn the_syntax_of_an_ontology_is_known_by_its_first_bytes() {
    let xml = r#"<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
        xmlns:x="http://x/"><rdf:Description rdf:about="http://x/a"><x:p rdf:resource="http://x/b"/></rdf:Description></rdf:RDF>"#;
    let turtle = "<http://x/a> <http://x/p> <http://x/b> .";
    let plain = xml.trim_start_matches(r#"<?xml version="1.0"?>"#);
    let known = [
        xml.to_owned(),
        plain.to_owned(),
        xml.replace("?>", "?><!DOCTYPE x [<!ENTITY t \"http://x/\">]>"),
        format!("\u{feff}{xml}"),
        turtle.to_owned(),
        format!("# made by hand\n{turtle}"),
        "@prefix : <http://x/> . :a :p :b .".to_owned(),
        "prefix : <http://x/> :a :p :b .".to_owned(),
    ];
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("graph");
    let load = |name: &str, text: &str| {
        let source = file(dir.path(), name, text.as_bytes());
        GraphFolder::load(&out, &[source], &LoadOptions::default(), &|_| {})
    };
    for text in known {
        for name in ["a.owl", "a.rdf", "a.xml"] {
            let (kg, _) = load(name, &text).unwrap();
            assert_eq!(kg.len(), 1, "{name} {text}");
        }
    }
    let obo = "format-version: 1.4\n\n[Term]\nid: X:1\nname: one\n";
    assert!(load("a.owl", obo).unwrap().0.len() > 0);
    for (text, says) in [
        ("Prefix(:=<http://x/>)\nOntology(<http://x/>)", "functional"),
        ("Prefix: : <http://x/>\nOntology: <http://x/>", "Manchester"),
    ] {
        let error = load("a.owl", text).err().unwrap().to_string();
        assert!(error.contains(says) && error.contains("a.owl"), "{error}");
    }
}

#[test]
fn subclasses_count_where_the_types_above_are_not_stated() {
    const LEAVES: &str =
        "@prefix : <http://a.example/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        @prefix wdt: <http://www.wikidata.org/prop/direct/> .
        :Farm ABOVE :Plant . :Mill ABOVE :Plant . :a a :Farm . :b a :Mill .";
    for (above, more, counts, members) in [
        ("rdfs:subClassOf", "", true, 2),
        ("rdfs:subClassOf", ":c a :Plant .", true, 3),
        ("rdfs:subClassOf", ":a a :Plant .", true, 2),
        // Every type is stated, so nothing is to be added.
        ("rdfs:subClassOf", ":a a :Plant . :b a :Plant .", false, 2),
        // Queries about Wikidata's classes name them exactly.
        ("wdt:P279", "", true, 2),
        ("wdt:P279", ":c a :Plant .", false, 1),
    ] {
        let (_dir, kg) = loaded(&format!("{} {more}", LEAVES.replace("ABOVE", above)));
        assert_eq!(kg.schema().settings.subclasses, counts, "{above} {more}");
        let plant = kg.by_name("Plant").unwrap();
        assert_eq!(kg.instances(plant).len(), members, "{above} {more}");
    }
}

#[test]
fn rows_of_tables_are_called_by_their_names_or_keys() {
    let (_dir, kg) = loaded(
        r#"@base <http://a.example/db/> .
        <guest/id=1> <guest#first_name> "Ada" ; <guest#last_name> "Brook" .
        <guest/id=2> <guest#first_name> "Tom" .
        <dept/code=HR> <dept#dept_name> "People" .
        <stay/guest=1;no=4> <stay#nights> 3 ."#,
    );
    let label = |iri: &str| {
        let node = kg.find(&Term::Iri(format!("http://a.example/db/{iri}")));
        kg.label(node.unwrap()).unwrap()
    };
    assert_eq!(label("guest/id=1"), "Ada Brook");
    assert_eq!(label("guest/id=2"), "guest 2");
    assert_eq!(label("dept/code=HR"), "People");
    assert_eq!(label("stay/guest=1;no=4"), "stay 1 4");
    let found = kg
        .label_index()
        .unwrap()
        .candidates("Ada Brook", 3)
        .unwrap();
    assert_eq!(kg.label(found[0].node).as_deref(), Some("Ada Brook"));
}
