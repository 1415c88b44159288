//! Entity selection: which node of the label index a mention of the question refers to (rules C.3).

use super::render;
use super::task::{SubTask, TriadRequest};
use crate::call::print_name;
use crate::grammar::Grammar;
use crate::text::{handle_index, one_line};
use common::transcript::{Part, Role, Turn};
use kg::Kg;
use kg::term::NodeId;

/// Number of candidate nodes shown for a mention, as in the paper.
pub const MEANINGS: usize = 10;
/// Number of classes shown per node.
const CLASSES: usize = 3;

/// The request to select up to `most` of the candidate nodes of a mention, shown by handle, best
/// first. Nodes after the first [`MEANINGS`] are omitted.
#[must_use]
pub fn entity_request(
    kg: &dyn Kg,
    question: &str,
    mention: &str,
    nodes: &[NodeId],
    most: usize,
) -> TriadRequest {
    let nodes = &nodes[..nodes.len().min(MEANINGS)];
    let mut turn = render::task(SubTask::Entity);
    if most != 1 {
        turn.parts.push(Part::ours(format!(" top {most}")));
    }
    turn.parts.push(Part::ours(" of "));
    turn.parts
        .push(Part::user(one_line(mention).to_lowercase()));
    for (i, &node) in nodes.iter().enumerate() {
        turn.parts.push(Part::ours(format!("\nd{i} ")));
        turn.parts.push(Part::kg(print_name(&kg.name(node))));
        for class in kg.types(node).into_iter().take(CLASSES) {
            turn.parts
                .push(Part::kg(format!(" {}", print_name(&kg.name(class)))));
        }
    }
    let user = Turn::shown(
        Role::User,
        vec![Part::user(one_line(question).to_lowercase())],
    );
    let handles: Vec<String> = (0..nodes.len()).map(|i| format!("d{i}")).collect();
    let one = Grammar::one_of(handles);
    let more = Grammar::maybe(Grammar::seq([Grammar::text(", "), one.clone()]));
    let grammar = if most > 1 {
        Grammar::seq([one, more])
    } else {
        one
    };
    TriadRequest {
        task: SubTask::Entity,
        turns: vec![render::system(), user, turn],
        grammar,
    }
}

/// The indices of the nodes that a response selects, at most `most`; `None` if one of them is not
/// among the `count` shown.
#[must_use]
pub fn selected_entities(text: &str, count: usize, most: usize) -> Option<Vec<usize>> {
    let mut places = Vec::new();
    for word in text.split(',') {
        let place = handle_index(word.trim(), 'd').filter(|place| *place < count)?;
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places.truncate(most.max(1));
    Some(places)
}
