//! Queries: dialects, rejected queries, limits.

use std::time::{Duration, Instant};

use kg::term::{Literal, Term};
use kg::{self, FrozenKg, Kg, QueryAnswer, QueryError, QueryLimits};

use crate::support::*;

#[test]
fn dialects_are_read() {
    let kg = load("cities.ttl", CITIES);
    let ask = |query: &str| column(&kg, query).unwrap_or_else(|e| panic!("{query}: {e}"));
    let p = "PREFIX : <http://kg.test/> PREFIX o: <http://kg.test/ontology#> ";
    assert_eq!(
        ask(&format!(
            "{p} SELECT COUNT(?x) WHERE {{ ?x o:country :portugal . }} ."
        )),
        ["2"]
    );
    assert_eq!(
        ask(&format!(
            "{p} SELECT DISTINCT COUNT(?c) AS ?n WHERE {{ ?x o:country ?c }}"
        )),
        ["2"],
        "Virtuoso counts first"
    );
    assert_eq!(
        ask(&format!(
            "{p} SELECT COUNT(DISTINCT ?c) WHERE {{ ?x o:country ?c }}"
        )),
        ["1"]
    );
    assert_eq!(
        ask(&format!(
            "{p} SELECT DISTINCT(?c) WHERE {{ ?x o:country ?c }};"
        )),
        ["http://kg.test/portugal"]
    );
    assert_eq!(
        ask(&format!(
            "{p} SELECT ?c WHERE {{ ?x o:country ?c }} ORDER BY DESC(COUNT(?x)) LIMIT 1"
        )),
        ["http://kg.test/portugal"]
    );
    assert_eq!(
        ask(&format!(
            "#MANUAL SPARQL\n{p} SELECT ?y WHERE {{ ?x o:stint.from ?y }}"
        )),
        ["2001"]
    );
    assert_eq!(
        ask(&format!(
            "{p} SELECT ?x WHERE {{ ?x rdfs:label ?l FILTER (str(?l) = 'OR' OR lang(?l) = 'de' AND true) }}"
        )),
        ["http://kg.test/lisbon"]
    );
    assert_eq!(
        ask(&format!(
            "SPARQL DEFINE input:inference \"x\" {p} ASK {{ :lisbon o:country :portugal }}"
        )),
        ["true"]
    );
    assert_eq!(
        ask(&format!(
            "{p} SELECT ?x WHERE {{ ?x o:founded ?d FILTER (xsd:datetime(?d) < \"-0500\"^^xsd:dateTime) }}"
        )),
        ["http://kg.test/lisbon"]
    );
    assert_eq!(
        ask(&format!(
            "{p} SELECT ?x FROM <http://other> WHERE {{ GRAPH <http://g> {{ ?x o:twin ?t }} }}"
        )),
        ["http://kg.test/porto"]
    );
}

#[test]
fn projections_of_virtuoso_are_read() {
    let kg = load("cities.ttl", CITIES);
    let p = "PREFIX : <http://kg.test/> PREFIX o: <http://kg.test/ontology#> ";
    for (select, answer) in [
        ("DISTINCT xsd:date(?d) { :lisbon o:founded ?d }", "-1200"),
        ("xsd:dateTime(?d) WHERE { :lisbon o:founded ?d }", "-1200"),
        (
            "<http://www.w3.org/2001/XMLSchema#date>( ?d ) { :lisbon o:founded ?d }",
            "-1200",
        ),
        ("xsd:integer(?n) { :lisbon o:population ?n }", "545796"),
        (
            "xsd:integer(?n) AS ?m WHERE { :lisbon o:population ?n }",
            "545796",
        ),
        ("DISTINCT STRLEN(STR(?n)) { :lisbon o:population ?n }", "6"),
        ("Count(?x) as ?c WHERE { ?x o:country :portugal }", "2"),
        ("DISTINCT Count(?x) as ?c { ?x o:country :portugal }", "2"),
        ("(Count(?x)) as ?c WHERE { ?x o:country :portugal }", "2"),
        ("(Count(DISTINCT ?c)) AS ?n { ?x o:country ?c }", "1"),
        (
            "(?c) AS ?n { :lisbon o:country ?c }",
            "http://kg.test/portugal",
        ),
    ] {
        let query = format!("{p} SELECT {select}");
        assert_eq!(column(&kg, &query).unwrap(), [answer], "{query}");
    }
}

#[test]
fn strings_iris_and_comments_are_not_rewritten() {
    let text = "SELECT ?x WHERE { ?x <http://a.test/x.y.z#OR> \"a OR b # c ns:a.b.c\" . # OR\n ?x <http://a.test/p> '''AND \\' ''' }";
    let normal = kg::normalise(text).unwrap();
    assert!(
        normal.contains("\"a OR b # c ns:a.b.c\"")
            && normal.contains("x.y.z#OR>")
            && normal.contains("'''AND \\' '''"),
        "{normal}"
    );
    assert!(
        !normal.contains("# OR") && !normal.contains("PREFIX"),
        "{normal}"
    );
    let once = kg::normalise(
        "SELECT DISTINCT COUNT(?x) { ?x ns:a.b.c ns:m.0_1 FILTER(?x < 5 OR ?x > 3) }",
    )
    .unwrap();
    assert_eq!(
        kg::normalise(&once).unwrap(),
        once,
        "what is standard stays as it is"
    );
    assert!(
        kg::parse_query("SELECT ?x { dbr:Berlin_(band) dbo:a ?x . ?x dbo:b dbr:Washington,_D.C. }")
            .unwrap()
            .to_string()
            .contains("Washington,_D.C>"),
        "a final dot ends the triple"
    );
}

#[test]
fn rejected_queries_have_reasons() {
    let kg = load("kb.txt", "a|r|b\n");
    let refused = |query: &str| match column(&kg, query) {
        Err(QueryError::Refused(what)) => what,
        other => panic!("{query}: {other:?}"),
    };
    assert_eq!(
        refused("SELECT * { SERVICE <http://x.test/> { ?s ?p ?o } }"),
        "SERVICE <http://x.test/>, which asks another endpoint,"
    );
    assert_eq!(
        refused(
            "SELECT * { ?s ?p ?o FILTER EXISTS { SERVICE SILENT <http://x.test/> { ?s ?p ?o } } }"
        ),
        "SERVICE <http://x.test/>, which asks another endpoint,"
    );
    assert_eq!(refused("CONSTRUCT WHERE { ?s ?p ?o }"), "CONSTRUCT");
    assert_eq!(refused("DESCRIBE <x:a>"), "DESCRIBE");
    assert_eq!(refused("SELECT * { ?s ?p ?o } ORDER BY RAND()"), "RAND");
    assert!(matches!(
        column(&kg, "INSERT DATA { <x:a> <x:b> <x:c> }"),
        Err(QueryError::Syntax(_))
    ));
    assert!(matches!(column(&kg, "SELECT"), Err(QueryError::Syntax(_))));
    assert!(matches!(
        column(&kg, "SELECT ?x { ?x ns:m.\\"),
        Err(QueryError::Syntax(_))
    ));
    // A bracket before SELECT, as in a garbled query.
    assert!(matches!(
        column(
            &kg,
            "PREFIX { ?f } SELECT ?x (COUNT(?y) AS ?n) WHERE { ?x ?y ?z }"
        ),
        Err(QueryError::Syntax(_))
    ));
}

/// A graph on which a cross product practically never ends.
fn wide() -> FrozenKg {
    FrozenKg::from_triples((0..3000).map(|i| {
        [
            Term::Iri(format!("x:s{i}")),
            Term::Iri("x:r".to_owned()),
            Term::Iri(format!("x:o{i}")),
        ]
    }))
}

#[test]
fn a_cancelled_query_ends_and_the_next_one_runs() {
    let kg = wide();
    let run = |query: &str| kg.query(&kg::parse_query(query).unwrap(), QueryLimits::default());
    let cancel = common::cancel::Cancel::default();
    let asker = cancel.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        asker.cancel();
    });
    let start = Instant::now();
    let endless = "SELECT (COUNT(*) AS ?n) { ?a <x:r> ?b . ?c <x:r> ?d . ?e <x:r> ?f }";
    let result = kg::cancelled_by(&cancel, || run(endless));
    assert!(matches!(result, Err(QueryError::Cancelled)), "{result:?}");
    assert!(start.elapsed() < Duration::from_secs(1));
    assert!(run("ASK { ?a <x:r> ?b }").is_ok());
}

#[test]
fn no_query_runs_past_its_deadline() {
    let kg = wide();
    let limits = QueryLimits {
        deadline: Duration::from_millis(200),
        rows: usize::MAX,
        ..QueryLimits::default()
    };
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
        assert!(
            matches!(result, Err(QueryError::Deadline(_))),
            "{query}: {result:?}"
        );
        assert!(
            start.elapsed() < Duration::from_secs(3),
            "{query}: {:?}",
            start.elapsed()
        );
    }
    assert!(
        column(&kg, "ASK { ?s ?p ?o }").is_ok(),
        "the thread is as before"
    );
}

#[test]
fn rows_and_texts_are_limited() {
    let kg = wide();
    let query = kg::parse_query("SELECT * { ?a <x:r> ?b . ?c <x:r> ?d }").unwrap();
    assert!(matches!(
        kg.query(
            &query,
            QueryLimits {
                rows: 1000,
                ..QueryLimits::default()
            }
        ),
        Err(QueryError::Rows(1000))
    ));
    let mut doubling = "SELECT * { BIND('xxxxxxxxxxxxxxxx' AS ?a0) ".to_owned();
    for i in 0..40 {
        doubling.push_str(&format!("BIND(CONCAT(?a{i}, ?a{i}) AS ?a{}) ", i + 1));
    }
    doubling.push('}');
    assert!(matches!(
        column(&kg, &doubling),
        Err(QueryError::Evaluation(_))
    ));
}

#[test]
fn monstrous_texts_neither_overflow_nor_hang() {
    let start = Instant::now();
    for (open, close) in [("(", ")"), ("{", "}"), ("!(", ")"), ("[ <x:p> ", "]")] {
        for n in [5usize, 12, kg::limits::QUERY_DEPTH - 1, 5000] {
            let inner = format!("{}1{}", open.repeat(n), close.repeat(n));
            for query in [
                format!("SELECT * {{ ?s ?p ?o FILTER ({inner}) }}"),
                format!(
                    "SELECT * {{ {} ?s ?p ?o {} }}",
                    open.repeat(n),
                    close.repeat(n)
                ),
                format!(
                    "SELECT * {{ ?s {}<x:a>{} ?o }}",
                    open.repeat(n),
                    close.repeat(n)
                ),
                format!("SELECT * {{ ?s ?p {inner} }}"),
            ] {
                let _ = kg::parse_query(&query);
            }
        }
    }
    let kg = wide();
    // Sizes near the limits and far beyond them.
    for n in [31, 64, 190, 390, 10_000] {
        for long in [
            format!(
                "ASK {{ ?s ?p ?o FILTER ({}) }}",
                vec!["?s = ?o"; n].join(" || ")
            ),
            format!("ASK {{ ?s ?p ?o FILTER ({}) }}", vec!["1"; n].join(" + ")),
            format!("ASK {{ ?s {} ?o }}", vec!["<x:r>"; n].join("/")),
            format!("ASK {{ ?s {} ?o }}", vec!["<x:r>"; n].join("|")),
            format!("ASK {{ {} }}", vec!["{ ?s <x:q> ?o }"; n].join(" UNION ")),
            format!(
                "ASK {{ {} }}",
                vec!["OPTIONAL { ?s <x:q> ?o }"; n].join(" ")
            ),
            format!(
                "ASK {{ {} }}",
                vec!["{ SELECT ?s { ?s <x:q> ?o } }"; n].join(" ")
            ),
            format!(
                "ASK {{ ?s ?p ?o {} }}",
                vec!["FILTER (?s = ?o)"; n].join(" ")
            ),
            format!("ASK {{ {} }}", vec!["?s <x:q> ?o ."; n].join(" ")),
            format!("ASK {{ ?s ?p ({}) }}", vec!["?o"; n].join(" ")),
            format!(
                "SELECT {} {{ ?s ?p ?o }}",
                (0..n).map(|i| format!("(?s AS ?a{i})")).collect::<String>()
            ),
            format!(
                "ASK {{ ?s ?p ?o FILTER ({}) }}",
                vec!["STR(?s)"; n].join(" IN (")
            ),
            format!("ASK {{ ?s ?p {} }}", "-".repeat(n)),
            format!("ASK {{ ?s ?p \"{} }}", "x".repeat(n)),
            "x".repeat(n * 100),
        ] {
            if let Ok(query) = kg::parse_query(&long) {
                let _ = kg.query(
                    &query,
                    QueryLimits {
                        deadline: Duration::from_secs(1),
                        ..QueryLimits::default()
                    },
                );
            }
        }
    }
    assert!(
        start.elapsed() < Duration::from_secs(60),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn order_by_mixed_datatypes_is_total_and_does_not_panic() {
    let kinds = [
        "integer", "double", "decimal", "string", "date", "gYear", "boolean", "float", "nonsense",
        "dateTime",
    ];
    let kg = FrozenKg::from_triples((0..3000u32).map(|i| {
        let x = i.wrapping_mul(2_654_435_761) >> 7;
        let lexical = match i % 5 {
            0 => format!("{}", x % 1000),
            1 => format!("{}.5", x % 300),
            2 => "NaN".to_owned(),
            3 => format!("{:04}-01-01", x % 3000),
            _ => format!("text{x}"),
        };
        let value = match i % 11 {
            10 => Literal {
                lexical,
                datatype: None,
                lang: Some("en".to_owned()),
            },
            k => Literal::xsd(lexical, kinds[k as usize % kinds.len()]),
        };
        [
            Term::Iri(format!("x:s{i}")),
            Term::Iri("x:r".to_owned()),
            Term::Literal(value),
        ]
    }));
    for query in [
        "SELECT ?o { ?s <x:r> ?o } ORDER BY ?o ?s",
        "SELECT ?o { ?s <x:r> ?o } ORDER BY DESC(?o) ASC(?s)",
    ] {
        assert_eq!(column(&kg, query).unwrap().len(), 3000);
    }
    let kg = load(
        "n.ttl",
        "<x:a> <x:r> 10, 9.5, 1e1, \"-3\"^^<http://www.w3.org/2001/XMLSchema#int>, 9007199254740993, 9007199254740992 .",
    );
    assert_eq!(
        column(&kg, "SELECT ?o { ?s <x:r> ?o } ORDER BY ?o LIMIT 2").unwrap(),
        ["-3", "9.5"],
    );
    assert_eq!(
        column(&kg, "SELECT ?o { ?s <x:r> ?o } ORDER BY DESC(?o) LIMIT 1").unwrap(),
        ["9007199254740993"]
    );
}

#[test]
fn two_threads_ask_at_once() {
    let kg = wide();
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| {
            let query = kg::parse_query(
                "SELECT (COUNT(*) AS ?n) { ?a <x:r> ?b . ?c <x:r> ?d . ?e <x:r> ?f }",
            )
            .unwrap();
            kg.query(
                &query,
                QueryLimits {
                    deadline: Duration::from_millis(300),
                    ..QueryLimits::default()
                },
            )
        });
        for i in 0..200 {
            assert_eq!(
                column(&kg, &format!("SELECT ?o {{ <x:s{i}> <x:r> ?o }}")).unwrap(),
                [format!("x:o{i}")]
            );
        }
        assert!(matches!(slow.join().unwrap(), Err(QueryError::Deadline(_))));
    });
}

/// SPARQL 1.1, section 4.1.1: relative IRIs begin at the last BASE before them.
#[test]
fn relative_iris_begin_at_the_base_of_the_query() {
    let iri = |name: &str| Term::Iri(format!("http://a.test/{name}"));
    let kg = FrozenKg::from_triples(vec![
        [iri("s"), iri("p"), iri("o")],
        [iri("x/s"), iri("p"), iri("o")],
    ]);
    let ask = |query: &str| match kg.query(&kg::parse_query(query)?, QueryLimits::default())? {
        QueryAnswer::Bool(yes) => Ok(yes),
        _ => Err(QueryError::Syntax("no ASK".to_owned())),
    };
    for query in [
        "BASE <http://a.test/> ASK { <s> <p> <o> }",
        "base <http://a.test/x/y?q#f> ASK { <s> <../p> </o> }",
        "BASE <http://a.test/s> ASK { <> <p> <//a.test/o> }",
        "BASE <http://b.test/> BASE <http://a.test/> ASK { <s> <p> <o> }",
        "BASE <http://a.test/z/> BASE <../x/> ASK { <s> <../p> <../o> }",
        "BASE <http://a.test/> PREFIX x: <x/> ASK { x:s <p> ?o FILTER(?o = IRI('o')) }",
        "BASE <http://a.test/> PREFIX x: <x/> BASE <http://b.test/> ASK { x:s ?p ?o }",
        "BASE <http://a.test/> ASK { VALUES ?s { <s> } ?s <p>/<q>? <o> }",
    ] {
        assert!(ask(query).unwrap(), "{query}");
    }
    assert!(!ask("BASE <http://a.test/x/> ASK { <s> <p> <o> }").unwrap());
    for (query, place) in [
        ("ASK { <s> <http://a.test/p> ?o }", "column 7: `<s>`"),
        ("PREFIX x: <x/> ASK { x:s ?p ?o }", "column 11: `<x/>`"),
        ("BASE <a/> ASK { <s> ?p ?o }", "column 6: `<a/>`"),
        (
            "ASK { ?s ?p ?o FILTER(?o > '1'^^<integer>) }",
            "`<integer>`",
        ),
        ("ASK { ?s ?p <> }", "`<>`"),
    ] {
        let error = kg::parse_query(query).unwrap_err().to_string();
        assert!(
            error.contains(place) && error.contains("is a relative IRI, but the query has no base"),
            "{query}: {error}"
        );
        // With a base outside the query there is no error.
        assert!(
            kg::parse_query_at("http://a.test/", query).is_ok(),
            "{query}"
        );
    }
    // Another error that comes first is told.
    let error = kg::parse_query("ASK { ?s } { <s> ?p ?o }").unwrap_err();
    assert!(!error.to_string().contains("relative"), "{error}");
}
