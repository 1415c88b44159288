//! The dataset that a query names, and the note for graphs that have none.

use oxigraph::model::NamedNode;
use spargebra::Query;
use spargebra::algebra::{Expression, GraphPattern, QueryDataset};

use super::parts::{PatternPart, operands, parts};
use super::query::QueryError;
use crate::graph::Kg;

/// A query over the dataset of these graphs, instead of the one that it names itself: `default` are
/// merged as its default graph, `named` are its named graphs. The SPARQL protocol's parameters
/// `default-graph-uri` and `named-graph-uri` mean this. Without any graph the query stays as it is.
///
/// # Errors
/// [`QueryError::Refused`] for a name that is not an IRI.
pub fn with_dataset(
    query: Query,
    default: &[String],
    named: &[String],
) -> Result<Query, QueryError> {
    if default.is_empty() && named.is_empty() {
        return Ok(query);
    }
    let nodes = |names: &[String]| {
        let nodes = names.iter().map(|name| {
            let node = NamedNode::new(name);
            node.map_err(|_| {
                QueryError::Refused(format!("the graph `{name}` (not an absolute IRI)"))
            })
        });
        nodes.collect::<Result<Vec<_>, _>>()
    };
    let chosen = Some(QueryDataset {
        default: nodes(default)?,
        named: Some(nodes(named)?),
    });
    let mut query = query;
    let (Query::Select { dataset, .. }
    | Query::Ask { dataset, .. }
    | Query::Construct { dataset, .. }
    | Query::Describe { dataset, .. }) = &mut query;
    *dataset = chosen;
    Ok(query)
}

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
