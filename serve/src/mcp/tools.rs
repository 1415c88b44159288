//! The tools: what they take, what they give, and running them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use common::cancel::Cancel;
use infer::agent::TraceWatcher;
use kg::ResultsFormat;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use toolbox::trace::TraceEvent;

use super::{Begun, McpError, Notify, PARAMETERS, text};
use crate::answering::{AskRequest, Question};
use crate::explain;
use crate::fault::Fault;
use crate::given;
use crate::lookup::{self, Accepted, ChosenDataset};
use crate::markdown::plain_step;
use crate::queue::{Asker, queued};
use crate::schemas;
use crate::service::Service;
use crate::view::{self, EntityPage, Side};

/// Rows of a query, and neighbours of an entity, that a tool returns at most.
const MOST: usize = 200;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchArgs {
    text: String,
    graph: Option<String>,
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DescribeArgs {
    id: String,
    graph: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NeighbourArgs {
    id: String,
    relation: String,
    direction: Option<String>,
    offset: Option<usize>,
    limit: Option<usize>,
    graph: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProgramArgs {
    program: String,
    question: Option<String>,
    graph: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QueryArgs {
    query: String,
    offset: Option<usize>,
    limit: Option<usize>,
    graph: Option<String>,
}

/// The tools with the schemas of their arguments and results.
pub(super) fn list() -> Value {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let number = |about: &str| json!({ "type": "integer", "minimum": 0, "description": about });
    let graph = || text("Name of the graph; the first one without it.");
    let tool = |name: &str, about: &str, result: &str, required: &[&str], properties: Value| {
        json!({
            "name": name, "description": about,
            "inputSchema": {
                "type": "object", "properties": properties, "required": required,
                "additionalProperties": false,
            },
            "outputSchema": schemas::alone(result),
            "annotations": { "readOnlyHint": true, "openWorldHint": false },
        })
    };
    json!([
        tool(
            "ask",
            "Answers a question over the graph, with its program and the triples that prove it.",
            "ToolAnswer",
            &["question"],
            json!({
                "question": text("The question in plain words."),
                "graph": graph(),
                "model": text("Name of the model; the first one without it."),
                "agent": text("How to answer, such as kg-agent or words."),
                "entities": { "type": "array", "items": { "type": "string" }, "description": "Names of the entities that it is about; found in the question without it." },
                "allow_model_knowledge": { "type": "boolean", "description": "Whether the model may answer from its own knowledge if the graph has no answer." },
            })
        ),
        tool(
            "search_entities",
            "Finds entities and classes by label.",
            "Found",
            &["text"],
            json!({
                "text": text("A name or its beginning."),
                "graph": graph(),
                "limit": number("Most results; 10 without it."),
            })
        ),
        tool(
            "describe_entity",
            "Classes and relations of a node, each relation with its first neighbours.",
            "Entity",
            &["id"],
            json!({
                "id": text("Name or IRI of the node."),
                "graph": graph(),
            })
        ),
        tool(
            "relations",
            "Neighbours of a node by one relation, a page at a time.",
            "Neighbours",
            &["id", "relation"],
            json!({
                "id": text("Name or IRI of the node."),
                "relation": text("Name or IRI of the relation."),
                "direction": { "type": "string", "enum": ["out", "in"], "description": "Whether the node is the subject (out, the default) or the object." },
                "offset": number("Neighbours to skip."),
                "limit": number("Most neighbours; 50 without it."),
                "graph": graph(),
            })
        ),
        tool(
            "run_program",
            "Runs calls of the graph tools, such as `v0 = get_tail_entity(lisbon, location.city.country); ans = end(v0)`.",
            "Steps",
            &["program"],
            json!({
                "program": text("Calls separated by `;`."),
                "question": text("The question that they answer; it orders lists of relations."),
                "graph": graph(),
            })
        ),
        tool(
            "sparql",
            "Runs a SPARQL SELECT or ASK query. Values longer than 4,000 characters are cut.",
            "QueryResults",
            &["query"],
            json!({
                "query": text("The query."),
                "offset": number("Rows to skip."),
                "limit": number("Most rows; 200 without it."),
                "graph": graph(),
            })
        ),
    ])
}

/// Begins to run a tool. Its failure is a result, which the model can read; an unknown tool is an
/// error.
pub(super) fn call(
    service: &Arc<Service>,
    params: &Value,
    asker: Asker,
    progress: Option<(Notify, Value)>,
) -> Begun {
    let name = params["name"].as_str().unwrap_or_default();
    let arguments = match &params["arguments"] {
        Value::Null => json!({}),
        given => given.clone(),
    };
    let tool: fn(&Service, &Cancel, Value) -> Result<Value, Fault> = match name {
        "ask" => return ask(service, arguments, asker, progress),
        "search_entities" => search,
        "describe_entity" => describe,
        "relations" => neighbours,
        "run_program" => program,
        "sparql" => sparql,
        other => {
            let message = format!("there is no tool `{other}`");
            return Begun::Done(Err(McpError::new(PARAMETERS, message)));
        }
    };
    let pending = queued(service, asker, move |service, cancel| {
        tool(service, cancel?, arguments)
    });
    match pending {
        Ok(pending) => Begun::Working(pending, written),
        Err(fault) => Begun::Done(written(Err(fault))),
    }
}

/// The result of a tool as the protocol has it.
fn written(done: Result<Value, Fault>) -> Result<Value, McpError> {
    Ok(match done {
        Ok(mut value) => {
            let cut = text::tidy(&mut value);
            let mut result = json!({
                "content": [{ "type": "text", "text": text::written(&value) }],
                "structuredContent": value,
                "isError": false,
            });
            if cut > 0 {
                result["_meta"] = json!({ "kgagent/cut": cut });
            }
            result
        }
        Err(fault) => json!({
            "content": [{ "type": "text", "text": format!("{}: {}", fault.code, fault.message) }],
            "isError": true,
            "_meta": { "kgagent/error": { "code": fault.code, "message": fault.message } },
        }),
    })
}

fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, Fault> {
    given::read(arguments).map_err(|error| Fault::bad("arguments", error))
}

fn ask(
    service: &Arc<Service>,
    arguments: Value,
    asker: Asker,
    progress: Option<(Notify, Value)>,
) -> Begun {
    let arrived = Instant::now();
    let question = read::<AskRequest>(arguments).and_then(|request| Question::of(service, request));
    let pending = question.and_then(|question| {
        let watcher = progress.map(|(notify, token)| watcher(notify, token));
        queued(service, asker, move |service, cancel| {
            let stored = question.run(service, arrived, watcher, cancel)?;
            let mut value = stored.object.clone();
            let graph = service.graph(Some(&stored.graph))?;
            if let Ok(query) = explain::sparql(&graph.kg, &stored) {
                value["sparql"] = query.into();
            }
            value["text"] = stored.text.as_str().into();
            Ok(value)
        })
    });
    match pending {
        Ok(pending) => Begun::Working(pending, written),
        Err(fault) => Begun::Done(written(Err(fault))),
    }
}

/// Tells the client of every step.
fn watcher(notify: Notify, token: Value) -> TraceWatcher {
    let steps = AtomicU64::new(0);
    Arc::new(move |event: &TraceEvent| {
        if let TraceEvent::Result { call, result } = event {
            let step = steps.fetch_add(1, Ordering::Relaxed) + 1;
            notify(json!({
                "jsonrpc": "2.0", "method": "notifications/progress",
                "params": {
                    "progressToken": token, "progress": step,
                    "message": text::sentence(&plain_step(call, result)),
                },
            }));
        }
    })
}

fn search(service: &Service, _: &Cancel, arguments: Value) -> Result<Value, Fault> {
    let args: SearchArgs = read(arguments)?;
    let graph = service.graph(args.graph.as_deref())?;
    let limit = args.limit.unwrap_or(10).min(MOST);
    lookup::search(&graph, &args.text, limit)
}

fn describe(service: &Service, _: &Cancel, arguments: Value) -> Result<Value, Fault> {
    let args: DescribeArgs = read(arguments)?;
    let graph = service.graph(args.graph.as_deref())?;
    Ok(view::entity(&graph.kg, lookup::node(&graph.kg, &args.id)?))
}

fn neighbours(service: &Service, _: &Cancel, arguments: Value) -> Result<Value, Fault> {
    let args: NeighbourArgs = read(arguments)?;
    let graph = service.graph(args.graph.as_deref())?;
    let kg = &graph.kg;
    let side = Side::named(args.direction.as_deref().unwrap_or("out"));
    let page = EntityPage {
        relation: lookup::relation(kg, &args.relation)?,
        side: side.ok_or_else(|| Fault::bad("arguments", "`direction` is `out` or `in`"))?,
        offset: args.offset.unwrap_or(0),
        limit: args.limit.unwrap_or(50).min(MOST),
    };
    Ok(view::page(kg, lookup::node(kg, &args.id)?, page))
}

fn program(service: &Service, cancel: &Cancel, arguments: Value) -> Result<Value, Fault> {
    let args: ProgramArgs = read(arguments)?;
    let graph = service.graph(args.graph.as_deref())?;
    let question = args.question.unwrap_or_default();
    lookup::program(&graph, &question, &args.program, cancel)
}

fn sparql(service: &Service, cancel: &Cancel, arguments: Value) -> Result<Value, Fault> {
    let args: QueryArgs = read(arguments)?;
    let graph = service.graph(args.graph.as_deref())?;
    let accepted = Accepted {
        rows: Some(ResultsFormat::Json),
        triples: None,
    };
    let own = ChosenDataset::default();
    let written = lookup::query(service, &graph, &args.query, &own, accepted, cancel);
    let written = written.map_err(|fault| match fault.status {
        406 => Fault::bad(
            "refused",
            "this tool runs SELECT and ASK; the address /sparql/NAME of a server runs CONSTRUCT and DESCRIBE",
        ),
        _ => fault,
    })?;
    let mut value: Value = serde_json::from_slice(&written.bytes).map_err(|_| Fault::internal())?;
    if let Some(note) = written.note {
        value["note"] = note.into();
    }
    let offset = args.offset.unwrap_or(0);
    let limit = args.limit.unwrap_or(MOST).min(MOST);
    // ASK has no rows.
    let rows = value.pointer_mut("/results/bindings");
    if let Some(rows) = rows.and_then(Value::as_array_mut) {
        let all = rows.len();
        let page: Vec<Value> = rows.drain(..).skip(offset).take(limit).collect();
        let cut = page.len() < all;
        *rows = page;
        if cut {
            value["rows_in_all"] = all.into();
            value["offset"] = offset.into();
        }
    }
    Ok(value)
}
