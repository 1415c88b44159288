//! KQA Pro on a small graph in its published layout: every function of its program language, and
//! its SPARQL, compared with answers worked out by hand.

use std::collections::BTreeSet;

use datagen::question::{GoldQuery, GoldQuestion};
use datagen::read::{QuestionSource, ReadOptions};
use datagen::verify::{VerifyOptions, verify};
use kg::term::Term;
use kg::{FrozenKg, Kg, QueryAnswer, QueryLimits, kqapro};
use serde_json::{Value as Json, json};

const KB: &str = include_str!("../data/kqapro.json");

fn graph() -> FrozenKg {
    let mut triples: Vec<[Term; 3]> = Vec::new();
    kqapro::each_triple(KB, 1 << 30, &mut |triple| triples.push(triple)).unwrap();
    FrozenKg::from_triples(triples)
}

/// A step: function, dependencies, inputs.
type Step<'a> = (&'a str, &'a [usize], &'a [&'a str]);

struct Case<'a> {
    program: &'a [Step<'a>],
    sparql: &'a str,
    answer: &'a str,
    /// Whether the thirteen tools can express it.
    tools: bool,
}

const TOWERS: &str = "?e <pred:instance_of> ?c . ?c <pred:name> \"tower\" . ";
const ARVEL: &str = "?e <pred:name> \"Arvel Tower\" . ";

fn case<'a>(program: &'a [Step<'a>], sparql: &'a str, answer: &'a str) -> Case<'a> {
    Case {
        program,
        sparql,
        answer,
        tools: true,
    }
}

/// A question, read by both front ends.
fn questions(kg: &dyn Kg, cases: &[Case<'_>]) -> [Vec<GoldQuestion>; 2] {
    let record = |case: &Case<'_>| {
        let steps: Vec<Json> = case
            .program
            .iter()
            .map(|(function, on, inputs)| json!({ "function": function, "dependencies": on, "inputs": inputs }))
            .collect();
        json!({ "question": "…?", "choices": [case.answer], "program": steps, "sparql": case.sparql, "answer": case.answer })
    };
    let dir = tempfile::tempdir().unwrap();
    let records: Vec<Json> = cases.iter().map(record).collect();
    std::fs::write(
        dir.path().join("val.json"),
        serde_json::to_string(&records).unwrap(),
    )
    .unwrap();
    ["kqapro", "kqapro:program"].map(|front| {
        let source: QuestionSource = format!("{front}={}", dir.path().display()).parse().unwrap();
        source.read(Some(kg), &ReadOptions::default()).unwrap()
    })
}

/// The answer of a question's query, in the spelling of published answers.
fn answer(kg: &dyn Kg, question: &GoldQuestion) -> BTreeSet<String> {
    let GoldQuery::Algebra(query) = &question.query else {
        panic!("{}: {:?}", question.id, question.query)
    };
    let own = |term: &Term| match term {
        Term::Literal(literal) => literal.lexical.clone(),
        other => kg
            .find(other)
            .and_then(|node| kg.label(node))
            .unwrap_or_else(|| other.to_string()),
    };
    match kg.query(query, QueryLimits::default()).unwrap() {
        QueryAnswer::Bool(truth) => BTreeSet::from([truth.to_string()]),
        QueryAnswer::Rows { rows, .. } => rows
            .iter()
            .filter_map(|row| row[0].as_ref())
            .map(own)
            .collect(),
    }
}

fn check(cases: &[Case<'_>]) {
    let kg = graph();
    let [sparql, programs] = questions(&kg, cases);
    for ((case, sparql), program) in cases.iter().zip(&sparql).zip(&programs) {
        let name = format!("{:?}", case.program);
        let published = BTreeSet::from([datagen::kqapro::answer(case.answer)]);
        assert_eq!(
            answer(&kg, sparql),
            published,
            "SPARQL of {name}: {}",
            sparql.query.text()
        );
        assert_eq!(
            answer(&kg, program),
            published,
            "program of {name}: {}",
            program.query.text()
        );
        for question in [sparql, program] {
            let verified = verify(&kg, question, &VerifyOptions::default());
            assert_eq!(
                verified.is_ok(),
                case.tools,
                "{name}: {:?}\n{}",
                verified.err(),
                question.query.text()
            );
        }
    }
}

#[test]
fn sets_are_found_and_filtered() {
    let by_register = format!(
        "SELECT DISTINCT ?e WHERE {{ {TOWERS}?e <register_number> ?pv . ?pv <pred:value> \"T-17\" . }}"
    );
    let by_height = format!(
        "SELECT DISTINCT ?e WHERE {{ {TOWERS}?e <height> ?pv . ?pv <pred:unit> \"metre\" . ?pv <pred:value> ?v . FILTER ( ?v > \"100\"^^xsd:double ) . }}"
    );
    check(&[
        case(
            &[
                ("FindAll", &[], &[]),
                ("FilterStr", &[0], &["register number", "T-17"]),
                ("FilterConcept", &[1], &["tower"]),
                ("What", &[2], &[]),
            ],
            &by_register,
            "Arvel Tower",
        ),
        case(
            &[
                ("FindAll", &[], &[]),
                ("FilterNum", &[0], &["height", "100 metre", ">"]),
                ("FilterConcept", &[1], &["tower"]),
                ("What", &[2], &[]),
            ],
            &by_height,
            "Lomen Tower",
        ),
        // Feet are not metres: without the concept, the bridge of 400 foot is excluded.
        case(
            &[
                ("FindAll", &[], &[]),
                ("FilterNum", &[0], &["height", "100 metre", "<"]),
                ("FilterConcept", &[1], &["structure"]),
                ("What", &[2], &[]),
            ],
            "SELECT DISTINCT ?e WHERE { ?e <pred:instance_of> ?c . ?c <pred:name> \"structure\" . ?e <height> ?pv . ?pv <pred:unit> \"metre\" . ?pv <pred:value> ?v . FILTER ( ?v < \"100\"^^xsd:double ) . }",
            "Arvel Tower",
        ),
        case(
            &[
                ("FindAll", &[], &[]),
                ("FilterNum", &[0], &["height", "90 metre", "="]),
                ("FilterConcept", &[1], &["tower"]),
                ("What", &[2], &[]),
            ],
            "SELECT DISTINCT ?e WHERE { ?e <pred:instance_of> ?c . ?c <pred:name> \"tower\" . ?e <height> ?pv . ?pv <pred:unit> \"metre\" . ?pv <pred:value> \"90\"^^xsd:double . }",
            "Arvel Tower",
        ),
        case(
            &[
                ("FindAll", &[], &[]),
                ("FilterYear", &[0], &["inception", "1890", "!="]),
                ("FilterConcept", &[1], &["structure"]),
                ("What", &[2], &[]),
            ],
            "SELECT DISTINCT ?e WHERE { ?e <pred:instance_of> ?c . ?c <pred:name> \"structure\" . ?e <inception> ?pv . ?pv <pred:year> ?v . FILTER ( ?v != 1890 ) . }",
            "Lomen Tower",
        ),
        case(
            &[
                ("FindAll", &[], &[]),
                ("FilterYear", &[0], &["inception", "1890", "="]),
                ("FilterConcept", &[1], &["structure"]),
                ("Count", &[2], &[]),
            ],
            "SELECT (COUNT(DISTINCT ?e) AS ?count) WHERE { ?e <pred:instance_of> ?c . ?c <pred:name> \"structure\" . ?e <inception> ?pv . ?pv <pred:year> 1890 . }",
            "2",
        ),
    ]);
}

#[test]
fn sets_are_filtered_by_dates_and_related() {
    check(&[
        case(
            &[
                ("FindAll", &[], &[]),
                ("FilterDate", &[0], &["inception", "1890-11-30", "="]),
                ("FilterConcept", &[1], &["structure"]),
                ("What", &[2], &[]),
            ],
            "SELECT DISTINCT ?e WHERE { ?e <pred:instance_of> ?c . ?c <pred:name> \"structure\" . ?e <inception> ?pv . ?pv <pred:date> \"1890-11-30\"^^xsd:date . }",
            "Old Bridge",
        ),
        case(
            &[
                ("FindAll", &[], &[]),
                ("FilterDate", &[0], &["inception", "1890-06-01", "<"]),
                ("FilterConcept", &[1], &["structure"]),
                ("What", &[2], &[]),
            ],
            "SELECT DISTINCT ?e WHERE { ?e <pred:instance_of> ?c . ?c <pred:name> \"structure\" . ?e <inception> ?pv . ?pv <pred:date> ?v . FILTER ( ?v < \"1890-06-01\"^^xsd:date ) . }",
            "Arvel Tower",
        ),
        case(
            &[
                ("Find", &[], &["Lomen Tower"]),
                ("Relate", &[0], &["architect", "forward"]),
                ("FilterConcept", &[1], &["human"]),
                ("What", &[2], &[]),
            ],
            "SELECT DISTINCT ?e WHERE { ?e <pred:instance_of> ?c . ?c <pred:name> \"human\" . ?e_1 <architect> ?e . ?e_1 <pred:name> \"Lomen Tower\" . }",
            "Ivo Sol",
        ),
        case(
            &[
                ("Find", &[], &["Mira Sol"]),
                ("Relate", &[0], &["architect", "backward"]),
                ("FilterConcept", &[1], &["bridge"]),
                ("What", &[2], &[]),
            ],
            "SELECT DISTINCT ?e WHERE { ?e <pred:instance_of> ?c . ?c <pred:name> \"bridge\" . ?e <architect> ?e_1 . ?e_1 <pred:name> \"Mira Sol\" . }",
            "Old Bridge",
        ),
        // A concept can have facts.
        case(
            &[
                ("Find", &[], &["stone"]),
                ("Relate", &[0], &["made from material", "backward"]),
                ("What", &[1], &[]),
            ],
            "SELECT DISTINCT ?e WHERE { ?e <made_from_material> ?e_1 . ?e_1 <pred:name> \"stone\" . }",
            "Arvel Tower",
        ),
        case(
            &[
                ("Find", &[], &["Mira Sol"]),
                ("Relate", &[0], &["architect", "backward"]),
                ("Find", &[], &["Ivo Sol"]),
                ("Relate", &[2], &["architect", "backward"]),
                ("And", &[1, 3], &[]),
                ("What", &[4], &[]),
            ],
            "SELECT DISTINCT ?e WHERE { ?e <architect> ?e_1 . ?e_1 <pred:name> \"Mira Sol\" . ?e <architect> ?e_2 . ?e_2 <pred:name> \"Ivo Sol\" . }",
            "Arvel Tower",
        ),
        case(
            &[
                ("Find", &[], &["Mira Sol"]),
                ("Relate", &[0], &["architect", "backward"]),
                ("Find", &[], &["Ivo Sol"]),
                ("Relate", &[2], &["architect", "backward"]),
                ("Or", &[1, 3], &[]),
                ("Count", &[4], &[]),
            ],
            "SELECT (COUNT(DISTINCT ?e) AS ?count) WHERE { { ?e <architect> ?e_1 . ?e_1 <pred:name> \"Mira Sol\" . } UNION { ?e <architect> ?e_2 . ?e_2 <pred:name> \"Ivo Sol\" . } }",
            "3",
        ),
    ]);
}

/// Rules A.2.5: statements and qualifiers.
#[test]
fn facts_are_filtered_by_their_qualifiers() {
    let architect = "[ <pred:fact_h> ?e_1 ; <pred:fact_r> <architect> ; <pred:fact_t> ?e ]";
    let from_arvel = "?e_1 <architect> ?e . ?e_1 <pred:name> \"Arvel Tower\" . ";
    let sparql = |qualifier: &str| {
        format!("SELECT DISTINCT ?e WHERE {{ {from_arvel}{architect} {qualifier} }}")
    };
    let (text, number) = (
        sparql("<object_has_role> ?qpv . ?qpv <pred:value> \"assistant\" ."),
        sparql(
            "<share> ?qpv . ?qpv <pred:unit> \"percent\" . ?qpv <pred:value> ?qv . FILTER ( ?qv > \"50\"^^xsd:double ) .",
        ),
    );
    let (year, date) = (
        sparql("<start_time> ?qpv . ?qpv <pred:year> 1889 ."),
        sparql("<start_time> ?qpv . ?qpv <pred:date> \"1889-02-01\"^^xsd:date ."),
    );
    let find: Step<'_> = ("Find", &[], &["Arvel Tower"]);
    let relate: Step<'_> = ("Relate", &[0], &["architect", "forward"]);
    let what: Step<'_> = ("What", &[2], &[]);
    check(&[
        case(
            &[
                find,
                relate,
                ("QFilterStr", &[1], &["object has role", "assistant"]),
                what,
            ],
            &text,
            "Ivo Sol",
        ),
        case(
            &[
                find,
                relate,
                ("QFilterNum", &[1], &["share", "50 percent", ">"]),
                what,
            ],
            &number,
            "Mira Sol",
        ),
        case(
            &[
                find,
                relate,
                ("QFilterYear", &[1], &["start time", "1889", "="]),
                what,
            ],
            &year,
            "Ivo Sol",
        ),
        case(
            &[
                find,
                relate,
                ("QFilterDate", &[1], &["start time", "1889-02-01", "="]),
                what,
            ],
            &date,
            "Ivo Sol",
        ),
        case(
            &[
                ("FindAll", &[], &[]),
                ("FilterNum", &[0], &["visitors per year", "10000", ">"]),
                ("QFilterYear", &[1], &["point in time", "2005", "="]),
                ("FilterConcept", &[2], &["tower"]),
                ("What", &[3], &[]),
            ],
            "SELECT DISTINCT ?e WHERE { ?e <pred:instance_of> ?c . ?c <pred:name> \"tower\" . ?e <visitors_per_year> ?pv . ?pv <pred:unit> \"1\" . ?pv <pred:value> ?v . FILTER ( ?v > \"10000\"^^xsd:double ) . [ <pred:fact_h> ?e ; <pred:fact_r> <visitors_per_year> ; <pred:fact_t> ?pv ] <point_in_time> ?qpv . ?qpv <pred:year> 2005 . }",
            "Arvel Tower",
        ),
    ]);
}

#[test]
fn values_are_asked_for() {
    let attribute = |key: &str| format!("SELECT DISTINCT ?pv WHERE {{ {ARVEL}?e <{key}> ?pv . }}");
    let (height, register, born) = (
        attribute("height"),
        attribute("register_number"),
        attribute("inception"),
    );
    let fact = |key: &str, tail: &str| {
        format!("[ <pred:fact_h> ?e ; <pred:fact_r> <{key}> ; <pred:fact_t> {tail} ]")
    };
    let visitors = format!(
        "SELECT DISTINCT ?pv WHERE {{ {ARVEL}?e <visitors_per_year> ?pv . {} <point_in_time> ?qpv . ?qpv <pred:year> 2001 . }}",
        fact("visitors_per_year", "?pv")
    );
    let method = format!(
        "SELECT DISTINCT ?qpv WHERE {{ {ARVEL}?e <height> ?pv . ?pv <pred:unit> \"metre\" . ?pv <pred:value> \"90\"^^xsd:double . {} <determination_method> ?qpv . }}",
        fact("height", "?pv")
    );
    let find: Step<'_> = ("Find", &[], &["Arvel Tower"]);
    check(&[
        case(
            &[find, ("QueryAttr", &[0], &["height"])],
            &height,
            "90 metre",
        ),
        case(
            &[find, ("QueryAttr", &[0], &["register number"])],
            &register,
            "T-17",
        ),
        case(
            &[find, ("QueryAttr", &[0], &["inception"])],
            &born,
            "1890-05-04",
        ),
        case(
            &[
                find,
                (
                    "QueryAttrUnderCondition",
                    &[0],
                    &["visitors per year", "point in time", "2001"],
                ),
            ],
            &visitors,
            "12000.0",
        ),
        case(
            &[
                find,
                (
                    "QueryAttrQualifier",
                    &[0],
                    &["height", "90 metre", "determination method"],
                ),
            ],
            &method,
            "survey",
        ),
        case(
            &[
                find,
                ("Find", &[], &["Mira Sol"]),
                (
                    "QueryRelationQualifier",
                    &[0, 1],
                    &["architect", "start time"],
                ),
            ],
            "SELECT DISTINCT ?qpv WHERE { ?e_1 <pred:name> \"Arvel Tower\" . ?e_2 <pred:name> \"Mira Sol\" . [ <pred:fact_h> ?e_1 ; <pred:fact_r> <architect> ; <pred:fact_t> ?e_2 ] <start_time> ?qpv . }",
            "1888",
        ),
    ]);
}

#[test]
fn values_are_compared_and_verified() {
    let find: Step<'_> = ("Find", &[], &["Arvel Tower"]);
    check(&[
        case(
            &[
                find,
                ("Find", &[], &["Lomen Tower"]),
                ("SelectBetween", &[0, 1], &["height", "greater"]),
            ],
            "SELECT ?e WHERE { { ?e <pred:name> \"Arvel Tower\" . } UNION { ?e <pred:name> \"Lomen Tower\" . } ?e <height> ?pv . ?pv <pred:value> ?v . } ORDER BY DESC(?v) LIMIT 1",
            "Lomen Tower",
        ),
        case(
            &[
                ("FindAll", &[], &[]),
                ("FilterConcept", &[0], &["tower"]),
                ("SelectAmong", &[1], &["height", "smallest"]),
            ],
            "SELECT ?e WHERE { ?e <pred:instance_of> ?c . ?c <pred:name> \"tower\" . ?e <height> ?pv . ?pv <pred:value> ?v . } ORDER BY ?v LIMIT 1",
            "Arvel Tower",
        ),
        case(
            &[
                find,
                ("QueryAttr", &[0], &["register number"]),
                ("VerifyStr", &[1], &["T-18"]),
            ],
            "ASK { ?e <pred:name> \"Arvel Tower\" . ?e <register_number> ?pv . ?pv <pred:value> \"T-18\" . }",
            "no",
        ),
        case(
            &[
                find,
                ("QueryAttr", &[0], &["height"]),
                ("VerifyNum", &[1], &["80 metre", ">"]),
            ],
            "ASK { ?e <pred:name> \"Arvel Tower\" . ?e <height> ?pv . ?pv <pred:unit> \"metre\" . ?pv <pred:value> ?v . FILTER ( ?v > \"80\"^^xsd:double ) . }",
            "yes",
        ),
        case(
            &[
                find,
                ("QueryAttr", &[0], &["inception"]),
                ("VerifyYear", &[1], &["1900", "<"]),
            ],
            "ASK { ?e <pred:name> \"Arvel Tower\" . ?e <inception> ?pv . ?pv <pred:year> ?v . FILTER ( ?v < 1900 ) . }",
            "yes",
        ),
        case(
            &[
                find,
                ("QueryAttr", &[0], &["inception"]),
                ("VerifyDate", &[1], &["1890-05-05", "="]),
            ],
            "ASK { ?e <pred:name> \"Arvel Tower\" . ?e <inception> ?pv . ?pv <pred:date> \"1890-05-05\"^^xsd:date . }",
            "no",
        ),
    ]);
}

/// All 27 functions of the program language occur above.
#[test]
fn every_function_is_covered() {
    // Without white space, so that the formatting does not matter.
    let source: String = include_str!("kqapro.rs").split_whitespace().collect();
    let functions = "FindAll Find FilterConcept FilterStr FilterNum FilterYear FilterDate QFilterStr QFilterNum QFilterYear QFilterDate Relate And \
         Or What Count SelectBetween SelectAmong QueryAttr QueryAttrUnderCondition VerifyStr VerifyNum VerifyYear VerifyDate QueryRelation \
         QueryAttrQualifier QueryRelationQualifier";
    assert_eq!(functions.split_whitespace().count(), 27);
    assert!(
        functions
            .split_whitespace()
            .all(|function| source.contains(&format!("(\"{function}\",")))
    );
}

#[test]
fn invalid_programs_and_queries_are_refused_with_their_position() {
    for (program, why) in [
        (json!([]), "empty"),
        (json!({}), "not a list"),
        (
            json!([{ "function": "What", "dependencies": [0], "inputs": [] }]),
            "a set is needed",
        ),
        (
            json!([{ "function": "Find", "dependencies": [], "inputs": [] }, { "function": "What", "dependencies": [0], "inputs": [] }]),
            "input 1",
        ),
        (
            json!([{ "function": "FindAll" }, { "function": "What", "dependencies": [1] }]),
            "earlier steps",
        ),
        (
            json!([{ "function": "FindAll" }, { "function": "Dance" }]),
            "Dance",
        ),
        (
            json!([{ "function": "FindAll" }, { "function": "FilterNum", "inputs": ["height", "tall", ">"] }]),
            "wrong type",
        ),
        (
            json!([{ "function": "FindAll" }, { "function": "FilterNum", "inputs": ["height", "1 m", "=>"] }]),
            "`=>`",
        ),
        (
            json!([{ "function": "FindAll" }, { "function": "QFilterYear", "inputs": ["start time", "1900", "="] }]),
            "qualifiers",
        ),
        (
            json!([{ "function": "Find", "inputs": ["a"] }, { "function": "Relate", "inputs": ["b", "sideways"] }]),
            "sideways",
        ),
    ] {
        let error = datagen::kqapro::program(&program, None).unwrap_err();
        assert!(error.contains(why), "{program}: {error}");
    }
    for query in [
        "SELECT",
        "DESCRIBE <pred:name>",
        "SELECT ?e { ?e <http://a> ?x }",
        "SELECT ?x { [ <pred:fact_h> ?e ] <share> ?x }",
    ] {
        assert!(datagen::kqapro::sparql(query, None).is_err(), "{query}");
    }
    // A program can be read without a graph and without dependencies.
    let steps = json!([{ "function": "Find", "inputs": ["Mira Sol"] }, { "function": "Find", "inputs": ["Ivo Sol"] }, { "function": "Or" }, { "function": "Count" }]);
    assert!(
        datagen::kqapro::program(&steps, None)
            .unwrap()
            .to_string()
            .contains("Ivo Sol")
    );
}

/// The answer is a relation, which a program of the tools cannot return.
#[test]
fn a_question_for_a_relation_is_read_and_refused() {
    let kg = graph();
    let cases = [case(
        &[
            ("Find", &[], &["Mira Sol"]),
            ("Find", &[], &["Ivo Sol"]),
            ("QueryRelation", &[0, 1], &[]),
        ],
        "SELECT DISTINCT ?p WHERE { ?e_1 <pred:name> \"Mira Sol\" . ?e_2 <pred:name> \"Ivo Sol\" . ?e_1 ?p ?e_2 . }",
        "sibling",
    )];
    for question in questions(&kg, &cases).iter().flatten() {
        assert!(
            answer(&kg, question)
                .iter()
                .all(|answer| answer.contains("sibling")),
            "{question:?}"
        );
        assert!(verify(&kg, question, &VerifyOptions::default()).is_err());
    }
}
