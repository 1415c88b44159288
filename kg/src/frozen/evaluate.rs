//! SPARQL evaluation over the sorted columns of a graph. oxigraph's evaluator reads them
//! through its dataset trait, so the graph is not copied. A deadline stops it.
//!
//! The evaluator has no limits of time and memory, and some of its loops (joins, sorts, groups)
//! ignore its cancellation token. But all of them handle terms. So every copy of a term and every
//! row read is counted ([`budget`]). When a limit is passed, the stack unwinds to [`evaluate`],
//! which also catches real panics of the evaluator.

use std::any::Any;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};

use oxigraph::model::Term as OxTerm;
use spareval::{ExpressionTerm, InternalQuad, QueryEvaluator, QueryResults, QueryableDataset};
use spargebra::Query;

use super::eval_term::{EvalTerm, to_term};
use super::kg::FrozenKg;
use super::quads::{Dataset, QuadRow, QuadRows, graph_term};
use crate::graph::Kg;
use crate::limits::QUERY_TEXT;
use crate::sparql::budget::{self, StopReason};
use crate::sparql::{QueryAnswer, QueryError, QueryLimits, RewrittenQuery};
use crate::term::Term;

/// Memory of a row or table entry in addition to its terms.
const ROW: usize = 128;

/// Evaluates a query over a graph.
pub(super) fn evaluate(
    kg: &FrozenKg,
    query: &Query,
    limits: QueryLimits,
) -> Result<QueryAnswer, QueryError> {
    let dataset = query.dataset();
    let query = RewrittenQuery::over(query, &kg.schema().settings.now().lexical, || {
        kg.visible_graphs(dataset)
    })?;
    let term = ROW + query.width * size_of::<EvalTerm>();
    let result = budget::limited(limits, term, || {
        catch_unwind(AssertUnwindSafe(|| {
            let dataset = Dataset::new(kg, dataset, &query.graphs);
            run(&dataset, &query, limits.rows)
        }))
    });
    result.unwrap_or_else(|payload| {
        Err(match payload.downcast_ref::<StopReason>() {
            Some(StopReason::Deadline) => QueryError::Deadline(limits.deadline),
            Some(StopReason::Cancelled) => QueryError::Cancelled,
            Some(StopReason::Text) => {
                QueryError::Evaluation(format!("it builds a text longer than {QUERY_TEXT} bytes"))
            }
            Some(StopReason::Memory) => QueryError::Memory(limits.memory),
            None => QueryError::Evaluation(format!(
                "the evaluator panicked: {}",
                panic_text(payload.as_ref())
            )),
        })
    })
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}

fn run(
    dataset: &Dataset<'_>,
    query: &RewrittenQuery,
    limit: usize,
) -> Result<QueryAnswer, QueryError> {
    let functions = query.functions.iter().cloned();
    let evaluator = functions.fold(QueryEvaluator::new(), |evaluator, (name, function)| {
        evaluator.with_custom_function(name, function)
    });
    let failed = |error: spareval::QueryEvaluationError| QueryError::Evaluation(error.to_string());
    match evaluator
        .prepare(&query.query)
        .execute(EvalDataset(dataset))
        .map_err(failed)?
    {
        QueryResults::Boolean(holds) => Ok(QueryAnswer::Bool(holds)),
        QueryResults::Solutions(solutions) => {
            let variables = solutions
                .variables()
                .iter()
                .map(|v| v.as_str().to_owned())
                .collect();
            let mut rows = Vec::new();
            for solution in solutions {
                if rows.len() >= limit {
                    return Err(QueryError::Rows(limit));
                }
                let row: Vec<Option<Term>> = solution
                    .map_err(failed)?
                    .values()
                    .iter()
                    .map(|value| value.as_ref().map(to_term))
                    .collect();
                budget::hold(size_of_row(&row));
                rows.push(row);
                budget::tick();
            }
            Ok(QueryAnswer::Rows { variables, rows })
        }
        QueryResults::Graph(_) => Err(QueryError::Refused("CONSTRUCT".to_owned())),
    }
}

fn size_of_row(row: &[Option<Term>]) -> usize {
    let text = |term: &Term| match term {
        Term::Iri(text) | Term::Blank(text) => text.len(),
        // Datatypes and languages are short.
        Term::Literal(literal) => literal.lexical.len(),
    };
    size_of_val(row) + row.iter().flatten().map(text).sum::<usize>()
}

/// The dataset, as the evaluator reads it.
struct EvalDataset<'a>(&'a Dataset<'a>);

impl<'a> QueryableDataset<'a> for EvalDataset<'a> {
    type InternalTerm = EvalTerm;
    type Error = Infallible;

    fn internal_quads_for_pattern(
        &self,
        subject: Option<&EvalTerm>,
        predicate: Option<&EvalTerm>,
        object: Option<&EvalTerm>,
        graph_name: Option<Option<&EvalTerm>>,
    ) -> impl Iterator<Item = Result<InternalQuad<EvalTerm>, Infallible>> + use<'a> {
        budget::tick();
        let dataset: &'a Dataset<'a> = self.0;
        // A term that is not in the graph matches nothing.
        let mut unknown = false;
        let mut id = |value: Option<&EvalTerm>| match value {
            Some(EvalTerm::Id(id)) => Some(*id),
            Some(EvalTerm::New(_)) => {
                unknown = true;
                None
            }
            None => None,
        };
        let pattern = [id(subject), id(predicate), id(object)];
        let rows = match graph_name {
            _ if unknown => QuadRows::none(),
            Some(None) => dataset.in_default(pattern),
            Some(Some(name)) => dataset.in_graph(name, pattern),
            None => dataset.in_any_graph(pattern),
        };
        rows.map(|(row, graph): QuadRow<'a>| {
            budget::hold_terms(row.len());
            let [subject, predicate, object] = row.map(EvalTerm::Id);
            Ok(InternalQuad {
                subject,
                predicate,
                object,
                graph_name: graph.cloned(),
            })
        })
    }

    fn internal_named_graphs(
        &self,
    ) -> impl Iterator<Item = Result<EvalTerm, Infallible>> + use<'a> {
        let dataset: &'a Dataset<'a> = self.0;
        dataset.names().map(Ok)
    }

    fn contains_internal_graph_name(&self, name: &EvalTerm) -> Result<bool, Infallible> {
        Ok(self.0.has(name))
    }

    fn internalize_term(&self, term: OxTerm) -> Result<EvalTerm, Infallible> {
        let term = match term {
            // A graph named by a blank node, where a pattern was written once for each graph.
            OxTerm::NamedNode(name) => graph_term(name.as_str()),
            other => other,
        };
        Ok(EvalTerm::of(self.0.kg().dictionary(), term))
    }

    fn externalize_term(&self, value: EvalTerm) -> Result<OxTerm, Infallible> {
        Ok(value.to_ox(self.0.kg().dictionary()))
    }

    fn externalize_expression_term(&self, value: EvalTerm) -> Result<ExpressionTerm, Infallible> {
        budget::tick();
        Ok(self.externalize_term(value)?.into())
    }
}
