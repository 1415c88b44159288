//! Rows of tables that link other rows, and their columns of keys.

use kg::term::{NodeId, RelId, Term};
use kg::{Kg, row_key};

use super::naming::{class_nouns, class_words};
use super::vocabulary::split;
use crate::exec::{Relation, Session};

/// The beginning of the local name of a relation that leads to the row with a key, in the W3C Direct Mapping.
const REFERENCE: &str = "ref-";

/// The relation that leads to the rows with the keys of a column, as the W3C Direct Mapping writes it: `flights#ref-aircraft_id`
/// for `flights#aircraft_id`.
fn reference(kg: &dyn Kg, column: Relation) -> Option<RelId> {
    let Relation::Plain(id) = column else {
        return None;
    };
    let Term::Iri(iri) = kg.term(id.node()) else {
        return None;
    };
    let (table, column) = iri.rsplit_once('#')?;
    let found = kg.find(&Term::Iri(format!("{table}#{REFERENCE}{column}")));
    found.map(NodeId::relation)
}

/// Whether a column of keys has a relation that leads to the rows with these keys.
pub(super) fn has_reference(kg: &dyn Kg, column: Relation) -> bool {
    reference(kg, column).is_some()
}

/// The column whose keys a relation leads to: `aircraft_id` of `flights#ref-aircraft_id`.
pub(super) fn referring_column(kg: &dyn Kg, relation: RelId) -> Option<String> {
    let Term::Iri(iri) = kg.term(relation.node()) else {
        return None;
    };
    let (_, column) = iri.rsplit_once('#')?;
    Some(column.strip_prefix(REFERENCE)?.to_owned())
}

/// The column that is the key of a row: `hotel_id` of `hotel/hotel_id=3`.
pub(super) fn key_column(kg: &dyn Kg, row: NodeId) -> Option<String> {
    match kg.term(row) {
        Term::Iri(iri) if row_key(&iri).is_some() => {
            let (column, _) = split(&iri).0.split_once('=')?;
            Some(column.to_owned())
        }
        _ => None,
    }
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
    // Only rows of tables link: a wine has a winery, a body and a flavor, and is a wine.
    if matches!(kg.term(member), Term::Iri(iri) if row_key(&iri).is_none()) {
        return Vec::new();
    }
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
pub(super) fn refers_to_named(kg: &dyn Kg, row: NodeId, column: Relation) -> bool {
    let target =
        reference(kg, column).and_then(|reference| kg.tails(row, reference).first().copied());
    target.is_some_and(|target| {
        let has = |names: &Vec<RelId>| names.iter().all(|&name| !kg.tails(target, name).is_empty());
        kg.schema().row_names.iter().any(has)
    })
}
