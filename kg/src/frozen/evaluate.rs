//! SPARQL evaluation over the sorted columns of a graph. oxigraph's evaluator reads them
//! through its dataset trait, so the graph is not copied. A deadline stops it.
//!
//! The evaluator has no limits of time and memory, and some of its loops (joins, sorts, groups)
//! ignore its cancellation token. But all of them handle terms. So every copy of a term and every
//! row read is counted ([`budget`]). When a limit is passed, the stack unwinds to [`evaluate`],
//! which also catches real panics of the evaluator.

use std::any::Any;
use std::convert::Infallible;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use oxigraph::model::{BlankNode, Literal as OxLiteral, NamedNode, NamedNodeRef, Term as OxTerm};
use spareval::{ExpressionTerm, InternalQuad, QueryEvaluator, QueryResults, QueryableDataset};
use spargebra::Query;

use super::kg::FrozenKg;
use super::quads::{Dataset, QuadRow, QuadRows};
use crate::dictionary::{TermParts, term_key};
use crate::limits::QUERY_TEXT;
use crate::sparql::budget::{self, StopReason};
use crate::sparql::{QueryAnswer, QueryError, QueryLimits, RewrittenQuery, length, term_literal};
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
    let query = RewrittenQuery::over(query, || kg.visible_graphs(dataset))?;
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

fn to_term(term: &OxTerm) -> Term {
    match term {
        OxTerm::NamedNode(node) => Term::Iri(node.as_str().to_owned()),
        OxTerm::BlankNode(node) => Term::Blank(node.as_str().to_owned()),
        OxTerm::Literal(literal) => Term::Literal(term_literal(literal)),
    }
}

fn from_parts(parts: TermParts<'_>) -> OxTerm {
    match parts {
        TermParts::Iri(iri) => NamedNode::new_unchecked(iri).into(),
        TermParts::Blank(label) => BlankNode::new_unchecked(label).into(),
        TermParts::Literal(lexical, _, lang) if !lang.is_empty() => {
            OxLiteral::new_language_tagged_literal_unchecked(lexical, lang).into()
        }
        TermParts::Literal(lexical, "", _) => OxLiteral::new_simple_literal(lexical).into(),
        TermParts::Literal(lexical, datatype, _) => {
            OxLiteral::new_typed_literal(lexical, NamedNodeRef::new_unchecked(datatype)).into()
        }
    }
}

/// A term during evaluation: either a term of the graph or one that the query created, never both.
/// So equal values are equal terms.
#[derive(Debug)]
pub(super) enum EvalTerm {
    Id(u32),
    New(Rc<NewTerm>),
}

/// A term that the query created.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct NewTerm(OxTerm);

impl NewTerm {
    fn new(term: OxTerm) -> Self {
        let new = Self(term);
        budget::hold(new.bytes());
        new
    }

    fn bytes(&self) -> usize {
        length(&self.0)
    }
}

impl Drop for NewTerm {
    fn drop(&mut self) {
        budget::release(self.bytes());
    }
}

impl EvalTerm {
    /// A term of the graph if it has this one, else a new term.
    pub(super) fn of(kg: &FrozenKg, term: OxTerm) -> Self {
        if let OxTerm::Literal(literal) = &term {
            budget::text(literal.value().len());
        }
        let known = to_term(&term);
        let mut key = String::new();
        term_key(&mut key, &known);
        match kg.dictionary().find(&key) {
            Some(id) => Self::id(id),
            None => Self::new(Rc::new(NewTerm::new(term))),
        }
    }

    /// The term in full.
    pub(super) fn to_ox(&self, kg: &FrozenKg) -> OxTerm {
        match self {
            Self::Id(id) => from_parts(kg.dictionary().key(*id).parts()),
            Self::New(term) => term.0.clone(),
        }
    }

    fn id(id: u32) -> Self {
        budget::hold_terms(1);
        Self::Id(id)
    }

    fn new(term: Rc<NewTerm>) -> Self {
        budget::hold_terms(1);
        Self::New(term)
    }
}

impl Clone for EvalTerm {
    fn clone(&self) -> Self {
        match self {
            Self::Id(id) => Self::id(*id),
            Self::New(term) => Self::new(Rc::clone(term)),
        }
    }
}

impl Drop for EvalTerm {
    fn drop(&mut self) {
        budget::release_term();
    }
}

impl PartialEq for EvalTerm {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Id(a), Self::Id(b)) => a == b,
            (Self::New(a), Self::New(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for EvalTerm {}

impl Hash for EvalTerm {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Id(id) => id.hash(state),
            Self::New(term) => term.hash(state),
        }
    }
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
        Ok(EvalTerm::of(self.0.kg(), term))
    }

    fn externalize_term(&self, value: EvalTerm) -> Result<OxTerm, Infallible> {
        Ok(value.to_ox(self.0.kg()))
    }

    fn externalize_expression_term(&self, value: EvalTerm) -> Result<ExpressionTerm, Infallible> {
        budget::tick();
        Ok(self.externalize_term(value)?.into())
    }
}
