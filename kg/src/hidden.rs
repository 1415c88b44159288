//! Relations that describe the graph rather than the world (rule R4): record keys, links to pages,
//! flags that every entity carries. They are learned from how the graph uses them.
//!
//! The rule is conservative, because a relation hidden by mistake can no longer be asked about.
//! Nearly every entity of nearly every class must have the relation, and its values must be keys,
//! links without further facts, or a single value. Names, counts, places and times never qualify.

use rustc_hash::FxHashSet;

use crate::graph::Kg;
use crate::label::{language_rank, words};
use crate::names::{local_name, split};
use crate::schema::{LanguageVariant, Schema, is_meta_relation};
use crate::term::{Literal, NodeId, RelId, Term};
use crate::value::Kind;

/// Minimum number of entities: a small graph about one kind of thing looks uniform anyway.
const ENTITIES: usize = 200;
/// Minimum number of classes that have the relation, and of members for a class to count.
const CLASSES: usize = 3;
const MEMBERS: usize = 10;
/// Percentage of all entities, and of the entities of each class, that must have the relation.
const SHARE: usize = 95;
/// Number of values that are examined.
const SAMPLED: usize = 1000;

/// Words in the name of a relation that mark its values as keys.
const KEY_WORDS: &[&str] = &[
    "id",
    "ids",
    "guid",
    "uuid",
    "identifier",
    "key",
    "hash",
    "checksum",
    "revision",
    "version",
    "etag",
];

/// The relations that the rule hides, in addition to the schema's hidden ones; sorted. Reads every
/// triple of the candidates.
#[must_use]
pub fn learned(kg: &dyn Kg) -> Vec<RelId> {
    let mut found = in_other_languages(kg.schema());
    found.extend(uninformative(kg));
    found.sort_unstable();
    found.dedup();
    found
}

/// The relations that say in another language what a sibling says in a language that the owner wants more.
fn in_other_languages(schema: &Schema) -> Vec<RelId> {
    let rank = |one: &LanguageVariant| {
        let (rank, language) = language_rank(&one.language, &schema.settings.languages);
        (rank, language.to_owned())
    };
    let best = |stem: &str| {
        let siblings = schema.variants.iter().filter(|one| one.stem == stem);
        siblings.map(rank).min()
    };
    let other = schema
        .variants
        .iter()
        .filter(|one| best(&one.stem).is_some_and(|best| best < rank(one)));
    other.map(|one| one.relation).collect()
}

fn uninformative(kg: &dyn Kg) -> Vec<RelId> {
    let schema = kg.schema();
    let relations = kg.relations();
    let is_thing = |id: u32| {
        let node = NodeId(id);
        kg.classes().binary_search(&node).is_err()
            && relations.binary_search(&node.relation()).is_err()
            && !kg.out_relations(node).is_empty()
    };
    // A cheap test first: a candidate has at least this many triples.
    let floor = ENTITIES * SHARE / 100;
    let named = schema
        .alias_relations
        .iter()
        .chain(&schema.hidden)
        .chain(&schema.superclass_relations);
    let known: FxHashSet<RelId> = named.copied().collect();
    let candidates: Vec<RelId> = relations
        .iter()
        .copied()
        .filter(|r| !known.contains(r) && kg.uses(*r) >= floor)
        .collect();
    if candidates.is_empty() || kg.classes().len() < CLASSES {
        return Vec::new();
    }
    let candidates: Vec<RelId> = candidates
        .into_iter()
        .filter(|&r| is_uninformative(kg, r))
        .collect();
    if candidates.is_empty() {
        return Vec::new();
    }
    let entities: Vec<u32> = kg.resources().filter(|&id| is_thing(id)).collect();
    if entities.len() < ENTITIES {
        return Vec::new();
    }
    candidates
        .into_iter()
        .filter(|&relation| nearly_all(kg, relation, &entities))
        .collect()
}

/// Why a relation is hidden from planners, in a few words; `None` if it is visible.
#[must_use]
pub fn why_hidden(kg: &dyn Kg, relation: RelId) -> Option<&'static str> {
    let schema = kg.schema();
    if !schema.hidden.contains(&relation) {
        return None;
    }
    let listed = matches!(kg.term(relation.node()), Term::Iri(iri) if is_meta_relation(&iri));
    Some(match () {
        () if schema.type_relations.contains(&relation) => "class",
        () if schema.label_relations.contains(&relation) => "label",
        () if listed => "about the graph",
        () if in_other_languages(schema).contains(&relation) => "another language",
        () => "learned, or added by hand",
    })
}

/// Whether the values of a relation are keys, links without further facts, or a single value.
fn is_uninformative(kg: &dyn Kg, relation: RelId) -> bool {
    let mut values = Vec::new();
    kg.each_pair(relation, &mut |_, tail| {
        values.push(tail);
        values.len() < SAMPLED
    });
    let all = |fits: &dyn Fn(&Term) -> bool| values.iter().all(|&value| fits(&kg.term(value)));
    let unknown = |value: NodeId| {
        kg.label(value).is_none() && kg.degree(value) == kg.heads(relation, value).len()
    };
    let mut distinct = values.clone();
    distinct.dedup();
    let keyed = distinct.len() * 100 >= values.len() * 99;
    let key_name = match kg.term(relation.node()) {
        Term::Iri(iri) => words(&local_name(&iri))
            .iter()
            .any(|word| KEY_WORDS.contains(&word.as_str())),
        Term::Blank(_) | Term::Literal(_) => false,
    };
    let key = |term: &Term| matches!(term, Term::Literal(literal) if is_key(literal, key_name));
    let page = |term: &Term| matches!(term, Term::Iri(iri) if iri.starts_with("http") && !split(iri).1.is_empty());
    if keyed && (all(&key) || all(&page) && values.iter().all(|&value| unknown(value))) {
        return true;
    }
    // A single value that is not an entity of the graph.
    distinct.len() == 1 && {
        let mut first = None;
        let mut same = true;
        kg.each_pair(relation, &mut |_, tail| {
            same = *first.get_or_insert(tail) == tail;
            same
        });
        same && match kg.term(values[0]) {
            Term::Literal(literal) => {
                Kind::of(&literal) == Kind::Text && !literal.lexical.contains(' ')
                    || is_flag(&literal)
            }
            Term::Iri(_) | Term::Blank(_) => unknown(values[0]),
        }
    }
}

fn is_flag(literal: &Literal) -> bool {
    literal
        .datatype
        .as_deref()
        .is_some_and(|datatype| datatype.ends_with("#boolean"))
}

/// Whether a literal is a key: a long hexadecimal number, a link, or, if the name of the relation
/// is that of a key, a word with digits.
fn is_key(literal: &Literal, key_name: bool) -> bool {
    let text = literal.lexical.as_str();
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let hex = text
        .bytes()
        .filter(|b| *b != b'-')
        .all(|b| b.is_ascii_hexdigit())
        && text.len() >= 16
        && digits > 0;
    let link =
        text.starts_with("http://") || text.starts_with("https://") || text.starts_with("urn:");
    !text.contains(char::is_whitespace)
        && (hex || link || key_name && digits > 0 && !text.contains('.'))
}

/// Whether nearly all entities, and nearly all members of each of several classes, have the
/// relation.
fn nearly_all(kg: &dyn Kg, relation: RelId, entities: &[u32]) -> bool {
    let mut heads = vec![false; kg.resources().end as usize];
    kg.each_pair(relation, &mut |head, _| {
        if let Some(is_head) = heads.get_mut(head.0 as usize) {
            *is_head = true;
        }
        true
    });
    let has = |id: u32| heads.get(id as usize) == Some(&true);
    let enough = |having: usize, all: usize| having * 100 >= all * SHARE;
    let having = entities.iter().filter(|&&id| has(id)).count();
    if !enough(having, entities.len()) {
        return false;
    }
    let mut classes = 0;
    for &class in kg.classes() {
        let members = kg.instances(class);
        if members.len() >= MEMBERS {
            let having = members.iter().filter(|node| has(node.0));
            if !enough(having.count(), members.len()) {
                return false;
            }
            classes += 1;
        }
    }
    classes >= CLASSES
}
