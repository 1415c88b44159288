//! The dataset that a request chooses for a query.

use oxigraph::model::NamedNode;
use spargebra::Query;
use spargebra::algebra::QueryDataset;

use super::query::QueryError;

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
