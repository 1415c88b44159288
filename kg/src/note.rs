//! The note on the answer of a query that names graphs, in a graph without named graphs.

use spargebra::Query;
use spargebra::algebra::{Expression, GraphPattern};

use crate::graph::Kg;
use crate::sparql::{PatternPart, operands, parts};

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
    let words = match (dataset.is_some(), has_graph(pattern)) {
        (false, false) => return None,
        (true, false) => "FROM has no effect",
        (false, true) => "GRAPH <…> has no effect, and GRAPH ?g finds nothing",
        (true, true) => "FROM and GRAPH <…> have no effect, and GRAPH ?g finds nothing",
    };
    Some(format!(
        "this graph has no named graphs: {words}; load N-Quads or TriG to keep named graphs"
    ))
}

/// Whether there is a GRAPH anywhere in a pattern.
fn has_graph(p: &mut GraphPattern) -> bool {
    matches!(p, GraphPattern::Graph { .. })
        || parts(p).into_iter().any(|part| match part {
            PatternPart::Pattern(inner) => has_graph(inner),
            PatternPart::Expression(inner) => expression_has_graph(inner),
        })
}

fn expression_has_graph(e: &mut Expression) -> bool {
    match e {
        Expression::Exists(inner) => has_graph(inner),
        _ => operands(e).into_iter().any(expression_has_graph),
    }
}
