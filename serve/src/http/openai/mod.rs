//! `/v1`: the interface of OpenAI, so that chat programs can ask. A model is named `AGENT@GRAPH`, or
//! `AGENT:MODEL@GRAPH` for another model than the first.
//!
//! Turns of the system are accepted and change nothing. Tools of the client are never called, which the
//! choice `auto` allows. [`form`] says which other fields are obeyed, refused or of no effect.

mod chat;
mod completions;
mod form;
mod turns;

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use serde_json::{Value, json};
use toolbox::trace::TraceEvent;

use super::App;
use super::reply::object;
use crate::answering::{AskRequest, agents_of};
use crate::fault::Fault;
use crate::service::Service;
use crate::store::StoredAnswer;

pub(super) use chat::chat;
pub(super) use completions::complete;

/// The names of all models.
fn names(service: &Service) -> Vec<String> {
    let served = service.served();
    let mut agents: Vec<String> = Vec::new();
    for (at, model) in served.models.iter().enumerate() {
        for agent in agents_of(Some(model)) {
            agents.push(if at == 0 {
                agent.to_owned()
            } else {
                format!("{agent}:{}", model.name)
            });
        }
    }
    agents.extend(agents_of(None).into_iter().map(str::to_owned));
    let graphs = served.graphs.iter();
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

/// A question to the agent, model and graph that a name means.
///
/// # Errors
/// [`Fault`] lists the names that there are.
fn to_model(service: &Service, name: &str, question: String) -> Result<AskRequest, Fault> {
    let unknown = || {
        let names = names(service).join(", ");
        let message = format!("there is no model `{name}`; there are {names}");
        Fault::unknown("model_not_found", message)
    };
    let (agent, graph) = name.split_once('@').ok_or_else(unknown)?;
    let (agent, model) = match agent.split_once(':') {
        Some((agent, model)) => (agent, Some(model.to_owned())),
        None => (agent, None),
    };
    if !names(service).iter().any(|known| known == name) {
        return Err(unknown());
    }
    Ok(AskRequest {
        question,
        graph: Some(graph.to_owned()),
        agent: Some(agent.to_owned()),
        model,
        ..AskRequest::default()
    })
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

/// Names the answer in a header, where clients of this interface look for it.
fn with_id(mut response: Response, id: &str) -> Response {
    if let Ok(id) = HeaderValue::from_str(id) {
        let name = HeaderName::from_static("x-request-id");
        response.headers_mut().insert(name, id);
    }
    response
}
