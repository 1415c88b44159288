//! What is small and known about a whole graph, worked out once when it is frozen.

use serde::{Deserialize, Serialize};

use crate::names::ShortNames;
use crate::schema::Schema;

/// The section `Meta`, as JSON.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct GraphMeta {
    /// Number of nodes that are no literals and stand in some triple as its head or tail.
    pub entities: usize,
    /// Languages of labels, sorted; the empty string is untagged.
    pub label_languages: Vec<String>,
    /// Which relations say what; its `hidden` is what is hidden without a deny list of the user's.
    pub schema: Schema,
    /// How nodes are named.
    pub names: ShortNames,
    /// The graphs in which triples came, sorted by name; empty where all came in the default graph.
    pub graphs: Vec<NamedGraph>,
}

/// A graph of a dataset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedGraph {
    /// Its IRI or, with `_:`, its blank node; empty for the default graph.
    pub name: String,
    /// Triples in it.
    pub triples: usize,
}
