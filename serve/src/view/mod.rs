//! What clients see of a graph: search, entities and schema as JSON.

mod entity;
mod schema;
mod search;

use kg::Kg;
use kg::term::{NodeId, Term};
use serde_json::{Value, json};

pub(crate) use entity::{EntityPage, Side, entity, page};
pub(crate) use schema::schema;
pub(crate) use search::search;

/// A node by name and label. A literal's label is its lexical form.
fn node(kg: &dyn Kg, node: NodeId) -> Value {
    let name = kg.name(node);
    let label = kg.label(node);
    let literal = matches!(kg.term(node), Term::Literal(_));
    json!({ "name": name, "label": label, "literal": literal })
}
