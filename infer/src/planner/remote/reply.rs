//! What a server sends back: a completion, of a chat or of a text, whole or in pieces.

use serde_json::Value;
use toolbox::trace::ServedReply;
use toolbox::usage::ServedUsage;

/// A reply, complete or so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reply {
    /// What the model said.
    pub(super) text: String,
    /// What the server gave as its thoughts.
    pub(super) thought: String,
    /// The tool calls, in order.
    pub(super) calls: Vec<ToolCall>,
    /// Why the model stopped: `stop`, `length`, `tool_calls`, …
    pub(super) finish: Option<String>,
    pub(super) usage: ServedUsage,
}

/// A tool call in a reply.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ToolCall {
    pub(super) name: String,
    /// The arguments as JSON, as the model wrote them.
    pub(super) arguments: String,
}

/// Tool calls of one reply that are read; a server numbers them itself.
const CALLS: usize = 64;

impl Reply {
    /// The reply in the body of a response.
    ///
    /// # Errors
    /// Says what the body lacks, or quotes the error in it.
    pub(super) fn of(body: &Value) -> Result<Self, String> {
        let message = &body["choices"][0]["message"];
        if !message.is_object() && !body["choices"][0]["text"].is_string() {
            return Err(error_in(body)
                .unwrap_or_else(|| "the answer has no choices[0].message.content".to_owned()));
        }
        let mut reply = Self::default();
        reply.add(body, message);
        Ok(reply)
    }

    /// Adds a piece of a streamed response.
    ///
    /// # Errors
    /// The error that the piece holds.
    pub(super) fn extend(&mut self, piece: &Value) -> Result<(), String> {
        if let Some(error) = error_in(piece) {
            return Err(error);
        }
        self.add(piece, &piece["choices"][0]["delta"]);
        Ok(())
    }

    fn add(&mut self, body: &Value, message: &Value) {
        // A completion of a text has no message.
        let text = if message.is_object() {
            &message["content"]
        } else {
            &body["choices"][0]["text"]
        };
        self.text.push_str(&text_of(text));
        // vLLM, SGLang, llama.cpp and DeepSeek have the first field, newer vLLM and OpenRouter the
        // second.
        let thoughts = ["reasoning_content", "reasoning"].map(|name| text_of(&message[name]));
        if let Some(thought) = thoughts.iter().find(|thought| !thought.is_empty()) {
            self.thought.push_str(thought);
        }
        let calls = message["tool_calls"].as_array();
        for (position, call) in calls.into_iter().flatten().enumerate() {
            // Pieces of one call share its index.
            let index = call["index"]
                .as_u64()
                .and_then(|index| usize::try_from(index).ok());
            let index = index.unwrap_or(position);
            if index >= CALLS {
                continue;
            }
            if self.calls.len() <= index {
                self.calls.resize(index + 1, ToolCall::default());
            }
            let function = &call["function"];
            let known = &mut self.calls[index];
            known
                .name
                .push_str(function["name"].as_str().unwrap_or_default());
            match &function["arguments"] {
                Value::String(text) => known.arguments.push_str(text),
                // Some servers send the object itself.
                Value::Object(_) => known.arguments = function["arguments"].to_string(),
                _ => {}
            }
        }
        if let Some(finish) = body["choices"][0]["finish_reason"].as_str() {
            self.finish = Some(finish.to_owned());
        }
        let usage = &body["usage"];
        if usage.is_object() {
            let count = |value: &Value| value.as_u64().unwrap_or(0);
            self.usage = ServedUsage {
                requests: 0,
                prompt_tokens: count(&usage["prompt_tokens"]),
                // OpenAI, vLLM and SGLang; DeepSeek.
                cached_tokens: count(&usage["prompt_tokens_details"]["cached_tokens"])
                    .max(count(&usage["prompt_cache_hit_tokens"])),
                completion_tokens: count(&usage["completion_tokens"]),
            };
        }
    }

    /// Bytes that the model has written.
    pub(super) fn written(&self) -> usize {
        let calls = self
            .calls
            .iter()
            .map(|call| call.name.len() + call.arguments.len());
        self.text.len() + self.thought.len() + calls.sum::<usize>()
    }

    /// Whether the model was stopped by the limit of tokens.
    pub(super) fn cut_off(&self) -> bool {
        self.finish.as_deref() == Some("length")
    }

    /// The reply with every text changed by `change`.
    pub(super) fn map(mut self, change: impl Fn(&str) -> String) -> Self {
        self.text = change(&self.text);
        self.thought = change(&self.thought);
        for call in &mut self.calls {
            call.name = change(&call.name);
            call.arguments = change(&call.arguments);
        }
        self
    }

    /// What a trace keeps of it, if `found` was taken from it.
    pub(super) fn record(&self, found: Option<&str>, problem: Option<String>) -> ServedReply {
        let calls = self
            .calls
            .iter()
            .map(|call| format!("{}({})", call.name, call.arguments));
        let said = (!self.text.is_empty()).then(|| self.text.clone());
        let text = said.into_iter().chain(calls).collect::<Vec<_>>().join("\n");
        ServedReply {
            text: if found == Some(text.as_str()) {
                String::new()
            } else {
                text
            },
            thought: self.thought.clone(),
            problem,
            usage: self.usage,
        }
    }
}

/// The text of a field: a string, or a list of parts with texts.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect(),
        _ => String::new(),
    }
}

/// The error that a server reports in a body.
fn error_in(body: &Value) -> Option<String> {
    let error = body.get("error").filter(|error| !error.is_null())?;
    let message = error["message"].as_str().or(error.as_str());
    Some(format!(
        "the server reports: {}",
        message.map_or_else(|| error.to_string(), str::to_owned)
    ))
}
