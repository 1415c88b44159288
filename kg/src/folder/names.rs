//! The names of the files in a graph folder.

pub(super) const MANIFEST: &str = "manifest.json";
/// The frozen graph.
pub(super) const GRAPH: &str = "graph.kgf";
/// The folder of the label index.
pub(super) const LABELS: &str = "labels";
