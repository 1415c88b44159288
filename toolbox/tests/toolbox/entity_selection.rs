//! Triad's entity selection: which candidates of a mention D is shown, and which answers are
//! allowed.

use kg::term::{NodeId, RDF_TYPE, Term};
use kg::{FrozenKg, Kg};
use toolbox::triad::{MEANINGS, entity_request, selected_entities};

/// Twelve films that could be meant by one name, each of one class.
fn films() -> (FrozenKg, Vec<NodeId>) {
    let iri = |name: &str| Term::Iri(format!("http://test.example/{name}"));
    let kg = FrozenKg::from_triples((0..12).map(|i| {
        [
            iri(&format!("casablanca{i:02}")),
            Term::Iri(RDF_TYPE.to_owned()),
            iri("film"),
        ]
    }));
    let nodes = (0..12)
        .map(|i| kg.by_name(&format!("casablanca{i:02}")).unwrap())
        .collect();
    (kg, nodes)
}

/// Rules C.3: ten candidates with their classes, by handle; K of them may be selected.
#[test]
fn ten_candidates_are_shown_and_k_may_be_selected() {
    let (kg, nodes) = films();
    let one = entity_request(&kg, "Who directed Casablanca?", "Casablanca", &nodes, 1);
    let shown = one.turns.last().unwrap().text();
    assert_eq!(shown.lines().count(), 1 + MEANINGS, "{shown}");
    assert!(shown.contains("\nd9 casablanca09 film"), "{shown}");
    assert!(one.grammar.matches("d9") && !one.grammar.matches("d10"));
    assert!(!one.grammar.matches("d0, d1"));
    let two = entity_request(&kg, "Who directed Casablanca?", "Casablanca", &nodes, 2);
    assert!(two.grammar.matches("d0, d1") && two.grammar.matches("d3"));
}

/// Rules C.3: an answer outside the candidates selects nothing.
#[test]
fn answers_are_places_among_the_candidates() {
    assert_eq!(selected_entities("d2", 3, 1), Some(vec![2]));
    assert_eq!(selected_entities("d2, d0, d2", 3, 2), Some(vec![2, 0]));
    assert_eq!(selected_entities("d2, d0", 3, 1), Some(vec![2]));
    assert_eq!(selected_entities("d3", 3, 1), None);
    assert_eq!(selected_entities("none", 3, 1), None);
}
