//! The names of a node that are indexed.

use std::collections::{BTreeMap, BTreeSet};

use crate::graph::Kg;
use crate::label::one_line;
use crate::readable::{marked_names, readable_name, written_name};
use crate::schema::is_meta_class;
use crate::search::{NAME_CHARS, NameKind, NodeRole, normalise, undistinguished, variants};
use crate::term::{NodeId, RelId, Term};

/// A node with at least this many triples is more than a link target, even without other facts.
const KNOWN: usize = 3;

/// The names of a node in normal form, with and without an article, and in the singular.
pub fn normal_names(kg: &dyn Kg, node: NodeId) -> BTreeSet<String> {
    let names = names_of(kg, node).into_keys();
    names
        .flat_map(|name| variants(&name).into_iter().chain([name]))
        .collect()
}

/// All names of a node: normal form to the best kind and its text. A page that only redirects has
/// no names: its title is an alias of its target.
pub(super) fn names_of(kg: &dyn Kg, node: NodeId) -> BTreeMap<String, (NameKind, String)> {
    let schema = kg.schema();
    if schema
        .redirect_relations
        .iter()
        .any(|&r| !kg.tails(node, r).is_empty())
    {
        return BTreeMap::new();
    }
    let mut found = BTreeMap::new();
    for &relation in &schema.label_relations {
        add_literals(kg, &mut found, node, relation, NameKind::Label);
    }
    let labelled = !found.is_empty();
    // A label that only people of another language read leaves the words of the IRI as a name.
    let foreign = labelled && kg.is_labelled_in_another_language(node);
    let label = if labelled { None } else { kg.label(node) };
    if let Some(label) = label {
        add(&mut found, &label, NameKind::Label);
    }
    if let Some(iri) = known_iri(kg, node) {
        add_words(kg, &mut found, node, &iri, labelled && !foreign);
    }
    if schema.is_ontology {
        add_without_kind(kg, &mut found, node);
    }
    for &relation in &schema.alias_relations {
        add_literals(kg, &mut found, node, relation, NameKind::Alias);
    }
    for &relation in &schema.redirect_relations {
        for &page in kg.heads(relation, node).iter() {
            if let Some(title) = kg.label(page) {
                add(&mut found, &title, NameKind::Alias);
            }
        }
    }
    found
}

fn add_literals(
    kg: &dyn Kg,
    found: &mut BTreeMap<String, (NameKind, String)>,
    node: NodeId,
    relation: RelId,
    kind: NameKind,
) {
    for &tail in kg.tails(node, relation).iter() {
        if let Term::Literal(literal) = kg.term(tail) {
            add(found, &literal.lexical, kind);
        }
    }
}

/// Adds the words of the IRI: the label may be missing or in another language.
fn add_words(
    kg: &dyn Kg,
    found: &mut BTreeMap<String, (NameKind, String)>,
    node: NodeId,
    iri: &str,
    labelled: bool,
) {
    let kind = |found: &BTreeMap<_, _>| match found.is_empty() {
        true => NameKind::Label,
        false => NameKind::Alias,
    };
    let relation = kg.uses(node.relation()) > 0;
    if !labelled
        && !relation
        && let Some(words) = readable_name(iri)
    {
        let types = kg.types(node).into_iter();
        let marks = types.flat_map(|class| kg.schema().marks_of(class));
        let (shown, others) = marked_names(&words, marks);
        let best = kind(found);
        add(found, &shown, best);
        for other in others {
            add(found, &other, NameKind::Alias);
        }
    }
    // People also write a name as the IRI does.
    if let Some(written) = written_name(iri) {
        let kind = kind(found);
        add(found, &written, kind);
    }
}

/// Adds the name of a class without the noun that a wider class has too: `Anchovies` for `Anchovies Topping`, which is a
/// `Pizza Topping`.
fn add_without_kind(kg: &dyn Kg, found: &mut BTreeMap<String, (NameKind, String)>, node: NodeId) {
    let mut nouns: BTreeSet<String> = BTreeSet::new();
    for kind in kg.kinds(node) {
        let label = kg.label(kind);
        let words = known_iri(kg, kind).and_then(|iri| readable_name(&iri));
        for name in [label, words].into_iter().flatten() {
            nouns.extend(normalise(&name).rsplit(' ').next().map(str::to_owned));
        }
    }
    let without: Vec<(String, String)> = (found.iter())
        .filter(|(_, (kind, _))| *kind != NameKind::Short)
        .filter_map(|(normal, (_, text))| {
            let (rest, noun) = normal.rsplit_once(' ')?;
            nouns
                .contains(noun)
                .then(|| (rest.to_owned(), text.clone()))
        })
        .collect();
    for (normal, text) in without {
        found.entry(normal).or_insert((NameKind::Short, text));
    }
}

/// The IRI of a node; `None` for a page that the graph only links to.
fn known_iri(kg: &dyn Kg, node: NodeId) -> Option<String> {
    let Term::Iri(iri) = kg.term(node) else {
        return None;
    };
    let known = kg.degree(node) >= KNOWN
        || !kg.out_relations(node).is_empty()
        || kg.uses(node.relation()) > 0;
    known.then_some(iri)
}

pub(super) fn role(kg: &dyn Kg, node: NodeId) -> NodeRole {
    let schema = kg.schema();
    let used = kg.uses(node.relation()) > 0;
    if kg.classes().binary_search(&node).is_ok() {
        return NodeRole::Class;
    }
    if used && kg.out_relations(node).is_empty() && kg.in_relations(node).is_empty() {
        return NodeRole::Relation;
    }
    // A node that the graph declares but does not use: a class without instances, a relation
    // without triples, a datatype.
    let declared = schema
        .type_relations
        .iter()
        .flat_map(|&r| kg.tails(node, r).to_vec())
        .find_map(|class| match kg.term(class) {
            Term::Iri(iri) if is_meta_class(&iri) => Some(iri),
            _ => None,
        });
    match declared {
        Some(iri) if iri.ends_with("Property") => NodeRole::Relation,
        _ if schema.is_ontology => NodeRole::Entity,
        Some(iri) if iri.ends_with("Class") || iri.ends_with("Datatype") => NodeRole::Class,
        _ if schema
            .domains
            .iter()
            .chain(&schema.ranges)
            .any(|&(_, class)| class == node) =>
        {
            NodeRole::Class
        }
        _ => NodeRole::Entity,
    }
}

/// Adds a name, and its short form without the distinguishing part. Of equal normal forms, the
/// better kind is kept.
fn add(found: &mut BTreeMap<String, (NameKind, String)>, text: &str, kind: NameKind) {
    let text: String = one_line(text, NAME_CHARS);
    let mut put = |form: &str, kind: NameKind| {
        let normal = normalise(form);
        if normal.is_empty() {
            return;
        }
        match found.get(&normal) {
            Some((old, _)) if *old <= kind => {}
            _ => {
                found.insert(normal, (kind, text.clone()));
            }
        }
    };
    put(&text, kind);
    if let Some(short) = undistinguished(&text) {
        put(short, NameKind::Short);
    }
}
