//! `/v1`: the interface of OpenAI's chat completions, so that chat programs can ask. A model is
//! named `AGENT@GRAPH`, or `AGENT:MODEL@GRAPH` for another model than the first.
//!
//! The question is the last turn of the user; earlier turns are not read. Sampling options, tools
//! and system turns are accepted and change nothing.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use infer::agent::TraceWatcher;
use serde::Deserialize;
use serde_json::{Value, json};
use toolbox::trace::TraceEvent;

use super::App;
use super::ask::read_json;
use super::events::{EventSender, stream};
use super::reply::{object, openai_error};
use crate::answering::{self, AskRequest, Question, agents_of};
use crate::clock::now;
use crate::fault::Fault;
use crate::markdown;
use crate::service::Service;
use crate::store::StoredAnswer;

/// A request; fields of other servers are ignored.
#[derive(Deserialize)]
struct ChatRequest {
    model: String,
    messages: Vec<ChatMessage>,
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
}

#[derive(Deserialize)]
struct ChatMessage {
    role: String,
    #[serde(default)]
    content: Value,
}

#[derive(Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

/// The names of all models.
fn names(service: &Service) -> Vec<String> {
    let mut agents: Vec<String> = Vec::new();
    for (at, model) in service.models.iter().enumerate() {
        for agent in agents_of(Some(model)) {
            agents.push(if at == 0 {
                agent.to_owned()
            } else {
                format!("{agent}:{}", model.name)
            });
        }
    }
    agents.extend(agents_of(None).into_iter().map(str::to_owned));
    let graphs = service.graphs.iter();
    graphs
        .flat_map(|graph| agents.iter().map(|agent| format!("{agent}@{}", graph.name)))
        .collect()
}

pub(super) async fn models(State(app): State<Arc<App>>) -> Response {
    let started = app.service.started;
    let models = names(&app.service).into_iter().map(
        |id| json!({ "id": id, "object": "model", "created": started, "owned_by": "kgagent" }),
    );
    object(&json!({ "object": "list", "data": models.collect::<Vec<_>>() }))
}

pub(super) async fn chat(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Fault> {
    let request: ChatRequest = read_json(&headers, &body)?;
    let service = &app.service;
    let question = Question::of(service, asked(service, &request)?)?;
    let id = question.id().to_owned();
    let mut response = if request.stream {
        let usage = (request.stream_options).is_some_and(|options| options.include_usage);
        streamed(service, question, &request.model, usage)?
    } else {
        let stored = answering::ask(service, question, None)?.finished().await?;
        object(&whole(&stored, &request.model))
    };
    if let Ok(id) = HeaderValue::from_str(&id) {
        let name = HeaderName::from_static("x-request-id");
        response.headers_mut().insert(name, id);
    }
    Ok(response)
}

/// What a chat request asks.
fn asked(service: &Service, request: &ChatRequest) -> Result<AskRequest, Fault> {
    let unknown = || {
        let names = names(service).join(", ");
        let message = format!("there is no model `{}`; there are {names}", request.model);
        Fault::unknown("model_not_found", message)
    };
    let (agent, graph) = request.model.split_once('@').ok_or_else(unknown)?;
    let (agent, model) = match agent.split_once(':') {
        Some((agent, model)) => (agent, Some(model.to_owned())),
        None => (agent, None),
    };
    if !names(service).contains(&request.model) {
        return Err(unknown());
    }
    let last = request.messages.iter().rfind(|turn| turn.role == "user");
    let last = last.ok_or_else(|| Fault::bad("messages", "`messages` has no turn of a user"))?;
    Ok(AskRequest {
        question: text(&last.content)?,
        graph: Some(graph.to_owned()),
        agent: Some(agent.to_owned()),
        model,
        ..AskRequest::default()
    })
}

/// The text of a turn: a string, or parts of type `text`.
fn text(content: &Value) -> Result<String, Fault> {
    match content {
        Value::String(text) => Ok(text.clone()),
        Value::Array(parts) => {
            let texts: Option<Vec<&str>> = parts.iter().map(|part| part["text"].as_str()).collect();
            texts
                .map(|texts| texts.join(" "))
                .ok_or_else(|| Fault::bad("messages", "only text can be asked, no images or files"))
        }
        _ => Err(Fault::bad("messages", "`content` is a text")),
    }
}

/// Tokens of an answer: read and written by the model.
fn usage(stored: &StoredAnswer) -> Value {
    let (mut prompt, mut completion) = (0, 0);
    for event in &stored.events {
        if let TraceEvent::Tokens {
            read,
            decided,
            forced,
            ..
        } = event
        {
            prompt += read;
            completion += decided + forced;
        }
    }
    json!({
        "prompt_tokens": prompt, "completion_tokens": completion,
        "total_tokens": prompt + completion,
    })
}

fn reasoning(stored: &StoredAnswer) -> String {
    let steps = stored.events.iter().filter_map(|event| match event {
        TraceEvent::Result { call, result } => Some(markdown::step(call, result)),
        _ => None,
    });
    steps.collect()
}

fn whole(stored: &StoredAnswer, model: &str) -> Value {
    json!({
        "id": format!("chatcmpl-{}", stored.id), "object": "chat.completion", "created": now(),
        "model": model,
        "choices": [{
            "index": 0, "finish_reason": "stop", "logprobs": null,
            "message": {
                "role": "assistant", "content": markdown::answer(stored),
                "reasoning_content": reasoning(stored), "refusal": null,
            },
        }],
        "usage": usage(stored),
        "kgagent": stored.object,
    })
}

/// The parts of a streamed completion.
#[derive(Clone)]
struct Chunks {
    sender: EventSender,
    head: Value,
}

impl Chunks {
    fn new(sender: EventSender, id: &str, model: &str) -> Self {
        let head = json!({
            "id": format!("chatcmpl-{id}"), "object": "chat.completion.chunk", "created": now(),
            "model": model,
        });
        Self { sender, head }
    }

    fn send(&self, delta: &Value, finish: Option<&str>) {
        let mut chunk = self.head.clone();
        chunk["choices"] = json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
        self.sender.data(&chunk.to_string());
    }

    fn finish(&self, stored: &StoredAnswer, with_usage: bool) {
        self.send(&json!({ "content": markdown::answer(stored) }), None);
        let mut last = self.head.clone();
        last["choices"] = json!([{ "index": 0, "delta": {}, "finish_reason": "stop" }]);
        last["kgagent"] = stored.object.clone();
        self.sender.data(&last.to_string());
        if with_usage {
            let mut chunk = self.head.clone();
            chunk["choices"] = json!([]);
            chunk["usage"] = usage(stored);
            self.sender.data(&chunk.to_string());
        }
        self.sender.data("[DONE]");
    }
}

fn streamed(
    service: &Arc<Service>,
    question: Question,
    model: &str,
    with_usage: bool,
) -> Result<Response, Fault> {
    let (sender, response) = stream();
    let chunks = Chunks::new(sender.clone(), question.id(), model);
    let watching = chunks.clone();
    let watcher: TraceWatcher = Arc::new(move |event: &TraceEvent| {
        if let TraceEvent::Result { call, result } = event {
            let step = markdown::step(call, result);
            watching.send(&json!({ "reasoning_content": step }), None);
        }
    });
    let pending = answering::ask(service, question, Some(watcher))?;
    chunks.send(&json!({ "role": "assistant", "content": "" }), None);
    tokio::spawn(async move {
        tokio::select! {
            done = pending.finished() => match done {
                Ok(stored) => chunks.finish(&stored, with_usage),
                Err(fault) => sender.data(&openai_error(&fault).to_string()),
            },
            () = sender.closed() => {}
        }
    });
    Ok(response)
}
