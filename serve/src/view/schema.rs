//! The relations and classes of a graph, most used first.

use kg::term::{NodeId, RelId};
use kg::{FrozenKg, Kg, why_hidden};
use serde_json::{Value, json};

use super::node;

/// Relations and classes with their numbers, `limit` of each from `offset`.
pub(crate) fn schema(kg: &FrozenKg, offset: usize, limit: usize) -> Value {
    let mut relations: Vec<(usize, RelId)> = kg
        .relations()
        .iter()
        .map(|&relation| (kg.uses(relation), relation))
        .collect();
    let mut classes: Vec<(usize, NodeId)> = kg
        .classes()
        .iter()
        .map(|&class| (kg.instances(class).len(), class))
        .collect();
    // Ids are ordered by term, so ties are in the order of their names.
    relations.sort_by_key(|&(count, relation)| (std::cmp::Reverse(count), relation));
    classes.sort_by_key(|&(count, class)| (std::cmp::Reverse(count), class));
    let (all_relations, all_classes) = (relations.len(), classes.len());
    let schema = kg.schema();
    let names = |nodes: &mut dyn Iterator<Item = NodeId>| -> Vec<Value> {
        nodes.map(|one| node(kg, one)).collect()
    };
    let relations = relations.into_iter().skip(offset).take(limit);
    let relations = relations.map(|(count, relation)| {
        let mut value = node(kg, relation.node());
        value["count"] = json!(count);
        value["domain"] = json!(names(&mut schema.domain(relation)));
        value["range"] = json!(names(&mut schema.range(relation)));
        if let Some(why) = why_hidden(kg, relation) {
            value["hidden"] = json!(why);
        }
        value
    });
    let classes = classes.into_iter().skip(offset).take(limit);
    let classes = classes.map(|(count, class)| {
        let mut value = node(kg, class);
        value["count"] = json!(count);
        value
    });
    json!({
        "relations": relations.collect::<Vec<_>>(), "relations_in_all": all_relations,
        "classes": classes.collect::<Vec<_>>(), "classes_in_all": all_classes,
        "offset": offset,
    })
}
