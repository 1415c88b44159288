//! One node of a graph: its classes, its relations and its neighbours, a page at a time.

use kg::Kg;
use kg::term::{NodeId, RelId};
use serde_json::{Value, json};

use super::node;

/// Neighbours shown for each relation.
const FIRST: usize = 8;
/// Relations shown in each direction.
const RELATIONS: usize = 200;
/// Classes shown.
const CLASSES: usize = 50;

/// A direction from a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// To the tails of its triples.
    Out,
    /// To the heads of its triples.
    In,
}

impl Side {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "out" => Some(Self::Out),
            "in" => Some(Self::In),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Out => "out",
            Self::In => "in",
        }
    }

    fn neighbours(self, kg: &dyn Kg, of: NodeId, relation: RelId) -> Vec<NodeId> {
        match self {
            Self::Out => kg.tails(of, relation).into_owned(),
            Self::In => kg.heads(relation, of).into_owned(),
        }
    }
}

/// A part of the neighbours of a node by one relation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntityPage {
    pub(crate) relation: RelId,
    pub(crate) side: Side,
    pub(crate) offset: usize,
    pub(crate) limit: usize,
}

/// A node with its classes and its relations, each with its first neighbours. Relations that agents
/// do not see are left out.
pub(crate) fn entity(kg: &dyn Kg, of: NodeId) -> Value {
    let mut value = node(kg, of);
    value["term"] = json!(kg.term(of));
    value["degree"] = json!(kg.degree(of));
    value["statement"] = json!(kg.is_statement(of));
    value["classes"] = kg
        .types(of)
        .into_iter()
        .take(CLASSES)
        .map(|class| node(kg, class))
        .collect();
    for side in [Side::Out, Side::In] {
        let relations = match side {
            Side::Out => kg.out_relations(of),
            Side::In => kg.in_relations(of),
        };
        let more = relations.len().saturating_sub(RELATIONS);
        let rows = relations.into_iter().take(RELATIONS).map(|relation| {
            let neighbours = side.neighbours(kg, of, relation);
            let first = neighbours.iter().take(FIRST);
            json!({
                "relation": node(kg, relation.node()),
                "count": neighbours.len(),
                "nodes": first.map(|&one| node(kg, one)).collect::<Vec<_>>(),
            })
        });
        value[side.name()] = rows.collect();
        if more > 0 {
            value[format!("more_{}", side.name())] = json!(more);
        }
    }
    value
}

/// A page of neighbours.
pub(crate) fn page(kg: &dyn Kg, of: NodeId, page: EntityPage) -> Value {
    let neighbours = page.side.neighbours(kg, of, page.relation);
    let part = neighbours.iter().skip(page.offset).take(page.limit);
    json!({
        "name": kg.name(of),
        "relation": node(kg, page.relation.node()),
        "direction": page.side.name(),
        "count": neighbours.len(),
        "offset": page.offset,
        "nodes": part.map(|&one| node(kg, one)).collect::<Vec<_>>(),
    })
}
