//! The words by which relations and classes are named, and what some of these words mean. English.

use std::sync::LazyLock;

use kg::term::NodeId;
use kg::{Kg, words};

use super::vocabulary::{split, stems};
use crate::rank::stem;

/// Words of relations whose numbers of four digits are years.
const EVENT_WORDS: &str = "year founded established opened built constructed completed released published \
launched created inaugurated started began inception formed born birth died death introduced invented discovered since \
incorporated renovated joined hired acquired debut premiered first";
/// Words of classes of people, and of relations that only people have.
const PEOPLE_WORDS: &str = "person people human birth born gender sex surname nationality citizenship occupation profession spouse";
/// Relations that say where a thing is. `in` asks for them.
const PLACE_WORDS: &str = "country city located location place contains part state region continent county district province";

/// Whether a stem names an event, so that a number of four digits is its year.
pub(super) fn is_event(name: &str) -> bool {
    static EVENTS: LazyLock<Vec<String>> = LazyLock::new(|| stems_of(EVENT_WORDS));
    EVENTS.iter().any(|event| event == name)
}

/// Whether a stem names people, or what only people have.
pub(super) fn is_of_people(name: &str) -> bool {
    static PEOPLE: LazyLock<Vec<String>> = LazyLock::new(|| stems_of(PEOPLE_WORDS));
    PEOPLE.iter().any(|one| one == name)
}

/// Whether a stem says where a thing is.
pub(super) fn is_place(name: &str) -> bool {
    static PLACES: LazyLock<Vec<String>> = LazyLock::new(|| stems_of(PLACE_WORDS));
    PLACES.iter().any(|place| place == name)
}

fn stems_of(words: &str) -> Vec<String> {
    words.split(' ').map(stem).collect()
}

/// The aliases of a relation or class.
fn alias_texts(kg: &dyn Kg, node: NodeId) -> Vec<String> {
    let relations = kg.schema().alias_relations.iter();
    let names = relations.flat_map(|&relation| kg.tails(node, relation).into_owned());
    names
        .filter_map(|name| Some(kg.term(name).as_literal()?.lexical.clone()))
        .collect()
}

/// The stems of each alias of a relation or class.
pub(super) fn aliases(kg: &dyn Kg, node: NodeId) -> Vec<Vec<String>> {
    let names = alias_texts(kg, node);
    names
        .iter()
        .map(|name| stems(name))
        .filter(|stems| !stems.is_empty())
        .collect()
}

/// The stems of a class's label, aliases and last segment.
pub(super) fn class_words(kg: &dyn Kg, class: NodeId) -> Vec<String> {
    let name = kg.name(class);
    let mut names = stems(split(&name).0);
    if let Some(label) = kg.label(class) {
        names.extend(stems(&label));
    }
    names.extend(aliases(kg, class).into_iter().flatten());
    names.sort_unstable();
    names.dedup();
    names
}

/// The last segment of a class's name, its label and its aliases.
pub(super) fn class_texts(kg: &dyn Kg, class: NodeId) -> Vec<String> {
    let name = kg.name(class);
    let mut texts = vec![split(&name).0.to_owned()];
    texts.extend(kg.label(class));
    texts.extend(alias_texts(kg, class));
    texts
}

/// Whether a word and a word of these texts with the same stem are both names of people who do
/// something (`painter`), or both are not (`painting`).
pub(super) fn same_kind(word: &str, texts: &[String]) -> bool {
    let does = |word: &str| {
        let word = word.strip_suffix('s').unwrap_or(word);
        ["er", "or", "ist", "ian"]
            .iter()
            .any(|ending| word.ends_with(ending))
    };
    let own = stem(word);
    let mut alike = texts.iter().flat_map(|text| words(text));
    alike.any(|other| stem(&other) == own && does(&other) == does(word))
}

/// The stems of the nouns that say what the instances of a class are: the last word of its label, its
/// aliases and its last segment, and of each part before a preposition or around `or`.
pub(super) fn class_nouns(kg: &dyn Kg, class: NodeId) -> Vec<String> {
    const ENDS: [&str; 9] = ["of", "in", "at", "for", "from", "by", "with", "or", "and"];
    let mut nouns = Vec::new();
    for text in class_texts(kg, class) {
        let words = words(&text);
        let mut parts = words.split(|word| ENDS.contains(&word.as_str()));
        let joined = words.iter().any(|word| word == "or" || word == "and");
        let heads = parts.by_ref().take(if joined { usize::MAX } else { 1 });
        nouns.extend(heads.filter_map(|part| Some(stem(part.last()?))));
    }
    nouns
}
