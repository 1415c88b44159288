//! `/mcp`: the Model Context Protocol over streamable HTTP, without sessions. Every message, or batch
//! of messages, is a POST of its own; a request that wants to hear of its progress is answered by a stream.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::App;
use super::ask::{asker, media_type};
use super::events::stream;
use super::reply::object;
use crate::clients::Client;
use crate::fault::Fault;
use crate::mcp::{
    INTERNAL, McpError, McpInput, McpMessage, McpRequest, NO_METHOD, Notify, OTHER_HEADERS,
    WITH_BATCHES, is_known, read,
};

pub(super) async fn message(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Fault> {
    if media_type(&headers).as_deref() != Some("application/json") {
        let message = "a message is JSON, with `Content-Type: application/json`";
        return Err(Fault::new(415, "media_type", message));
    }
    let accepts = |kind: &str| {
        let accept = text(&headers, header::ACCEPT.as_str()).unwrap_or("*/*");
        accept.contains(kind) || accept.contains("*/*")
    };
    if !accepts("application/json") {
        let message = "the answer is `application/json`, or `text/event-stream` as well";
        return Err(Fault::new(406, "not_acceptable", message));
    }
    let revision = text(&headers, "mcp-protocol-version");
    if let Some(revision) = revision.filter(|one| !is_known(one)) {
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        let reply = McpError::revision(revision).reply(&message["id"]);
        return Ok(with_status(StatusCode::BAD_REQUEST, &reply));
    }
    // A client of that revision names none.
    let request = match read(&body, revision.or(Some(WITH_BATCHES))) {
        Ok(McpInput::One(McpMessage::Request(request))) => request,
        Ok(McpInput::One(_)) => return Ok(accepted()),
        Ok(McpInput::Batch(messages)) => return Ok(batch(&app, &client, messages).await),
        Err(reply) => return Ok(with_status(StatusCode::BAD_REQUEST, &reply)),
    };
    if let Err(error) = check_headers(&headers, &request) {
        return Ok(with_status(
            StatusCode::BAD_REQUEST,
            &error.reply(&request.id),
        ));
    }
    let asker = asker(&client)?;
    if request.progress_token().is_some() && accepts("text/event-stream") {
        let (sender, response) = stream();
        let telling = sender.clone();
        let notify: Notify =
            Arc::new(move |message: Value| telling.event("message", &message.to_string()));
        let begun = request.begin(&app.service, asker, Some(notify));
        sender.when_done(begun.finished(), move |sender, done| {
            sender.event("message", &request.reply(done).to_string());
        });
        return Ok(response);
    }
    let done = request.begin(&app.service, asker, None).finished().await;
    let status = match &done {
        // Earlier revisions have no statuses for errors.
        Err(error) if request.is_stateless() => match error.code {
            NO_METHOD => StatusCode::NOT_FOUND,
            _ => StatusCode::BAD_REQUEST,
        },
        _ => StatusCode::OK,
    };
    Ok(with_status(status, &request.reply(done)))
}

/// The answer to messages that need none.
fn accepted() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// Answers the requests of a batch one after the other, so that it takes no more of the client's share
/// than a single request.
async fn batch(app: &App, client: &Client, messages: Vec<Result<McpMessage, Value>>) -> Response {
    let mut replies = Vec::new();
    let mut status = StatusCode::BAD_REQUEST;
    for message in messages {
        match message {
            Ok(McpMessage::Request(request)) => {
                let done = match asker(client) {
                    Ok(asker) => request.begin(&app.service, asker, None).finished().await,
                    Err(fault) => Err(McpError::new(INTERNAL, fault.message)),
                };
                replies.push(request.reply(done));
                status = StatusCode::OK;
            }
            Ok(_) => status = StatusCode::OK,
            Err(reply) => replies.push(reply),
        }
    }
    match replies.is_empty() {
        true => accepted(),
        false => with_status(status, &replies.into()),
    }
}

fn with_status(status: StatusCode, value: &Value) -> Response {
    (status, object(value)).into_response()
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Requests of the revision without sessions repeat in headers what proxies look at.
fn check_headers(headers: &HeaderMap, request: &McpRequest) -> Result<(), McpError> {
    if !request.is_stateless() {
        return Ok(());
    }
    let params = &request.params;
    let named = match request.method.as_str() {
        "tools/call" => params["name"].as_str(),
        "resources/read" => params["uri"].as_str(),
        _ => None,
    };
    let revision = request.revision.as_deref();
    for (name, said) in [
        ("mcp-protocol-version", revision),
        ("mcp-method", Some(request.method.as_str())),
        ("mcp-name", named),
    ] {
        let given = text(headers, name);
        // Names with other characters than ASCII are encoded; they are no names of ours.
        let encoded = given.is_some_and(|given| given.starts_with("=?"));
        if said.is_some() && given != said && !encoded {
            let message = format!("the header `{name}` is missing or is not what the message says");
            return Err(McpError::new(OTHER_HEADERS, message));
        }
    }
    Ok(())
}
