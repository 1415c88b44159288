//! What kind of things the nodes of a set are: literals, nodes that only connect things, rows of tables
//! without a name.

use kg::term::{NodeId, RelId, Term};
use kg::value::Kind;
use kg::{Kg, percent_decode, readable_name, row_key, words};

use super::naming::{class_nouns, is_of_people, names_places};
use super::vocabulary::split;
use super::words::Explainer;
use crate::exec::{Relation, Session};

/// The kind of literals in a set; `None` if it has things.
pub(super) fn literal_kind(session: &Session<'_>, nodes: &[NodeId]) -> Option<Kind> {
    /// Things that are looked at: the film `1941` is no year where the others are no years.
    const SOME: usize = 5;
    let kg: &dyn Kg = session.kg();
    let literal = matches!(kg.term(*nodes.first()?), Term::Literal(_));
    let read = session.literals(&nodes[..nodes.len().min(if literal { 1 } else { SOME })]);
    // In graphs made from text, years and numbers are nodes.
    let kind = Kind::majority(&read);
    (literal || kind != Kind::Text).then_some(kind)
}

/// Whether a node only connects things: a statement, or a row of a table that has a key and no name.
pub(super) fn connects(session: &Session<'_>, node: NodeId) -> bool {
    let kg = session.kg();
    if is_numbered(kg, node) {
        return true;
    }
    kg.is_statement(node) || is_nameless_row(kg, node) || is_part(kg, node)
}

/// Whether a node has no name and belongs to exactly one thing, such as the rating of a recipe, in a graph
/// whose things have labels. The first instances of its class must be like that too.
fn is_part(kg: &dyn Kg, node: NodeId) -> bool {
    const SOME: usize = 3;
    let unnamed = |node: NodeId| {
        let relations = kg.in_relations(node);
        matches!(kg.term(node), Term::Iri(_))
            && !kg.has_own_label(node)
            && matches!(relations.as_slice(), [only] if kg.heads(*only, node).len() == 1)
            && !kg.out_relations(node).is_empty()
    };
    let instances = |class: NodeId| {
        kg.instances(class)
            .iter()
            .take(SOME)
            .all(|&one| unnamed(one))
    };
    !kg.schema().named_by_iris() && unnamed(node) && kg.types(node).into_iter().all(instances)
}

/// Whether a node has a number instead of a name (`booking-17`) in a graph whose things have labels.
/// If it has a class, the first instances must have none either.
fn is_numbered(kg: &dyn Kg, node: NodeId) -> bool {
    const SOME: usize = 3;
    let numbered = |node: NodeId| match kg.term(node) {
        Term::Iri(iri) => {
            let name = readable_name(&iri);
            !kg.has_own_label(node)
                && name.is_some_and(|name| name.ends_with(|last: char| last.is_ascii_digit()))
        }
        Term::Blank(_) | Term::Literal(_) => false,
    };
    if kg.schema().named_by_iris() || !numbered(node) {
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

/// Whether an IRI is that of a row of a table: `country/code=FIN`, or `country/17` in a graph without
/// labels.
fn is_row(kg: &dyn Kg, iri: &str) -> bool {
    row_key(iri).is_some() && (iri.contains('=') || kg.schema().named_by_iris())
}

/// Whether a node is a row without a name of a table of its own, such as `booking`. A table that is called
/// after another one, such as `guest_booking`, only connects.
pub(super) fn is_event_row(session: &Session<'_>, node: NodeId) -> bool {
    let kg = session.kg();
    let letters = |class: NodeId| {
        let name = kg.name(class).to_lowercase();
        split(&name).0.replace(['_', '-'], "")
    };
    let own: Vec<String> = kg.types(node).into_iter().map(letters).collect();
    let connects = || {
        (kg.classes().iter().map(|&class| letters(class))).any(|other| {
            let contains = |own: &String| *own != other && own.contains(&other);
            own.iter().any(contains)
        })
    };
    is_nameless_row(kg, node) && !connects()
}

/// Whether a relation leads to the names of things, or of the rows of a table.
pub(super) fn leads_to_names(kg: &dyn Kg, relation: RelId) -> bool {
    let schema = kg.schema();
    let mut rows = schema.row_names.iter();
    schema.alias_relations.contains(&relation) || rows.any(|names| names.contains(&relation))
}

/// Whether a node is a row of a table without a name.
fn is_nameless_row(kg: &dyn Kg, node: NodeId) -> bool {
    matches!(kg.term(node), Term::Iri(iri) if is_row(kg, &iri))
        && is_nameless(kg, node)
        && !(kg.out_relations(node).into_iter()).any(|relation| leads_to_names(kg, relation))
}

/// Whether a node is a thing without a name of its own, such as the row of a table.
pub(super) fn is_nameless(kg: &dyn Kg, node: NodeId) -> bool {
    match kg.term(node) {
        Term::Iri(iri) if is_row(kg, &iri) => {
            let mut labels = kg.schema().label_relations.iter();
            labels.all(|&relation| kg.tails(node, relation).is_empty())
        }
        Term::Iri(iri) => {
            let label = kg.label(node);
            let local = readable_name(&iri);
            local.is_none() && label.is_none() || is_row_with_code(kg, node, &iri)
        }
        Term::Blank(_) => kg.label(node).is_none(),
        Term::Literal(_) => false,
    }
}

/// Whether a node is a row that its table calls by a name and its IRI by a code: `station/NOR` with the name `Northgate`.
fn is_row_with_code(kg: &dyn Kg, node: NodeId, iri: &str) -> bool {
    const LONGEST: usize = 5;
    let schema = kg.schema();
    let has = |names: &Vec<RelId>| (names.iter()).all(|&name| !kg.tails(node, name).is_empty());
    let local = split(iri).0;
    local.len() <= LONGEST
        && local
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        && schema.named_by_iris()
        && schema.row_names.iter().any(has)
}

/// Whether a set has numbers or times.
pub(super) fn measurable(session: &Session<'_>, nodes: &[NodeId]) -> bool {
    literal_kind(session, nodes).is_some_and(|kind| kind != Kind::Text)
}

/// Whether a literal is the key in the IRI of a row of a table: 205 of `room/room_no=205`.
pub(super) fn is_key_of(kg: &dyn Kg, node: NodeId, value: NodeId) -> bool {
    match (kg.term(node), kg.term(value)) {
        (Term::Iri(iri), Term::Literal(literal)) => {
            row_key(&iri).is_some_and(|(_, key)| percent_decode(&key) == literal.lexical)
        }
        _ => false,
    }
}

impl Explainer<'_, '_> {
    /// Whether a set consists of people: its first thing has what people have, such as a birth.
    pub(super) fn are_people(&self, nodes: &[NodeId]) -> bool {
        let kg = self.session.kg();
        let Some(&first) = nodes.first() else {
            return false;
        };
        let has = |name: &String| is_of_people(name);
        let of_relation = |id: RelId| self.relation_words(Relation::Plain(id)).0.iter().any(has);
        (kg.types(first).into_iter()).any(|class| class_nouns(kg, class).iter().any(has))
            || kg.out_relations(first).into_iter().any(of_relation)
    }

    /// Whether a set consists of places: by the classes of its first thing, or because that is located
    /// somewhere.
    pub(super) fn are_places(&self, nodes: &[NodeId]) -> bool {
        let kg = self.session.kg();
        let Some(&first) = nodes.first() else {
            return false;
        };
        let locates = |id: RelId| {
            let name = kg.name(id.node());
            let words = words(split(&name).0);
            let first = words.first().map(String::as_str);
            (words.len() > 1 && first == Some("in"))
                || words
                    .iter()
                    .any(|word| word.starts_with("locat") || word == "situated")
        };
        let located = || kg.out_relations(first).into_iter().any(locates);
        self.are_called_places(nodes) || located() && !self.are_people(nodes)
    }

    /// Whether the first thing of a set has a class whose name is a word for places, such as `city`.
    pub(super) fn are_called_places(&self, nodes: &[NodeId]) -> bool {
        let kg = self.session.kg();
        let is = |class: NodeId| class_nouns(kg, class).iter().any(|noun| names_places(noun));
        let types = nodes.first().map(|&first| kg.types(first));
        types.into_iter().flatten().any(is)
    }
}
