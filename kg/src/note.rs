//! The note on the answer of a query that names graphs, in a graph without named graphs.

use spargebra::Query;
use spargebra::algebra::GraphPattern;

use crate::graph::Kg;
use crate::sparql::any_pattern;

/// What a person should know about the answer of a query that names graphs, if the graph was loaded
/// without named graphs.
#[must_use]
pub fn dataset_note(kg: &dyn Kg, query: &Query) -> Option<String> {
    if kg.has_named_graphs() {
        return None;
    }
    let mut query = query.clone();
    let (Query::Select {
        dataset, pattern, ..
    }
    | Query::Ask {
        dataset, pattern, ..
    }
    | Query::Construct {
        dataset, pattern, ..
    }
    | Query::Describe {
        dataset, pattern, ..
    }) = &mut query;
    let has_graph = any_pattern(pattern, &|p| matches!(p, GraphPattern::Graph { .. }));
    let words = match (dataset.is_some(), has_graph) {
        (false, false) => return None,
        (true, false) => "FROM has no effect",
        (false, true) => "GRAPH <…> has no effect, and GRAPH ?g finds nothing",
        (true, true) => "FROM and GRAPH <…> have no effect, and GRAPH ?g finds nothing",
    };
    Some(format!(
        "this graph has no named graphs: {words}; load N-Quads or TriG to keep named graphs"
    ))
}
