//! SPARQL over the sorted columns of a [`FrozenKg`]: oxigraph's evaluator reads them through its dataset trait, so no second copy of the
//! graph is made, and it is stopped when its time is over.
//!
//! The evaluator has no time limit of its own and some of its loops (joins, sorts, groups) do not look at its cancellation token. All of
//! them handle terms, though. So each copy of a term and each row read counts a tick, and the tick that finds the deadline passed unwinds
//! to [`evaluate`] by [`resume_unwind`], which runs no panic hook and prints nothing. A real panic of the evaluator is caught there too.

use std::any::Any;
use std::cell::Cell;
use std::convert::Infallible;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::time::Instant;

use oxigraph::model::{BlankNode, Literal as OxLiteral, NamedNode, NamedNodeRef, Term as OxTerm};
use spareval::{ExpressionTerm, InternalQuad, QueryEvaluator, QueryResults, QueryableDataset};
use spargebra::Query;

use super::FrozenKg;
use super::dictionary::{Parts, term_key};
use super::pattern::Rows;
use super::{QueryAnswer, QueryError, QueryLimits, rewrite};
use crate::limits::QUERY_TEXT;
use crate::term::{Literal, Term, XSD};

/// Ticks between two looks at the clock: some 10 microseconds of work.
const TICKS: u32 = 1024;

/// Why an evaluation was unwound.
#[derive(Clone, Copy, Debug)]
enum Stop {
    Deadline,
    Text,
}

thread_local! {
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
    static TICK: Cell<u32> = const { Cell::new(0) };
}

/// Counts one unit of work; unwinds when the deadline of this thread has passed.
fn tick() {
    let left = TICK.get();
    if left > 0 {
        TICK.set(left - 1);
        return;
    }
    TICK.set(TICKS);
    if DEADLINE
        .get()
        .is_some_and(|deadline| Instant::now() >= deadline)
    {
        stop(Stop::Deadline);
    }
}

fn stop(why: Stop) -> ! {
    // What is dropped while unwinding must not stop a second time.
    DEADLINE.set(None);
    resume_unwind(Box::new(why))
}

/// A function of queries that is ours.
type Function = (NamedNode, fn(&[OxTerm]) -> Option<OxTerm>);

/// A query as it is evaluated: what another evaluator needs to give the same answers.
#[derive(Clone, Debug)]
pub struct Evaluated {
    /// The query with dialects, dates and sorting made plain (see the module `rewrite`).
    pub query: Query,
    /// The functions that it may call.
    pub functions: [Function; 3],
}

impl Evaluated {
    /// Rewrites a query.
    ///
    /// # Errors
    /// [`QueryError::Refused`] for what is not allowed or too large to be planned in time.
    pub fn of(query: &Query) -> Result<Self, QueryError> {
        let named = |name: &str, function: fn(&[OxTerm]) -> Option<OxTerm>| {
            (NamedNode::new_unchecked(name), function)
        };
        let functions = [
            named(rewrite::SORT, rewrite::sort),
            named(rewrite::AMOUNT, rewrite::amount),
            named(rewrite::DATE_TIME, rewrite::date_time),
        ];
        Ok(Self {
            query: rewrite::rewrite(query)?,
            functions,
        })
    }
}

/// Evaluates a query over a graph.
pub(super) fn evaluate(
    kg: &FrozenKg,
    query: &Query,
    limits: QueryLimits,
) -> Result<QueryAnswer, QueryError> {
    let query = Evaluated::of(query)?;
    DEADLINE.set(Instant::now().checked_add(limits.deadline));
    TICK.set(0);
    let result = catch_unwind(AssertUnwindSafe(|| run(kg, &query, limits.rows)));
    DEADLINE.set(None);
    result.unwrap_or_else(|payload| {
        Err(match payload.downcast_ref::<Stop>() {
            Some(Stop::Deadline) => QueryError::Deadline(limits.deadline),
            Some(Stop::Text) => {
                QueryError::Evaluation(format!("it builds a text longer than {QUERY_TEXT} bytes"))
            }
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

fn run(kg: &FrozenKg, query: &Evaluated, limit: usize) -> Result<QueryAnswer, QueryError> {
    let functions = query.functions.iter().cloned();
    let evaluator = functions.fold(QueryEvaluator::new(), |evaluator, (name, function)| {
        evaluator.with_custom_function(name, function)
    });
    let failed = |error: spareval::QueryEvaluationError| QueryError::Evaluation(error.to_string());
    match evaluator
        .prepare(&query.query)
        .execute(View(kg))
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
                rows.push(
                    solution
                        .map_err(failed)?
                        .values()
                        .iter()
                        .map(|value| value.as_ref().map(to_term))
                        .collect(),
                );
                tick();
            }
            Ok(QueryAnswer::Rows { variables, rows })
        }
        QueryResults::Graph(_) => Err(QueryError::Refused("CONSTRUCT".to_owned())),
    }
}

/// A literal of the evaluator as ours.
pub(super) fn to_literal(literal: &OxLiteral) -> Literal {
    let lang = literal.language().map(str::to_ascii_lowercase);
    let datatype = literal.datatype().as_str();
    let plain = lang.is_some() || datatype.strip_prefix(XSD) == Some("string");
    Literal {
        lexical: literal.value().to_owned(),
        datatype: (!plain).then(|| datatype.to_owned()),
        lang,
    }
}

fn to_term(term: &OxTerm) -> Term {
    match term {
        OxTerm::NamedNode(node) => Term::Iri(node.as_str().to_owned()),
        OxTerm::BlankNode(node) => Term::Blank(node.as_str().to_owned()),
        OxTerm::Literal(literal) => Term::Literal(to_literal(literal)),
    }
}

fn from_parts(parts: Parts<'_>) -> OxTerm {
    match parts {
        Parts::Iri(iri) => NamedNode::new_unchecked(iri).into(),
        Parts::Blank(label) => BlankNode::new_unchecked(label).into(),
        Parts::Literal(lexical, _, lang) if !lang.is_empty() => {
            OxLiteral::new_language_tagged_literal_unchecked(lexical, lang).into()
        }
        Parts::Literal(lexical, "", _) => OxLiteral::new_simple_literal(lexical).into(),
        Parts::Literal(lexical, datatype, _) => {
            OxLiteral::new_typed_literal(lexical, NamedNodeRef::new_unchecked(datatype)).into()
        }
    }
}

/// A term during evaluation: one of the graph's, or one that the query makes. Never both, so equality is equality of terms.
#[derive(Debug)]
enum Value {
    Id(u32),
    New(Rc<OxTerm>),
}

impl Clone for Value {
    fn clone(&self) -> Self {
        tick();
        match self {
            Self::Id(id) => Self::Id(*id),
            Self::New(term) => Self::New(Rc::clone(term)),
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Id(a), Self::Id(b)) => a == b,
            (Self::New(a), Self::New(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Id(id) => id.hash(state),
            Self::New(term) => term.hash(state),
        }
    }
}

/// The graph as the evaluator's dataset: everything is in the default graph.
struct View<'a>(&'a FrozenKg);

impl<'a> QueryableDataset<'a> for View<'a> {
    type InternalTerm = Value;
    type Error = Infallible;

    fn internal_quads_for_pattern(
        &self,
        subject: Option<&Value>,
        predicate: Option<&Value>,
        object: Option<&Value>,
        graph_name: Option<Option<&Value>>,
    ) -> impl Iterator<Item = Result<InternalQuad<Value>, Infallible>> + use<'a> {
        tick();
        let kg: &'a FrozenKg = self.0;
        // A term that the graph does not hold matches nothing.
        let mut unknown = matches!(graph_name, Some(Some(_)));
        let mut id = |value: Option<&Value>| match value {
            Some(Value::Id(id)) => Some(*id),
            Some(Value::New(_)) => {
                unknown = true;
                None
            }
            None => None,
        };
        let (s, p, o) = (id(subject), id(predicate), id(object));
        let rows = if unknown {
            Rows::none()
        } else {
            Rows::matching(kg, s, p, o)
        };
        rows.map(|row| {
            tick();
            let [subject, predicate, object] = row.map(Value::Id);
            Ok(InternalQuad {
                subject,
                predicate,
                object,
                graph_name: None,
            })
        })
    }

    fn internalize_term(&self, term: OxTerm) -> Result<Value, Infallible> {
        tick();
        if let OxTerm::Literal(literal) = &term
            && literal.value().len() > QUERY_TEXT
        {
            stop(Stop::Text);
        }
        let mut key = String::new();
        term_key(&mut key, &to_term(&term));
        Ok(self
            .0
            .dictionary()
            .find(&key)
            .map_or_else(|| Value::New(Rc::new(term)), Value::Id))
    }

    fn externalize_term(&self, value: Value) -> Result<OxTerm, Infallible> {
        Ok(match value {
            Value::Id(id) => from_parts(self.0.dictionary().key(id).parts()),
            Value::New(term) => term.as_ref().clone(),
        })
    }

    fn externalize_expression_term(&self, value: Value) -> Result<ExpressionTerm, Infallible> {
        tick();
        Ok(self.externalize_term(value)?.into())
    }
}
