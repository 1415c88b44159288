//! The schema of a graph: which relations carry classes, names and intervals.

use serde::{Deserialize, Serialize};

use super::settings::Settings;
use crate::term::{NodeId, RelId};

/// What is known about a graph's vocabulary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    /// Relations that say what class a node is of (`rdf:type`, `type.object.type`, `wdt:P31`, …).
    pub type_relations: Vec<RelId>,
    /// Relations that carry names (`rdfs:label`, `type.object.name`, …).
    pub label_relations: Vec<RelId>,
    /// Relations that carry further names (`skos:altLabel`, `common.topic.alias`, nicknames, …); not hidden for that.
    #[serde(default)]
    pub alias_relations: Vec<RelId>,
    /// Relations from a page to the node it leads to: the page's title is an alias of that node.
    #[serde(default)]
    pub redirect_relations: Vec<RelId>,
    /// Relations from a class to a wider class.
    #[serde(default)]
    pub superclass_relations: Vec<RelId>,
    /// Relations never shown to a planner (rule R4): types, labels and meta relations.
    pub hidden: Vec<RelId>,
    /// Derived interval relations `X.from_to` of rule R11.
    pub intervals: Vec<IntervalRelation>,
    /// Relation and class of its heads, as the graph states it; sorted.
    #[serde(default)]
    pub domains: Vec<(RelId, NodeId)>,
    /// Relation and class or datatype of its tails, as the graph states it; sorted.
    #[serde(default)]
    pub ranges: Vec<(RelId, NodeId)>,
    /// Relation and its reverse, as the graph states it, both ways; sorted.
    #[serde(default)]
    pub reverses: Vec<(RelId, NodeId)>,
    /// What the graph's owner has set.
    #[serde(default)]
    pub settings: Settings,
}

impl Schema {
    /// Classes that the graph states as the domain of a relation.
    pub fn domain(&self, relation: RelId) -> impl Iterator<Item = NodeId> + '_ {
        of(&self.domains, relation)
    }

    /// Classes or datatypes that the graph states as the range of a relation.
    pub fn range(&self, relation: RelId) -> impl Iterator<Item = NodeId> + '_ {
        of(&self.ranges, relation)
    }

    /// Relations that the graph states as the reverse of a relation (rule R3).
    pub fn reverse(&self, relation: RelId) -> impl Iterator<Item = RelId> + '_ {
        of(&self.reverses, relation).map(NodeId::relation)
    }
}

/// What a sorted list says about a relation.
fn of(list: &[(RelId, NodeId)], relation: RelId) -> impl Iterator<Item = NodeId> + '_ {
    let start = list.partition_point(|&(r, _)| r < relation);
    list[start..]
        .iter()
        .take_while(move |&&(r, _)| r == relation)
        .map(|&(_, node)| node)
}

/// A derived interval relation (rule R11): a node is in it when it carries the start or the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntervalRelation {
    /// The printed name, such as `sports.stint.from_to`.
    pub name: String,
    /// The relation to the start of the interval.
    pub from: RelId,
    /// The relation to its end.
    pub to: RelId,
}
