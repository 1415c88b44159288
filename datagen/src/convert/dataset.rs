//! The part of the graph that a gold query reads. The tools see the union of all graphs, so a query
//! that reads a part of it (FROM, GRAPH) is not converted.

use kg::spargebra::Query;
use kg::spargebra::algebra::{Expression, GraphPattern};
use kg::spargebra::term::NamedNodePattern;
use kg::{Kg, PatternPart, operands, parts, with_dataset};

use crate::refusal::Refusal;

/// The query without GRAPH, if it reads the whole graph.
///
/// # Errors
/// Why it does not, with the details.
pub(crate) fn over_the_whole(
    query: &Query,
    kg: Option<&dyn Kg>,
) -> Result<Query, (Refusal, String)> {
    let mut query = query.clone();
    if kg.is_some_and(|kg| !kg.reads_all(&query)) {
        let detail = "FROM chooses other triples than those of all graphs together";
        return Err((Refusal::NamedGraphs, detail.to_owned()));
    }
    let has_dataset = query.dataset().is_some();
    let (Query::Select { pattern, .. }
    | Query::Ask { pattern, .. }
    | Query::Construct { pattern, .. }
    | Query::Describe { pattern, .. }) = &mut query;
    let reader = DatasetReader { kg, has_dataset };
    reader.pattern(pattern)?;
    Ok(query)
}

struct DatasetReader<'a> {
    kg: Option<&'a dyn Kg>,
    /// Whether the query has FROM or FROM NAMED.
    has_dataset: bool,
}

impl DatasetReader<'_> {
    fn pattern(&self, p: &mut GraphPattern) -> Result<(), (Refusal, String)> {
        for part in parts(p) {
            match part {
                PatternPart::Pattern(inner) => self.pattern(inner)?,
                PatternPart::Expression(inner) => self.expression(inner)?,
            }
        }
        match p {
            GraphPattern::Service { name, .. } => {
                let detail = format!("SERVICE {name} asks another endpoint");
                Err((Refusal::Service, detail))
            }
            GraphPattern::Graph { name, inner } if self.is_whole(name) => {
                *p = std::mem::take(inner.as_mut());
                Ok(())
            }
            GraphPattern::Graph { name, .. } => {
                let detail = format!("GRAPH {name} chooses one graph");
                Err((Refusal::NamedGraphs, detail))
            }
            _ => Ok(()),
        }
    }

    fn expression(&self, e: &mut Expression) -> Result<(), (Refusal, String)> {
        if let Expression::Exists(inner) = e {
            return self.pattern(inner);
        }
        operands(e)
            .into_iter()
            .try_for_each(|operand| self.expression(operand))
    }

    /// Whether a graph has all triples. In a graph without named graphs every name stands for it.
    fn is_whole(&self, name: &NamedNodePattern) -> bool {
        let (Some(kg), NamedNodePattern::NamedNode(node)) = (self.kg, name) else {
            return false;
        };
        let all = || Query::Ask {
            dataset: None,
            pattern: GraphPattern::default(),
            base_iri: None,
        };
        let chosen = with_dataset(all(), &[node.as_str().to_owned()], &[]);
        let is_all = chosen.is_ok_and(|query| kg.reads_all(&query));
        is_all && !(self.has_dataset && kg.has_named_graphs())
    }
}
