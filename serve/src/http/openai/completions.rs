//! `/v1/completions`: for programs that know no chats. The prompt is the question.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Extension, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::form::AnswerForm;
use super::{to_model, usage, with_id};
use crate::answering::{self, Question};
use crate::clients::Client;
use crate::clock::now;
use crate::fault::Fault;
use crate::http::App;
use crate::http::ask::{asker, parse_json, read_fields};
use crate::http::events::stream;
use crate::http::reply::{object, openai_error};
use crate::markdown;
use crate::store::StoredAnswer;

/// What is asked; [`AnswerForm`] reads the other fields.
#[derive(Deserialize)]
struct CompletionRequest {
    model: String,
    prompt: Value,
}

pub(in crate::http) async fn complete(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Fault> {
    let body = parse_json(&headers, &body)?;
    let form = AnswerForm::of(&body)?;
    let request: CompletionRequest = read_fields(body)?;
    let prompt = match &request.prompt {
        Value::Array(prompts) if prompts.len() == 1 => prompts[0].as_str(),
        one => one.as_str(),
    };
    let prompt = prompt.ok_or_else(|| Fault::bad("prompt", "`prompt` is one text"))?;
    let service = &app.service;
    let question = Question::of(
        service,
        to_model(service, &request.model, prompt.to_owned())?,
    )?;
    let id = question.id().to_owned();
    let pending = answering::ask(service, question, asker(&client)?, None)?;
    if !form.stream {
        let stored = pending.finished().await?;
        let mut whole = part(&stored, &request.model, &form);
        whole["usage"] = usage(&stored);
        return Ok(with_id(object(&whole), &id));
    }
    let (sender, response) = stream();
    sender.when_done(pending.finished(), move |sender, done| match done {
        Ok(stored) => {
            let chunk = part(&stored, &request.model, &form);
            sender.data(&chunk.to_string());
            if form.usage {
                let mut last = chunk;
                last["choices"] = json!([]);
                last["usage"] = usage(&stored);
                sender.data(&last.to_string());
            }
            sender.data("[DONE]");
        }
        Err(fault) => sender.data(&openai_error(&fault).to_string()),
    });
    Ok(with_id(response, &id))
}

/// The answer as one part, which is all of it.
fn part(stored: &StoredAnswer, model: &str, form: &AnswerForm) -> Value {
    let answer = markdown::answer(stored);
    let (text, finish) = form.cut(&answer);
    json!({
        "id": format!("cmpl-{}", stored.id), "object": "text_completion", "created": now(),
        "model": model,
        "choices": [{
            "index": 0, "text": text, "finish_reason": finish, "logprobs": null,
        }],
        "kgagent": stored.object,
    })
}
