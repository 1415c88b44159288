//! Removes a LIMIT that has no effect: the graph has no more solutions than the limit.

use kg::spargebra::Query;
use kg::spargebra::algebra::GraphPattern;
use kg::{Kg, QueryLimits};

/// The query without its LIMIT, if the graph has no further solutions. An extreme (ORDER BY with
/// LIMIT 1) and a query with OFFSET keep theirs.
pub(super) fn unlimited(kg: &dyn Kg, query: &Query) -> Option<Query> {
    let Query::Select {
        dataset,
        pattern:
            GraphPattern::Slice {
                inner,
                start: 0,
                length: Some(length),
            },
        base_iri,
    } = query
    else {
        return None;
    };
    if *length == 0 || (*length == 1 && is_ordered(inner)) {
        return None;
    }
    let query = Query::Select {
        dataset: dataset.clone(),
        pattern: inner.as_ref().clone(),
        base_iri: base_iri.clone(),
    };
    kg.query(
        &query,
        QueryLimits {
            rows: *length,
            ..QueryLimits::default()
        },
    )
    .ok()
    .map(|_| query)
}

fn is_ordered(pattern: &GraphPattern) -> bool {
    match pattern {
        GraphPattern::OrderBy { .. } => true,
        GraphPattern::Project { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner } => is_ordered(inner),
        _ => false,
    }
}
