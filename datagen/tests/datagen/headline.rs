//! What becomes of gold queries of every shape on a small graph: the exact numbers of kept and of
//! refused questions, by reason, with the paper's tools and with the extended ones. A change of the
//! conversion shows here without the published sets.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use datagen::pipeline::{GenerateOptions, GoldDataset, generate};
use datagen::question::{GoldQuery, GoldQuestion};
use datagen::verify::VerifyOptions;
use kg::{FrozenKg, LoadOptions};
use toolbox::call::ToolTable;
use toolbox::exec::ExcludeWhen;
use toolbox::prompt::{Layout, Template};

const NAMESPACE: &str = "http://rivers.test/";

/// Rivers in countries, with dams and lakes.
const GRAPH: &str = r#"
@prefix : <http://rivers.test/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:alder a :River ; rdfs:label "Alder" ; :flowsThrough :norland, :sudland ; :length 420 ; :mouth :bigsea .
:birch a :River ; rdfs:label "Birch" ; :flowsThrough :norland ; :length 95 ; :mouth :alder ; :source :peak .
:cedar a :River ; rdfs:label "Cedar" ; :flowsThrough :sudland ; :length 610 ; :mouth :bigsea ; :source :peak .
:dogwood a :River ; rdfs:label "Dogwood" ; :flowsThrough :westland ; :length 130 ; :mouth :lake .
:norland a :Country ; rdfs:label "Norland" ; :capital :norcity ; :population 4000000 .
:sudland a :Country ; rdfs:label "Sudland" ; :capital :sudcity ; :population 9000000 .
:westland a :Country ; rdfs:label "Westland" ; :capital :westcity ; :population 700000 .
:norcity rdfs:label "Norcity" ; :onRiver :alder . :sudcity rdfs:label "Sudcity" ; :onRiver :cedar .
:westcity rdfs:label "Westcity" ; :onRiver :dogwood .
:bigsea a :Sea ; rdfs:label "Big Sea" . :lake a :Lake ; rdfs:label "Long Lake" .
:peak a :Mountain ; rdfs:label "Grey Peak" .
:dam1 a :Dam ; rdfs:label "First Dam" ; :dams :alder ; :built "1931"^^<http://www.w3.org/2001/XMLSchema#gYear> ; :engineer :ada .
:dam2 a :Dam ; rdfs:label "Second Dam" ; :dams :alder ; :built "1975"^^<http://www.w3.org/2001/XMLSchema#gYear> ; :engineer :bob .
:dam3 a :Dam ; rdfs:label "Third Dam" ; :dams :cedar ; :built "1962"^^<http://www.w3.org/2001/XMLSchema#gYear> ; :engineer :ada .
:ada rdfs:label "Ada Weir" . :bob rdfs:label "Bob Sluice" .
"#;

/// A shape, its query, and what becomes of it with the paper's tools and with the extended ones.
type Case = (&'static str, &'static str, &'static str, &'static str);

const KEPT: &str = "kept";

const CASES: &[Case] = &[
    (
        "one hop",
        "SELECT ?x { :alder :flowsThrough ?x }",
        KEPT,
        KEPT,
    ),
    (
        "one hop back",
        "SELECT ?x { ?x :flowsThrough :norland }",
        KEPT,
        KEPT,
    ),
    (
        "an attribute",
        "SELECT ?x { :cedar :length ?x }",
        KEPT,
        KEPT,
    ),
    (
        "two hops",
        "SELECT ?x { :birch :mouth ?r . ?r :flowsThrough ?x }",
        KEPT,
        KEPT,
    ),
    (
        "three hops",
        "SELECT ?x { :dam3 :dams ?r . ?r :flowsThrough ?c . ?c :capital ?x }",
        KEPT,
        KEPT,
    ),
    (
        "a path",
        "SELECT ?x { :birch :mouth/:flowsThrough ?x }",
        KEPT,
        KEPT,
    ),
    (
        "a path back",
        "SELECT ?x { :ada ^:engineer/:dams ?x }",
        KEPT,
        KEPT,
    ),
    (
        "a path of any length",
        "SELECT ?x { :birch :mouth+ ?x }",
        "property-path",
        KEPT,
    ),
    (
        "two starts",
        "SELECT ?x { ?x :mouth :bigsea . ?x :flowsThrough :norland }",
        KEPT,
        KEPT,
    ),
    (
        "a class",
        "SELECT ?x { ?x a :River ; :flowsThrough :norland }",
        KEPT,
        KEPT,
    ),
    (
        "members of a class",
        "SELECT ?x { ?x a :Country }",
        KEPT,
        KEPT,
    ),
    (
        "the class of something",
        "SELECT ?x { :lake a ?x }",
        "hidden-relation",
        KEPT,
    ),
    (
        "a label",
        "SELECT ?x { :norland :capital ?c . ?c rdfs:label ?x }",
        "hidden-relation",
        "hidden-relation",
    ),
    (
        "count",
        "SELECT (COUNT(?x) AS ?n) { ?x :flowsThrough :norland }",
        KEPT,
        KEPT,
    ),
    (
        "count distinct",
        "SELECT (COUNT(DISTINCT ?x) AS ?n) { ?d a :Dam ; :dams ?x }",
        KEPT,
        KEPT,
    ),
    (
        "count as Virtuoso writes it",
        "SELECT COUNT(?x) { ?x :dams :alder }",
        KEPT,
        KEPT,
    ),
    (
        "ask, true",
        "ASK { :alder :flowsThrough :sudland }",
        KEPT,
        KEPT,
    ),
    (
        "ask, false",
        "ASK { :birch :flowsThrough :sudland }",
        KEPT,
        KEPT,
    ),
    (
        "ask of a number",
        "ASK { :cedar :length ?l FILTER(?l > 500) }",
        KEPT,
        KEPT,
    ),
    (
        "a filter of a number",
        "SELECT ?x { ?x a :River ; :length ?l FILTER(?l > 400) }",
        KEPT,
        KEPT,
    ),
    (
        "a filter of a range",
        "SELECT ?x { ?x a :River ; :length ?l FILTER(?l > 100 && ?l < 200) }",
        KEPT,
        KEPT,
    ),
    (
        "a filter of a year",
        "SELECT ?x { ?x a :Dam ; :built ?y FILTER(?y < \"1970\"^^xsd:gYear) }",
        KEPT,
        KEPT,
    ),
    (
        "a filter of an entity",
        "SELECT ?x { :alder :flowsThrough ?c . ?x :flowsThrough ?c FILTER(?x != :alder) }",
        KEPT,
        KEPT,
    ),
    (
        "a filter of a text",
        "SELECT ?x { ?x a :Dam ; rdfs:label ?l FILTER(CONTAINS(?l, \"First\")) }",
        "filter",
        KEPT,
    ),
    (
        "a filter of two variables",
        "SELECT ?x { ?x a :River ; :length ?l ; :mouth ?y . ?y :length ?m FILTER(?l < ?m) }",
        "variable-comparison",
        KEPT,
    ),
    (
        "the largest",
        "SELECT ?x { ?x a :River ; :length ?l } ORDER BY DESC(?l) LIMIT 1",
        KEPT,
        KEPT,
    ),
    (
        "the smallest",
        "SELECT ?x { ?x a :Country ; :population ?p } ORDER BY ?p LIMIT 1",
        KEPT,
        KEPT,
    ),
    (
        "the largest of some",
        "SELECT ?x { ?x :mouth :bigsea ; :length ?l } ORDER BY DESC(?l) LIMIT 1",
        KEPT,
        KEPT,
    ),
    (
        "the largest by a subquery",
        "SELECT ?x { ?x a :River ; :length ?l { SELECT (MAX(?m) AS ?l) { ?r a :River ; :length ?m } } }",
        KEPT,
        KEPT,
    ),
    (
        "something about the largest",
        "SELECT ?x { ?r a :River ; :length ?l ; :mouth ?x } ORDER BY DESC(?l) LIMIT 1",
        KEPT,
        KEPT,
    ),
    (
        "the second",
        "SELECT ?x { ?x a :River ; :length ?l } ORDER BY DESC(?l) LIMIT 1 OFFSET 1",
        "offset",
        KEPT,
    ),
    (
        "the first two",
        "SELECT ?x { ?x a :River ; :length ?l } ORDER BY DESC(?l) LIMIT 2",
        "limit",
        KEPT,
    ),
    (
        "in order",
        "SELECT ?x { ?x a :River ; :length ?l } ORDER BY ?l",
        KEPT,
        KEPT,
    ),
    (
        "any one",
        "SELECT ?x { ?x :flowsThrough :norland } LIMIT 1",
        "limit",
        "limit",
    ),
    (
        "the most",
        "SELECT ?x { ?d a :Dam ; :dams ?x } GROUP BY ?x ORDER BY DESC(COUNT(?d)) LIMIT 1",
        "group-by",
        KEPT,
    ),
    (
        "a union",
        "SELECT ?x { { ?x :flowsThrough :norland } UNION { ?x :flowsThrough :westland } }",
        KEPT,
        KEPT,
    ),
    (
        "a union of relations",
        "SELECT ?x { { :birch :mouth ?x } UNION { :birch :source ?x } }",
        KEPT,
        KEPT,
    ),
    (
        "values",
        "SELECT ?x { VALUES ?c { :norland :westland } ?c :capital ?x }",
        KEPT,
        KEPT,
    ),
    (
        "an optional label",
        "SELECT ?x { ?x :mouth :bigsea OPTIONAL { ?x rdfs:label ?l } }",
        KEPT,
        KEPT,
    ),
    (
        "an optional answer",
        "SELECT ?x { ?r :mouth :bigsea OPTIONAL { ?r :source ?x } }",
        "optional-answer",
        KEPT,
    ),
    (
        "minus",
        "SELECT ?x { ?x a :River MINUS { ?x :source ?s } }",
        "minus",
        "minus",
    ),
    (
        "not exists",
        "SELECT ?x { ?x a :River FILTER NOT EXISTS { ?d :dams ?x } }",
        "minus",
        KEPT,
    ),
    (
        "exists",
        "SELECT ?x { ?x :mouth :bigsea FILTER EXISTS { ?d :dams ?x } }",
        KEPT,
        KEPT,
    ),
    (
        "group by",
        "SELECT ?x (COUNT(?r) AS ?n) { ?r a :River ; :flowsThrough ?x } GROUP BY ?x",
        "several-answers",
        KEPT,
    ),
    (
        "having",
        "SELECT ?x { ?r a :River ; :flowsThrough ?x } GROUP BY ?x HAVING(COUNT(?r) > 1)",
        "group-by",
        KEPT,
    ),
    (
        "a sum",
        "SELECT (SUM(?l) AS ?x) { ?r :flowsThrough :norland ; :length ?l }",
        "aggregate",
        KEPT,
    ),
    (
        "an average",
        "SELECT (AVG(?p) AS ?x) { ?c a :Country ; :population ?p }",
        "aggregate",
        KEPT,
    ),
    (
        "a maximum",
        "SELECT (MAX(?l) AS ?x) { ?r a :River ; :length ?l }",
        KEPT,
        KEPT,
    ),
    (
        "a difference",
        "SELECT (?a - ?b AS ?x) { :cedar :length ?a . :alder :length ?b }",
        "filter",
        "filter",
    ),
    (
        "two answers",
        "SELECT ?r ?c { ?r a :River ; :flowsThrough ?c }",
        "several-answers",
        KEPT,
    ),
    (
        "no start",
        "SELECT ?x { ?y :dams ?x }",
        "no-start",
        "no-start",
    ),
    (
        "everything",
        "SELECT ?x { ?x ?p ?o }",
        "variable-predicate",
        "variable-predicate",
    ),
    (
        "a variable relation",
        "SELECT ?x { :birch ?x :alder }",
        "variable-predicate",
        "variable-predicate",
    ),
    (
        "any relation",
        "SELECT ?x { :birch ?p ?x }",
        "variable-predicate",
        "variable-predicate",
    ),
    (
        "not connected",
        "SELECT ?x { :alder :mouth ?x . ?a :dams ?b }",
        KEPT,
        KEPT,
    ),
    (
        "a cycle",
        "SELECT ?x { ?x a :Country ; :capital ?c . ?c :onRiver ?r . ?r :flowsThrough ?x }",
        KEPT,
        KEPT,
    ),
    (
        "construct",
        "CONSTRUCT { ?x a :Long } WHERE { ?x :length 610 }",
        "not-select-or-ask",
        "not-select-or-ask",
    ),
    (
        "describe",
        "DESCRIBE :alder",
        "not-select-or-ask",
        "not-select-or-ask",
    ),
    (
        "another endpoint",
        "SELECT ?x { SERVICE <http://other.test/> { :alder :mouth ?x } }",
        "service",
        "service",
    ),
    (
        "a named graph",
        "SELECT ?x FROM :maps { :alder :mouth ?x }",
        KEPT,
        KEPT,
    ),
    (
        "no answer",
        "SELECT ?x { :dogwood :source ?x }",
        "no-gold-answer",
        "no-gold-answer",
    ),
    (
        "an unknown entity",
        "SELECT ?x { :elm :mouth ?x }",
        "unknown-constant",
        "unknown-constant",
    ),
    (
        "an unknown relation",
        "SELECT ?x { :alder :bridge ?x }",
        "unknown-constant",
        "unknown-constant",
    ),
    (
        "not a query",
        "SELECT ?x { :alder :mouth",
        "syntax",
        "syntax",
    ),
    (
        "a base",
        "BASE <http://rivers.test/> SELECT ?x { <alder> <flowsThrough> ?x }",
        KEPT,
        KEPT,
    ),
    (
        "a relative IRI without a base",
        "SELECT ?x { <alder> <flowsThrough> ?x }",
        "syntax",
        "syntax",
    ),
];

fn questions() -> Vec<GoldQuestion> {
    let question = |&(shape, query, _, _): &Case| GoldQuestion {
        id: shape.to_owned(),
        source: "jsonl".to_owned(),
        question: format!("What about {shape}?"),
        query: GoldQuery::Text(format!("PREFIX : <{NAMESPACE}> {query}")),
        topics: Vec::new(),
        answers: None,
        answers_bind: false,
        hops: None,
        kind: None,
        exclude: ExcludeWhen::Others,
    };
    CASES.iter().map(question).collect()
}

fn made(tools: ToolTable) -> GoldDataset {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rivers.ttl");
    std::fs::write(&path, GRAPH).unwrap();
    let graph = FrozenKg::load(&[path], &LoadOptions::default(), &|_| {}).unwrap();
    let options = GenerateOptions {
        template: Template {
            tools,
            ..Template::new(Layout::Dialogue)
        },
        verify: VerifyOptions {
            tools,
            ..VerifyOptions::default()
        },
        abstain: 0.0,
        ..GenerateOptions::default()
    };
    let stop = AtomicBool::new(false);
    generate(&questions(), &graph, &options, &|_, _| {}, &stop).unwrap()
}

/// Compares the run with the table, and its report with `expected`.
fn check(tools: ToolTable, of: fn(&Case) -> &'static str, expected: &[(&str, usize)]) {
    let made = made(tools);
    let refused: BTreeMap<&str, String> = (made.refused.iter())
        .map(|one| (one.id.as_str(), serde_json::to_value(one.reason).unwrap()))
        .map(|(id, reason)| (id, reason.as_str().unwrap().to_owned()))
        .collect();
    let mut wrong = Vec::new();
    for case in CASES {
        let outcome = refused.get(case.0).map_or(KEPT, String::as_str);
        if outcome != of(case) {
            wrong.push(format!("{}: {outcome}, not {}", case.0, of(case)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let total = &made.report.total;
    let mut counts: BTreeMap<&str, usize> = (total.refused.iter())
        .map(|(reason, &count)| (reason.as_str(), count))
        .collect();
    counts.insert(KEPT, total.verified);
    counts.insert("read", total.questions);
    assert_eq!(counts, expected.iter().copied().collect());
}

#[test]
fn the_papers_tools_keep_and_refuse_these_numbers() {
    check(
        ToolTable::Paper,
        |case| case.2,
        &[
            ("read", 66),
            ("kept", 36),
            ("aggregate", 2),
            ("filter", 2),
            ("group-by", 2),
            ("hidden-relation", 2),
            ("limit", 2),
            ("minus", 2),
            ("no-gold-answer", 1),
            ("no-start", 1),
            ("not-select-or-ask", 2),
            ("offset", 1),
            ("optional-answer", 1),
            ("property-path", 1),
            ("service", 1),
            ("several-answers", 2),
            ("syntax", 2),
            ("unknown-constant", 2),
            ("variable-comparison", 1),
            ("variable-predicate", 3),
        ],
    );
}

#[test]
fn the_extended_tools_keep_and_refuse_these_numbers() {
    check(
        ToolTable::Extended,
        |case| case.3,
        &[
            ("read", 66),
            ("kept", 50),
            ("filter", 1),
            ("hidden-relation", 1),
            ("limit", 1),
            ("minus", 1),
            ("no-gold-answer", 1),
            ("no-start", 1),
            ("not-select-or-ask", 2),
            ("service", 1),
            ("syntax", 2),
            ("unknown-constant", 2),
            ("variable-predicate", 3),
        ],
    );
}
