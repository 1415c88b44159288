//! Rows of tables that link other rows, and their columns of keys.

use kg::Kg;
use kg::term::{NodeId, RelId, Term};

use super::naming::{class_nouns, class_words};
use crate::exec::{Relation, Session};

/// Whether a column of keys has a relation that leads to the rows with these keys, as the W3C Direct
/// Mapping writes it: `flights#aircraft_id` and `flights#ref-aircraft_id`.
pub(super) fn has_reference(kg: &dyn Kg, relation: Relation) -> bool {
    let Relation::Plain(id) = relation else {
        return false;
    };
    let Term::Iri(iri) = kg.term(id.node()) else {
        return false;
    };
    iri.rsplit_once('#').is_some_and(|(table, column)| {
        let reference = Term::Iri(format!("{table}#ref-{column}"));
        kg.find(&reference).is_some()
    })
}

/// Whether the members of a class only link things, and a word names the class of these: allergies are of the class
/// `allergy_type`, and no rows of `has_allergy`, which link students with them.
pub(super) fn links_what_is_called(session: &Session<'_>, class: NodeId, stem: &str) -> bool {
    let kg = session.kg();
    let noun = class_nouns(kg, class).iter().any(|noun| noun == stem);
    let named = |linked: NodeId| class_words(kg, linked).iter().any(|name| name == stem);
    noun && linked_classes(session, class).into_iter().any(named)
}

/// The classes of the things that the members of a class link, if that is all that these do.
fn linked_classes(session: &Session<'_>, class: NodeId) -> Vec<NodeId> {
    let kg = session.kg();
    let Some(&member) = kg.instances(class).first() else {
        return Vec::new();
    };
    let mut classes = Vec::new();
    let (mut things, mut keys) = (0, 0);
    for relation in kg.out_relations(member) {
        let Some(&tail) = kg.tails(member, relation).first() else {
            continue;
        };
        if kg.term(tail).as_literal().is_none() {
            things += 1;
            classes.extend(kg.types(tail).into_iter().filter(|other| *other != class));
        } else if has_reference(kg, Relation::Plain(relation)) {
            keys += 1;
        } else {
            return Vec::new();
        }
    }
    if things.max(keys) > 1 {
        classes
    } else {
        Vec::new()
    }
}

/// Whether a column has keys of rows with names.
pub(super) fn refers_to_named(kg: &dyn Kg, row: NodeId, relation: Relation) -> bool {
    let Relation::Plain(id) = relation else {
        return false;
    };
    let Term::Iri(iri) = kg.term(id.node()) else {
        return false;
    };
    let reference = (iri.rsplit_once('#'))
        .and_then(|(table, column)| kg.find(&Term::Iri(format!("{table}#ref-{column}"))));
    let target = (reference.map(NodeId::relation))
        .and_then(|reference| kg.tails(row, reference).first().copied());
    target.is_some_and(|target| {
        let has = |names: &Vec<RelId>| names.iter().all(|&name| !kg.tails(target, name).is_empty());
        kg.schema().row_names.iter().any(has)
    })
}
