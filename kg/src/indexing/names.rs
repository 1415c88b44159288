//! The names of a node that are indexed.

use std::collections::{BTreeMap, BTreeSet};

use crate::graph::Kg;
use crate::label::one_line;
use crate::readable::readable_name;
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
    // The words of the IRI are a name too: the label may be missing or in another language.
    let label = if found.is_empty() {
        kg.label(node)
    } else {
        None
    };
    if let Some(label) = label {
        add(&mut found, &label, NameKind::Label);
    }
    if let Some(words) = readable(kg, node) {
        let kind = if found.is_empty() {
            NameKind::Label
        } else {
            NameKind::Alias
        };
        add(&mut found, &words, kind);
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

/// The words of the IRI; `None` for a page that the graph only links to.
fn readable(kg: &dyn Kg, node: NodeId) -> Option<String> {
    let Term::Iri(iri) = kg.term(node) else {
        return None;
    };
    let known = kg.degree(node) >= KNOWN
        || !kg.out_relations(node).is_empty()
        || kg.uses(node.relation()) > 0;
    known.then(|| readable_name(&iri)).flatten()
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
