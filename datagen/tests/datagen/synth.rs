//! Synthesised questions: all verified and distinct, equal for any number of threads, and covering
//! the graph.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use datagen::pipeline::{GenerateOptions, generate};
use datagen::question::GoldQuestion;
use datagen::synth::{SynthOptions, Synthesis, synthesise};
use datagen::verify::VerifyOptions;
use kg::term::{Literal, RDF_TYPE, Term};
use kg::{FrozenKg, Kg, LoadOptions, fold};
use toolbox::call::ToolTable;

fn demo() -> FrozenKg {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../data");
    FrozenKg::load(
        &[data.join("graph.ttl"), data.join("ontology.ttl")],
        &LoadOptions::default(),
        &|_| {},
    )
    .unwrap()
}

/// The shapes of questions that need extended tools.
const TABLE_SHAPES: [&str; 10] = [
    "table",
    "sorted-rows",
    "top-rows",
    "group-count",
    "group-summary",
    "group-most",
    "group-size",
    "summary",
    "beyond-average",
    "lacking",
];

fn make(kg: &dyn Kg, options: &SynthOptions) -> Synthesis {
    synthesise(kg, options, &|_, _| {}, &AtomicBool::new(false)).unwrap()
}

fn iri(name: &str) -> Term {
    Term::Iri(format!("http://shop.example/{name}"))
}

/// Tables of singers and songs as mapped from a relational database: no labels, keys in IRIs.
fn tables() -> FrozenKg {
    let mut triples = Vec::new();
    let text = |text: &str| Term::Literal(Literal::plain(text));
    let number = |number: usize| Term::Literal(Literal::xsd(number.to_string(), "integer"));
    let names = [
        "Ann Arbour",
        "Bob Beck",
        "Cy Coe",
        "Dee Dow",
        "Eve Ely",
        "Flo Fox",
    ];
    for (i, name) in names.iter().enumerate() {
        let singer = iri(&format!("singer/singer_id={i}"));
        triples.push([
            singer.clone(),
            Term::Iri(RDF_TYPE.to_owned()),
            iri("singer"),
        ]);
        triples.push([singer.clone(), iri("singer#name"), text(name)]);
        triples.push([singer.clone(), iri("singer#age"), number(20 + 7 * i)]);
        triples.push([
            singer.clone(),
            iri("singer#country"),
            text(["France", "Spain"][i % 2]),
        ]);
        let song = iri(&format!("song/song_id={i}"));
        triples.push([song.clone(), Term::Iri(RDF_TYPE.to_owned()), iri("song")]);
        triples.push([
            song.clone(),
            iri("song#title"),
            text(&format!("Song of {name}")),
        ]);
        triples.push([song, iri("song#ref-singer_id"), singer]);
    }
    FrozenKg::from_triples(triples)
}

#[test]
fn questions_are_verified_different_and_cover_the_graph() {
    let kg = demo();
    let made = make(
        &kg,
        &SynthOptions {
            count: 1500,
            ..SynthOptions::default()
        },
    );
    assert_eq!(made.questions.len(), 1500);
    let texts: HashSet<String> = made
        .questions
        .iter()
        .map(|question| fold(&question.question))
        .collect();
    assert_eq!(texts.len(), 1500, "a question was asked twice");
    let coverage = &made.coverage;
    assert!(
        coverage.relations_usable > 60 && coverage.classes_usable > 30,
        "{coverage:?}"
    );
    assert!(
        coverage.relation_share() >= 0.8 && coverage.class_share() >= 0.9,
        "{coverage:?}"
    );
    assert!(coverage.by_shape.len() >= 25, "{:?}", coverage.by_shape);
    assert!(
        (1..=3).all(|hops| coverage.by_hops.get(&hops).is_some_and(|&count| count > 20)),
        "{:?}",
        coverage.by_hops
    );
    let options = GenerateOptions {
        abstain: 0.0,
        ..GenerateOptions::default()
    };
    let generated = generate(
        &made.questions,
        &kg,
        &options,
        &|_, _| {},
        &AtomicBool::new(false),
    )
    .unwrap();
    assert_eq!(
        (
            generated.report.total.verified,
            generated.report.total.values_added
        ),
        (1500, 0),
        "{:?}",
        generated.refused.first()
    );
}

#[test]
fn threads_change_nothing_and_seeds_do() {
    let kg = demo();
    let with = |threads: usize, seed: u64| {
        make(
            &kg,
            &SynthOptions {
                count: 200,
                threads,
                seed,
                ..SynthOptions::default()
            },
        )
        .questions
    };
    let one = with(1, 5);
    assert_eq!(one, with(4, 5));
    assert_ne!(one, with(4, 6));
}

#[test]
fn rows_without_labels_are_identified_by_values() {
    let kg = tables();
    let made = make(
        &kg,
        &SynthOptions {
            count: 400,
            ..SynthOptions::default()
        },
    );
    assert_eq!(
        made.coverage.relations_covered, 5,
        "{:?}",
        made.coverage.relations_uncovered
    );
    assert_eq!(
        made.coverage.classes_covered, 2,
        "{:?}",
        made.coverage.classes_uncovered
    );
    assert!(
        made.questions.len() > 300,
        "{} questions",
        made.questions.len()
    );
    for question in &made.questions {
        let text = question.question.to_lowercase();
        assert!(!text.contains("_id") && !text.contains('='), "{text}");
        // The label of a row is made of its key; nobody asks by it.
        let keyed = |table: &str| (0..6).any(|i| text.contains(&format!("{table} {i}")));
        assert!(!keyed("singer") && !keyed("song"), "{text}");
    }
}

#[test]
fn alternatives_and_opposite_bounds_are_asked_for() {
    let made = make(
        &tables(),
        &SynthOptions {
            count: 400,
            ..SynthOptions::default()
        },
    );
    let asked = |fits: &dyn Fn(&str) -> bool| -> Vec<&str> {
        let of = made
            .questions
            .iter()
            .filter(|question| fits(&question.query.text()));
        of.map(|question| question.question.as_str()).collect()
    };
    let either = asked(&|query| query.contains(" || "));
    assert!(
        either.len() >= 3 && either.iter().all(|text| text.contains(" or ")),
        "{either:?}"
    );
    // Below one age and above another: two different singers.
    let sides = asked(&|query| query.contains(" < \"") && query.contains(" > \""));
    assert!(
        !sides.is_empty(),
        "no country with both young and old singers"
    );
}

#[test]
fn keys_of_rows_are_asked_for_and_not_compared() {
    let mut triples = Vec::new();
    let number = |number: usize| Term::Literal(Literal::xsd(number.to_string(), "integer"));
    for i in 0..8 {
        let singer = iri(&format!("singer/singer_id={i}"));
        triples.push([
            singer.clone(),
            Term::Iri(RDF_TYPE.to_owned()),
            iri("singer"),
        ]);
        triples.push([
            singer.clone(),
            iri("singer#name"),
            Term::Literal(Literal::plain(
                ["Ann", "Bob", "Cy", "Dee", "Eve", "Flo", "Gil", "Hal"][i],
            )),
        ]);
        triples.push([singer.clone(), iri("singer#singer_id"), number(i)]);
        triples.push([singer.clone(), iri("singer#height"), number(150 + 7 * i)]);
        let song = iri(&format!("song/song_id={}", 30 + i));
        triples.push([song.clone(), Term::Iri(RDF_TYPE.to_owned()), iri("song")]);
        triples.push([
            song.clone(),
            iri("song#title"),
            Term::Literal(Literal::plain(format!("Song number {i}"))),
        ]);
        // A foreign key, both as a number and as a link.
        triples.push([song.clone(), iri("song#by"), number(i)]);
        triples.push([song, iri("song#ref-by"), singer]);
    }
    let made = make(
        &FrozenKg::from_triples(triples),
        &SynthOptions {
            count: 300,
            ..SynthOptions::default()
        },
    );
    let queries: Vec<String> = made
        .questions
        .iter()
        .map(|question| question.query.text())
        .collect();
    // The number of queries with the attribute, and of those that compare or sort by it.
    let compared = |relation: &str| {
        let attribute = format!("shop.example/{relation}> ?");
        let variable = |query: &str| {
            query
                .split_once(&attribute)?
                .1
                .split([' ', '.', '}'])
                .next()
                .map(|name| format!("?{name}"))
        };
        let with: Vec<(&String, String)> = queries
            .iter()
            .filter_map(|query| Some((query, variable(query)?)))
            .collect();
        let tests = |(query, name): &&(&String, String)| {
            query.contains(&format!("({name} ")) || query.contains(&format!("C({name})"))
        };
        (with.len(), with.iter().filter(tests).count())
    };
    let (all, height) = compared("singer#height");
    assert!(height > 20, "{height} of {all} compare");
    for key in ["singer#singer_id", "song#by"] {
        let (all, few) = compared(key);
        assert!(all > 3, "{key} is asked for");
        assert!(
            few * 10 < height,
            "{key} is compared: {few} of {all}, heights {height}"
        );
    }
}

/// With extended tools, questions for tables, groups and sums are made, each verified; without them,
/// none.
#[test]
fn extended_tools_are_asked_for() {
    let kg = tables();
    let with = |tools: ToolTable| {
        let verify = VerifyOptions {
            tools,
            ..VerifyOptions::default()
        };
        let count = 1200;
        make(
            &kg,
            &SynthOptions {
                count,
                verify,
                ..SynthOptions::default()
            },
        )
    };
    let extended = with(ToolTable::Extended);
    let by_shape = &extended.coverage.by_shape;
    for shape in TABLE_SHAPES {
        let made = by_shape.get(shape).copied().unwrap_or_default();
        assert!(made > 4, "{shape}: {made} questions of {by_shape:?}");
    }
    let asked = |shape: &str| -> Vec<&GoldQuestion> {
        let of = extended.questions.iter();
        of.filter(|question| question.kind.as_deref() == Some(shape))
            .collect()
    };
    // What the words say is what the query asks for.
    for question in asked("lacking") {
        let (text, query) = (&question.question, question.query.text());
        assert!(query.contains("NOT EXISTS"), "{query}");
        assert!(
            [" no ", " not ", "without"]
                .iter()
                .any(|word| text.contains(word)),
            "{text}"
        );
    }
    for question in asked("summary") {
        let (text, query) = (question.question.to_lowercase(), question.query.text());
        assert_eq!(
            query.contains("AVG("),
            text.contains("average") || text.contains("mean"),
            "{text}"
        );
    }
    // A question for a set says no order, because a set has none.
    let ordered = |text: &str| {
        [" sorted ", " ordered ", " order "]
            .iter()
            .any(|word| text.contains(word))
    };
    for question in &extended.questions {
        let kind = question.kind.as_deref().unwrap_or_default();
        let query = question.query.text();
        assert!(
            !ordered(&question.question) || query.contains("ORDER BY"),
            "{kind}: {} {query}",
            question.question
        );
    }
    let paper = with(ToolTable::Paper);
    assert!(
        TABLE_SHAPES
            .iter()
            .all(|shape| !paper.coverage.by_shape.contains_key(*shape))
    );
}

#[test]
fn no_query_is_on_both_sides_of_a_split() {
    let made = make(
        &tables(),
        &SynthOptions {
            count: 300,
            ..SynthOptions::default()
        },
    );
    let all = made.questions.len();
    let (data, extras) = made.split(0.2, 1);
    assert_eq!(data.len() + extras.held_back.len(), all);
    assert!(!extras.held_back.is_empty() && data.len() > extras.held_back.len());
    let queries: HashSet<String> = data.iter().map(|question| question.query.text()).collect();
    assert!(
        extras
            .held_back
            .iter()
            .all(|question| !queries.contains(&question.query.text()))
    );
}

#[test]
fn a_graph_without_possible_questions_is_an_error() {
    let blank = |name: &str| Term::Blank(name.to_owned());
    let kg = FrozenKg::from_triples([[blank("a"), iri("p"), blank("b")]]);
    let error = synthesise(
        &kg,
        &SynthOptions::default(),
        &|_, _| {},
        &AtomicBool::new(false),
    )
    .unwrap_err();
    assert!(
        error.to_string().contains("neither labels nor attributes"),
        "{error}"
    );
}

/// Classes of an ontology, with a numbered relation that has a label, one that has none, a note on
/// every class, and a relation whose name ends in `of`.
fn ontology() -> FrozenKg {
    let rdfs = |name: &str| Term::Iri(format!("http://www.w3.org/2000/01/rdf-schema#{name}"));
    let obo = |number: usize| Term::Iri(format!("http://obo.example/OBO_{number:07}"));
    let text = |text: &str| Term::Literal(Literal::plain(text));
    let animals = [
        "animal", "squid", "octopus", "snail", "arm", "tentacle", "beak", "shell", "eye", "fin",
    ];
    let mut triples = vec![[obo(900), rdfs("label"), text("has part")]];
    for (i, name) in animals.iter().enumerate() {
        triples.push([obo(i), rdfs("label"), text(name)]);
        triples.push([obo(i), iri("editorNote"), text(&format!("note {i}"))]);
        if i > 0 {
            triples.push([obo(i), rdfs("subClassOf"), obo(if i < 4 { 0 } else { 4 })]);
            triples.push([obo(i % 4), obo(900), obo(4 + i % 6)]);
            triples.push([obo(i), obo(901), obo((i + 3) % 10)]);
            triples.push([obo(i), iri("predecessorOf"), obo((i + 1) % 10)]);
        }
    }
    FrozenKg::from_triples(triples)
}

#[test]
fn classes_of_an_ontology_are_asked_about_in_words() {
    let options = SynthOptions {
        count: 150,
        ..SynthOptions::default()
    };
    let made = make(&ontology(), &options);
    let asked: Vec<String> = (made.questions.iter())
        .map(|question| fold(&question.question))
        .collect();
    assert!(asked.len() > 40, "{}", asked.len());
    let says = |words: &str| asked.iter().any(|question| question.contains(words));
    assert!(says("kinds of animal") || says("types of animal"));
    assert!(says("part"));
    for never in ["of of", "900", "901", "editor", "note"] {
        assert!(!says(never), "{never}: {asked:#?}");
    }
}
