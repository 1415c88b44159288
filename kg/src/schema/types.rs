//! The schema of a graph: which relations carry classes, names and intervals.

use serde::{Deserialize, Serialize};

use super::families::{Companion, LanguageVariant};
use super::settings::Settings;
use crate::readable::KindMark;
use crate::term::{NodeId, RelId};

/// The roles of a graph's relations and classes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    /// Relations from a node to its class (`rdf:type`, `type.object.type`, `wdt:P31`, …).
    pub type_relations: Vec<RelId>,
    /// Relations from a node to its name (`rdfs:label`, `type.object.name`, …).
    pub label_relations: Vec<RelId>,
    /// Relations to further names (`skos:altLabel`, `common.topic.alias`, nicknames, …); they stay
    /// visible.
    #[serde(default)]
    pub alias_relations: Vec<RelId>,
    /// For each table of a graph made from tables, the columns that name its rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub row_names: Vec<Vec<RelId>>,
    /// Columns with codes by which people call the rows of tables without names: `flight_no`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub row_codes: Vec<RelId>,
    /// Classes of rows whose names mostly end in the same word, with that word: `library` for branches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub row_nouns: Vec<(NodeId, String)>,
    /// Whether the graph has label relations, but hardly any node with a label: names are made from IRIs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hardly_labelled: bool,
    /// What names made from IRIs have for a class: `L` in `CommonL` for languages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kind_marks: Vec<KindMark>,
    /// Whether the things of the graph are its classes, as in an ontology: people ask for kinds of things.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_ontology: bool,
    /// Relations of which there is one for each of several languages; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<LanguageVariant>,
    /// Relations that tell unit, year or notes of a value; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub companions: Vec<Companion>,
    /// Relations from a page to the node it redirects to. The page's title is an alias of that
    /// node.
    #[serde(default)]
    pub redirect_relations: Vec<RelId>,
    /// Relations from a class to a wider class.
    #[serde(default)]
    pub superclass_relations: Vec<RelId>,
    /// Relations hidden from planners (rule R4): types, labels and meta relations.
    pub hidden: Vec<RelId>,
    /// Derived interval relations `X.from_to` of rule R11.
    pub intervals: Vec<IntervalRelation>,
    /// Relation and class of its heads, as stated in the graph; sorted.
    #[serde(default)]
    pub domains: Vec<(RelId, NodeId)>,
    /// Relation and class or datatype of its tails, as stated in the graph; sorted.
    #[serde(default)]
    pub ranges: Vec<(RelId, NodeId)>,
    /// Relation and its reverse, as stated in the graph, in both directions; sorted.
    #[serde(default)]
    pub reverses: Vec<(RelId, NodeId)>,
    /// The owner's settings.
    #[serde(default)]
    pub settings: Settings,
}

impl Schema {
    /// Whether the names of nodes are made from their IRIs, because the graph has no labels, or hardly any.
    #[must_use]
    pub fn named_by_iris(&self) -> bool {
        self.label_relations.is_empty() || self.hardly_labelled
    }

    /// The marks of a class.
    pub(crate) fn marks_of(&self, class: NodeId) -> impl Iterator<Item = &KindMark> {
        let start = self.kind_marks.partition_point(|mark| mark.class < class);
        (self.kind_marks[start..].iter()).take_while(move |mark| mark.class == class)
    }

    /// The language at the end of a relation's name, if siblings have others there.
    #[must_use]
    pub fn language_of(&self, relation: RelId) -> Option<&str> {
        let found = self
            .variants
            .binary_search_by_key(&relation, |one| one.relation);
        found.ok().map(|at| self.variants[at].language.as_str())
    }

    /// Classes stated as the domain of a relation.
    pub fn domain(&self, relation: RelId) -> impl Iterator<Item = NodeId> + '_ {
        of(&self.domains, relation)
    }

    /// Classes or datatypes stated as the range of a relation.
    pub fn range(&self, relation: RelId) -> impl Iterator<Item = NodeId> + '_ {
        of(&self.ranges, relation)
    }

    /// Relations stated as the reverse of a relation (rule R3).
    pub fn reverse(&self, relation: RelId) -> impl Iterator<Item = RelId> + '_ {
        of(&self.reverses, relation).map(NodeId::relation)
    }
}

/// The entries of a sorted list for a relation.
fn of(list: &[(RelId, NodeId)], relation: RelId) -> impl Iterator<Item = NodeId> + '_ {
    let start = list.partition_point(|&(r, _)| r < relation);
    list[start..]
        .iter()
        .take_while(move |&&(r, _)| r == relation)
        .map(|&(_, node)| node)
}

/// A derived interval relation (rule R11). A node has it if it has the start or the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntervalRelation {
    /// The printed name, such as `sports.stint.from_to`.
    pub name: String,
    /// The relation to the start of the interval.
    pub from: RelId,
    /// The relation to the end of the interval.
    pub to: RelId,
}
