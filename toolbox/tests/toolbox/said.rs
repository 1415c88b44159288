//! Candidates in plain words.

use kg::{FrozenKg, Kg};
use toolbox::call::ToolTable;
use toolbox::call::parse_program;
use toolbox::exec::{ExecOptions, Session, run_program};
use toolbox::explain::{Candidate, Said, TERMS, Terms};
use toolbox::link::Linked;

use crate::support::graph_of;

/// Boats and harbours, one of them with two classes.
const GRAPH: &str = r#"
@prefix : <http://quay.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:boat rdfs:label "boat" . :thing7of9 rdfs:label "thing 7 of 9" . :port rdfs:label "port" .
:tern a :boat, :thing7of9 ; rdfs:label "Grey Tern" ; :home_port :sund ; :yard.boat.built_in 1961 ; :crew 9 .
:gull a :boat, :thing7of9 ; rdfs:label "Gull" ; :home_port :sund ; :yard.boat.built_in 1987 ; :crew 4 .
:skua a :boat ; rdfs:label "Skua" ; :home_port :oyra ; :yard.boat.built_in 2003 ; :crew 12 .
:sund a :port ; rdfs:label "Sund" . :oyra a :port ; rdfs:label "Oyra" .
"#;

/// A program in words, with the answer that it gives.
fn said(kg: &FrozenKg, question: &str, program: &str) -> (String, String) {
    let entities: Vec<_> = ["sund", "tern"]
        .iter()
        .filter_map(|name| kg.by_name(name))
        .collect();
    let linked = Linked::new(kg, question, &entities);
    let calls = parse_program(program).unwrap();
    let options = ExecOptions {
        tools: ToolTable::Extended,
        ..ExecOptions::default()
    };
    let mut session = Session::new(kg, question, linked.clone(), &[], options).unwrap();
    let answer = run_program(&mut session, &calls).unwrap();
    let candidate = Candidate {
        calls,
        answer: (!answer.is_empty()).then_some(answer),
        terms: Terms([0.0; TERMS]),
    };
    let mut said = Said::of(kg, question, &linked, &[candidate]);
    (said.question, said.programs.remove(0))
}

#[test]
fn programs_are_said_from_the_inside_out_with_mentions_kinds_and_sizes() {
    let kg = graph_of(GRAPH);
    let question = "which boats lie in Sund";
    for (program, words) in [
        (
            "v0 = get_head_entity(sund, home_port); ans = end(v0)",
            "those with home port Sund (port) = 2 boat",
        ),
        (
            "v0 = get_head_entity(sund, home_port); v1 = count(v0); ans = end(v1)",
            "number of those with home port Sund (port) = number 2",
        ),
        (
            "v0 = get_head_entity(sund, home_port); v1 = get_entity_by_constraint(v0, crew, argmax); ans = end(v1)",
            "those with home port Sund (port) with largest crew = 1 boat",
        ),
        (
            "v0 = get_entity_by_type(boat); v1 = get_entity_by_constraint(v0, yard.boat.built_in, >, 1980); v2 = get_tail_entity(v1, home_port); ans = end(v2)",
            "home port of all boat with boat built in over 1980 = 2 port",
        ),
        (
            "v0 = get_tail_entity(skua, yard.boat.built_in); ans = end(v0)",
            "boat built in of Skua = 1 numbers",
        ),
        (
            "v0 = judge(tern, home_port, =, sund); ans = end(v0)",
            "is it true that home port of Grey Tern is Sund (port) = yes",
        ),
        (
            "v0 = get_entity_by_type(boat); v1 = extend(v0, home_port); v2 = group(v1, k1, count); ans = end(v2)",
            "home port, number of all boat per home port = 2 rows of home port, count",
        ),
    ] {
        let (asked, program) = said(&kg, question, program);
        assert_eq!(asked, question);
        assert_eq!(program, words);
    }
}

#[test]
fn the_order_of_intersected_sets_is_not_said() {
    let kg = graph_of(GRAPH);
    let one = "v0 = get_entity_by_type(boat); v1 = get_head_entity(sund, home_port); v2 = intersect(v0, v1); ans = end(v2)";
    let other = one.replace("intersect(v0, v1)", "intersect(v1, v0)");
    let question = "boats in Sund";
    assert_eq!(said(&kg, question, one), said(&kg, question, &other));
}

#[test]
fn a_program_without_an_answer_says_only_that() {
    let kg = graph_of(GRAPH);
    let (_, program) = said(&kg, "boats in Sund", "ans = end([])");
    assert_eq!(program, "no answer");
}
