//! Looking into a graph for a client: nodes and relations by name, search, queries, programs.

use std::io;

use common::cancel::Cancel;
use kg::term::{NodeId, RelId};
use kg::{
    Kg, QueryAnswer, QueryError, QueryLimits, ResultsFormat, TriplesFormat, cancelled_by,
    construct, dataset_note, parse_query_at, with_dataset,
};
use serde_json::{Value, json};
use toolbox::call::parse_program;
use toolbox::exec::{ExecOptions, Session};
use toolbox::link::Linked;
use toolbox::trace::ResultText;

use crate::fault::Fault;
use crate::metrics::count;
use crate::queue::CANCELLED;
use crate::served::ServedGraph;
use crate::service::Service;
use crate::view;

/// Longest text that is searched for, in bytes.
const SEARCHED: usize = 200;
/// Maximum rows of a result, which is held in memory.
const ROWS: usize = 200_000;
/// Maximum bytes of the rows of a query, which its result holds again as text.
const MEMORY: usize = 1 << 27;
/// Maximum bytes of a program.
const PROGRAM: usize = 20_000;

/// The node of this name or IRI.
pub(crate) fn node(kg: &dyn Kg, id: &str) -> Result<NodeId, Fault> {
    kg.by_name(id).ok_or_else(|| {
        let message = format!("the graph has no node `{id}`; search for its name first");
        Fault::unknown("unknown_entity", message)
    })
}

/// The relation of this name or IRI.
pub(crate) fn relation(kg: &dyn Kg, name: &str) -> Result<RelId, Fault> {
    let node = kg.by_name(name).filter(|node| kg.uses(node.relation()) > 0);
    node.map(NodeId::relation).ok_or_else(|| {
        let message = format!("the graph has no relation `{name}`");
        Fault::unknown("unknown_relation", message)
    })
}

/// Searches for entities and classes by label.
pub(crate) fn search(graph: &ServedGraph, text: &str, limit: usize) -> Result<Value, Fault> {
    if text.len() > SEARCHED {
        let message = format!("a text of at most {SEARCHED} bytes is searched for");
        return Err(Fault::bad("too_long", message));
    }
    view::search(&graph.kg, text, limit).map_err(|error| {
        tracing::error!("a search in `{}` failed: {error}", graph.name);
        Fault::internal()
    })
}

/// Runs calls of the 13 tools and gives the result of each.
///
/// # Errors
/// [`Fault`] if the program does not parse or a call cannot be executed.
pub(crate) fn program(
    graph: &ServedGraph,
    question: &str,
    calls: &str,
    cancel: &Cancel,
) -> Result<Value, Fault> {
    if calls.len() > PROGRAM || question.len() > PROGRAM {
        let message = format!("a program has at most {PROGRAM} bytes");
        return Err(Fault::bad("too_long", message));
    }
    let calls = parse_program(calls).map_err(|error| Fault::bad("syntax", error.to_string()))?;
    let kg = &graph.kg;
    let linked = Linked::asked(kg, question, &[]);
    let options = ExecOptions {
        cancel: cancel.clone(),
        ..ExecOptions::default()
    };
    let session = Session::new(kg, question, linked, &[], options);
    let mut session = session.map_err(|_| Fault::internal())?;
    let mut steps = Vec::new();
    for call in &calls {
        let ran = session.run(call).map(|_| ());
        ran.map_err(|error| Fault::bad("call", format!("`{call}` cannot be executed: {error}")))?;
        if let Some(step) = session.steps().last() {
            let result = ResultText::of(&session, step);
            steps.push(json!({ "call": call.to_string(), "result": result }));
        }
    }
    Ok(json!({ "steps": steps }))
}

/// How a client takes results; `None` if it does not take that kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accepted {
    /// Rows and truth values.
    pub(crate) rows: Option<ResultsFormat>,
    /// Triples.
    pub(crate) triples: Option<TriplesFormat>,
}

/// The dataset that a request chooses; without graphs it is the query's own.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChosenDataset {
    /// Graphs that are merged as the default graph.
    pub(crate) default: Vec<String>,
    /// Named graphs.
    pub(crate) named: Vec<String>,
}

/// A written result.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) media_type: &'static str,
    pub(crate) bytes: Vec<u8>,
    /// What a person should know about it.
    pub(crate) note: Option<String>,
}

/// Runs a query and writes its result in an accepted format.
///
/// # Errors
/// [`Fault`] if the query is wrong, refused, too expensive or cancelled.
pub(crate) fn query(
    service: &Service,
    graph: &ServedGraph,
    query: &str,
    chosen: &ChosenDataset,
    accepted: Accepted,
    cancel: &Cancel,
) -> Result<Written, Fault> {
    count(&service.metrics.queries);
    let kg = &graph.kg;
    let limits = QueryLimits {
        rows: ROWS,
        memory: MEMORY,
        ..QueryLimits::default()
    };
    let refused = |error: QueryError| fault(&error);
    // Relative IRIs begin at the address of the graph.
    let base = format!("http://localhost/sparql/{}", graph.name);
    let query = parse_query_at(&base, query).map_err(refused)?;
    let dataset = |message: String| Fault::bad("dataset", message);
    let query = with_dataset(query, &chosen.default, &chosen.named);
    let query = query.map_err(|error| dataset(error.to_string()))?;
    let note = dataset_note(kg, &query);
    if let Some(note) = &note
        && !(chosen.default.is_empty() && chosen.named.is_empty())
    {
        return Err(dataset(note.clone()));
    }
    let made = cancelled_by(cancel, || construct(kg, &query, limits));
    if let Some(triples) = made.map_err(refused)? {
        let types = TriplesFormat::ALL.map(TriplesFormat::media_type);
        let format = accepted.triples.ok_or_else(|| not_acceptable(&types))?;
        return Ok(Written {
            media_type: format.media_type(),
            bytes: format
                .write(triples.iter())
                .map_err(|error| unwritten(&error))?,
            note,
        });
    }
    let answer: QueryAnswer = cancelled_by(cancel, || kg.query(&query, limits)).map_err(refused)?;
    let types = ResultsFormat::ALL.map(ResultsFormat::media_type);
    let format = accepted.rows.ok_or_else(|| not_acceptable(&types))?;
    let mut bytes = Vec::new();
    let written = answer.write(format, &mut bytes);
    written.map_err(|error| unwritten(&error))?;
    Ok(Written {
        media_type: format.media_type(),
        bytes,
        note,
    })
}

/// The error for a result that its format cannot write.
pub(crate) fn unwritten(error: &io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::InvalidData => Fault::new(406, "not_acceptable", error.to_string()),
        _ => Fault::internal(),
    }
}

/// The error for a client that accepts other media types only.
pub(crate) fn not_acceptable(types: &[&str]) -> Fault {
    let message = format!("the result is available as {}", types.join(", "));
    Fault::new(406, "not_acceptable", message)
}

fn fault(error: &QueryError) -> Fault {
    let message = error.to_string();
    match error {
        QueryError::Syntax(_) => Fault::bad("syntax", message),
        QueryError::Refused(_) => Fault::bad("refused", message),
        QueryError::Deadline(_) => Fault::busy("deadline", message),
        QueryError::Cancelled => Fault::new(503, CANCELLED, message),
        QueryError::Memory(_) => Fault::bad("memory", message),
        QueryError::Rows(_) => Fault::bad("rows", format!("{message}; add a LIMIT")),
        QueryError::Evaluation(_) => Fault::new(500, "evaluation", message),
    }
}
