//! Entity selection: which of the nodes of the label index a mention of the question means (spec C.3).

use super::render;
use super::task::{Request, SubTask};
use crate::call::print_name;
use crate::grammar::Grammar;
use crate::prompt::one_line;
use common::transcript::{Part, Role, Turn};
use kg::Kg;
use kg::term::NodeId;

/// Meanings of a mention that are shown: the paper's ten.
pub const MEANINGS: usize = 10;
/// Classes of a meaning that are shown.
const CLASSES: usize = 3;

/// What a model is asked about a mention: up to `most` of the nodes by handle, best first. Further nodes than [`MEANINGS`] are left out.
#[must_use]
pub fn entity_request(
    kg: &dyn Kg,
    question: &str,
    mention: &str,
    nodes: &[NodeId],
    most: usize,
) -> Request {
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
    let phrase = if most > 1 {
        Grammar::seq([one, more])
    } else {
        one
    };
    Request {
        task: SubTask::Entity,
        turns: vec![render::system(), user, turn],
        phrase,
    }
}

/// The places that an answer names, at most `most`; `None` where it names none of `count`.
#[must_use]
pub fn selected_entities(text: &str, count: usize, most: usize) -> Option<Vec<usize>> {
    let mut places = Vec::new();
    for word in text.split(',') {
        let place = word
            .trim()
            .strip_prefix('d')
            .and_then(|digits| digits.parse().ok())
            .filter(|place: &usize| *place < count)?;
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places.truncate(most.max(1));
    Some(places)
}
