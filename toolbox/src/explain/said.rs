//! Candidate programs in plain words, as the scorer of a decision reads them.
//!
//! ```text
//! how many films did Ridley Scott direct
//! number of those with film directed by Ridley Scott (film director) = number 9
//! ```
//!
//! A linked entity is called as the question calls it. What leads to the answer is said from the
//! inside out, and the answer by its size and kind.

use std::collections::BTreeMap;

use kg::term::{NodeId, Term};
use kg::value::Kind;
use kg::{Kg, words};

use super::Candidate;
use super::speaker::{Speaker, mention, name_of, relation_of};
use crate::call::Call;
use crate::exec::Value;
use crate::link::Linked;

/// Members of an answer whose kind is looked at.
const LOOKED_AT: usize = 5;

/// A question and its candidates in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// The question as it was linked.
    pub question: String,
    /// One text per candidate.
    pub programs: Vec<String>,
}

impl Said {
    /// The texts of a question and its candidates. `question` counts only where nothing was linked.
    #[must_use]
    pub fn of(kg: &dyn Kg, question: &str, linked: &Linked, candidates: &[Candidate]) -> Self {
        Self {
            question: linked.plain().unwrap_or(question).to_owned(),
            programs: (candidates.iter())
                .map(|one| program(kg, linked, &one.calls, one.answer.as_ref()))
                .collect(),
        }
    }
}

/// A program in words, with its answer; `None` is no answer.
fn program(kg: &dyn Kg, linked: &Linked, calls: &[Call], answer: Option<&Value>) -> String {
    let Some(answer) = answer else {
        return "no answer".to_owned();
    };
    let mut said = Speaker::new(kg, linked).program(calls);
    for (at, &node) in linked.entities.iter().enumerate() {
        said = introduced(kg, linked, said, at, node);
    }
    format!("{said} = {}", kind_of(kg, answer))
}

/// The text with the kind of an entity behind the first place where it is called, and its name if
/// the question calls it otherwise.
fn introduced(kg: &dyn Kg, linked: &Linked, said: String, at: usize, node: NodeId) -> String {
    let Some(mention) = mention(linked, at) else {
        return said;
    };
    let end = |c: char| !c.is_alphanumeric();
    let place = said.match_indices(mention).find(|(start, _)| {
        let after = &said[start + mention.len()..];
        said[..*start].chars().next_back().is_none_or(end) && after.chars().next().is_none_or(end)
    });
    let Some((start, _)) = place else {
        return said;
    };
    let mut about = Vec::new();
    let name = name_of(kg, node);
    if words(mention) != words(&name) {
        about.push(name);
    }
    about.extend(class_of(kg, &[node]));
    if about.is_empty() {
        return said;
    }
    let split = start + mention.len();
    format!(
        "{} ({}){}",
        &said[..split],
        about.join(", "),
        &said[split..]
    )
}

/// The class that most of the first members of a set have: of several the one with the shortest name
/// without numbers, then the narrowest. Graphs have classes like `Wikicat Capitals In Asia`.
fn class_of(kg: &dyn Kg, members: &[NodeId]) -> Option<String> {
    let mut counts: BTreeMap<NodeId, usize> = BTreeMap::new();
    for &member in members.iter().take(LOOKED_AT) {
        for class in kg.types(member) {
            *counts.entry(class).or_default() += 1;
        }
    }
    let most = counts.values().copied().max()?;
    let best = counts.into_iter().filter(|(_, count)| *count == most);
    let named = best.map(|(class, _)| (words(&name_of(kg, class)), class));
    let (name, _) = named.min_by_key(|(name, class)| {
        let numbered = name
            .iter()
            .any(|word| word.contains(|c: char| c.is_ascii_digit()));
        (numbered, name.len(), kg.instances(*class).len())
    })?;
    Some(name.join(" "))
}

/// The size and kind of an answer.
fn kind_of(kg: &dyn Kg, answer: &Value) -> String {
    match answer {
        Value::Int(number) => format!("number {number}"),
        Value::Bool(truth) => if *truth { "yes" } else { "no" }.to_owned(),
        Value::Table(table) => {
            let columns: Vec<String> = (table.columns().iter())
                .map(|column| relation_of(kg, &column.heading))
                .collect();
            format!("{} rows of {}", table.len(), columns.join(", "))
        }
        Value::Set(set) => {
            let kind = class_of(kg, set).unwrap_or_else(|| kind_of_values(kg, set));
            format!("{} {kind}", set.len())
        }
    }
}

/// The kind of a set without classes.
fn kind_of_values(kg: &dyn Kg, set: &[NodeId]) -> String {
    let literals: Vec<_> = (set.iter().take(LOOKED_AT))
        .filter_map(|&node| match kg.term(node) {
            Term::Literal(literal) => Some(literal),
            _ => None,
        })
        .collect();
    if literals.is_empty() {
        return "things".to_owned();
    }
    match Kind::majority(literals.iter()) {
        Kind::Time => "times",
        Kind::Text => "texts",
        _ => "numbers",
    }
    .to_owned()
}
