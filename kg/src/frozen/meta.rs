//! Small facts about a whole graph, computed once when it is frozen.

use serde::{Deserialize, Serialize};

use crate::names::ShortNames;
use crate::schema::Schema;

/// The section `Meta`, as JSON.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct GraphMeta {
    /// Number of IRIs and blank nodes that are the head or tail of a triple.
    pub entities: usize,
    /// Languages of the labels, sorted; the empty string means untagged.
    pub label_languages: Vec<String>,
    /// The schema; `hidden` does not contain the user's deny list.
    pub schema: Schema,
    /// The naming rules.
    pub names: ShortNames,
    /// The named graphs, sorted by name; empty if all triples are in the default graph.
    pub graphs: Vec<NamedGraph>,
    /// Rows in SPO order that only axioms state (module `axioms`), sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub axioms: Vec<u32>,
}

/// A graph of a dataset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedGraph {
    /// Its IRI, or its blank node with `_:`; empty for the default graph.
    pub name: String,
    /// Number of triples.
    pub triples: usize,
}
