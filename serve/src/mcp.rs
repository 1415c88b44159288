//! The Model Context Protocol over standard input and output: one JSON-RPC message a line. A large
//! model in an editor or a chat program uses the graph through these tools, with evidence.

use std::io::{self, BufRead, Write};
use std::sync::Arc;

use kg::ResultsFormat;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::answering::{self, AskRequest, Question};
use crate::explain;
use crate::fault::Fault;
use crate::lookup::{self, Accepted};
use crate::service::Service;
use crate::view::{self, EntityPage, Side};

/// Revisions of the protocol with the same messages for tools, the newest first.
const REVISIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// Longest message, in bytes.
const MESSAGE: u64 = 1 << 20;
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
    graph: Option<String>,
}

/// Answers the messages of `input` until it ends. One message is answered at a time.
///
/// # Errors
/// If `input` cannot be read or `output` cannot be written.
pub fn serve_mcp(
    service: &Arc<Service>,
    mut input: impl BufRead,
    mut output: impl Write,
) -> io::Result<()> {
    loop {
        let mut line = Vec::new();
        let read = io::Read::take(&mut input, MESSAGE).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let reply = if line.last() != Some(&b'\n') && read as u64 == MESSAGE {
            skip_line(&mut input)?;
            let message = format!("a message has at most {MESSAGE} bytes");
            Some(error(&Value::Null, -32600, &message))
        } else {
            answer(service, &line)
        };
        if let Some(reply) = reply {
            writeln!(output, "{reply}")?;
            output.flush()?;
        }
    }
}

/// Reads to the end of a line without keeping it.
fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let part = input.fill_buf()?;
        let (used, ended) = match part.iter().position(|&byte| byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (part.len(), part.is_empty()),
        };
        input.consume(used);
        if ended {
            return Ok(());
        }
    }
}

fn error(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

/// The reply to a message; `None` for a notification.
fn answer(service: &Arc<Service>, line: &[u8]) -> Option<Value> {
    let message: Value = match serde_json::from_slice(line) {
        Ok(message) => message,
        Err(why) => return Some(error(&Value::Null, -32700, &format!("not JSON: {why}"))),
    };
    let Some(method) = message["method"].as_str() else {
        return Some(error(&message["id"], -32600, "the message has no `method`"));
    };
    let id = message.get("id").filter(|id| !id.is_null())?;
    let result = match method {
        "initialize" => Ok(initialize(&message["params"])),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({ "tools": tools() })),
        "tools/call" => call(service, &message["params"]),
        other => Err((-32601, format!("there is no method `{other}`"))),
    };
    Some(match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err((code, message)) => error(id, code, &message),
    })
}

fn initialize(params: &Value) -> Value {
    let asked = params["protocolVersion"].as_str().unwrap_or_default();
    let known = REVISIONS.iter().find(|revision| **revision == asked);
    json!({
        "protocolVersion": known.unwrap_or(&REVISIONS[0]),
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "kgagent", "version": env!("CARGO_PKG_VERSION") },
        "instructions": "Answers from a knowledge graph, with the triples that prove them. `ask` takes a whole question. To look for yourself: `search_entities` finds names, `describe_entity` shows relations, `relations` lists neighbours, `run_program` and `sparql` compute.",
    })
}

/// The tools with the schemas of their arguments.
fn tools() -> Value {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let number = |about: &str| json!({ "type": "integer", "minimum": 0, "description": about });
    let graph = || text("Name of the graph; the first one without it.");
    let tool = |name: &str, about: &str, required: &[&str], properties: Value| {
        json!({
            "name": name, "description": about,
            "inputSchema": {
                "type": "object", "properties": properties, "required": required,
                "additionalProperties": false,
            },
            "outputSchema": { "type": "object" },
            "annotations": { "readOnlyHint": true, "openWorldHint": false },
        })
    };
    json!([
        tool(
            "ask",
            "Answers a question over the graph, with its program and the triples that prove it.",
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
            &["id"],
            json!({
                "id": text("Name or IRI of the node."),
                "graph": graph(),
            })
        ),
        tool(
            "relations",
            "Neighbours of a node by one relation, a page at a time.",
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
            &["program"],
            json!({
                "program": text("Calls separated by `;`."),
                "question": text("The question that they answer; it orders lists of relations."),
                "graph": graph(),
            })
        ),
        tool(
            "sparql",
            "Runs a SPARQL SELECT or ASK query.",
            &["query"],
            json!({
                "query": text("The query."),
                "graph": graph(),
            })
        ),
    ])
}

/// Runs a tool. Its failure is a result, which the model can read; an unknown tool is an error.
fn call(service: &Arc<Service>, params: &Value) -> Result<Value, (i32, String)> {
    let name = params["name"].as_str().unwrap_or_default();
    let arguments = match &params["arguments"] {
        Value::Null => json!({}),
        given => given.clone(),
    };
    let done = match name {
        "ask" => read(arguments).and_then(|args| ask(service, args)),
        "search_entities" => read(arguments).and_then(|args| search(service, &args)),
        "describe_entity" => read(arguments).and_then(|args| describe(service, &args)),
        "relations" => read(arguments).and_then(|args| neighbours(service, &args)),
        "run_program" => read(arguments).and_then(|args| program(service, &args)),
        "sparql" => read(arguments).and_then(|args| sparql(service, args)),
        other => return Err((-32602, format!("there is no tool `{other}`"))),
    };
    Ok(match done {
        Ok(value) => json!({
            "content": [{ "type": "text", "text": value.to_string() }],
            "structuredContent": value,
            "isError": false,
        }),
        Err(fault) => json!({
            "content": [{ "type": "text", "text": format!("{}: {}", fault.code, fault.message) }],
            "isError": true,
        }),
    })
}

fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, Fault> {
    serde_json::from_value(arguments).map_err(|error| Fault::bad("arguments", error.to_string()))
}

fn ask(service: &Arc<Service>, request: AskRequest) -> Result<Value, Fault> {
    let question = Question::of(service, request)?;
    let stored = answering::ask(service, question, None)?.wait()?;
    let mut value = stored.object.clone();
    let kg = &service.graph(Some(&stored.graph))?.kg;
    if let Ok(query) = explain::sparql(kg, &stored) {
        value["sparql"] = query.into();
    }
    value["text"] = stored.text.as_str().into();
    Ok(value)
}

fn search(service: &Service, args: &SearchArgs) -> Result<Value, Fault> {
    let graph = service.graph(args.graph.as_deref())?;
    lookup::search(
        service,
        graph,
        &args.text,
        args.limit.unwrap_or(10).min(MOST),
    )
}

fn describe(service: &Service, args: &DescribeArgs) -> Result<Value, Fault> {
    let kg = &service.graph(args.graph.as_deref())?.kg;
    Ok(view::entity(kg, lookup::node(kg, &args.id)?))
}

fn neighbours(service: &Service, args: &NeighbourArgs) -> Result<Value, Fault> {
    let kg = &service.graph(args.graph.as_deref())?.kg;
    let side = Side::named(args.direction.as_deref().unwrap_or("out"));
    let page = EntityPage {
        relation: lookup::relation(kg, &args.relation)?,
        side: side.ok_or_else(|| Fault::bad("arguments", "`direction` is `out` or `in`"))?,
        offset: args.offset.unwrap_or(0),
        limit: args.limit.unwrap_or(50).min(MOST),
    };
    Ok(view::page(kg, lookup::node(kg, &args.id)?, page))
}

fn program(service: &Service, args: &ProgramArgs) -> Result<Value, Fault> {
    let graph = service.graph(args.graph.as_deref())?;
    lookup::program(
        graph,
        args.question.as_deref().unwrap_or_default(),
        &args.program,
    )
}

fn sparql(service: &Arc<Service>, args: QueryArgs) -> Result<Value, Fault> {
    let graph = service.graph(args.graph.as_deref())?;
    let accepted = Accepted {
        rows: Some(ResultsFormat::Json),
        triples: None,
    };
    let received = lookup::query(service, graph, args.query, accepted)?;
    let written = received.blocking_recv();
    let (_, bytes) = written.unwrap_or_else(|_| Err(Fault::internal()))?;
    let mut value: Value = serde_json::from_slice(&bytes).map_err(|_| Fault::internal())?;
    if let Some(rows) = value["results"]["bindings"].as_array_mut() {
        let all = rows.len();
        rows.truncate(MOST);
        if all > MOST {
            value["rows_in_all"] = json!(all);
        }
    }
    Ok(value)
}
