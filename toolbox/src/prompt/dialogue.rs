//! The turns of the dialogue layout.

use std::borrow::Cow;

use crate::call::{HandleKind, print_name};
use crate::exec::{Naming, Session, Shown, Step};
use crate::limits::{NAME_CHARS, fits_prompt};
use crate::observe::{ObserveOptions, shown};
use crate::rank::RankError;
use crate::text::one_line;
use crate::text_values;
use common::transcript::Part;

/// A name for a prompt that also shows a handle, by which a call can refer to it.
fn shortened(name: &str) -> Cow<'_, str> {
    if fits_prompt(name) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(kg::one_line(name, NAME_CHARS))
}

/// The size of a result as a word. Models misread exact counts, so they are not shown.
pub(crate) fn size_word(size: usize) -> &'static str {
    match size {
        0 => "none",
        1 => "one",
        _ => "many",
    }
}

/// The question with handles for its entities and, where the naming uses them, mention handles
/// before words that may name relations. The linked items follow: `e0 = <id> [label]`, `x0 = 2011`,
/// `c0 class`.
pub(crate) fn dialogue_question(session: &Session<'_>, naming: Naming) -> Vec<Part> {
    let (kg, linked) = (session.kg(), session.linked());
    let question = text_values::mask_values(&linked.mask(session.question()), &linked.values);
    let question = one_line(&question).to_lowercase();
    let question = if naming.relations_by_mention() {
        session.mentions().marked(&question)
    } else {
        question
    };
    let line = |kind: HandleKind, i: usize| Part::ours(format!("\n{}{i} = ", kind.letter()));
    let mut parts = vec![Part::user(question)];
    for (i, &node) in linked.entities.iter().enumerate() {
        let name = kg.name(node);
        parts.push(line(HandleKind::Entity, i));
        parts.push(Part::kg(print_name(&shortened(&name))));
        if let Some(label) = kg.label(node).filter(|label| *label != name) {
            parts.push(Part::kg(format!(" [{label}]")));
        }
    }
    for (i, value) in linked.values.iter().enumerate() {
        parts.push(line(HandleKind::Value, i));
        parts.push(Part::user(one_line(&value.lexical)));
        let attributes = text_values::attributes_of(kg, value);
        if !attributes.is_empty() {
            let names: Vec<String> = attributes.iter().map(|name| print_name(name)).collect();
            parts.push(Part::kg(format!(" [{}]", names.join(" "))));
        }
    }
    if !session.classes().is_empty() {
        parts.push(Part::ours("\n"));
    }
    for (i, &class) in session.classes().iter().enumerate() {
        let separator = if i == 0 { "" } else { " " };
        parts.push(Part::ours(format!(
            "{separator}{}{i} ",
            HandleKind::Class.letter()
        )));
        parts.push(Part::kg(print_name(&shortened(&kg.name(class)))));
    }
    parts
}

/// The observation around the set whose relations a step listed; empty for relations between two
/// sets.
pub(super) fn observed(session: &Session<'_>, step: &Step) -> Result<Vec<Part>, RankError> {
    let [set] = step.call.args.as_slice() else {
        return Ok(Vec::new());
    };
    let Ok(nodes) = session.set(set) else {
        return Ok(Vec::new());
    };
    let handle = session
        .with_handles(&step.call, Naming::Mixed)
        .args
        .first()
        .map(ToString::to_string)
        .unwrap_or_default();
    let options = ObserveOptions {
        without: session.without().to_vec(),
        ..ObserveOptions::default()
    };
    shown::lines(
        session,
        &[(handle, nodes.to_vec())],
        &options,
        shown::TOKENS,
    )
}

/// `out r0 film.directed_by r1 …`, then `in r2 …`: full names, each preceded by its handle where
/// calls use handles.
pub(crate) fn dialogue_relations(
    session: &Session<'_>,
    shown: &Shown,
    naming: Naming,
) -> Vec<Part> {
    if shown.is_empty() {
        return vec![Part::ours("none")];
    }
    let mut parts = Vec::new();
    for (word, relations, first) in [
        ("out", &shown.out, 0),
        ("in", &shown.incoming, shown.out.len()),
    ] {
        if relations.is_empty() {
            continue;
        }
        let line = if parts.is_empty() { "" } else { "\n" };
        for (i, (&relation, mention)) in relations
            .iter()
            .zip(session.mentioned(relations, naming))
            .enumerate()
        {
            let mut before = if i == 0 {
                format!("{line}{word} ")
            } else {
                " ".to_owned()
            };
            match mention {
                Some(mention) => {
                    before.push_str(&format!("{}{mention} ", HandleKind::Mention.letter()));
                }
                None if naming.relations_by_handle() => {
                    before.push_str(&format!("{}{} ", HandleKind::Relation.letter(), first + i));
                }
                None => {}
            }
            parts.push(Part::ours(before));
            parts.push(Part::kg(print_name(&session.relation_name(relation))));
        }
    }
    parts
}
