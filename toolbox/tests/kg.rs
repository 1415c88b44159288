//! The graph, its loaders and its queries, on small graphs and, where they lie beside the checkout, on the development sets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use toolbox::kg::{
    self, FolderError, Format, GraphFolder, Kg, LoadError, LoadOptions, MemoryKg, QueryAnswer, QueryError, QueryLimits, Source,
};
use toolbox::term::{Literal, NodeId, RelId, Term};

// ---- helpers

fn file(dir: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

fn try_load(name: &str, content: &str, options: &LoadOptions) -> Result<MemoryKg, LoadError> {
    let dir = tempfile::tempdir().unwrap();
    MemoryKg::load(&[file(dir.path(), name, content.as_bytes())], options, &|_| {})
}

fn load(name: &str, content: &str) -> MemoryKg {
    try_load(name, content, &LoadOptions::default()).unwrap()
}

fn node(kg: &MemoryKg, name: &str) -> NodeId {
    kg.by_name(name).unwrap_or_else(|| panic!("no node `{name}`"))
}

fn rel(kg: &MemoryKg, name: &str) -> RelId {
    node(kg, name).relation()
}

fn names(kg: &MemoryKg, nodes: &[NodeId]) -> Vec<String> {
    nodes.iter().map(|&n| kg.name(n)).collect()
}

fn rel_names(kg: &MemoryKg, relations: &[RelId]) -> Vec<String> {
    relations.iter().map(|r| kg.name(r.node())).collect()
}

fn text_of(term: Term) -> String {
    match term {
        Term::Iri(iri) => iri,
        Term::Blank(id) => id,
        Term::Literal(literal) => literal.lexical,
    }
}

/// The first column of the answer, in the order of the rows.
fn column(kg: &MemoryKg, text: &str) -> Result<Vec<String>, QueryError> {
    Ok(match kg.query(&kg::parse_query(text)?, QueryLimits::default())? {
        QueryAnswer::Bool(holds) => vec![holds.to_string()],
        QueryAnswer::Rows { rows, .. } => rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).map(text_of).collect(),
    })
}

const CITIES: &str = r#"
@prefix : <http://kg.test/> .
@prefix o: <http://kg.test/ontology#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
o:City a owl:Class ; rdfs:label "city"@en .
o:country a rdf:Property ; rdfs:label "country"@en ; rdfs:domain o:City .
:lisbon a o:City ; rdfs:label "Lissabon"@de, "Lisbon"@en ; skos:altLabel "LX" ; o:country :portugal ; o:population 545796 ; o:founded "-1200"^^xsd:gYear .
:porto a o:City ; rdfs:label "Porto" ; o:country :portugal ; o:population 231800 ; o:twin [ o:city :lisbon ; o:stint.from "2001"^^xsd:gYear ; o:stint.to "2003"^^xsd:gYear ] .
:portugal rdfs:label "Portugal"@pt , "Portugalia"@pl .
"#;

// ---- access

#[test]
fn a_small_graph_answers_every_access() {
    let kg = load("cities.ttl", CITIES);
    let (lisbon, porto, portugal) = (node(&kg, "lisbon"), node(&kg, "porto"), node(&kg, "portugal"));
    assert_eq!(*kg.tails(lisbon, rel(&kg, "country")), [portugal]);
    assert_eq!(names(&kg, &kg.heads(rel(&kg, "country"), portugal)), ["lisbon", "porto"]);
    assert!(kg.has(porto, rel(&kg, "country"), portugal) && !kg.has(portugal, rel(&kg, "country"), porto));
    assert_eq!(rel_names(&kg, &kg.out_relations(lisbon)), ["country", "founded", "population"]);
    assert_eq!(rel_names(&kg, &kg.in_relations(lisbon)), ["city"]);
    assert_eq!(names(&kg, kg.classes()), ["City"], "modelling classes are no classes of things");
    assert_eq!(*kg.instances(node(&kg, "City")), [lisbon, porto]);
    assert_eq!(names(&kg, &kg.types(lisbon)), ["City"]);
    assert!(kg.types(node(&kg, "City")).is_empty());
    assert_eq!(kg.term(lisbon), Term::Iri("http://kg.test/lisbon".to_owned()));
    let population = Term::Literal(Literal::xsd("545796", "integer"));
    assert_eq!(kg.find(&population).map(|n| kg.heads(rel(&kg, "population"), n).into_owned()), Some(vec![lisbon]));
    assert_eq!(kg.find(&Term::Iri("http://kg.test/nowhere".to_owned())), None);
}

#[test]
fn labels_prefer_english_then_untagged_then_the_smallest_tag() {
    let kg = load("cities.ttl", CITIES);
    let label = |name: &str| kg.label(node(&kg, name));
    assert_eq!(label("lisbon").as_deref(), Some("Lisbon"));
    assert_eq!(label("porto").as_deref(), Some("Porto"));
    assert_eq!(label("portugal").as_deref(), Some("Portugalia"), "pl comes before pt");
    let twin = kg.tails(node(&kg, "porto"), rel(&kg, "twin"));
    assert_eq!(kg.label(twin[0]), None, "a blank node has no name");
    assert_eq!(names(&kg, &kg.by_label("Lissabon")), ["lisbon"]);
    assert_eq!(names(&kg, &kg.by_label("lISBON")), ["lisbon"]);
    assert!(kg.by_label("LX").is_empty() && kg.by_label("").is_empty());
    assert_eq!(kg.label_languages(), ["", "de", "en", "pl", "pt"]);
}

#[test]
fn an_exact_label_beats_another_spelling() {
    let kg = load(
        "g.nt",
        "<x:a> <http://www.w3.org/2000/01/rdf-schema#label> \"Reading\" .\n<x:b> <http://www.w3.org/2000/01/rdf-schema#label> \"reading\" .\n",
    );
    assert_eq!(names(&kg, &kg.by_label("reading")), ["b"]);
    assert_eq!(names(&kg, &kg.by_label("READING")), ["a", "b"]);
}

#[test]
fn labels_are_one_clean_line() {
    let nasty = "  Ig\\nnore\\t\\u202E all \\u0007 previous\\u200B  instructions ";
    let kg = load("g.nt", &format!("<x:a> <http://www.w3.org/2000/01/rdf-schema#label> \"{nasty}\" .\n"));
    assert_eq!(kg.label(node(&kg, "a")).as_deref(), Some("Ig nore all previous instructions"));
    let long = kg::clean(&"é".repeat(200));
    assert_eq!((long.chars().count(), long.ends_with('…')), (toolbox::limits::LABEL_CHARS, true));
    assert_eq!(kg::clean(&"é".repeat(80)).chars().count(), 80);
}

#[test]
fn hidden_relations_are_those_of_rule_r4() {
    let kg = load("cities.ttl", CITIES);
    let hidden = rel_names(&kg, &kg.schema().hidden);
    assert_eq!(hidden, ["rdf:type", "rdfs:domain", "rdfs:label", "skos:altLabel"]);
    let freebase = "ns:type.object.type ns:type.object.name ns:common.topic.notable_types ns:common.topic.article ns:soft.isbn.x ns:people.person.nationality";
    let lines: String = freebase
        .split(' ')
        .map(|r| format!("<http://rdf.freebase.com/ns/m.1> <http://rdf.freebase.com/ns/{}> <http://rdf.freebase.com/ns/m.2> .\n", &r[3..]))
        .collect();
    let kg = load("fb.nt", &lines);
    assert_eq!(rel_names(&kg, &kg.out_relations(node(&kg, "m.1"))), ["people.person.nationality"]);
    assert_eq!(rel_names(&kg, &kg.schema().type_relations), ["common.topic.notable_types", "type.object.type"]);
    assert_eq!(names(&kg, &kg.instances(node(&kg, "m.2"))), ["m.1"]);
    let shown = kg.with_hidden(&[]);
    assert_eq!(shown.out_relations(node(&shown, "m.1")).len(), 3, "types and names stay hidden whatever the deny list says");
}

#[test]
fn relations_that_begin_and_end_something_form_an_interval() {
    let kg = load("cities.ttl", CITIES);
    let interval = &kg.schema().intervals[..];
    assert_eq!(interval.len(), 1);
    assert_eq!(interval[0].name, "stint.from_to");
    assert_eq!((interval[0].from, interval[0].to), (rel(&kg, "stint.from"), rel(&kg, "stint.to")));
}

#[test]
fn in_relations_of_a_hub_are_those_of_its_edges() {
    let lines: String = (0..2000).map(|i| format!("n{i}\tr{}\thub\n", i % 7)).collect();
    let kg = load("hub.tsv", &lines);
    assert_eq!(kg.in_relations(node(&kg, "hub")).len(), 7);
}

// ---- names

#[test]
fn names_are_short_unique_and_lead_back() {
    let kg = load("cities.ttl", CITIES);
    assert_eq!(kg.name(node(&kg, "http://kg.test/lisbon")), "lisbon");
    assert_eq!(kg.by_name("<http://kg.test/lisbon>"), kg.by_name("lisbon"));
    assert_eq!(kg.name(node(&kg, "http://www.w3.org/2000/01/rdf-schema#label")), "rdfs:label");
    let two = load(
        "two.nt",
        "<http://a.test/x> <http://a.test/r> <http://b.test/x> .\n<http://a.test/v0> <http://a.test/r> <http://b.test/y> .\n",
    );
    assert_eq!(kg::Kg::by_name(&two, "x"), None, "two nodes end in x");
    assert_eq!(two.name(node(&two, "http://b.test/x")), "http://b.test/x");
    assert_eq!(two.name(node(&two, "http://a.test/v0")), "http://a.test/v0", "v0 is a variable");
    assert_eq!(two.name(node(&two, "http://b.test/y")), "y");
    let dbpedia =
        load("d.nt", "<http://dbpedia.org/resource/AC/DC> <http://dbpedia.org/ontology/genre> <http://dbpedia.org/resource/Rock:_a_b> .\n");
    let name = dbpedia.name(node(&dbpedia, "dbr:AC/DC"));
    assert_eq!(name, "dbr:AC/DC");
    assert_eq!(dbpedia.label(node(&dbpedia, "res:Rock:_a_b")).as_deref(), Some("Rock: a b"));
}

#[test]
fn literals_have_names_that_lead_back() {
    let kg =
        load("g.nt", "<x:a> <x:r> \"say \\\"hi\\\"\\n\\\\o/\"@en .\n<x:a> <x:r> \"2011\"^^<http://www.w3.org/2001/XMLSchema#gYear> .\n");
    for &n in kg.tails(node(&kg, "a"), rel(&kg, "r")).iter() {
        assert_eq!(kg.by_name(&kg.name(n)), Some(n), "{}", kg.name(n));
    }
    assert!(kg.by_name("\"2011\"^^xsd:gYear").is_some());
}

proptest! {
    #[test]
    fn every_name_leads_back(rows in proptest::collection::vec(("[ -~é§]{1,6}", "[a-z:_/#]{1,4}", "[a-z0-9:/#\"<>]{1,5}"), 1..12), urls in proptest::collection::vec("(http://(a|b)\\.test/|http://dbpedia.org/resource/|urn:kgagent:|x:)[a-c0-2:/#_]{0,3}", 3..9)) {
        let text = |t: &String| Term::Iri(format!("urn:kgagent:{}", t.bytes().map(|b| format!("%{b:02X}")).collect::<String>()));
        let mut triples: Vec<[Term; 3]> = rows.iter().map(|(s, p, o)| [text(s), text(p), Term::Literal(Literal::plain(o.clone()))]).collect();
        triples.extend(urls.windows(3).map(|w| [Term::Iri(w[0].clone()), Term::Iri(w[1].clone()), Term::Iri(w[2].clone())]));
        let kg = MemoryKg::from_triples(triples);
        let mut seen = BTreeSet::new();
        for id in 0..u32::try_from(kg.term_count()).unwrap() {
            let name = kg.name(NodeId(id));
            prop_assert_eq!(kg.by_name(&name), Some(NodeId(id)), "{}", &name);
            prop_assert!(seen.insert(name));
            prop_assert_eq!(kg.find(&kg.term(NodeId(id))), Some(NodeId(id)));
        }
    }

    /// Against sets built the slow way.
    #[test]
    fn access_agrees_with_the_triples(rows in proptest::collection::vec((0u8..6, 0u8..3, 0u8..6), 0..40)) {
        let iri = |kind: &str, n: u8| Term::Iri(format!("http://t.test/{kind}{n}"));
        let kg = MemoryKg::from_triples(rows.iter().map(|&(s, p, o)| [iri("n", s), iri("p", p), iri("n", o)]));
        let set: BTreeSet<_> = rows.iter().copied().collect();
        prop_assert_eq!(kg.len(), set.len());
        let find = |kind: &str, n: u8| kg.find(&iri(kind, n));
        for s in 0..6 {
            let Some(node) = find("n", s) else { continue };
            for p in 0..3 {
                let Some(relation) = find("p", p).map(NodeId::relation) else { continue };
                let want: Vec<NodeId> = (0..6).filter(|&o| set.contains(&(s, p, o))).map(|o| find("n", o).unwrap()).collect();
                prop_assert_eq!(kg.tails(node, relation).into_owned(), want);
                let want: Vec<NodeId> = (0..6).filter(|&h| set.contains(&(h, p, s))).map(|h| find("n", h).unwrap()).collect();
                prop_assert_eq!(kg.heads(relation, node).into_owned(), want);
                prop_assert_eq!(kg.out_relations(node).contains(&relation), set.iter().any(|t| t.0 == s && t.1 == p));
                prop_assert_eq!(kg.in_relations(node).contains(&relation), set.iter().any(|t| t.2 == s && t.1 == p));
            }
        }
        let all = column(&kg, "SELECT (CONCAT(STR(?s), STR(?p), STR(?o)) AS ?t) WHERE { ?s ?p ?o }").unwrap();
        prop_assert_eq!(all.len(), set.len());
        for (s, p, o) in &set {
            prop_assert_eq!(column(&kg, &format!("ASK {{ <http://t.test/n{s}> <http://t.test/p{p}> <http://t.test/n{o}> }}")).unwrap(), ["true"]);
            let by_ends = column(&kg, &format!("SELECT ?p WHERE {{ <http://t.test/n{s}> ?p <http://t.test/n{o}> }}")).unwrap();
            let relation = format!("http://t.test/p{p}");
            prop_assert!(by_ends.contains(&relation));
        }
    }
}

// ---- loading

#[test]
fn plain_text_formats_name_nodes_by_their_text() {
    for (name, content) in [
        ("kb.txt", "The Matrix|directed_by|Lana_Wachowski\nThe Matrix|release_year|1999\n"),
        ("kb.tsv", "The Matrix\tdirected_by\tLana_Wachowski\r\n\nThe Matrix\trelease_year\t1999"),
    ] {
        let kg = load(name, content);
        let film = node(&kg, "The Matrix");
        assert_eq!(kg.term(film), Term::Iri("urn:kgagent:The%20Matrix".to_owned()));
        assert_eq!(rel_names(&kg, &kg.out_relations(film)), ["directed_by", "release_year"]);
        assert_eq!(names(&kg, &kg.tails(film, rel(&kg, "directed_by"))), ["Lana_Wachowski"]);
        assert_eq!(kg.label(node(&kg, "Lana_Wachowski")).as_deref(), Some("Lana Wachowski"));
        assert_eq!(kg.label(node(&kg, "directed_by")).as_deref(), Some("directed by"));
        assert_eq!(names(&kg, &kg.by_label("lana wachowski")), ["Lana_Wachowski"]);
        assert_eq!(names(&kg, &kg.by_label("the_matrix")), ["The Matrix"]);
    }
}

#[test]
fn kqa_pros_graph_loads_by_its_name() {
    let kb = r#"{"concepts": {"Q5": {"name": "human", "instanceOf": []}},
        "entities": {"Q1": {"name": "Ada", "instanceOf": ["Q5"], "attributes": [], "relations": []}}}"#;
    let kg = load("kb.json", kb);
    assert_eq!(kg.label(node(&kg, "wd:Q1")).as_deref(), Some("Ada"));
    assert!(kg.has(node(&kg, "wd:Q1"), rel(&kg, "wdt:instance_of"), node(&kg, "wd:Q5")));
    let forced = LoadOptions { format: Some(Format::KqaPro), ..LoadOptions::default() };
    assert_eq!(try_load("other.json", kb, &forced).unwrap().content_hash(), kg.content_hash());
    let error = try_load("kb.json", "{\"concepts\":\n 7", &LoadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("kb.json:2: ") && error.contains("not KQA Pro"), "{error}");
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
    let graphs: Vec<MemoryKg> =
        paths.iter().map(|p| MemoryKg::load(std::slice::from_ref(p), &LoadOptions::default(), &|_| {}).unwrap()).collect();
    for (path, kg) in paths.iter().zip(&graphs) {
        assert_eq!(kg.content_hash(), graphs[0].content_hash(), "{}", path.display());
    }
    let all = MemoryKg::load(&paths, &LoadOptions::default(), &|_| {}).unwrap();
    assert_eq!(all.len(), 2, "files join and repeated triples count once");
}

#[test]
fn blank_nodes_of_different_files_stay_apart_and_are_numbered() {
    let dir = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = ["a.ttl", "b.ttl"].iter().map(|n| file(dir.path(), n, b"_:x <x:r> [] .")).collect();
    let load = |options: &LoadOptions| MemoryKg::load(&paths, options, &|_| {}).unwrap();
    let kg = load(&LoadOptions::default());
    assert_eq!(kg.len(), 2);
    assert_eq!(kg.content_hash(), load(&LoadOptions::default()).content_hash(), "anonymous nodes get the same names every time");
    assert_eq!(names(&kg, &kg.entities().collect::<Vec<_>>()), ["_:f0_b0", "_:f0_b1", "_:f1_b0", "_:f1_b1"]);
}

#[test]
fn faulty_files_are_errors_with_file_and_line() {
    let none = LoadOptions::default();
    let message = |name: &str, content: &str| try_load(name, content, &none).unwrap_err().to_string();
    let text = message("kb.txt", "a|r|b\na|r\n");
    assert!(text.contains("kb.txt:2:") && text.contains("2 fields") && text.contains("subject|relation|object"), "{text}");
    assert!(message("kb.tsv", "a\tr\t \n").contains("kb.tsv:1: an empty field"));
    let text = message("g.nt", "<x:a> <x:r> <x:b> .\n<x:a> <x:r> oops .\n");
    assert!(text.contains("g.nt:2:"), "{text}");
    let text = message("g.ttl", "@prefix : <http://t.test/> .\n:a :r :b .\n:a :r .\n");
    assert!(text.contains("g.ttl:3:"), "{text}");
    assert!(message("notes.txt", "hello world\n").contains("unknown graph format"));
    assert!(message("g.doc", "").contains("unknown graph format"));
    assert!(matches!(MemoryKg::load(&[PathBuf::from("/no/such.nt")], &none, &|_| {}), Err(LoadError::Io { .. })));
    let tolerant = LoadOptions { max_faults: 1, ..none };
    assert_eq!(try_load("g.nt", "<x:a> <x:r> <x:b> .\nnonsense\n<x:a> <x:r> <x:c> .\n", &tolerant).unwrap().len(), 2);
    let forced = LoadOptions { format: Some(Format::Tsv), ..none };
    assert_eq!(try_load("odd.dat", "a\tr\tb\n", &forced).unwrap().len(), 1);
    assert_eq!(load("empty.nt", "").len(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn bad_input_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in "[<>a-z:\"@^_ .|\t\n\\\\{}\\[\\];,#]{0,120}") {
        let dir = tempfile::tempdir().unwrap();
        for name in ["g.nt", "g.ttl", "g.nq", "g.trig", "g.rdf", "g.jsonld", "g.tsv", "g.txt", "g.nt.gz"] {
            for content in [&bytes[..], text.as_bytes()] {
                let _ = MemoryKg::load(&[file(dir.path(), name, content)], &LoadOptions::default(), &|_| {});
            }
        }
    }
}

// ---- folder

#[test]
fn a_graph_folder_gives_the_graph_back() {
    let dir = tempfile::tempdir().unwrap();
    let source = file(dir.path(), "cities.ttl", CITIES.as_bytes());
    let kg = MemoryKg::load(std::slice::from_ref(&source), &LoadOptions::default(), &|_| {}).unwrap();
    let out = dir.path().join("graph");
    let manifest = GraphFolder::write(&out, &kg, &[Source::of(&source).unwrap()]).unwrap();
    assert_eq!((manifest.triples, manifest.sources[0].bytes), (kg.len(), CITIES.len() as u64));
    assert!(manifest.deny.contains(&"http://www.w3.org/2004/02/skos/core#altLabel".to_owned()));
    let bytes = std::fs::read(out.join("graph.kgf")).unwrap();
    let back = GraphFolder::open(&out).unwrap();
    assert_eq!(back.content_hash(), kg.content_hash());
    assert_eq!(names(&back, &back.entities().collect::<Vec<_>>()), names(&kg, &kg.entities().collect::<Vec<_>>()));
    GraphFolder::write(&out, &back, &[]).unwrap();
    assert_eq!(std::fs::read(out.join("graph.kgf")).unwrap(), bytes, "equal graphs give equal bytes, and a graph folder may be replaced");
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "nothing else is left behind: {left:?}");
}

#[test]
fn odd_terms_survive_the_folder() {
    let iri = |t: &str| Term::Iri(t.to_owned());
    let kg = MemoryKg::from_triples([
        [iri("has space \"and\" <more>"), iri("x:r"), Term::Literal(Literal::plain("tab\t\u{0}nul\u{7}\u{85}\u{2028}\\\"\r\n"))],
        [Term::Blank("b.1".to_owned()), iri("relative"), iri("x:é{}|^`")],
        [iri("x:a"), iri("x:r"), Term::Literal(Literal { lexical: String::new(), datatype: None, lang: Some("en-gb".to_owned()) })],
        [Term::Literal(Literal::plain("no subject")), iri("x:r"), iri("x:a")],
    ]);
    assert_eq!(kg.len(), 3);
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("graph");
    GraphFolder::write(&out, &kg, &[]).unwrap();
    let back = GraphFolder::open(&out).unwrap();
    let all = |kg: &MemoryKg| kg.triples().map(|(s, r, o)| [kg.term(s), kg.term(r.node()), kg.term(o)]).collect::<Vec<_>>();
    assert_eq!(all(&back), all(&kg));
}

#[test]
fn folders_of_others_are_left_alone_and_damage_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let kg = load("kb.txt", "a|r|b\n");
    let mine = dir.path().join("mine");
    std::fs::create_dir(&mine).unwrap();
    std::fs::write(mine.join("thesis.tex"), "years of work").unwrap();
    assert!(matches!(GraphFolder::write(&mine, &kg, &[]), Err(FolderError::Occupied { .. })));
    assert_eq!(std::fs::read_to_string(mine.join("thesis.tex")).unwrap(), "years of work");
    assert!(matches!(GraphFolder::write(&mine.join("thesis.tex"), &kg, &[]), Err(FolderError::Occupied { .. })));
    assert!(matches!(GraphFolder::write(Path::new(".."), &kg, &[]), Err(FolderError::Unnamed { .. })));
    assert!(matches!(GraphFolder::open(&mine), Err(FolderError::NotAGraph { .. })));
    let out = dir.path().join("graph");
    GraphFolder::write(&out, &kg, &[]).unwrap();
    let manifest = std::fs::read_to_string(out.join("manifest.json")).unwrap();
    std::fs::write(out.join("manifest.json"), manifest.replace("\"version\": 2", "\"version\": 99")).unwrap();
    assert!(matches!(GraphFolder::open(&out), Err(FolderError::Version { found: 99, .. })));
    std::fs::write(out.join("manifest.json"), manifest.replace(kg.content_hash(), "00")).unwrap();
    assert!(matches!(GraphFolder::open(&out), Err(FolderError::Hash { .. })));
    std::fs::write(out.join("manifest.json"), &manifest).unwrap();
    std::fs::write(out.join("graph.kgf"), b"garbage").unwrap();
    assert!(matches!(GraphFolder::open(&out), Err(FolderError::Damage { .. })));
}

// ---- queries

#[test]
fn dialects_are_read() {
    let kg = load("cities.ttl", CITIES);
    let ask = |query: &str| column(&kg, query).unwrap_or_else(|e| panic!("{query}: {e}"));
    let p = "PREFIX : <http://kg.test/> PREFIX o: <http://kg.test/ontology#> ";
    assert_eq!(ask(&format!("{p} SELECT COUNT(?x) WHERE {{ ?x o:country :portugal . }} .")), ["2"]);
    assert_eq!(ask(&format!("{p} SELECT DISTINCT COUNT(?c) AS ?n WHERE {{ ?x o:country ?c }}")), ["2"], "Virtuoso counts first");
    assert_eq!(ask(&format!("{p} SELECT COUNT(DISTINCT ?c) WHERE {{ ?x o:country ?c }}")), ["1"]);
    assert_eq!(ask(&format!("{p} SELECT DISTINCT(?c) WHERE {{ ?x o:country ?c }};")), ["http://kg.test/portugal"]);
    assert_eq!(ask(&format!("{p} SELECT ?c WHERE {{ ?x o:country ?c }} ORDER BY DESC(COUNT(?x)) LIMIT 1")), ["http://kg.test/portugal"]);
    assert_eq!(ask(&format!("#MANUAL SPARQL\n{p} SELECT ?y WHERE {{ ?x o:stint.from ?y }}")), ["2001"]);
    assert_eq!(
        ask(&format!("{p} SELECT ?x WHERE {{ ?x rdfs:label ?l FILTER (str(?l) = 'OR' OR lang(?l) = 'de' AND true) }}")),
        ["http://kg.test/lisbon"]
    );
    assert_eq!(ask(&format!("SPARQL DEFINE input:inference \"x\" {p} ASK {{ :lisbon o:country :portugal }}")), ["true"]);
    assert_eq!(
        ask(&format!("{p} SELECT ?x WHERE {{ ?x o:founded ?d FILTER (xsd:datetime(?d) < \"-0500\"^^xsd:dateTime) }}")),
        ["http://kg.test/lisbon"]
    );
    assert_eq!(
        ask(&format!("{p} SELECT ?x FROM <http://other> WHERE {{ GRAPH <http://g> {{ ?x o:twin ?t }} }}")),
        ["http://kg.test/porto"]
    );
}

#[test]
fn strings_iris_and_comments_are_not_rewritten() {
    let text = "SELECT ?x WHERE { ?x <http://a.test/x.y.z#OR> \"a OR b # c ns:a.b.c\" . # OR\n ?x <http://a.test/p> '''AND \\' ''' }";
    let normal = kg::normalise(text).unwrap();
    assert!(normal.contains("\"a OR b # c ns:a.b.c\"") && normal.contains("x.y.z#OR>") && normal.contains("'''AND \\' '''"), "{normal}");
    assert!(!normal.contains("# OR") && !normal.contains("PREFIX"), "{normal}");
    let once = kg::normalise("SELECT DISTINCT COUNT(?x) { ?x ns:a.b.c ns:m.0_1 FILTER(?x < 5 OR ?x > 3) }").unwrap();
    assert_eq!(kg::normalise(&once).unwrap(), once, "what is standard stays as it is");
    assert!(
        kg::parse_query("SELECT ?x { dbr:Berlin_(band) dbo:a ?x . ?x dbo:b dbr:Washington,_D.C. }")
            .unwrap()
            .to_string()
            .contains("Washington,_D.C>"),
        "a final dot ends the triple"
    );
}

#[test]
fn what_is_refused_says_so() {
    let kg = load("kb.txt", "a|r|b\n");
    let refused = |query: &str| match column(&kg, query) {
        Err(QueryError::Refused(what)) => what,
        other => panic!("{query}: {other:?}"),
    };
    assert_eq!(refused("SELECT * { SERVICE <http://x.test/> { ?s ?p ?o } }"), "SERVICE");
    assert_eq!(refused("SELECT * { ?s ?p ?o FILTER EXISTS { SERVICE SILENT <http://x.test/> { ?s ?p ?o } } }"), "SERVICE");
    assert_eq!(refused("CONSTRUCT WHERE { ?s ?p ?o }"), "CONSTRUCT");
    assert_eq!(refused("DESCRIBE <x:a>"), "DESCRIBE");
    assert_eq!(refused("SELECT * { ?s ?p ?o } ORDER BY RAND()"), "RAND");
    assert!(matches!(column(&kg, "INSERT DATA { <x:a> <x:b> <x:c> }"), Err(QueryError::Syntax(_))));
    assert!(matches!(column(&kg, "SELECT"), Err(QueryError::Syntax(_))));
}

/// A graph on which a cross product is endless.
fn wide() -> MemoryKg {
    MemoryKg::from_triples((0..3000).map(|i| [Term::Iri(format!("x:s{i}")), Term::Iri("x:r".to_owned()), Term::Iri(format!("x:o{i}"))]))
}

#[test]
fn no_query_runs_past_its_deadline() {
    let kg = wide();
    let limits = QueryLimits { deadline: Duration::from_millis(200), rows: usize::MAX };
    for query in [
        "SELECT (COUNT(*) AS ?n) { ?a <x:r> ?b . ?c <x:r> ?d . ?e <x:r> ?f }",
        "SELECT * { ?a <x:r> ?b . ?c <x:r> ?d . ?e <x:r> ?f }",
        "SELECT DISTINCT ?a { { SELECT ?a { ?a <x:r> ?b } } { SELECT ?c { ?c <x:r> ?d } } { SELECT ?e { ?e <x:r> ?f } } } ORDER BY ?c",
        "SELECT ?a { ?a <x:r> ?b . ?c <x:r> ?d . ?e <x:r> ?f FILTER (CONTAINS(CONCAT(STR(?a), STR(?d), STR(?f)), 'y')) }",
        "ASK { ?a <x:r> ?b . ?c <x:r> ?d . ?e <x:r> ?f FILTER (?a = ?f) }",
        "SELECT ?a { ?a (<x:r>|!<x:q>)* ?b . ?c (<x:r>|^<x:r>)* ?d . FILTER NOT EXISTS { ?a <x:q> ?d } ?e <x:r> ?f FILTER (CONCAT(STR(?b), STR(?d)) = STR(?f)) }",
        "SELECT (MAX(CONCAT(STR(?a), STR(?c), STR(?e))) AS ?m) { ?a <x:r> ?b . ?c <x:r> ?d . ?e <x:r> ?f } GROUP BY ?b",
    ] {
        let start = Instant::now();
        let result = kg.query(&kg::parse_query(query).unwrap(), limits);
        assert!(matches!(result, Err(QueryError::Deadline(_))), "{query}: {result:?}");
        assert!(start.elapsed() < Duration::from_secs(3), "{query}: {:?}", start.elapsed());
    }
    assert!(column(&kg, "ASK { ?s ?p ?o }").is_ok(), "the thread is as before");
}

#[test]
fn rows_and_texts_are_limited() {
    let kg = wide();
    let query = kg::parse_query("SELECT * { ?a <x:r> ?b . ?c <x:r> ?d }").unwrap();
    assert!(matches!(kg.query(&query, QueryLimits { rows: 1000, ..QueryLimits::default() }), Err(QueryError::Rows(1000))));
    let mut doubling = "SELECT * { BIND('xxxxxxxxxxxxxxxx' AS ?a0) ".to_owned();
    for i in 0..40 {
        doubling.push_str(&format!("BIND(CONCAT(?a{i}, ?a{i}) AS ?a{}) ", i + 1));
    }
    doubling.push('}');
    assert!(matches!(column(&kg, &doubling), Err(QueryError::Evaluation(_))));
}

#[test]
fn monstrous_texts_neither_overflow_nor_hang() {
    let start = Instant::now();
    for (open, close) in [("(", ")"), ("{", "}"), ("!(", ")"), ("[ <x:p> ", "]")] {
        for n in [5usize, 12, toolbox::limits::QUERY_DEPTH - 1, 5000] {
            let inner = format!("{}1{}", open.repeat(n), close.repeat(n));
            for query in [
                format!("SELECT * {{ ?s ?p ?o FILTER ({inner}) }}"),
                format!("SELECT * {{ {} ?s ?p ?o {} }}", open.repeat(n), close.repeat(n)),
                format!("SELECT * {{ ?s {}<x:a>{} ?o }}", open.repeat(n), close.repeat(n)),
                format!("SELECT * {{ ?s ?p {inner} }}"),
            ] {
                let _ = kg::parse_query(&query);
            }
        }
    }
    let kg = wide();
    // Sizes around the limits and far beyond them.
    for n in [31, 64, 190, 390, 10_000] {
        for long in [
            format!("ASK {{ ?s ?p ?o FILTER ({}) }}", vec!["?s = ?o"; n].join(" || ")),
            format!("ASK {{ ?s ?p ?o FILTER ({}) }}", vec!["1"; n].join(" + ")),
            format!("ASK {{ ?s {} ?o }}", vec!["<x:r>"; n].join("/")),
            format!("ASK {{ ?s {} ?o }}", vec!["<x:r>"; n].join("|")),
            format!("ASK {{ {} }}", vec!["{ ?s <x:q> ?o }"; n].join(" UNION ")),
            format!("ASK {{ {} }}", vec!["OPTIONAL { ?s <x:q> ?o }"; n].join(" ")),
            format!("ASK {{ {} }}", vec!["{ SELECT ?s { ?s <x:q> ?o } }"; n].join(" ")),
            format!("ASK {{ ?s ?p ?o {} }}", vec!["FILTER (?s = ?o)"; n].join(" ")),
            format!("ASK {{ {} }}", vec!["?s <x:q> ?o ."; n].join(" ")),
            format!("ASK {{ ?s ?p ({}) }}", vec!["?o"; n].join(" ")),
            format!("SELECT {} {{ ?s ?p ?o }}", (0..n).map(|i| format!("(?s AS ?a{i})")).collect::<String>()),
            format!("ASK {{ ?s ?p ?o FILTER ({}) }}", vec!["STR(?s)"; n].join(" IN (")),
            format!("ASK {{ ?s ?p {} }}", "-".repeat(n)),
            format!("ASK {{ ?s ?p \"{} }}", "x".repeat(n)),
            "x".repeat(n * 100),
        ] {
            if let Ok(query) = kg::parse_query(&long) {
                let _ = kg.query(&query, QueryLimits { deadline: Duration::from_secs(1), ..QueryLimits::default() });
            }
        }
    }
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn order_by_mixed_datatypes_is_total_and_does_not_panic() {
    let kinds = ["integer", "double", "decimal", "string", "date", "gYear", "boolean", "float", "nonsense", "dateTime"];
    let kg = MemoryKg::from_triples((0..3000u32).map(|i| {
        let x = i.wrapping_mul(2_654_435_761) >> 7;
        let lexical = match i % 5 {
            0 => format!("{}", x % 1000),
            1 => format!("{}.5", x % 300),
            2 => "NaN".to_owned(),
            3 => format!("{:04}-01-01", x % 3000),
            _ => format!("text{x}"),
        };
        let value = match i % 11 {
            10 => Literal { lexical, datatype: None, lang: Some("en".to_owned()) },
            k => Literal::xsd(lexical, kinds[k as usize % kinds.len()]),
        };
        [Term::Iri(format!("x:s{i}")), Term::Iri("x:r".to_owned()), Term::Literal(value)]
    }));
    for query in ["SELECT ?o { ?s <x:r> ?o } ORDER BY ?o ?s", "SELECT ?o { ?s <x:r> ?o } ORDER BY DESC(?o) ASC(?s)"] {
        assert_eq!(column(&kg, query).unwrap().len(), 3000);
    }
    let kg =
        load("n.ttl", "<x:a> <x:r> 10, 9.5, 1e1, \"-3\"^^<http://www.w3.org/2001/XMLSchema#int>, 9007199254740993, 9007199254740992 .");
    assert_eq!(column(&kg, "SELECT ?o { ?s <x:r> ?o } ORDER BY ?o LIMIT 2").unwrap(), ["-3", "9.5"],);
    assert_eq!(column(&kg, "SELECT ?o { ?s <x:r> ?o } ORDER BY DESC(?o) LIMIT 1").unwrap(), ["9007199254740993"]);
}

#[test]
fn two_threads_ask_at_once() {
    let kg = wide();
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| {
            let query = kg::parse_query("SELECT (COUNT(*) AS ?n) { ?a <x:r> ?b . ?c <x:r> ?d . ?e <x:r> ?f }").unwrap();
            kg.query(&query, QueryLimits { deadline: Duration::from_millis(300), ..QueryLimits::default() })
        });
        for i in 0..200 {
            assert_eq!(column(&kg, &format!("SELECT ?o {{ <x:s{i}> <x:r> ?o }}")).unwrap(), [format!("x:o{i}")]);
        }
        assert!(matches!(slow.join().unwrap(), Err(QueryError::Deadline(_))));
    });
}

// ---- the development sets

fn datasets() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/datasets");
    let found = root.is_dir().then_some(root);
    if found.is_none() {
        eprintln!("skipped: ../shared/datasets is not here");
    }
    found
}

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_reader(flate2::read::MultiGzDecoder::new(std::fs::File::open(path).unwrap())).unwrap()
}

/// Every string under a key that names a query, wherever it stands.
fn queries(value: &serde_json::Value, out: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(map) => {
            for (key, value) in map {
                match value {
                    serde_json::Value::String(text) if matches!(key.as_str(), "sparql" | "sparql_query") => out.push(text.clone()),
                    value => queries(value, out),
                }
            }
        }
        serde_json::Value::Array(list) => list.iter().for_each(|value| queries(value, out)),
        _ => {}
    }
}

#[test]
fn published_queries_parse() {
    let Some(root) = datasets() else { return };
    for (name, count) in [
        ("gold-sparql/cwq", 1724),
        ("gold-sparql/grailqa", 507),
        ("gold-sparql/lcquad1-train", 4000),
        ("gold-sparql/qald10", 162),
        ("gold-sparql/qald9-train-multilingual", 408),
        ("gold-sparql/yago-qa", 100),
        ("cwq-mini/questions", 568),
        ("dbpedia-slice/qald9", 246),
        ("dbpedia-slice/lcquad1", 376),
        ("spider4sparql/questions", 489),
    ] {
        let mut all = Vec::new();
        queries(&json(&root.join(format!("{name}.json.gz"))), &mut all);
        assert_eq!(all.len(), count, "{name}");
        for query in &all {
            if let Err(error) = kg::parse_query(query) {
                panic!("{name}: {error}\n{query}");
            }
        }
    }
}

fn load_set(root: &Path, name: &str) -> MemoryKg {
    let start = Instant::now();
    let kg = MemoryKg::load(&[root.join(name)], &LoadOptions::default(), &|_| {}).unwrap();
    println!("{name}: {} triples, {} terms in {:?}", kg.len(), kg.term_count(), start.elapsed());
    kg
}

#[test]
fn dbpedia_questions_have_their_answers() {
    let Some(root) = datasets() else { return };
    let kg = load_set(&root, "dbpedia-slice/kg.nt.gz");
    for (set, least) in [("qald9", 244), ("lcquad1", 376)] {
        let mut right = 0;
        for question in json(&root.join(format!("dbpedia-slice/{set}.json.gz"))).as_array().unwrap() {
            let text = |v: &serde_json::Value| {
                v.as_str().map_or_else(|| v.to_string(), str::to_owned).replace("True", "true").replace("False", "false")
            };
            let want: BTreeSet<String> = match &question["on_mini"] {
                serde_json::Value::Array(list) => list.iter().map(text).collect(),
                one => [text(one)].into(),
            };
            let got: BTreeSet<String> = column(&kg, question["sparql"].as_str().unwrap())
                .unwrap()
                .into_iter()
                .map(|t| t.replace("True", "true").replace("False", "false"))
                .collect();
            if got == want {
                right += 1;
            } else {
                println!("{set}: {} want {want:?} got {got:?}", question["sparql"]);
            }
        }
        println!("{set}: {right} right");
        assert!(right >= least, "{set}: {right}");
    }
}

#[test]
fn freebase_questions_have_their_answers() {
    let Some(root) = datasets() else { return };
    let kg = load_set(&root, "cwq-mini/kg.nt.gz");
    let mut right = 0;
    for question in json(&root.join("cwq-mini/questions.json.gz")).as_array().unwrap() {
        let want: BTreeSet<String> = question["gold"].as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect();
        let answers = column(&kg, question["sparql"].as_str().unwrap()).unwrap();
        let got: BTreeSet<String> =
            answers.iter().map(|a| kg.by_name(a).and_then(|n| kg.label(n)).unwrap_or_else(|| a.clone()).to_lowercase()).collect();
        right += usize::from(got == want);
    }
    println!("cwq-mini: {right} right");
    // Five of the 568 are known to differ, four more have two English names.
    assert!(right >= 559, "{right}");
}
