//! Compares SPARQL on the frozen graph with oxigraph's memory store: the same algebra on the same
//! triples gives the same rows.
//!
//! The store keeps numbers and dates by value and returns them in canonical form, so our results
//! are converted by a store before the comparison. LIMIT and OFFSET are removed first, because they
//! select arbitrary rows among equal ones.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use crate::datasets::{datasets, json};
use kg::spargebra::Query;
use kg::spargebra::algebra::GraphPattern;
use kg::term::{NodeId, RelId, Term};
use kg::{FrozenKg, Kg, LoadOptions, QueryAnswer, QueryError, QueryLimits, RewrittenQuery};
use oxigraph::model::{
    BlankNode, GraphName, Literal as OxLiteral, NamedNode, NamedOrBlankNode, Quad, Term as OxTerm,
};
use oxigraph::sparql::{QueryResults, SparqlEvaluator};
use oxigraph::store::Store;
use proptest::prelude::*;

/// The same graph on both sides.
struct Both {
    kg: FrozenKg,
    store: Store,
    canonical: HashMap<Term, String>,
}

/// Rows as sorted texts, so that two answers compare as multisets.
#[derive(Debug, PartialEq)]
enum Rows {
    Bool(bool),
    Table(Vec<String>, Vec<Vec<String>>),
}

impl Both {
    fn new(kg: FrozenKg) -> Self {
        // Insert the quads one by one: reading a file would rename the blank nodes.
        let store = Store::new().unwrap();
        let mut loader = store.bulk_loader();
        let quad = |(s, p, o): (NodeId, RelId, NodeId)| {
            let subject = NamedOrBlankNode::try_from(ox(&kg.term(s))).unwrap();
            let predicate = NamedNode::try_from(ox(&kg.term(p.node()))).unwrap();
            Quad::new(subject, predicate, ox(&kg.term(o)), GraphName::DefaultGraph)
        };
        loader.load_quads(kg.triples().map(quad)).unwrap();
        loader.commit().unwrap();
        // The store merges spellings of equal values; the DBpedia slice has one such pair.
        assert!(store.len().unwrap() <= kg.len() && store.len().unwrap() + 2 > kg.len());
        Self {
            kg,
            store,
            canonical: HashMap::new(),
        }
    }

    fn ours(&mut self, query: &Query) -> Result<Rows, QueryError> {
        let limits = QueryLimits {
            deadline: Duration::from_secs(60),
            ..QueryLimits::default()
        };
        let answer = self.kg.query(query, limits)?;
        Ok(match answer {
            QueryAnswer::Bool(holds) => Rows::Bool(holds),
            QueryAnswer::Rows { variables, rows } => {
                let mut cell = |term: Option<Term>| {
                    term.map_or_else(String::new, |term| {
                        self.canonical
                            .entry(term)
                            .or_insert_with_key(canonical)
                            .clone()
                    })
                };
                let mut rows: Vec<Vec<String>> = rows
                    .into_iter()
                    .map(|row| row.into_iter().map(&mut cell).collect())
                    .collect();
                rows.sort_unstable();
                Rows::Table(variables, rows)
            }
        })
    }

    fn theirs(&self, query: &Query) -> Rows {
        let RewrittenQuery {
            query, functions, ..
        } = RewrittenQuery::of(query).unwrap();
        let evaluator = functions
            .into_iter()
            .fold(SparqlEvaluator::new(), |e, (name, function)| {
                e.with_custom_function(name, function)
            });
        match evaluator
            .for_query(query)
            .on_store(&self.store)
            .execute()
            .unwrap()
        {
            QueryResults::Boolean(holds) => Rows::Bool(holds),
            QueryResults::Solutions(solutions) => {
                let variables = solutions
                    .variables()
                    .iter()
                    .map(|v| v.as_str().to_owned())
                    .collect();
                let cell = |term: &Option<OxTerm>| {
                    term.as_ref().map_or_else(String::new, ToString::to_string)
                };
                let mut rows: Vec<Vec<String>> = solutions
                    .map(|row| row.unwrap().values().iter().map(cell).collect())
                    .collect();
                rows.sort_unstable();
                Rows::Table(variables, rows)
            }
            QueryResults::Graph(_) => panic!("no graph was asked for"),
        }
    }
}

fn ox(term: &Term) -> OxTerm {
    match term {
        Term::Iri(iri) => NamedNode::new_unchecked(iri).into(),
        Term::Blank(label) => BlankNode::new_unchecked(label).into(),
        Term::Literal(literal) => match (&literal.lang, &literal.datatype) {
            (Some(lang), _) => {
                OxLiteral::new_language_tagged_literal_unchecked(&literal.lexical, lang).into()
            }
            (None, Some(datatype)) => {
                OxLiteral::new_typed_literal(&literal.lexical, NamedNode::new_unchecked(datatype))
                    .into()
            }
            (None, None) => OxLiteral::new_simple_literal(&literal.lexical).into(),
        },
    }
}

/// A term as the store returns it.
fn canonical(term: &Term) -> String {
    let store = Store::new().unwrap();
    let name = NamedNode::new_unchecked("x:x");
    store
        .insert(&Quad::new(
            name.clone(),
            name,
            ox(term),
            GraphName::DefaultGraph,
        ))
        .unwrap();
    store.iter().next().unwrap().unwrap().object.to_string()
}

/// Removes LIMIT and OFFSET, also in subqueries.
fn unsliced(query: &mut Query) {
    fn walk(pattern: &mut GraphPattern) {
        while let GraphPattern::Slice { inner, .. } = pattern {
            *pattern = std::mem::take(inner.as_mut());
        }
        match pattern {
            GraphPattern::Join { left, right }
            | GraphPattern::LeftJoin { left, right, .. }
            | GraphPattern::Union { left, right }
            | GraphPattern::Minus { left, right } => {
                walk(left);
                walk(right);
            }
            GraphPattern::Filter { inner, .. }
            | GraphPattern::Graph { inner, .. }
            | GraphPattern::Extend { inner, .. }
            | GraphPattern::OrderBy { inner, .. }
            | GraphPattern::Project { inner, .. }
            | GraphPattern::Distinct { inner }
            | GraphPattern::Reduced { inner }
            | GraphPattern::Group { inner, .. } => walk(inner),
            _ => {}
        }
    }
    if let Query::Select { pattern, .. } | Query::Ask { pattern, .. } = query {
        walk(pattern);
    }
}

// Random graphs and queries

/// A node from a small set, so that patterns match.
fn thing() -> impl Strategy<Value = String> {
    prop_oneof![4 => "<http://t\\.test/[a-f]>", 1 => "\"[0-3]\"\\^\\^<http://www\\.w3\\.org/2001/XMLSchema#integer>", 1 => "\"[xy]\"(@en)?"]
}

fn graph() -> impl Strategy<Value = Vec<String>> {
    let subject = prop_oneof![5 => "<http://t\\.test/[a-f]>", 1 => "_:[bc]"];
    let triple = (subject, "<http://t\\.test/[pqr]>", thing())
        .prop_map(|(s, p, o)| format!("{s} {p} {o} ."));
    proptest::collection::vec(triple, 0..50)
}

fn pattern() -> impl Strategy<Value = String> {
    let variable = "\\?[xyzw]";
    let end = prop_oneof![4 => variable.prop_map(|v| v), 1 => thing()];
    let start =
        prop_oneof![4 => variable.prop_map(|v| v), 1 => "<http://t\\.test/[a-f]>".prop_map(|v| v)];
    let link = prop_oneof![
        6 => "<http://t\\.test/[pqr]>".prop_map(|v| v),
        2 => "\\?[xyzw]".prop_map(|v| v),
        1 => "<http://t\\.test/[pq]>/<http://t\\.test/[pr]>".prop_map(|v| v),
        1 => "\\^<http://t\\.test/[pqr]>".prop_map(|v| v),
        1 => "\\(<http://t\\.test/p>\\|<http://t\\.test/q>\\)[+*?]?".prop_map(|v| v),
        1 => "!<http://t\\.test/p>".prop_map(|v| v),
    ];
    (start, link, end).prop_map(|(s, p, o)| format!("{s} {p} {o} ."))
}

fn group() -> impl Strategy<Value = String> {
    let basic = proptest::collection::vec(pattern(), 1..4)
        .prop_map(|patterns| patterns.join(" "))
        .boxed();
    let filter = prop_oneof![
        "\\?[xyzw] (=|!=|<|>=) \\?[xyzw]".prop_map(|v| v),
        "\\?[xyzw] (<|>) [0-3]".prop_map(|v| v),
        "(isIRI|isLiteral|BOUND|isBlank)\\(\\?[xyzw]\\)".prop_map(|v| v),
        "LANG\\(\\?[xyzw]\\) = \"en\"".prop_map(|v| v),
        "STR\\(\\?[xyzw]\\) (<|=) STR\\(\\?[xyzw]\\)".prop_map(|v| v),
        pattern().prop_map(|p| format!("EXISTS {{ {p} }}")),
        pattern().prop_map(|p| format!("NOT EXISTS {{ {p} }}")),
    ]
    .boxed();
    let leaf = basic.clone();
    leaf.prop_recursive(2, 6, 3, move |inner| {
        prop_oneof![
            (basic.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} OPTIONAL {{ {b} }}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{ {a} }} UNION {{ {b} }}")),
            (basic.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} MINUS {{ {b} }}")),
            (inner.clone(), filter.clone()).prop_map(|(a, f)| format!("{a} FILTER ({f})")),
            (basic.clone(), thing(), thing())
                .prop_map(|(a, v, w)| format!("{a} VALUES ?x {{ {v} {w} }}")),
            (basic.clone(), inner)
                .prop_map(|(a, b)| format!("{a} {{ SELECT DISTINCT ?x ?y {{ {b} }} }}")),
        ]
    })
}

fn query() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => group().prop_map(|g| format!("SELECT * {{ {g} }}")),
        2 => group().prop_map(|g| format!("SELECT DISTINCT ?x ?y {{ {g} }} ORDER BY ?x DESC(?y)")),
        1 => group().prop_map(|g| format!("ASK {{ {g} }}")),
        1 => group().prop_map(|g| format!("SELECT ?x (COUNT(DISTINCT ?y) AS ?n) (MIN(?z) AS ?m) {{ {g} }} GROUP BY ?x")),
        1 => group().prop_map(|g| format!("SELECT (COUNT(*) AS ?n) (SUM(?x) AS ?s) {{ {g} }}")),
        1 => group().prop_map(|g| format!("SELECT ?x {{ {g} }} GROUP BY ?x HAVING (COUNT(?y) > 1)")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn random_queries_give_the_same_rows(lines in graph(), queries in proptest::collection::vec(query(), 1..4)) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("g.nt");
        std::fs::write(&file, lines.join("\n")).unwrap();
        let mut both = Both::new(FrozenKg::load(&[file], &LoadOptions::default(), &|_| {}).unwrap());
        for text in queries {
            let query = kg::parse_query(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            match both.ours(&query) {
                Ok(ours) => prop_assert_eq!(ours, both.theirs(&query), "{}", text),
                // Large cross products hit the limits, while the store would build all rows.
                Err(QueryError::Rows(_) | QueryError::Deadline(_)) => {}
                Err(error) => panic!("{text}: {error}"),
            }
        }
    }
}

// Development sets

fn both(root: &Path, name: &str) -> Both {
    Both::new(FrozenKg::load(&[root.join(name)], &LoadOptions::default(), &|_| {}).unwrap())
}

/// Runs the queries on both sides; returns the number of compared queries.
fn compare(both: &mut Both, queries: impl Iterator<Item = String>) -> usize {
    let mut compared = 0;
    for text in queries {
        let mut query = kg::parse_query(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        // The unmodified query must not fail.
        both.ours(&query)
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        unsliced(&mut query);
        let ours = both
            .ours(&query)
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(ours, both.theirs(&query), "{text}");
        compared += 1;
    }
    compared
}

fn texts(questions: &serde_json::Value) -> impl Iterator<Item = String> + '_ {
    questions
        .as_array()
        .unwrap()
        .iter()
        .map(|question| question["sparql"].as_str().unwrap().to_owned())
}

#[test]
fn freebase_queries_give_the_same_rows() {
    let Some(root) = datasets() else { return };
    let questions = json(&root.join("cwq-mini/questions.json.gz"));
    assert_eq!(
        compare(&mut both(&root, "cwq-mini/kg.nt.gz"), texts(&questions)),
        568
    );
}

#[test]
fn dbpedia_queries_give_the_same_rows() {
    let Some(root) = datasets() else { return };
    let mut both = both(&root, "dbpedia-slice/kg.nt.gz");
    for (set, count) in [("qald9", 246), ("lcquad1", 376)] {
        let questions = json(&root.join(format!("dbpedia-slice/{set}.json.gz")));
        assert_eq!(compare(&mut both, texts(&questions)), count, "{set}");
    }
}

#[test]
fn spider_queries_give_the_same_rows() {
    let Some(root) = datasets() else { return };
    let questions = json(&root.join("spider4sparql/questions.json.gz"));
    let questions = questions.as_array().unwrap();
    let mut graphs: Vec<&str> = questions
        .iter()
        .map(|question| question["kg"].as_str().unwrap())
        .collect();
    graphs.sort_unstable();
    graphs.dedup();
    assert_eq!(graphs.len(), 13);
    let mut compared = 0;
    for graph in graphs {
        let of_graph = questions.iter().filter(|question| question["kg"] == graph);
        let texts = of_graph.map(|question| question["sparql"].as_str().unwrap().to_owned());
        compared += compare(
            &mut both(&root, &format!("spider4sparql/{graph}.nt.gz")),
            texts,
        );
    }
    assert_eq!(compared, 489);
}
