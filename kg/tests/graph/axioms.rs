//! What axioms of an ontology state becomes triples, and nothing else does.

use kg::term::Term;
use kg::{FrozenKg, GraphFolder, Kg, LoadOptions, Settings};

use crate::support::load;

const HEAD: &str = "@prefix : <http://z.test/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n";

/// The triples that axioms add, in short.
fn added(kg: &FrozenKg) -> Vec<String> {
    let short = |node| match kg.term(node) {
        Term::Iri(iri) => iri.rsplit(['/', '#']).next().unwrap_or("").to_owned(),
        Term::Literal(literal) => format!("\"{}\"", literal.lexical),
        Term::Blank(_) => "_".to_owned(),
    };
    let axioms = kg.triples().filter(|&(s, p, o)| kg.is_axiom(s, p, o));
    let mut lines: Vec<String> = axioms
        .map(|(s, p, o)| format!("{} {} {}", short(s), short(p.node()), short(o)))
        .collect();
    lines.sort();
    assert_eq!(lines.len(), kg.axiom_count());
    lines
}

#[test]
fn restrictions_and_intersections_are_read() {
    for (what, text, expected) in [
        (
            "some",
            ":crop rdfs:subClassOf [a owl:Restriction; owl:onProperty :partOf; owl:someValuesFrom :gut] .",
            vec!["crop partOf gut"],
        ),
        (
            "a value, of a class and of a thing",
            ":red owl:equivalentClass [owl:onProperty :color; owl:hasValue \"red\"] . :blue rdfs:subClassOf :color .
             :rose a [owl:onProperty :in; owl:hasValue :park] .",
            vec!["red color \"red\"", "rose in park"],
        ),
        (
            "only: a class, but no datatype",
            ":cat rdfs:subClassOf [owl:onProperty :eats; owl:allValuesFrom :fish], [owl:onProperty :age; owl:allValuesFrom xsd:integer] .
             :fish rdfs:subClassOf :animal . xsd:integer a rdfs:Datatype .",
            vec!["cat eats fish"],
        ),
        (
            "intersections, one inside the other",
            ":food rdfs:subClassOf :stuff . :pie owl:equivalentClass [owl:intersectionOf (:food [owl:onProperty :has; owl:someValuesFrom :crust] [owl:intersectionOf (:warm)])] .",
            vec!["pie has crust", "pie subClassOf food", "pie subClassOf warm"],
        ),
        (
            "an intersection without a node between, and of a thing",
            ":drink rdfs:subClassOf :stuff . :beer rdfs:subClassOf :stuff . :wine owl:intersectionOf (:drink [owl:onProperty :from; owl:hasValue :grape]) . :port a [owl:intersectionOf (:drink)] .",
            vec!["port type drink", "wine from grape", "wine subClassOf drink"],
        ),
        (
            "a class's value is its instances' where there are more things than classes, and nothing else is",
            ":red rdfs:subClassOf :wine, [owl:onProperty :color; owl:hasValue :dark], [owl:onProperty :from; owl:someValuesFrom :grape] .
             :port owl:equivalentClass [owl:intersectionOf (:red [owl:onProperty :taste; owl:hasValue :sweet])] .
             :a a :red . :b a :port . :c a :wine . :d a [owl:onProperty :in; owl:hasValue :box] . :b :taste :sweet .",
            vec!["a color dark", "b color dark", "d in box", "port subClassOf red"],
        ),
        (
            "what is stated anyway is no axiom's",
            ":crop :partOf :gut . :crop rdfs:subClassOf [owl:onProperty :partOf; owl:someValuesFrom :gut] .",
            vec![],
        ),
        (
            "unnamed fillers, inverse properties, cardinalities, unions and lists without an end say nothing",
            ":a rdfs:subClassOf [owl:onProperty :p; owl:someValuesFrom [owl:unionOf (:b :c)]],
                [owl:onProperty [owl:inverseOf :p]; owl:someValuesFrom :b], [owl:onProperty :p; owl:maxCardinality 1],
                [owl:unionOf (:b :c)], [owl:intersectionOf _:l] . _:l <http://www.w3.org/1999/02/22-rdf-syntax-ns#rest> _:l .
             :a rdfs:subClassOf [owl:onProperty :p; owl:someValuesFrom :a] .",
            vec![],
        ),
    ] {
        let kg = load("o.ttl", &format!("{HEAD}{text}"));
        assert_eq!(added(&kg), expected, "{what}");
    }
}

#[test]
fn an_axiom_belongs_to_the_graph_that_states_it() {
    let text = format!(
        "{HEAD} :g {{ :crop rdfs:subClassOf [owl:onProperty :partOf; owl:someValuesFrom :gut] }} :h {{ :a :b :c }}"
    );
    let kg = load("o.trig", &text);
    assert_eq!(added(&kg), ["crop partOf gut"]);
    for (graph, expected) in [("g", 1), ("h", 0)] {
        let part = kg.restricted(&[format!("http://z.test/{graph}")]).unwrap();
        assert_eq!(part.axiom_count(), expected, "{graph}");
    }
}

#[test]
fn axioms_are_left_out_on_request_and_counted_in_the_manifest() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("o.ttl");
    let text = ":crop rdfs:subClassOf [owl:onProperty :partOf; owl:someValuesFrom :gut] .";
    std::fs::write(&file, format!("{HEAD}{text}")).unwrap();
    let mut sizes = Vec::new();
    for reasoning in [true, false] {
        let options = LoadOptions {
            reasoning,
            ..LoadOptions::default()
        };
        let out = dir.path().join(reasoning.to_string());
        let stop = std::sync::atomic::AtomicBool::new(false);
        let (kg, manifest) = GraphFolder::load_with(
            &out,
            std::slice::from_ref(&file),
            &options,
            &Settings::default(),
            &|_| {},
            &stop,
        )
        .unwrap();
        assert_eq!(manifest.axioms, usize::from(reasoning));
        assert_eq!(added(&kg).len(), manifest.axioms);
        assert!(GraphFolder::verify(&out).is_ok());
        sizes.push(kg.len());
    }
    assert_eq!(sizes, [4, 3]);
}

#[test]
fn axioms_stay_within_the_memory_of_the_load() {
    let dir = tempfile::tempdir().unwrap();
    let classes: String = (0..500)
        .map(|i| format!(":c{} rdfs:subClassOf :c{i} .\n", i + 1))
        .collect();
    let restriction =
        ":c0 rdfs:subClassOf [owl:onProperty :partOf; owl:hasValue :gut] . :thing a :c0 .";
    let lists: String = (0..500)
        .map(|i| format!(":l{i} :has (:c{i}) .\n"))
        .collect();
    for (what, text) in [("classes", classes), ("lists", lists)] {
        let file = dir.path().join("o.ttl");
        std::fs::write(&file, format!("{HEAD}{restriction}{text}")).unwrap();
        let try_with = |memory, reasoning| {
            let options = LoadOptions {
                memory,
                reasoning,
                ..LoadOptions::default()
            };
            FrozenKg::load(std::slice::from_ref(&file), &options, &|_| {})
        };
        let error = try_with(50_000, true).unwrap_err().to_string();
        assert!(
            error.contains("25000 bytes") && error.contains("--no-reasoning"),
            "{what}: {error}"
        );
        assert_eq!(try_with(50_000, false).unwrap().axiom_count(), 0, "{what}");
        let all = try_with(1 << 20, true).unwrap();
        assert_eq!(all.axiom_count(), 1, "{what}");
    }
}

#[test]
fn classes_are_things_where_hardly_anything_else_is() {
    let visible = |text: &str| {
        let kg = load("o.ttl", &format!("{HEAD}{text}"));
        let squid = kg.by_name("http://z.test/squid").unwrap();
        !kg.out_relations(squid).is_empty()
    };
    let classes = ":squid rdfs:subClassOf :mollusc . :snail rdfs:subClassOf :mollusc . ";
    assert!(visible(classes));
    let things = ":a a :squid . :b a :snail . :c a :snail .";
    assert!(!visible(&format!("{classes}{things}")));
}
