//! The front ends of GrailQA on small records: they agree, and a difference is detected.

use datagen::Refusal;
use datagen::agree::agreements;
use datagen::question::{GoldQuery, GoldQuestion};
use datagen::read::{QuestionSource, ReadOptions};
use datagen::sexpr::sexpr;
use serde_json::{Value, json};

const PREFIXES: &str = "PREFIX : <http://rdf.freebase.com/ns/> SELECT (?x0 AS ?value) WHERE { SELECT DISTINCT ?x0 WHERE { ";

fn node(nid: u32, kind: &str, id: &str, question: u32, function: &str) -> Value {
    json!({ "nid": nid, "node_type": kind, "id": id, "class": id, "friendly_name": id, "question_node": question, "function": function })
}

fn edge(start: u32, end: u32, relation: &str) -> Value {
    json!({ "start": start, "end": end, "relation": relation })
}

/// id, SPARQL, s-expression, nodes, edges
fn records() -> Vec<Value> {
    let year = "1990^^http://www.w3.org/2001/XMLSchema#gYear";
    let rows = [
        (
            "chain",
            format!("{PREFIXES} ?x0 :type.object.type :barge.port . ?x1 :type.object.type :barge.line . VALUES ?x2 {{ :m.01 }} ?x1 :barge.line.calls_at ?x0 . ?x1 :barge.line.owner ?x2 . FILTER ( ?x0 != ?x1 && ?x0 != ?x2 && ?x1 != ?x2 ) }} }}"),
            "(AND barge.port (JOIN (R barge.line.calls_at) (JOIN barge.line.owner m.01)))".to_owned(),
            vec![node(0, "class", "barge.port", 1, "none"), node(1, "class", "barge.line", 0, "none"), node(2, "entity", "m.01", 0, "none")],
            vec![edge(1, 0, "barge.line.calls_at"), edge(1, 2, "barge.line.owner")],
        ),
        (
            "since",
            format!("{PREFIXES} ?x0 :type.object.type :barge.port . FILTER (?x1 >= \"1990\"^^<http://www.w3.org/2001/XMLSchema#gYear>) ?x0 :barge.port.opened ?x1 . FILTER ( ?x0 != ?x1 ) }} }}"),
            format!("(AND barge.port (ge barge.port.opened {year}))"),
            vec![node(0, "class", "barge.port", 1, "none"), node(1, "literal", year, 0, ">=")],
            vec![edge(0, 1, "barge.port.opened")],
        ),
        (
            "deepest",
            format!("{PREFIXES} ?x0 :type.object.type :barge.port . VALUES ?x1 {{ :m.02 }} {{ SELECT (MAX(?y2) AS ?x2) WHERE {{ ?y0 :type.object.type :barge.port . VALUES ?y1 {{ :m.02 }} ?y0 :barge.port.river ?y1 . ?y0 :barge.port.depth ?y2 . FILTER ( ?y0 != ?y1 && ?y0 != ?y2 && ?y1 != ?y2 ) }} }} ?x0 :barge.port.river ?x1 . ?x0 :barge.port.depth ?x2 . FILTER ( ?x0 != ?x1 && ?x0 != ?x2 && ?x1 != ?x2 ) }} }}"),
            "(ARGMAX (AND barge.port (JOIN barge.port.river m.02)) barge.port.depth)".to_owned(),
            vec![node(0, "class", "barge.port", 1, "none"), node(1, "entity", "m.02", 0, "none"), node(2, "literal", "0", 0, "argmax")],
            vec![edge(0, 1, "barge.port.river"), edge(0, 2, "barge.port.depth")],
        ),
        (
            "how-many",
            "PREFIX : <http://rdf.freebase.com/ns/> SELECT (COUNT(?x0) AS ?value) WHERE { SELECT DISTINCT ?x0 WHERE { ?x0 :type.object.type :barge.port . VALUES ?x1 { :m.02 } ?x0 :barge.port.river ?x1 . FILTER ( ?x0 != ?x1 ) } }".to_owned(),
            "(COUNT (AND barge.port (JOIN barge.port.river m.02)))".to_owned(),
            vec![node(0, "class", "barge.port", 1, "count"), node(1, "entity", "m.02", 0, "none")],
            vec![edge(0, 1, "barge.port.river")],
        ),
    ];
    rows.into_iter()
        .map(|(id, sparql, sexpr, nodes, edges)| {
            json!({ "qid": id, "question": "…?", "sparql_query": sparql, "s_expression": sexpr, "graph_query": { "nodes": nodes, "edges": edges },
                    "level": "i.i.d." })
        })
        .collect()
}

/// The same file, read by each front end.
fn fronts(records: &[Value]) -> Vec<(String, Vec<GoldQuestion>)> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("grailqa_v1.0_dev.json");
    std::fs::write(&path, serde_json::to_string(records).unwrap()).unwrap();
    let read = |front: &str| {
        let source: QuestionSource = format!("{front}={}", dir.path().display()).parse().unwrap();
        (
            front.to_owned(),
            source.read(None, &ReadOptions::default()).unwrap(),
        )
    };
    ["grailqa", "grailqa:sexpr", "grailqa:graph"]
        .map(read)
        .into()
}

/// Rules A.2.1: the front ends of GrailQA.
#[test]
fn three_front_ends_agree() {
    let found = agreements(&fronts(&records()), 1);
    assert_eq!(
        (found.questions, found.programs + found.answers),
        (4, 4),
        "{found:?}"
    );
}

#[test]
fn a_differing_front_end_is_detected() {
    for (at, other) in [
        (
            0,
            "(AND barge.port (JOIN (R barge.line.calls_at) (JOIN (R barge.line.owner) m.01)))",
        ),
        (
            0,
            "(AND barge.port (JOIN (R barge.line.calls_at) barge.line))",
        ),
        (
            1,
            "(AND barge.port (lt barge.port.opened 1990^^http://www.w3.org/2001/XMLSchema#gYear))",
        ),
        (
            2,
            "(ARGMIN (AND barge.port (JOIN barge.port.river m.02)) barge.port.depth)",
        ),
        (3, "(AND barge.port (JOIN barge.port.river m.02))"),
    ] {
        let mut records = records();
        records[at]["s_expression"] = json!(other);
        let read = fronts(&records);
        let only = |front: usize| (read[front].0.clone(), vec![read[front].1[at].clone()]);
        let found = agreements(&[only(0), only(1)], 1);
        assert_eq!(found.differ, 1, "{other}: {found:?}");
    }
}

#[test]
fn invalid_expressions_are_refused_with_their_position() {
    for (text, why) in [
        ("", "no expression"),
        ("(AND a.b", "not closed"),
        (")", "without `(`"),
        ("a.b)", "after"),
        ("(AND a.b)", "`AND` with 1 arguments"),
        ("(JOIN (R a.b.c) \"x", "does not end"),
        ("(FOO a.b c.d)", "FOO"),
        ("(AND m.01 m.02)", "`m.02` is not allowed here"),
        ("(JOIN (JOIN a.b c.d) m.01)", "expected a relation"),
        ("() x", "after"),
    ] {
        let error = sexpr(text).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
    assert!(sexpr(&"(".repeat(1000)).is_err());
    let mut records = records();
    records[1]["s_expression"] = json!("(AND barge.port");
    records[2]["graph_query"]["edges"][0]["end"] = json!(9);
    records[3].as_object_mut().unwrap().remove("graph_query");
    let read = fronts(&records);
    assert!(
        matches!(&read[1].1[1].query, GoldQuery::Missing(Refusal::Syntax, why) if why.contains("not closed"))
    );
    assert!(
        matches!(&read[2].1[2].query, GoldQuery::Missing(Refusal::Syntax, why) if why.contains("`end`"))
    );
    assert!(matches!(
        &read[2].1[3].query,
        GoldQuery::Missing(Refusal::NoQuery, _)
    ));
    let found = agreements(&read, 1);
    assert_eq!(
        (found.some, found.programs + found.answers),
        (3, 1),
        "{found:?}"
    );
}

proptest::proptest! {
    /// Any text is an expression or an error.
    #[test]
    fn any_expression_is_a_query_or_an_error(text in "[()R\" a-z.^0-9]{0,40}|.{0,30}") {
        for text in [text.clone(), format!("(AND barge.port {text})")] {
            match sexpr(&text) {
                Ok(query) => assert!(query.to_string().starts_with("SELECT"), "{text}: {query}"),
                Err(error) => assert!(!error.to_string().is_empty(), "{text}"),
            }
        }
    }
}

/// What cannot be the IRI of a datatype is a part of the text.
#[test]
fn only_an_iri_is_a_datatype() {
    for text in ["\"\"\"^^\"", "\"a\"^^b", "a^^b^"] {
        let query = sexpr(text).unwrap().to_string();
        assert!(kg::parse_query(&query).is_ok(), "{text}: {query}");
    }
}
