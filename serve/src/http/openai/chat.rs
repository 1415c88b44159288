//! `/v1/chat/completions`: the answer and its evidence as Markdown, the steps as reasoning.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Extension, State};
use axum::http::HeaderMap;
use axum::response::Response;
use infer::agent::TraceWatcher;
use serde::Deserialize;
use serde_json::{Value, json};
use toolbox::trace::TraceEvent;

use super::form::AnswerForm;
use super::turns::{ChatAsk, ChatTurn, asked};
use super::{to_model, usage, with_id};
use crate::answering::{self, AskRequest, Question};
use crate::clients::Client;
use crate::clock::now;
use crate::fault::Fault;
use crate::http::App;
use crate::http::ask::{asker, parse_json, read_fields};
use crate::http::events::{EventSender, stream};
use crate::http::reply::{object, openai_error};
use crate::markdown;
use crate::queue::Asker;
use crate::service::Service;
use crate::store::StoredAnswer;

/// What is asked; [`AnswerForm`] reads the other fields.
#[derive(Deserialize)]
struct ChatRequest {
    model: String,
    messages: Vec<ChatTurn>,
}

pub(in crate::http) async fn chat(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Fault> {
    let body = parse_json(&headers, &body)?;
    let form = AnswerForm::of(&body)?;
    let request: ChatRequest = read_fields(body)?;
    let service = &app.service;
    let model = request.model.as_str();
    let (text, about) = match asked(&request.messages)? {
        ChatAsk::Question(text, about) => (text, about),
        ChatAsk::Task(result) => {
            to_model(service, model, String::new())?;
            let id = service.answers.id();
            return Ok(done_task(&id, model, &result, &form));
        }
    };
    let question = AskRequest {
        about,
        ..to_model(service, model, text)?
    };
    let question = Question::of(service, question)?;
    let asker = asker(&client)?;
    let id = question.id().to_owned();
    let response = if form.stream {
        streamed(service, question, asker, model, form)?
    } else {
        let stored = answering::ask(service, question, asker, None)?
            .finished()
            .await?;
        object(&whole(&stored, model, &form))
    };
    Ok(with_id(response, &id))
}

fn reasoning(stored: &StoredAnswer) -> String {
    let steps = stored.events.iter().filter_map(|event| match event {
        TraceEvent::Result { call, result } => Some(markdown::step(call, result)),
        _ => None,
    });
    steps.collect()
}

/// A completion with this message and the reason for its end.
fn completion(id: &str, model: &str, message: &Value, finish: &str) -> Value {
    json!({
        "id": format!("chatcmpl-{id}"), "object": "chat.completion", "created": now(),
        "model": model,
        "choices": [{
            "index": 0, "finish_reason": finish, "logprobs": null, "message": message,
        }],
    })
}

fn whole(stored: &StoredAnswer, model: &str, form: &AnswerForm) -> Value {
    let answer = markdown::answer(stored);
    let (content, finish) = form.cut(&answer);
    let message = json!({
        "role": "assistant", "content": content, "reasoning_content": reasoning(stored),
        "refusal": null,
    });
    let mut whole = completion(&stored.id, model, &message, finish);
    whole["usage"] = usage(stored);
    whole["kgagent"] = stored.object.clone();
    whole
}

/// The response to work of the chat program itself.
fn done_task(id: &str, model: &str, result: &str, form: &AnswerForm) -> Response {
    let (content, finish) = form.cut(result);
    let usage = json!({ "prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0 });
    if !form.stream {
        let message = json!({ "role": "assistant", "content": content, "refusal": null });
        let mut whole = completion(id, model, &message, finish);
        whole["usage"] = usage;
        return object(&whole);
    }
    let (sender, response) = stream();
    let chunks = Chunks::new(sender, id, model);
    chunks.send(&json!({ "role": "assistant", "content": content }), None);
    chunks.send(&json!({}), Some(finish));
    chunks.end(form, &usage);
    response
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

    fn finish(&self, stored: &StoredAnswer, form: &AnswerForm) {
        let answer = markdown::answer(stored);
        let (content, finish) = form.cut(&answer);
        self.send(&json!({ "content": content }), None);
        let mut last = self.head.clone();
        last["choices"] = json!([{ "index": 0, "delta": {}, "finish_reason": finish }]);
        last["kgagent"] = stored.object.clone();
        self.sender.data(&last.to_string());
        self.end(form, &usage(stored));
    }

    /// Ends the stream, with the numbers of tokens if the client wants them.
    fn end(&self, form: &AnswerForm, usage: &Value) {
        if form.usage {
            let mut chunk = self.head.clone();
            chunk["choices"] = json!([]);
            chunk["usage"] = usage.clone();
            self.sender.data(&chunk.to_string());
        }
        self.sender.data("[DONE]");
    }
}

fn streamed(
    service: &Arc<Service>,
    question: Question,
    asker: Asker,
    model: &str,
    form: AnswerForm,
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
    let pending = answering::ask(service, question, asker, Some(watcher))?;
    chunks.send(&json!({ "role": "assistant", "content": "" }), None);
    sender.when_done(pending.finished(), move |sender, done| match done {
        Ok(stored) => chunks.finish(&stored, &form),
        Err(fault) => sender.data(&openai_error(&fault).to_string()),
    });
    Ok(response)
}
