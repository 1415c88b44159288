//! `POST /api/ask` and `POST /api/feedback`.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use infer::agent::TraceWatcher;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use toolbox::trace::TraceEvent;

use super::App;
use super::events::stream;
use super::reply::object;
use crate::answering::{self, AskRequest, Question};
use crate::clients::Client;
use crate::fault::Fault;
use crate::feedback::{self, FeedbackRequest};
use crate::given;
use crate::queue::Asker;

pub(super) async fn ask(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Fault> {
    let request: AskRequest = read_json(&headers, &body)?;
    let service = &app.service;
    let question = Question::of(service, request)?;
    let asker = asker(&client)?;
    if wants_events(&headers) {
        let (sender, response) = stream();
        let watching = sender.clone();
        let watcher: TraceWatcher = Arc::new(move |event: &TraceEvent| {
            if let Ok(Value::Object(mut fields)) = serde_json::to_value(event) {
                let name = fields.shift_remove("event");
                let name = name.as_ref().and_then(Value::as_str).unwrap_or_default();
                watching.event(name, &Value::Object(fields).to_string());
            }
        });
        let reply = answering::ask(service, question, asker, Some(watcher))?;
        sender.when_done(reply.finished(), |sender, done| match done {
            Ok(stored) => sender.event("done", &stored.object.to_string()),
            Err(fault) => {
                let error = json!({ "code": fault.code, "message": fault.message });
                sender.event("failed", &json!({ "error": error }).to_string());
            }
        });
        return Ok(response);
    }
    let reply = answering::ask(service, question, asker, None)?;
    Ok(object(&reply.finished().await?.object))
}

/// A client that asks something.
///
/// # Errors
/// [`Fault`] if it asks too much at the same time.
pub(super) fn asker(client: &Client) -> Result<Asker, Fault> {
    Ok(Asker {
        place: Some(client.question()?),
        ..Asker::default()
    })
}

/// Reads a JSON body. Other media types are refused: a form on a foreign page could send them.
pub(super) fn read_json<T: DeserializeOwned>(headers: &HeaderMap, body: &[u8]) -> Result<T, Fault> {
    read_fields(parse_json(headers, body)?)
}

/// The JSON of a body, whose fields are read by [`read_fields`].
pub(super) fn parse_json(headers: &HeaderMap, body: &[u8]) -> Result<Value, Fault> {
    if media_type(headers).as_deref() != Some("application/json") {
        let message = "the body must be JSON, with `Content-Type: application/json`";
        return Err(Fault::new(415, "media_type", message));
    }
    given::parse(body).map_err(|error| unreadable(&error))
}

/// Reads the fields of a body.
pub(super) fn read_fields<T: DeserializeOwned>(body: Value) -> Result<T, Fault> {
    given::read(body).map_err(|error| unreadable(&error))
}

fn unreadable(error: &dyn std::fmt::Display) -> Fault {
    Fault::bad("body", format!("the body cannot be read: {error}"))
}

/// The media type of a body, in lower case and without parameters.
pub(super) fn media_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let name = value.split(';').next().unwrap_or_default();
    Some(name.trim().to_ascii_lowercase())
}

fn wants_events(headers: &HeaderMap) -> bool {
    let accepted = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/event-stream"))
}

pub(super) async fn say(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Fault> {
    let request: FeedbackRequest = read_json(&headers, &body)?;
    client.verdict()?;
    let service = Arc::clone(&app.service);
    let kept = tokio::task::spawn_blocking(move || feedback::keep(&service, &request)).await;
    kept.map_err(|_| Fault::internal())??;
    Ok(object(&json!({ "kept": true })))
}
