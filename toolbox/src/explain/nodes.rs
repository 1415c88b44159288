//! What kind of things the nodes of a set are: literals, nodes that only connect things, rows of tables
//! without a name.

use kg::Kg;
use kg::readable_name;
use kg::term::{NodeId, RelId, Term};
use kg::value::Kind;

use super::vocabulary::split;
use crate::exec::Session;

/// The kind of literals in a set; `None` if it has things.
pub(super) fn literal_kind(session: &Session<'_>, nodes: &[NodeId]) -> Option<Kind> {
    let first = nodes.get(..1)?;
    let kg: &dyn Kg = session.kg();
    let literal = matches!(kg.term(first[0]), Term::Literal(_));
    let read = session.literals(first);
    // In graphs made from text, years and numbers are nodes.
    let kind = Kind::majority([read.first()?]);
    (literal || kind != Kind::Text).then_some(kind)
}

/// Whether a node only connects things: a statement, or a row of a table that has a key and no name.
pub(super) fn connects(session: &Session<'_>, node: NodeId) -> bool {
    let kg = session.kg();
    if is_numbered(kg, node) {
        return true;
    }
    let names = |relation: &RelId| {
        kg.schema().alias_relations.contains(relation) || names_people(kg, *relation)
    };
    kg.is_statement(node)
        || matches!(kg.term(node), Term::Iri(iri) if is_row(&iri))
            && is_nameless(kg, node)
            && !kg.out_relations(node).iter().any(names)
}

/// Whether a relation has a part of a person's name: `last_name`.
fn names_people(kg: &dyn Kg, relation: RelId) -> bool {
    const NAMES: [&str; 8] = [
        "firstname",
        "lastname",
        "surname",
        "forename",
        "fullname",
        "givenname",
        "familyname",
        "fname",
    ];
    let name = kg.name(relation.node());
    let (local, _) = split(&name);
    let letters: String = local.chars().filter(|c| c.is_alphanumeric()).collect();
    NAMES.contains(&letters.to_lowercase().as_str())
}

/// Whether a node has a number instead of a name (`booking-17`) in a graph whose things have labels.
/// If it has a class, the first instances must have none either.
fn is_numbered(kg: &dyn Kg, node: NodeId) -> bool {
    const SOME: usize = 3;
    let numbered = |node: NodeId| match kg.term(node) {
        Term::Iri(iri) => {
            let name = readable_name(&iri);
            kg.label(node).is_none()
                && name.is_some_and(|name| name.ends_with(|last: char| last.is_ascii_digit()))
        }
        Term::Blank(_) | Term::Literal(_) => false,
    };
    if kg.schema().label_relations.is_empty() || !numbered(node) {
        return false;
    }
    let leads = |relation: RelId| {
        let tails = kg.tails(node, relation);
        tails
            .first()
            .is_some_and(|&tail| kg.term(tail).as_literal().is_none())
    };
    let instances = |class: NodeId| {
        kg.instances(class)
            .iter()
            .take(SOME)
            .all(|&one| numbered(one))
    };
    kg.out_relations(node).into_iter().any(leads) && kg.types(node).into_iter().all(instances)
}

/// Whether an IRI is that of a row of a table: `country/code=FIN`.
fn is_row(iri: &str) -> bool {
    iri.rsplit(['/', '#'])
        .next()
        .is_some_and(|local| local.contains('='))
}

/// Whether a node is a thing without a name of its own, such as the row of a table.
pub(super) fn is_nameless(kg: &dyn Kg, node: NodeId) -> bool {
    match kg.term(node) {
        Term::Iri(iri) if is_row(&iri) => {
            let mut labels = kg.schema().label_relations.iter();
            labels.all(|&relation| kg.tails(node, relation).is_empty())
        }
        Term::Iri(iri) => {
            let label = kg.label(node);
            let local = readable_name(&iri);
            local.is_none() && label.is_none()
        }
        Term::Blank(_) => kg.label(node).is_none(),
        Term::Literal(_) => false,
    }
}

/// Whether a set has numbers or times.
pub(super) fn measurable(session: &Session<'_>, nodes: &[NodeId]) -> bool {
    literal_kind(session, nodes).is_some_and(|kind| kind != Kind::Text)
}

/// Whether a literal is the key in the IRI of a row of a table: 205 of `room/room_no=205`.
pub(super) fn is_key_of(kg: &dyn Kg, node: NodeId, value: NodeId) -> bool {
    match (kg.term(node), kg.term(value)) {
        (Term::Iri(iri), Term::Literal(literal)) => {
            let key = iri.rsplit_once('=').map(|(_, key)| key);
            key == Some(literal.lexical.as_str())
        }
        _ => false,
    }
}
