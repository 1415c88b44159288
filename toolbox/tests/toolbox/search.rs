//! The label index and entity linking: the order of matches by kind, equality of stored and in-
//! memory indexes, and mentions in questions.

use std::fs;
use std::path::Path;

use common::cancel::{Cancel, Cancelled};
use kg::search::{LabelIndex, MatchKind, NodeRole, SearchError};
use kg::term::{Literal, RDFS_LABEL, Term};
use kg::{FrozenKg, Kg, LoadOptions};
use proptest::prelude::*;
use toolbox::link::{self, LinkError, Linked};
use toolbox::rank::lexical;

const GRAPH: &str = r#"
@prefix : <http://names.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix dbo: <http://dbpedia.org/ontology/> .
@prefix dbr: <http://dbpedia.org/resource/> .
:city rdfs:label "city" . :film rdfs:label "film" .
:lisbon a :city ; rdfs:label "Lisbon"@en , "Lissabon"@de ; skos:altLabel "LX" ; :mayor :ana .
:paris a :city ; rdfs:label "Paris" ; :river :seine ; :country :france ; :population 2100000 .
:paris_tx a :city ; rdfs:label "Paris, Texas" ; :country :usa .
:paris_film a :film ; rdfs:label "Paris, Texas" ; :director :wenders ; :music :cooder ; :actor :stanton .
:titanic97 a :film ; rdfs:label "Titanic (1997 film)" ; :director :cameron .
:titanic53 a :film ; rdfs:label "Titanic (1953 film)" ; :director :negulesco ; :actor :webb ; :actor :stanwyck .
:orsay rdfs:label "Musée d'Orsay" ; :city :paris .
:thewho rdfs:label "The Who" ; :genre :rock .
:rock rdfs:label "rock" . :france rdfs:label "France" . :usa rdfs:label "United States" .
:seine rdfs:label "Seine" . :wenders rdfs:label "Wim Wenders" . :cameron rdfs:label "James Cameron" .
:m.0x1 :city :paris ; :year 1999 .
:Ana_Costa :city :lisbon .
dbr:Barack_Obama :born :usa . dbr:Obama dbo:wikiPageRedirects dbr:Barack_Obama .
"#;

fn load(text: &str) -> FrozenKg {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("g.ttl");
    fs::write(&path, text).unwrap();
    FrozenKg::load(&[path], &LoadOptions::default(), &|_| {}).unwrap()
}

fn found(kg: &FrozenKg, mention: &str) -> Vec<(String, MatchKind)> {
    let index = kg.label_index().unwrap();
    index
        .candidates(mention, 5)
        .unwrap()
        .into_iter()
        .map(|c| (kg.name(c.node), c.how))
        .collect()
}

fn linked(kg: &FrozenKg, question: &str) -> Vec<String> {
    link::entities_of(kg, question, lexical().as_ref())
        .unwrap()
        .into_iter()
        .map(|node| kg.name(node))
        .collect()
}

#[test]
fn names_are_found_exactly_then_in_normal_form_then_with_edits_then_in_part() {
    let kg = load(GRAPH);
    for (mention, name, how) in [
        ("Lisbon", "lisbon", MatchKind::Exact),
        ("Lissabon", "lisbon", MatchKind::Exact),
        ("LX", "lisbon", MatchKind::Exact),
        ("lisbon", "lisbon", MatchKind::Normalised),
        ("musee d’orsay", "orsay", MatchKind::Normalised),
        ("Who", "thewho", MatchKind::Normalised),
        ("Lisbno", "lisbon", MatchKind::Fuzzy),
        ("Wim Wenderss", "wenders", MatchKind::Fuzzy),
        ("Cameron", "cameron", MatchKind::Partial),
        ("Obama", "dbr:Barack_Obama", MatchKind::Exact),
        ("Ana Costa", "Ana_Costa", MatchKind::Exact),
    ] {
        assert_eq!(
            found(&kg, mention).first(),
            Some(&(name.to_owned(), how)),
            "{mention}"
        );
    }
    assert!(
        found(&kg, "").is_empty()
            && found(&kg, "?!").is_empty()
            && found(&kg, "Zanzibar").is_empty()
    );
}

#[test]
fn equal_names_come_by_degree_and_shortened_ones_after_whole_ones() {
    let kg = load(GRAPH);
    let names: Vec<String> = found(&kg, "Paris")
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["paris", "paris_film", "paris_tx"]);
    let names: Vec<String> = found(&kg, "Titanic")
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        names,
        ["titanic53", "titanic97"],
        "the better connected first"
    );
}

#[test]
fn classes_and_relations_have_their_own_roles() {
    let kg = load(GRAPH);
    let index = kg.label_index().unwrap();
    let names = |role| {
        index
            .search("city", 5, role)
            .unwrap()
            .into_iter()
            .map(|c| kg.name(c.node))
            .collect::<Vec<_>>()
    };
    assert_eq!(names(NodeRole::Class), ["city"]);
    assert!(names(NodeRole::Entity).is_empty());
    let relation = index.search("population", 5, NodeRole::Relation).unwrap();
    assert_eq!(
        relation.iter().map(|c| kg.name(c.node)).collect::<Vec<_>>(),
        ["population"]
    );
    assert_eq!(
        found(&kg, "city"),
        [("city".to_owned(), MatchKind::Exact)],
        "a class if no entity has the name"
    );
}

#[test]
fn a_folder_gives_what_memory_gives_and_equal_graphs_equal_bytes() {
    let kg = load(GRAPH);
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (dir.path().join("one"), dir.path().join("two"));
    LabelIndex::build(&kg, &one).unwrap();
    LabelIndex::build(&load(GRAPH), &two).unwrap();
    let files = |dir: &Path| {
        let mut files: Vec<_> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        files
            .iter()
            .map(|path| {
                (
                    path.file_name().unwrap().to_owned(),
                    fs::read(path).unwrap(),
                )
            })
            .collect::<Vec<_>>()
    };
    assert!(files(&one).len() > 3);
    assert_eq!(files(&one), files(&two));

    let before = files(&one);
    let mapped = LabelIndex::open(&one, kg.content_hash()).unwrap();
    let memory = kg.label_index().unwrap();
    assert_eq!(mapped.len(), memory.len());
    for mention in ["Lisbon", "paris", "Titanik", "Cameron", "nothing at all"] {
        assert_eq!(
            mapped.candidates(mention, 9).unwrap(),
            memory.candidates(mention, 9).unwrap(),
            "{mention}"
        );
    }
    assert_eq!(files(&one), before, "reading writes nothing");
}

#[test]
fn unusable_indexes_are_rejected() {
    let kg = load(GRAPH);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("labels");
    LabelIndex::build(&kg, &path).unwrap();
    assert!(matches!(
        LabelIndex::open(&path, "another"),
        Err(SearchError::Stale { .. })
    ));
    assert!(
        matches!(LabelIndex::build(&kg, &path), Err(SearchError::Io { .. })),
        "an existing folder is not overwritten"
    );
    assert!(LabelIndex::open(&dir.path().join("nowhere"), kg.content_hash()).is_err());
    let store = fs::read_dir(&path)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|e| e == "store"));
    let store = store.unwrap();
    let bytes = fs::read(&store).unwrap();
    fs::write(&store, &bytes[..bytes.len() / 2]).unwrap();
    let error = LabelIndex::open(&path, kg.content_hash())
        .unwrap_err()
        .to_string();
    assert!(error.contains("bytes instead of"), "{error}");
}

#[test]
fn questions_mention_entities() {
    let kg = load(GRAPH);
    for (question, names) in [
        ("Who is the mayor of Lisbon?", &["lisbon"][..]),
        ("which river flows through paris", &["paris"]),
        ("Who directed Paris, Texas?", &["paris_film"]),
        ("In which country is Paris, Texas?", &["paris_tx"]),
        ("what genre do The Who play", &["thewho"]),
        ("who is it", &[]),
        ("Is Lisbon's mayor from France?", &["lisbon", "france"]),
        ("films directed by [James Cameron] in Paris", &["cameron"]),
        ("Where is the Musee d Orsay?", &["orsay"]),
        ("Where was Obama born?", &["dbr:Barack_Obama"]),
        ("Which city has 2100000 people?", &[]),
        ("Where is Lisbbon?", &["lisbon"]),
    ] {
        assert_eq!(linked(&kg, question), names, "{question}");
    }
}

#[test]
fn linking_ends_when_it_is_cancelled() {
    let kg = load(GRAPH);
    let cancel = Cancel::default();
    cancel.cancel();
    for given in [Vec::new(), vec!["Lisbon".to_owned()]] {
        let topics = link::topics(&kg, "is Lisbon big", &given, lexical().as_ref(), &cancel);
        assert!(matches!(
            topics,
            Err(LinkError::Cancelled(Cancelled::Asked))
        ));
    }
}

#[test]
fn mentions_say_where_and_how() {
    let kg = load(GRAPH);
    let question = "Does the Seine flow through Lisbbon?";
    let mentions = link::detect(&kg, question, lexical().as_ref(), &Cancel::default()).unwrap();
    let seen: Vec<(&str, MatchKind)> = mentions
        .iter()
        .map(|m| (&question[m.span.0..m.span.1], m.how))
        .collect();
    assert_eq!(
        seen,
        [("Seine", MatchKind::Exact), ("Lisbbon", MatchKind::Fuzzy)]
    );
    // Linked entities are masked in every spelling.
    let nodes: Vec<_> = mentions.iter().map(|m| m.node).collect();
    assert_eq!(
        link::mask(&kg, question, &nodes, &mut Vec::new()),
        "Does the e0 flow through e1?"
    );
    let lx = kg.by_name("lisbon").unwrap();
    assert_eq!(
        link::mask(&kg, "is LX big", &[lx], &mut Vec::new()),
        "is e0 big"
    );
    assert_eq!(
        Linked::new(&kg, "is LX bigger than 5", &[lx]).values,
        [Literal::plain("5")]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every label finds its node, and no text makes a search fail.
    #[test]
    fn every_label_leads_to_its_node(labels in prop::collection::vec("[A-Za-zéß'.()&, -]{1,12}", 1..8), other in "\\PC{0,30}") {
        let triple = |(i, label): (usize, &String)| {
            [Term::Iri(format!("http://n.example/x{i}")), Term::Iri(RDFS_LABEL.to_owned()), Term::Literal(Literal::plain(label.clone()))]
        };
        let kg = FrozenKg::from_triples(labels.iter().enumerate().map(triple));
        let index = kg.label_index().unwrap();
        for (i, label) in labels.iter().enumerate() {
            if !label.chars().any(char::is_alphanumeric) {
                continue;
            }
            let node = kg.by_name(&format!("http://n.example/x{i}")).unwrap();
            let found = index.candidates(label, 100).unwrap();
            prop_assert!(found.iter().any(|candidate| candidate.node == node), "{label:?}: {found:?}");
        }
        index.candidates(&other, 5).unwrap();
        let mentions = link::detect(&kg, &other, lexical().as_ref(), &Cancel::default()).unwrap();
        prop_assert!(mentions.windows(2).all(|pair| pair[0].span.1 <= pair[1].span.0));
    }
}
