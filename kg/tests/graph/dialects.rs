//! Queries as people write them: language tags in any case, the label service of Wikidata, messages
//! for mistakes; and results as XML.

use kg::term::{Literal, Term};
use kg::{Kg, QueryAnswer, QueryError, QueryLimits, ResultsFormat, TriplesFormat, parse_query};

use crate::support::{column, load};

const NAMES: &str = r#"
@prefix : <http://l.test/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:a rdfs:label "colour"@en-GB, "color"@EN-us, "Farbe"@de-AT-1996, "颜色"@zh-Hans, "plain" ; :code "en-GB" ; :to :b .
:b rdfs:label "bee"@EN, "abeille"@fr ; :to :c .
:c rdfs:label "Biene"@de .
"#;

#[test]
fn language_tags_compare_without_case() {
    let kg = load("g.ttl", NAMES);
    for (condition, expected) in [
        ("FILTER(LANG(?l) = 'en-GB')", vec!["colour"]),
        ("FILTER('EN-gb' = LANG(?l))", vec!["colour"]),
        (
            "FILTER(LANG(?l) IN ('de-at-1996', 'EN-US'))",
            vec!["Farbe", "color"],
        ),
        ("FILTER(STR(LANG(?l)) = 'zh-Hans')", vec!["颜色"]),
        ("FILTER(UCASE(LANG(?l)) = 'en-GB')", vec!["colour"]),
        (
            "FILTER(LANGMATCHES(LANG(?l), 'EN'))",
            vec!["color", "colour"],
        ),
        (
            "FILTER(LANG(?l) != 'en-GB' && LANG(?l) != '')",
            vec!["Farbe", "color", "颜色"],
        ),
        (
            "FILTER(LANG(?l) NOT IN ('en-GB', 'EN-US', ''))",
            vec!["Farbe", "颜色"],
        ),
        ("BIND(LANG(?l) AS ?t) FILTER(?t = 'zh-Hans')", vec!["颜色"]),
        (
            "BIND(LANG(?l) AS ?t) BIND(STRBEFORE(?t, '-') AS ?u) FILTER(?u = 'EN')",
            vec!["color", "colour"],
        ),
        (
            "VALUES ?t {'en-GB' 'zh-Hans'} FILTER(LANG(?l) = ?t)",
            vec!["colour", "颜色"],
        ),
        (
            "VALUES ?t {'de-AT-1996'} BIND(LANG(?l) AS ?u) FILTER(sameTerm(?t, ?u))",
            vec!["Farbe"],
        ),
        ("?x :code ?c FILTER(LANG(?l) = ?c)", vec!["colour"]),
        ("FILTER(STRSTARTS(LANG(?l), 'EN-G'))", vec!["colour"]),
        ("FILTER(CONTAINS(LANG(?l), 'Hans'))", vec!["颜色"]),
        (
            "FILTER(REGEX(LANG(?l), '^en-(GB|US)$'))",
            vec!["color", "colour"],
        ),
        (
            "FILTER(IF(LANG(?l) = '', 'none', LANG(?l)) = 'en-GB')",
            vec!["colour"],
        ),
        ("FILTER(?l = 'colour'@EN-gb)", vec!["colour"]),
        (
            "FILTER(sameTerm(?l, STRLANG('colour', 'en-GB')))",
            vec!["colour"],
        ),
        (
            "FILTER(?l IN ('color'@en-US, 'plain'))",
            vec!["color", "plain"],
        ),
        (
            "FILTER EXISTS {?x rdfs:label ?m FILTER(LANG(?m) = 'en-GB')} FILTER(LANG(?l) = '')",
            vec!["plain"],
        ),
    ] {
        let text = format!(
            "PREFIX : <http://l.test/> SELECT ?l {{ ?x rdfs:label ?l FILTER(?x = :a) {condition} }}"
        );
        let mut found = column(&kg, &text).unwrap_or_else(|error| panic!("{text}: {error}"));
        found.sort();
        assert_eq!(found, expected, "{condition}");
    }
    let pattern = "SELECT ?x { ?x rdfs:label 'colour'@EN-GB }";
    assert_eq!(column(&kg, pattern).unwrap(), ["http://l.test/a"]);
    let counted = "SELECT (COUNT(DISTINCT ?t) AS ?n) { ?x rdfs:label ?l BIND(LANG(STRLANG('x', 'de-AT')) AS ?t) }";
    assert_eq!(column(&kg, counted).unwrap(), ["1"]);
    // Texts that are no tags keep their case.
    let text = "PREFIX : <http://l.test/> ASK { ?x :code ?c FILTER(?c = 'en-gb') }";
    assert_eq!(column(&kg, text).unwrap(), ["false"]);
}

#[test]
fn the_label_service_reads_labels() {
    let kg = load("g.ttl", NAMES);
    let table = |select: &str, service: &str| {
        let text = format!(
            "PREFIX : <http://l.test/> SELECT {select} {{ ?s :to ?x . SERVICE wikibase:label {{ {service} }} }} ORDER BY ?x"
        );
        let query = parse_query(&text)?;
        match kg.query(&query, QueryLimits::default())? {
            QueryAnswer::Rows { rows, .. } => Ok(rows
                .into_iter()
                .map(|row| {
                    let cells = row.into_iter().map(|cell| match cell {
                        Some(Term::Literal(literal)) => literal.lexical,
                        Some(Term::Iri(iri)) => iri.replace("http://l.test/", ""),
                        _ => "-".to_owned(),
                    });
                    cells.collect::<Vec<_>>().join(" ")
                })
                .collect::<Vec<_>>()),
            QueryAnswer::Bool(_) => panic!("a SELECT has rows"),
        }
    };
    let english = "bd:serviceParam wikibase:language \"en\" .";
    let rows = |select: &str, service: &str| -> Vec<String> {
        table(select, service).unwrap_or_else(|error: QueryError| panic!("{select}: {error}"))
    };
    assert_eq!(rows("?x", english), ["b", "c"]);
    assert_eq!(rows("?x ?xLabel", english), ["b bee", "c -"]);
    let several = "bd:serviceParam wikibase:language \"[AUTO_LANGUAGE],fr,de\" .";
    assert_eq!(rows("?xLabel", several), ["abeille", "Biene"]);
    assert_eq!(rows("?x (STRLEN(?xLabel) AS ?n)", english), ["b 3", "c -"]);
    let manual = format!("{english} ?x rdfs:label ?name .");
    assert_eq!(rows("?x ?name ?xLabel", &manual), ["b bee -", "c - -"]);
    for asked in ["?xDescription", "?xAltLabel"] {
        let error = table(asked, english).unwrap_err().to_string();
        assert!(
            error.contains(asked) && error.contains("wikibase:label"),
            "{error}"
        );
    }
    let other =
        parse_query("SELECT ?x { SERVICE <http://other.test/sparql> { ?x ?p ?o } }").unwrap();
    let error = kg
        .query(&other, QueryLimits::default())
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "SERVICE <http://other.test/sparql>, which asks another endpoint, is refused here"
    );
}

#[test]
fn a_syntax_error_is_one_line_that_names_the_place() {
    for (text, place, part) in [
        (
            "SELECT ?x WHERE { ?x ns:a.b.c ?y",
            "line 1, column 33",
            "the end of the query",
        ),
        (
            "SELECT ?x WHERE { ?x ns:a.b.c }",
            "line 1, column 31",
            "`}`",
        ),
        ("SELCT ?x { ?x ?p ?o }", "line 1, column 1", "`SELCT`"),
        (
            "SELECT ?x\nWHERE {\n  ?x nope:p ?o }",
            "line 3, column 6",
            "the prefix is not declared",
        ),
        (
            "SELECT (COUNT(?x) AS ?x) { ?x ?p ?o } GROUP",
            "line 1, column 44",
            "the end of the query",
        ),
    ] {
        let error = parse_query(text).unwrap_err().to_string();
        assert!(error.contains(place), "{text}: {error}");
        assert!(error.contains(part), "{text}: {error}");
        assert!(
            error.len() < 200 && !error.contains('\n') && !error.contains("'a'..='z'"),
            "{error}"
        );
    }
}

fn written(format: TriplesFormat, triples: &[[Term; 3]]) -> Result<String, String> {
    let bytes = format
        .write(triples.iter())
        .map_err(|error| error.to_string())?;
    Ok(String::from_utf8(bytes).unwrap())
}

fn iri(name: &str) -> Term {
    Term::Iri(format!("http://x.test/{name}"))
}

#[test]
fn triples_survive_every_format() {
    let text = Term::Literal(Literal::plain("a < b & \"c\"\r\n\tä "));
    let triples = [
        [iri("a"), iri("p.q.r"), text.clone()],
        [
            iri("a"),
            Term::Iri("http://www.w3.org/1999/02/22-rdf-syntax-ns#type".to_owned()),
            iri("T"),
        ],
        [iri("b"), iri("ns#p"), Term::Blank("n1".to_owned())],
        [Term::Blank("n1".to_owned()), iri("ns#p"), iri("9")],
    ];
    for (format, name) in [
        (TriplesFormat::NTriples, "g.nt"),
        (TriplesFormat::Turtle, "g.ttl"),
        (TriplesFormat::JsonLd, "g.jsonld"),
        (TriplesFormat::RdfXml, "g.rdf"),
        (TriplesFormat::NQuads, "g.nq"),
        (TriplesFormat::TriG, "g.trig"),
    ] {
        let read = load(name, &written(format, &triples).unwrap());
        assert_eq!(read.len(), triples.len(), "{name}");
        let has = |term: &Term| read.find(term).is_some();
        assert!(has(&text) && has(&iri("p.q.r")) && has(&iri("T")), "{name}");
    }
    assert!(
        written(TriplesFormat::N3, &triples)
            .unwrap()
            .contains("http://x.test/")
    );
}

#[test]
fn what_xml_cannot_write_is_an_error() {
    let one = |predicate: &str, object: Term| {
        let predicate = Term::Iri(predicate.to_owned());
        written(TriplesFormat::RdfXml, &[[iri("a"), predicate, object]])
    };
    for predicate in [
        "http://x.test/p/",
        "http://x.test/123",
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#li",
        "http://www.w3.org/2000/xmlns/p",
    ] {
        let error = one(predicate, iri("b")).unwrap_err();
        assert!(
            error.contains(predicate) && error.contains("RDF/XML"),
            "{error}"
        );
    }
    assert!(one("http://x.test/12a", iri("b")).is_ok());
    let control = Term::Literal(Literal::plain("a\u{1}b"));
    let error = one("http://x.test/p", control.clone()).unwrap_err();
    assert!(error.contains("U+0001"), "{error}");
    let answer = |cell: Term| QueryAnswer::Rows {
        variables: vec!["x".to_owned()],
        rows: vec![vec![Some(cell)]],
    };
    let mut bytes = Vec::new();
    let error = answer(control)
        .write(ResultsFormat::Xml, &mut bytes)
        .unwrap_err();
    assert!(error.to_string().contains("U+0001"));
    let lines = answer(Term::Literal(Literal::plain("a\r\nb")));
    lines.write(ResultsFormat::Xml, &mut bytes).unwrap();
    assert!(String::from_utf8(bytes).unwrap().contains("a&#13;\nb"));
}
