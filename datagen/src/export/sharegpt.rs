//! ShareGPT as LLaMA-Factory reads it: what is given (questions, tool results) at odd places, what is trained on (calls) at even ones. Calls
//! are plain text of the call language, so they go as `gpt`: `function_call` would be taken for JSON.

use serde_json::{Value, json};
use toolbox::transcript::Role;

use super::Line;
use crate::example::Message;

pub(super) fn encode(line: &Line) -> Result<Value, String> {
    let (system, pairs) = line.pairs()?;
    let mut turns = Vec::with_capacity(2 * pairs.len());
    for (given, call) in pairs {
        let from = if given.role == Role::Tool { "observation" } else { "human" };
        turns.push(json!({ "from": from, "value": given.content }));
        turns.push(json!({ "from": "gpt", "value": call.content }));
    }
    Ok(json!({ "conversations": turns, "system": system, "id": line.get("id"), "source": line.get("source") }))
}

pub(super) fn decode(record: &Value) -> Option<Vec<Message>> {
    let system = record.get("system")?.as_str().filter(|system| !system.is_empty());
    let mut messages: Vec<Message> = system.map(|text| Message { role: Role::System, content: text.to_owned() }).into_iter().collect();
    for (i, turn) in record.get("conversations")?.as_array()?.iter().enumerate() {
        let role = match (turn.get("from")?.as_str()?, i % 2) {
            ("human", 0) => Role::User,
            ("observation", 0) => Role::Tool,
            ("gpt", 1) => Role::Assistant,
            _ => return None,
        };
        messages.push(Message { role, content: turn.get("value")?.as_str()?.to_owned() });
    }
    Some(messages)
}

/// The entry of `dataset_info.json`.
pub(super) fn info() -> Value {
    json!({
        "formatting": "sharegpt",
        "columns": { "messages": "conversations", "system": "system" },
        "tags": {
            "role_tag": "from", "content_tag": "value", "user_tag": "human", "assistant_tag": "gpt", "observation_tag": "observation",
            "function_tag": "function_call", "system_tag": "system",
        },
    })
}
