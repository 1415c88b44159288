//! Whether the nodes of a graph are named by their IRIs, and the marks that such names have for a
//! class: `CommonL` is a language, `alice_person` a person.

use std::collections::BTreeMap;

use super::rows::row_key;
use super::source::{NamedRelation, SchemaSource};
use super::types::Schema;
use super::vocabulary::is_meta_class;
use crate::label::words;
use crate::readable::{KindMark, is_title, readable_name, relation_name};
use crate::term::{NodeId, RelId, Term};

/// Instances that are looked at, over the whole graph and of each class.
const SAMPLE: usize = 5_000;
const MEMBERS: usize = 1_000;
/// Fewer instances with a name in their IRI say nothing about a graph.
const ENOUGH: usize = 20;
/// Of so many instances at most one has a label where labels are rare.
const RARE: usize = 10;
/// Minimum number of instances with a mark.
const EXAMPLES: usize = 2;
/// Superclasses that are looked at, one above the other.
const HEIGHT: usize = 8;

/// Whether hardly any instance of a class has a label. Keys need none and count for nothing.
pub(super) fn is_hardly_labelled(graph: &dyn SchemaSource, schema: &Schema) -> bool {
    let (mut named, mut labelled) = (0_usize, 0_usize);
    for &relation in &schema.type_relations {
        // Rows come in the order of their classes.
        for (node, class) in graph.sample(relation, SAMPLE) {
            if !is_class(graph, class) || name_of(graph, node).is_none() {
                continue;
            }
            named += 1;
            let mut labels = schema.label_relations.iter();
            labelled += usize::from(labels.any(|&label| graph.tail(node, label).is_some()));
        }
    }
    named >= ENOUGH && labelled * RARE < named
}

/// The relations with names of nearly all instances of classes, the shortest names first: texts that hardly two of them
/// share, under a name such as `nameShortEN`. A language at its end is English.
pub(super) fn naming_relations(
    graph: &dyn SchemaSource,
    schema: &Schema,
    relations: &[NamedRelation],
) -> Vec<RelId> {
    /// Of so many instances one may have no name, and of so many names one may be another's.
    const MOST: usize = 10;
    /// Longer texts describe.
    const LETTERS: usize = 60;
    let mut things: Vec<NodeId> = (schema.type_relations.iter())
        .flat_map(|&relation| graph.sample(relation, SAMPLE))
        .filter(|&(node, class)| is_class(graph, class) && name_of(graph, node).is_some())
        .map(|(node, _)| node)
        .collect();
    things.sort_unstable();
    things.dedup();
    if things.len() < ENOUGH {
        return Vec::new();
    }
    let letters = |relation: RelId| -> Option<usize> {
        let mut names: Vec<NodeId> = Vec::new();
        let mut letters = 0;
        for &thing in &things {
            if let Some(tail) = graph.tail(thing, relation) {
                letters += graph.term(tail).as_literal()?.lexical.chars().count();
                names.push(tail);
            }
        }
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        let enough = |part: usize, all: usize| part * MOST >= all * (MOST - 1);
        (enough(all, things.len()) && enough(names.len(), all) && letters <= all * LETTERS)
            .then_some(letters)
    };
    let is_name = |relation: &&NamedRelation| {
        let named = words(&relation_name(&relation.iri))
            .iter()
            .any(|word| ["name", "label", "title"].contains(&word.as_str()));
        named
            && schema
                .language_of(relation.id)
                .is_none_or(|language| language == "en")
    };
    let mut found: Vec<(usize, RelId)> = (relations.iter().filter(is_name))
        .filter_map(|relation| Some((letters(relation.id)?, relation.id)))
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, relation)| relation).collect()
}

/// The marks of the classes of a graph whose nodes are named by their IRIs; sorted.
pub(super) fn kind_marks(graph: &dyn SchemaSource, schema: &Schema) -> Vec<KindMark> {
    let mut members: BTreeMap<NodeId, Vec<Vec<String>>> = BTreeMap::new();
    for &relation in &schema.type_relations {
        for (node, class) in graph.pairs(relation, usize::MAX) {
            let known = members.entry(class).or_default();
            if known.len() < MEMBERS
                && let Some(name) = name_of(graph, node)
            {
                known.push(name.split(' ').map(str::to_owned).collect());
            }
        }
    }
    let mut marks = Vec::new();
    for (class, names) in members {
        if !is_class(graph, class) {
            continue;
        }
        let kinds = wider_names(graph, schema, class);
        for before in [true, false] {
            marks.extend(
                common_mark(&names, &kinds, before).map(|(mark, word)| KindMark {
                    class,
                    mark,
                    word,
                    before,
                }),
            );
        }
    }
    marks.sort_unstable();
    marks
}

/// The mark at one end of at least half of the names, with the class that it stands for.
fn common_mark(names: &[Vec<String>], kinds: &[String], before: bool) -> Option<(String, String)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names.iter().filter(|name| name.len() > 1) {
        let end = if before { name.first() } else { name.last() };
        *counts.entry(end?).or_default() += 1;
    }
    let (mark, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    if count < EXAMPLES || 2 * count < names.len() {
        return None;
    }
    let kind = kinds.iter().find(|kind| stands_for(mark, kind))?;
    Some((mark.to_owned(), kind.clone()))
}

/// Whether a mark is the beginning of a class's first or last word, its initials, or its only word.
fn stands_for(mark: &str, kind: &str) -> bool {
    let mark = mark.to_lowercase();
    let kind = kind.to_lowercase();
    let words: Vec<&str> = kind.split(' ').collect();
    let initials: String = words
        .iter()
        .filter_map(|word| word.chars().next())
        .collect();
    let ends = [words.first(), words.last()];
    words.len() > 1 && initials == mark
        || ends
            .into_iter()
            .flatten()
            .any(|word| word.starts_with(&mark))
}

/// The names of a class and of its superclasses, nearest first.
fn wider_names(graph: &dyn SchemaSource, schema: &Schema, class: NodeId) -> Vec<String> {
    let mut names = Vec::new();
    let mut at = Some(class);
    for _ in 0..HEIGHT {
        let Some(class) = at else { break };
        names.extend(name_of(graph, class));
        let mut wider = schema.superclass_relations.iter();
        at = wider.find_map(|&relation| graph.tail(class, relation));
    }
    names
}

fn is_class(graph: &dyn SchemaSource, class: NodeId) -> bool {
    matches!(graph.term(class), Term::Iri(iri) if !is_meta_class(&iri))
}

/// The name of a node that a person can read, unless it is a row of a table or a title.
fn name_of(graph: &dyn SchemaSource, node: NodeId) -> Option<String> {
    match graph.term(node) {
        Term::Iri(iri) if row_key(&iri).is_none() && !is_title(&iri) => readable_name(&iri),
        Term::Iri(_) | Term::Blank(_) | Term::Literal(_) => None,
    }
}
