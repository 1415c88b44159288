//! The knowledge memory as the paper layout writes it, and its size.

use super::session::Session;
use super::types::Shown;
use crate::agent::Agent;
use crate::call::{Call, print_name, tool_list};
use crate::text::one_line;
use crate::tokens;
use common::transcript::Part;

/// The instruction that closes a paper-layout prompt.
pub(crate) const INSTRUCTION: &str = "Write the next call only.";

/// The memory's fields except the toolbox, in the order of rules A.3.
pub(crate) fn paper_question(session: &Session<'_>, current: Option<&Shown>) -> Vec<Part> {
    let (kg, linked) = (session.kg(), session.linked());
    let mut parts = vec![
        Part::ours("Question: "),
        Part::user(one_line(session.question()).to_lowercase()),
    ];
    parts.push(Part::ours("\nCurrent KG information: "));
    match current {
        None => parts.push(Part::ours("none")),
        Some(shown) => {
            for (word, relations) in [("out", &shown.out), ("in", &shown.incoming)] {
                parts.push(Part::ours(format!("\n{word}: ")));
                let names = relations.iter().map(|&r| session.relation_name(r));
                parts.push(joined(names));
            }
        }
    }
    if !session.classes().is_empty() {
        parts.push(Part::ours("\nClasses: "));
        parts.push(joined(
            session.classes().iter().map(|&class| kg.name(class)),
        ));
    }
    parts.push(Part::ours("\nHistory:"));
    if linked.entities.is_empty() {
        parts.push(Part::ours("\nlinked_entity = none"));
    }
    for (i, &node) in linked.entities.iter().enumerate() {
        parts.push(Part::ours(format!("\nlinked_entity_{i} = ")));
        parts.push(Part::kg(print_name(&kg.name(node))));
        if let Some(label) = kg.label(node) {
            parts.push(Part::kg(format!("[{label}]")));
        }
    }
    for step in session.steps() {
        parts.push(Part::ours(format!("\n{}", step.call)));
    }
    parts.push(Part::ours(format!("\n{INSTRUCTION}")));
    parts
}

fn joined(names: impl Iterator<Item = String>) -> Part {
    let names: Vec<String> = names.map(|name| print_name(&name)).collect();
    Part::kg(names.join(" | "))
}

/// Estimated tokens of a paper-layout prompt that ends with this call and an empty relation list.
pub(super) fn paper_tokens(session: &Session<'_>, call: &Call) -> usize {
    let question = paper_question(session, Some(&Shown::default()));
    let toolbox = tokens::estimate(&tool_list(session.options().tools))
        + tokens::estimate(Agent::KgAgent.name());
    toolbox
        + question
            .iter()
            .map(|part| tokens::estimate(&part.text))
            .sum::<usize>()
        + tokens::estimate(&format!("\n{call}"))
}

/// Estimated tokens that one relation adds to a list in the paper layout.
pub(super) fn listed_tokens(name: &str) -> usize {
    tokens::estimate(&print_name(name)) + tokens::estimate(" | ")
}
