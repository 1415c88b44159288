//! What clients see of a graph: search, entities and schema as JSON.

mod entity;
mod schema;
mod search;

use kg::term::{NodeId, Term};
use kg::{FrozenKg, Kg};
use serde_json::{Value, json};

pub(crate) use entity::{EntityPage, Side, entity, page};
pub(crate) use schema::schema;
pub(crate) use search::search;

/// How much a graph holds.
pub(crate) fn statistics(name: &str, kg: &FrozenKg) -> Value {
    json!({
        "name": name, "triples": kg.len(), "entities": kg.entity_count(),
        "relations": kg.relations().len(), "classes": kg.classes().len(),
        "content_hash": kg.content_hash(),
    })
}

/// Values that describe a statement.
const SAID: usize = 5;

/// What a statement says, since it has no name: the values of its first relations.
fn said(kg: &dyn Kg, statement: NodeId) -> String {
    let relations = kg.out_relations(statement).into_iter();
    let values = relations.filter_map(|relation| kg.tails(statement, relation).first().copied());
    let labels = values.take(SAID).map(|node| {
        let label = kg.label(node);
        label.unwrap_or_else(|| kg.name(node))
    });
    labels.collect::<Vec<_>>().join(" · ")
}

/// A node by name and label. A literal's label is its lexical form.
fn node(kg: &dyn Kg, node: NodeId) -> Value {
    let name = kg.name(node);
    let label = kg.label(node);
    let literal = matches!(kg.term(node), Term::Literal(_));
    let mut value = json!({ "name": name, "label": label, "literal": literal });
    if label.is_none() && kg.is_statement(node) {
        value["says"] = said(kg, node).into();
    }
    value
}
