//! Names identify nodes, and access agrees with the triples.

use std::collections::BTreeSet;

use kg::term::{Literal, NodeId, Term};
use kg::{FrozenKg, Kg};
use proptest::prelude::*;

use crate::support::*;

#[test]
fn names_are_short_and_unique() {
    let kg = load("cities.ttl", CITIES);
    assert_eq!(kg.name(node(&kg, "http://kg.test/lisbon")), "lisbon");
    assert_eq!(kg.by_name("<http://kg.test/lisbon>"), kg.by_name("lisbon"));
    assert_eq!(
        kg.name(node(&kg, "http://www.w3.org/2000/01/rdf-schema#label")),
        "rdfs:label"
    );
    let two = load(
        "two.nt",
        "<http://a.test/x> <http://a.test/r> <http://b.test/x> .\n<http://a.test/v0> <http://a.test/r> <http://b.test/y> .\n",
    );
    assert_eq!(two.by_name("x"), None, "two nodes end in x");
    assert_eq!(two.name(node(&two, "http://b.test/x")), "http://b.test/x");
    assert_eq!(
        two.name(node(&two, "http://a.test/v0")),
        "http://a.test/v0",
        "v0 is a variable"
    );
    assert_eq!(two.name(node(&two, "http://b.test/y")), "y");
    let dbpedia = load(
        "d.nt",
        "<http://dbpedia.org/resource/AC/DC> <http://dbpedia.org/ontology/genre> <http://dbpedia.org/resource/Rock:_a_b> .\n",
    );
    let name = dbpedia.name(node(&dbpedia, "dbr:AC/DC"));
    assert_eq!(name, "dbr:AC/DC");
    assert_eq!(
        dbpedia.label(node(&dbpedia, "res:Rock:_a_b")).as_deref(),
        Some("Rock: a b")
    );
}

#[test]
fn literal_names_identify_literals() {
    let kg = load(
        "g.nt",
        "<x:a> <x:r> \"say \\\"hi\\\"\\n\\\\o/\"@en .\n<x:a> <x:r> \"2011\"^^<http://www.w3.org/2001/XMLSchema#gYear> .\n",
    );
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
        let kg = FrozenKg::from_triples(triples);
        let mut seen = BTreeSet::new();
        for id in 0..u32::try_from(kg.term_count()).unwrap() {
            let name = kg.name(NodeId(id));
            prop_assert_eq!(kg.by_name(&name), Some(NodeId(id)), "{}", &name);
            prop_assert!(seen.insert(name));
            prop_assert_eq!(kg.find(&kg.term(NodeId(id))), Some(NodeId(id)));
        }
    }

    /// Compares access with sets built from the triples.
    #[test]
    fn access_agrees_with_the_triples(rows in proptest::collection::vec((0u8..6, 0u8..3, 0u8..6), 0..40)) {
        let iri = |kind: &str, n: u8| Term::Iri(format!("http://t.test/{kind}{n}"));
        let kg = FrozenKg::from_triples(rows.iter().map(|&(s, p, o)| [iri("n", s), iri("p", p), iri("n", o)]));
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

/// The labels of the first row of each table, if the columns are named by `column` from table and name.
fn rows(key: &str, column: impl Fn(&str, &str) -> String) -> Vec<(&'static str, Option<String>)> {
    const TABLES: [(&str, &[(&str, &str)]); 10] = [
        ("department", &[("dept_code", "D7"), ("dept_name", "Sales")]),
        (
            "employee",
            &[
                ("first_name", "Ana"),
                ("job_title", "clerk"),
                ("last_name", "Ruiz"),
            ],
        ),
        ("event", &[("event_title", "Fair"), ("host_name", "Ana")]),
        ("invoice", &[("number", "17")]),
        (
            "supplier",
            &[("company_name", "Acme"), ("contact_name", "Bo")],
        ),
        ("venue", &[("name", "Hall"), ("street_name", "Elm Street")]),
        ("route", &[("route_nm", "Harbour")]),
        ("berth", &[("len_m", "180")]),
        ("room_kind", &[("kind_desc", "Double")]),
        (
            "product",
            &[(
                "description",
                "A folding chair for the garden, of oiled wood",
            )],
        ),
    ];
    let row = |table: &str| format!("http://a.example/db/{table}/{key}1");
    let text: String = (TABLES.iter())
        .flat_map(|(table, columns)| {
            let class = format!("<{}> a <http://a.example/db/{table}> .\n", row(table));
            let cell = |(name, value): &(&str, &str)| {
                format!("<{}> <{}> \"{value}\" .\n", row(table), column(table, name))
            };
            let mut lines = vec![class];
            lines.extend(columns.iter().map(cell));
            lines
        })
        .collect();
    let kg = load("rows.ttl", &text);
    (TABLES.iter())
        .map(|(table, _)| (*table, kg.label(node(&kg, &row(table)))))
        .collect()
}

#[test]
fn rows_are_named_by_their_columns() {
    let base = "http://a.example/db";
    let mapped = rows("id=", |table, name| format!("{base}/{table}#{name}"));
    let prefixed = rows("", |table, name| format!("{base}/vocab#{table}_{name}"));
    let plain = rows("", |_, name| format!("{base}/{name}"));
    for found in [mapped, prefixed, plain] {
        let wanted = [
            ("department", "Sales"),
            ("employee", "Ana Ruiz"),
            ("event", "Fair"),
            ("invoice", "invoice 1"),
            ("supplier", "Acme"),
            ("venue", "Hall"),
            ("route", "Harbour"),
            // A length in metres is not a name. A long text is not a name either.
            ("berth", "berth 1"),
            ("room_kind", "Double"),
            ("product", "product 1"),
        ];
        let wanted: Vec<_> = wanted
            .map(|(table, name)| (table, Some(name.to_owned())))
            .into();
        assert_eq!(found, wanted);
    }
}
