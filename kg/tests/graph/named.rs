//! Queries over named graphs: the evaluation tests of datasets and of GRAPH that the W3C published
//! for SPARQL 1.0 (folders `dataset` and `graph`), case by case with data of our own, and a comparison
//! with oxigraph's store on random data.

use kg::{
    FrozenKg, Kg, LoadOptions, QueryAnswer, QueryError, QueryLimits, dataset_note, parse_query,
    with_dataset,
};
use oxigraph::io::RdfFormat;
use oxigraph::model::{GraphName, Quad};
use oxigraph::sparql::{QueryResults, SparqlEvaluator};
use oxigraph::store::Store;
use proptest::prelude::*;

use crate::support::{load, try_load};

const DATA: &str = r#"
@prefix : <http://g.test/> .
:a :p 1 . :b :p 2 . :a :only :default .
:g1 { :a :p 1 . :b :p 3 }
:g2 { :a :q 4 . :c :q 5 }
:g3 { _:x :p 6 . :a :p 1 }
:g4 { _:y :q 6 }
_:g5 { :d :p 7 }
:empty { }
"#;

/// The rows of a SELECT, sorted, with names in place of IRIs; `true` or `false` for an ASK.
fn rows(kg: &FrozenKg, text: &str) -> Result<Vec<String>, QueryError> {
    let prefixed = format!("PREFIX : <http://g.test/> {text}");
    let answer = kg.query(&parse_query(&prefixed)?, QueryLimits::default())?;
    Ok(match answer {
        QueryAnswer::Bool(truth) => vec![truth.to_string()],
        QueryAnswer::Rows { rows, .. } => {
            let cell = |term: &Option<kg::term::Term>| match term {
                None => "-".to_owned(),
                Some(kg::term::Term::Blank(_)) => "_".to_owned(),
                Some(term) => {
                    let text = term.to_string().replace("http://g.test/", "");
                    let text = text.replace("^^<http://www.w3.org/2001/XMLSchema#integer>", "");
                    text.replace(['<', '>', '"'], "")
                }
            };
            let line = |row: &Vec<_>| row.iter().map(cell).collect::<Vec<_>>().join(" ");
            let mut lines: Vec<String> = rows.iter().map(line).collect();
            lines.sort();
            lines
        }
    })
}

fn check(kg: &FrozenKg, cases: &[(&str, &[&str])]) {
    for (text, expected) in cases {
        let found = rows(kg, text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(found, *expected, "{text}");
    }
}

/// dataset-01 to dataset-12b.
#[test]
fn the_datasets_of_from_are_those_of_the_recommendation() {
    let kg = load("g.trig", DATA);
    check(
        &kg,
        &[
            ("SELECT ?s ?p ?o FROM :g1 {?s ?p ?o}", &["a p 1", "b p 3"]),
            ("SELECT ?s ?p ?o FROM NAMED :g1 {?s ?p ?o}", &[]),
            (
                "SELECT ?g ?s ?p ?o FROM NAMED :g1 {GRAPH ?g {?s ?p ?o}}",
                &["g1 a p 1", "g1 b p 3"],
            ),
            ("SELECT ?g ?s ?p ?o FROM :g1 {GRAPH ?g {?s ?p ?o}}", &[]),
            (
                "SELECT ?s ?p ?o FROM :g1 FROM NAMED :g2 {?s ?p ?o}",
                &["a p 1", "b p 3"],
            ),
            (
                "SELECT ?g ?s ?p ?o FROM :g1 FROM NAMED :g2 {GRAPH ?g {?s ?p ?o}}",
                &["g2 a q 4", "g2 c q 5"],
            ),
            (
                "SELECT ?s ?p ?o ?g FROM :g1 FROM NAMED :g2 {{?s ?p ?o} UNION {GRAPH ?g {?s ?p ?o}}}",
                &["a p 1 -", "a q 4 g2", "b p 3 -", "c q 5 g2"],
            ),
            (
                "SELECT ?s ?o ?g ?v FROM :g1 FROM NAMED :g2 {?s ?p ?o GRAPH ?g {?s ?q ?v}}",
                &["a 1 g2 4"],
            ),
            // Blank nodes of different graphs are different.
            (
                "SELECT * FROM :g3 FROM NAMED :g4 {?s ?p ?o GRAPH ?g {?s ?q ?v}}",
                &[],
            ),
            (
                "SELECT ?s ?o ?g ?v FROM :g3 FROM NAMED :g3 {?s :p ?o GRAPH ?g {?s :p ?v}}",
                &["_ 6 g3 6", "a 1 g3 1"],
            ),
            (
                "SELECT ?s ?o ?g FROM :g1 FROM NAMED :g1 FROM NAMED :g2 {{?s ?p ?o} UNION {GRAPH ?g {?s ?p ?o}}}",
                &["a 1 -", "a 1 g1", "a 4 g2", "b 3 -", "b 3 g1", "c 5 g2"],
            ),
            // A triple that is in several of the merged graphs is there once.
            (
                "SELECT ?s ?o ?g FROM :g1 FROM :g3 FROM NAMED :g2 FROM NAMED :g2 {{?s ?p ?o} UNION {GRAPH ?g {?s ?p ?o}}}",
                &["_ 6 -", "a 1 -", "a 4 g2", "b 3 -", "c 5 g2"],
            ),
            ("SELECT ?s ?p ?o FROM :none {?s ?p ?o}", &[]),
            ("SELECT * FROM NAMED :none {GRAPH ?g {}}", &[]),
            ("SELECT (COUNT(*) AS ?n) FROM :none {?s ?p ?o}", &["0"]),
        ],
    );
}

/// graph-01 to graph-11 and the later ones. The suite gives the default graph from outside; here it is
/// the graph of the triples without a name.
#[test]
fn graph_is_that_of_the_recommendation() {
    let kg = load("g.trig", DATA);
    let all = "FROM <urn:x-arq:DefaultGraph> FROM NAMED :g1 FROM NAMED :g2";
    let case = |text: &str, expected: &[&str]| {
        let text = text.replace("ALL", all);
        let found = rows(&kg, &text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(found, expected, "{text}");
    };
    case("SELECT ?s ?o ALL {?s :p ?o}", &["a 1", "b 2"]);
    case("SELECT ?s ?p ?o FROM NAMED :g1 {?s ?p ?o}", &[]);
    case(
        "SELECT ?g ?s ?o ALL {GRAPH ?g {?s :p ?o}}",
        &["g1 a 1", "g1 b 3"],
    );
    case(
        "SELECT ?g ?s ?p ?o FROM <urn:x-arq:DefaultGraph> {GRAPH ?g {?s ?p ?o}}",
        &[],
    );
    case(
        "SELECT ?s ?o ?g ALL {{?s :p ?o} UNION {GRAPH ?g {?s :p ?o}}}",
        &["a 1 -", "a 1 g1", "b 2 -", "b 3 g1"],
    );
    case(
        "SELECT ?s ?o ?g ?v ALL {?s :p ?o GRAPH ?g {?s :q ?v}}",
        &["a 1 g2 4"],
    );
    // An empty pattern lists the graphs, or says whether one exists.
    case("SELECT * ALL {GRAPH ?g {}}", &["g1", "g2"]);
    case("ASK ALL {GRAPH :g1 {}}", &["true"]);
    case("ASK ALL {GRAPH :g3 {}}", &["false"]);
    case("ASK {GRAPH :nowhere {?s ?p ?o}}", &["false"]);
    case("ASK {GRAPH :empty {}}", &["false"]);
    // The variable is bound after the pattern inside.
    case("SELECT * ALL {GRAPH ?g {?s :q 4 FILTER(BOUND(?g))}}", &[]);
    case(
        "SELECT ?g ?s ALL {GRAPH ?g {?s :q 4 FILTER(!BOUND(?g))}}",
        &["g2 a"],
    );
    case(
        "SELECT ?g ?s ALL {GRAPH ?g {?s :q 4 BIND(BOUND(?g) AS ?b) FILTER(!?b)}}",
        &["g2 a"],
    );
    case(
        "SELECT ?g ?v ALL {GRAPH ?g {VALUES ?v {1}}}",
        &["g1 1", "g2 1"],
    );
    case(
        "SELECT ?g ?v ALL {GRAPH ?g {BIND(1 AS ?v)}}",
        &["g1 1", "g2 1"],
    );
    case(
        "SELECT ?g ?n ALL {GRAPH ?g {SELECT (COUNT(?v) AS ?n) {?s :p ?v}}}",
        &["g1 2", "g2 0"],
    );
    case(
        "SELECT ?g ?v ALL {GRAPH ?g {SELECT ?v {?s ?p ?v} ORDER BY DESC(?v) LIMIT 1}}",
        &["g1 3", "g2 5"],
    );
    case(
        "SELECT ?g ?p ?n ALL {GRAPH ?g {SELECT ?p (COUNT(*) AS ?n) {?s ?p ?v} GROUP BY ?p}}",
        &["g1 p 2", "g2 q 2"],
    );
    // Without a common variable MINUS removes nothing.
    case(
        "SELECT ?g ALL {GRAPH ?g {?s :q 4 MINUS {?a ?b ?c}}}",
        &["g2"],
    );
    case(
        "SELECT ?s ALL {GRAPH ?g {?s :p ?v MINUS {?s :p 1}}}",
        &["b"],
    );
    // A nested GRAPH chooses its own graph, for each of the outer ones.
    case(
        "SELECT ?g ?s ALL {GRAPH ?g {GRAPH :g2 {?s :q 4}}}",
        &["g1 a", "g2 a"],
    );
    case("SELECT ?g ALL {GRAPH ?g {GRAPH :none {?s ?p ?o}}}", &[]);
    case(
        "SELECT ?g ?h ALL {GRAPH ?g {?s :p 1} GRAPH ?h {?s :q ?v}}",
        &["g1 g2"],
    );
}

#[test]
fn named_graphs_work_in_every_part_of_a_query() {
    let kg = load("g.trig", DATA);
    check(
        &kg,
        &[
            // Without FROM, the default graph has all triples, each once.
            ("SELECT ?o {:a :p ?o}", &["1"]),
            ("SELECT ?o {?s :p ?o}", &["1", "2", "3", "6", "7"]),
            ("SELECT ?g {GRAPH ?g {:a :p 1}}", &["g1", "g3"]),
            (
                "SELECT ?o {GRAPH <urn:x-arq:DefaultGraph> {:b :p ?o}}",
                &["2"],
            ),
            // The unnamed graph is no named graph, but next to them it can be read.
            (
                "SELECT ?s ?o {GRAPH :g1 {?s :p 1} GRAPH <urn:x-arq:DefaultGraph> {?s :p ?o}}",
                &["a 1"],
            ),
            (
                "SELECT ?o {GRAPH <urn:x-arq:DefaultGraph> {:b :p ?o} GRAPH :g1 {:b :p ?x} GRAPH :g2 {:a :q ?y}}",
                &["2"],
            ),
            (
                "SELECT ?g ?o {GRAPH ?g {:b :p ?x} GRAPH <urn:x-arq:DefaultGraph> {:b :p ?o}}",
                &["g1 2"],
            ),
            (
                "SELECT ?g ?s {VALUES ?g {<urn:x-arq:DefaultGraph> :g2} GRAPH ?g {?s ?p ?o}}",
                &["g2 a", "g2 c"],
            ),
            // A graph may be named by a blank node, which is also a term of the triples.
            ("SELECT ?g ?o {GRAPH ?g {:d :p ?o}}", &["_ 7"]),
            (
                "SELECT ?g ?o {GRAPH ?g {SELECT ?o {:d :p ?o} LIMIT 1}}",
                &["_ 7"],
            ),
            (
                "SELECT ?g (COUNT(*) AS ?n) {GRAPH ?g {?s ?p ?o}} GROUP BY ?g HAVING(COUNT(*) > 1)",
                &["g1 2", "g2 2", "g3 2"],
            ),
            (
                "SELECT ?s {?s :p ?o FILTER EXISTS {GRAPH :g2 {?s :q ?v}}}",
                &["a"],
            ),
            (
                "SELECT ?s {?s :p ?o FILTER NOT EXISTS {GRAPH ?g {?s :p ?o}}}",
                &["b"],
            ),
            (
                "SELECT ?s {GRAPH ?g {?s :p 1 FILTER NOT EXISTS {?x :p 3}}}",
                &["a"],
            ),
            ("SELECT ?o {GRAPH :g1 {:a (:p|:q) ?o}}", &["1"]),
            (
                "SELECT ?g ?o {GRAPH ?g {:a (:p|:q)+ ?o}}",
                &["g1 1", "g2 4", "g3 1"],
            ),
            ("SELECT ?g ?s {GRAPH ?g {?s (:p|:x)* 3}}", &["g1 3", "g1 b"]),
            (
                "SELECT ?g ?o {VALUES ?g {:g1 :g2 :none} GRAPH ?g {:a ?p ?o}}",
                &["g1 1", "g2 4"],
            ),
            (
                "SELECT ?s {?s :p ?o MINUS {GRAPH :g1 {?s :p ?o}}}",
                &["_", "b", "d"],
            ),
            (
                "SELECT ?s ?v {GRAPH :g1 {?s :p ?o} OPTIONAL {GRAPH :g2 {?s :q ?v}}}",
                &["a 4", "b -"],
            ),
            (
                "SELECT ?n {GRAPH :none {SELECT (COUNT(*) AS ?n) {?s ?p ?o}}}",
                &[],
            ),
        ],
    );
    let made = |text: &str| {
        let query = parse_query(&format!("PREFIX : <http://g.test/> {text}")).unwrap();
        let limits = QueryLimits::default();
        kg::construct(&kg, &query, limits).unwrap().unwrap().len()
    };
    assert_eq!(made("CONSTRUCT FROM :g2 WHERE {?s ?p ?o}"), 2);
    assert_eq!(made("DESCRIBE :a FROM :g2"), 1);
    assert_eq!(made("DESCRIBE :a"), 3);
}

#[test]
fn a_request_may_choose_the_dataset() {
    let kg = load("g.trig", DATA);
    let graph = |name: &str| format!("http://g.test/{name}");
    let count = |default: &[String], named: &[String], text: &str| {
        let query = with_dataset(parse_query(text).unwrap(), default, named).unwrap();
        match kg.query(&query, QueryLimits::default()).unwrap() {
            QueryAnswer::Rows { rows, .. } => rows.len(),
            QueryAnswer::Bool(_) => panic!("a SELECT has rows"),
        }
    };
    let own = "SELECT * FROM <http://g.test/g4> {?s ?p ?o}";
    assert_eq!(count(&[], &[], own), 1);
    assert_eq!(count(&[graph("g1"), graph("g2")], &[], own), 4);
    assert_eq!(count(&[], &[graph("g1")], own), 0);
    let any = "SELECT * {GRAPH ?g {?s ?p ?o}}";
    assert_eq!(count(&[], &[], any), 8);
    assert_eq!(count(&[], &[graph("g1")], any), 2);
    let bad = with_dataset(parse_query(any).unwrap(), &["g 1".to_owned()], &[]);
    assert!(matches!(bad, Err(QueryError::Refused(_))));
}

#[test]
fn a_graph_of_some_named_graphs_keeps_them() {
    let kg = load("g.trig", DATA);
    let some = ["http://g.test/g1", ""].map(str::to_owned);
    let part = kg.restricted(&some).unwrap();
    check(
        &part,
        &[
            ("SELECT ?o {?s :p ?o}", &["1", "2", "3"]),
            ("SELECT ?g ?o {GRAPH ?g {:b :p ?o}}", &["g1 3"]),
            ("ASK {GRAPH :g2 {?s ?p ?o}}", &["false"]),
        ],
    );
    let unnamed = kg.restricted(&[String::new()]).unwrap();
    check(&unnamed, &[("ASK {GRAPH :g1 {?s ?p ?o}}", &["false"])]);
}

#[test]
fn a_graph_without_named_graphs_says_that_from_has_no_effect() {
    let kg = load("g.ttl", "@prefix : <http://g.test/> . :a :p 1 .");
    let note = |text: &str| dataset_note(&kg, &parse_query(text).unwrap());
    assert_eq!(note("SELECT * {?s ?p ?o}"), None);
    let from = note("SELECT * FROM <http://dbpedia.org> {?s ?p ?o}").unwrap();
    assert!(from.contains("FROM has no effect"), "{from}");
    let inside = "ASK {?s ?p ?o FILTER EXISTS {GRAPH <http://dbpedia.org> {?s ?p ?o}}}";
    assert!(note(inside).unwrap().contains("GRAPH"));
    check(
        &kg,
        &[
            ("SELECT ?o FROM <http://dbpedia.org> {?s ?p ?o}", &["1"]),
            ("SELECT ?o {GRAPH <http://dbpedia.org> {?s ?p ?o}}", &["1"]),
            ("SELECT ?o {GRAPH ?g {?s ?p ?o}}", &[]),
        ],
    );
    let named = load("g.trig", DATA);
    let query = parse_query("SELECT * FROM <http://g.test/g1> {?s ?p ?o}").unwrap();
    assert_eq!(dataset_note(&named, &query), None);
}

#[test]
fn many_named_graphs_are_searched_by_row() {
    let mut lines = String::new();
    for n in 0..600 {
        lines.push_str(&format!(
            "<http://g.test/s> <http://g.test/p> \"{}\" <http://g.test/g{n}> .\n",
            n % 3
        ));
    }
    let kg = try_load("g.nq", &lines, &LoadOptions::default()).unwrap();
    check(
        &kg,
        &[
            ("SELECT (COUNT(*) AS ?n) {GRAPH ?g {?s ?p ?o}}", &["600"]),
            (
                "SELECT (COUNT(?g) AS ?n) {GRAPH ?g {:s :p \"1\"}}",
                &["200"],
            ),
            (
                "SELECT ?g FROM NAMED :g1 FROM NAMED :g2 {GRAPH ?g {:s :p \"1\"}}",
                &["g1"],
            ),
            ("SELECT ?o {?s ?p ?o}", &["0", "1", "2"]),
        ],
    );
    // The graphs of the rows are computed within the limits of the query.
    let query = parse_query("SELECT ?g {GRAPH ?g {<x:s5> <x:p> ?o}}").unwrap();
    let text: String = (0..100_000)
        .map(|n| format!("<x:s{n}> <x:p> <x:o> <x:g{}> .\n", n % 20))
        .collect();
    let kg_of_many = try_load("g.nq", &text, &LoadOptions::default()).unwrap();
    let answer = |memory| {
        let limits = QueryLimits {
            memory,
            ..QueryLimits::default()
        };
        kg_of_many.query(&query, limits)
    };
    assert!(matches!(answer(500_000), Err(QueryError::Memory(_))));
    assert!(answer(1_000_000).is_ok());
    assert!(answer(500_000).is_ok(), "they are kept");
    let wide = "SELECT ?n {GRAPH ?g {SELECT (COUNT(*) AS ?n) {?s ?p ?o}}}";
    let error = rows(&kg, wide).unwrap_err().to_string();
    assert!(error.contains("600 named graphs"), "{error}");
}

#[test]
fn copies_for_each_graph_are_counted_over_all_levels() {
    let nested = "SELECT (COUNT(*) AS ?n) \
        {GRAPH ?a {SELECT * {GRAPH ?b {SELECT * {?s ?p ?o} LIMIT 1}} LIMIT 1}}";
    check(&load("g.trig", DATA), &[(nested, &["5"])]);
    let lines: String = (0..40)
        .map(|n| format!("<x:s> <x:p> <x:o> <x:g{n}> .\n"))
        .collect();
    let kg = load("g.nq", &lines);
    let one = "SELECT (COUNT(*) AS ?n) {GRAPH ?a {SELECT * {?s ?p ?o} LIMIT 1}}";
    check(&kg, &[(one, &["40"])]);
    let error = rows(&kg, nested).unwrap_err().to_string();
    assert!(error.contains("in total at most 256"), "{error}");
}

// Random data and queries

fn term() -> impl Strategy<Value = &'static str> {
    prop_oneof![4 => prop_oneof![Just(":a"), Just(":b"), Just(":c")], 1 => Just("1"), 1 => Just(":g1")]
}

fn quads() -> impl Strategy<Value = Vec<String>> {
    let quad = ("[abc]", "[pq]", "[abc]|g1|1", "[0-3]").prop_map(|(s, p, o, graph)| {
        let object = match o.as_str() {
            "1" => "\"1\"^^<http://www.w3.org/2001/XMLSchema#integer>".to_owned(),
            node => format!("<http://g.test/{node}>"),
        };
        let graph = match graph.as_str() {
            "0" => String::new(),
            graph => format!("<http://g.test/g{graph}>"),
        };
        format!("<http://g.test/{s}> <http://g.test/{p}> {object} {graph} .")
    });
    proptest::collection::vec(quad, 0..25)
}

fn triple() -> impl Strategy<Value = String> {
    let link = prop_oneof![4 => Just(":p"), 2 => Just(":q"), 2 => Just("?w"), 1 => Just("(:p|:q)+"), 1 => Just("^:p")];
    let end = prop_oneof![3 => prop_oneof![Just("?x"), Just("?y"), Just("?g")], 1 => term()];
    (
        prop_oneof![Just("?x"), Just("?y"), Just(":a"), Just("?g")],
        link,
        end,
    )
        .prop_map(|(s, p, o)| format!("{s} {p} {o} ."))
}

/// A pattern inside GRAPH.
fn inside() -> impl Strategy<Value = String> {
    let basic = proptest::collection::vec(triple(), 0..3)
        .prop_map(|all| all.join(" "))
        .boxed();
    let leaf = basic.clone();
    leaf.prop_recursive(2, 6, 2, move |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{ {a} }} UNION {{ {b} }}")),
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| format!("{{ {a} }} OPTIONAL {{ {b} }}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{ {a} }} MINUS {{ {b} }}")),
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| format!("{{ {a} }} FILTER NOT EXISTS {{ {b} }}")),
            (inner.clone(), term()).prop_map(|(a, t)| format!("{{ {a} }} VALUES ?x {{ {t} :b }}")),
            inner
                .clone()
                .prop_map(|a| format!("{{ {a} }} FILTER(!BOUND(?g) || isIRI(?x))")),
            inner
                .clone()
                .prop_map(|a| format!("{{ SELECT DISTINCT ?x {{ {a} }} }}")),
            inner
                .clone()
                .prop_map(|a| format!("{{ SELECT ?x (COUNT(*) AS ?n) {{ {a} }} GROUP BY ?x }}")),
            inner.prop_map(|a| format!("{{ SELECT (COUNT(*) AS ?n) {{ {a} }} }}")),
        ]
    })
}

/// A query with places for a GRAPH.
fn shape() -> impl Strategy<Value = (String, Vec<String>)> {
    let shapes = prop_oneof![
        3 => Just("SELECT ?g ?x ?y ?w ?n @ { # }"),
        2 => Just("SELECT ?g ?x ?y ?w ?n @ { ?x :p ?y . # }"),
        1 => Just("SELECT ?g ?x ?y ?w ?n @ { ?x ?w ?y OPTIONAL { # } }"),
        1 => Just("SELECT ?g ?x ?y ?w ?n @ { { # } UNION { ?x :q ?y } }"),
        1 => Just("SELECT ?x ?y ?w @ { ?x ?w ?y MINUS { # } }"),
        1 => Just("SELECT ?x ?y ?w @ { ?x ?w ?y FILTER EXISTS { # } }"),
        1 => Just("SELECT ?g (COUNT(*) AS ?n) @ { # } GROUP BY ?g"),
        1 => Just("ASK @ { # # }"),
        2 => Just("SELECT ?g ?x ?y ?w ?n @ { # # }"),
    ];
    (shapes, proptest::collection::vec(inside(), 2))
        .prop_map(|(text, inside)| (text.to_owned(), inside))
}

/// The query as people write it, and with each graph written out.
fn written(shape: &str, inside: &[String], graphs: &[String]) -> [String; 2] {
    let mut texts = [shape.to_owned(), shape.to_owned()];
    for pattern in inside {
        let each = graphs.iter().map(|graph| {
            format!("{{ VALUES ?g {{ <{graph}> }} GRAPH <{graph}> {{ {pattern} }} }}")
        });
        let each = each.collect::<Vec<_>>().join(" UNION ");
        let each = if each.is_empty() {
            "{ VALUES ?g {} }".to_owned()
        } else {
            each
        };
        texts[0] = texts[0].replacen('#', &format!("GRAPH ?g {{ {pattern} }}"), 1);
        texts[1] = texts[1].replacen('#', &format!("{{ {each} }}"), 1);
    }
    texts
}

/// The rows of oxigraph's store, in the form of [`rows`].
fn theirs(store: &Store, text: &str) -> Vec<String> {
    let query = parse_query(text).unwrap();
    match SparqlEvaluator::new()
        .for_query(query)
        .on_store(store)
        .execute()
        .unwrap()
    {
        QueryResults::Boolean(truth) => vec![truth.to_string()],
        QueryResults::Solutions(solutions) => {
            let row = |row: oxigraph::sparql::QuerySolution| {
                let cells = row.values().iter().map(|cell| match cell {
                    None => "-".to_owned(),
                    Some(term) => term.to_string(),
                });
                let text = cells
                    .collect::<Vec<_>>()
                    .join(" ")
                    .replace("http://g.test/", "");
                let text = text.replace("^^<http://www.w3.org/2001/XMLSchema#integer>", "");
                text.replace(['<', '>', '"'], "")
            };
            let mut lines: Vec<String> = solutions.map(|solution| row(solution.unwrap())).collect();
            lines.sort();
            lines
        }
        QueryResults::Graph(_) => panic!("no graph was asked for"),
    }
}

/// A store that has exactly the dataset.
fn store(lines: &str, default: Option<&[&str]>, named: Option<&[&str]>) -> Store {
    let (all, own) = (Store::new().unwrap(), Store::new().unwrap());
    all.load_from_slice(RdfFormat::NQuads, lines.as_bytes())
        .unwrap();
    let is_in = |quad: &Quad, names: &[&str]| {
        let name = match &quad.graph_name {
            GraphName::NamedNode(node) => node.as_str().to_owned(),
            _ => String::new(),
        };
        names
            .iter()
            .any(|own| format!("http://g.test/{own}") == name)
    };
    for quad in all.iter().map(Result::unwrap) {
        let in_default = default.is_none_or(|names| is_in(&quad, names));
        if in_default {
            let triple = (
                quad.subject.clone(),
                quad.predicate.clone(),
                quad.object.clone(),
            );
            own.insert(&Quad::new(
                triple.0,
                triple.1,
                triple.2,
                GraphName::DefaultGraph,
            ))
            .unwrap();
        }
        let is_named = quad.graph_name != GraphName::DefaultGraph;
        if is_named && named.is_none_or(|names| is_in(&quad, names)) {
            own.insert(&quad).unwrap();
        }
    }
    own
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn random_datasets_give_the_rows_of_a_store(
        lines in quads(),
        (shape, inside) in shape(),
        default in proptest::option::of(proptest::collection::vec(prop_oneof![Just("g1"), Just("g2"), Just("none")], 0..3)),
        listed in proptest::collection::vec(prop_oneof![Just("g1"), Just("g2"), Just("g3"), Just("none")], 0..3),
    ) {
        let lines = lines.join("\n");
        let kg = try_load("g.nq", &lines, &LoadOptions::default()).unwrap();
        prop_assume!(kg.has_named_graphs());
        // The evaluator gives MINUS inside EXISTS, and EXISTS inside OPTIONAL, the values of the row outside.
        let has = |word: &str| shape.contains(word) || inside.iter().any(|one| one.contains(word));
        prop_assume!(!(has("EXISTS") && (has("MINUS") || has("OPTIONAL"))));
        let has_from = default.as_ref().is_some_and(|names| !names.is_empty()) || !listed.is_empty();
        let from = default.iter().flatten().map(|name| format!("FROM :{name} "));
        let from: String = from.chain(listed.iter().map(|name| format!("FROM NAMED :{name} "))).collect();
        let default = has_from.then(|| default.clone().unwrap_or_default());
        let named = has_from.then_some(&listed[..]);
        let store = store(&lines, default.as_deref(), named);
        let mut graphs: Vec<String> = store.named_graphs().map(|name| name.unwrap().to_string().replace(['<', '>'], "")).collect();
        graphs.sort();
        let [ours, plain] = written(&shape, &inside, &graphs);
        let text = ours.replace('@', &from);
        let plain = format!("PREFIX : <http://g.test/> {}", plain.replace('@', ""));
        match rows(&kg, &text) {
            Ok(found) => prop_assert_eq!(found, theirs(&store, &plain), "{}\n{}\n{}", text, plain, lines),
            Err(QueryError::Rows(_) | QueryError::Deadline(_)) => {}
            Err(error) => panic!("{text}: {error}"),
        }
    }
}
