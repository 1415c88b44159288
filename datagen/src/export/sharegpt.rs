//! ShareGPT in the dialect of LLaMA-Factory: inputs (questions, tool results) at odd positions,
//! trained calls at even positions. Calls have the role `gpt`, because `function_call` would be
//! parsed as JSON. Axolotl, which renders turn by turn, accepts any order.

use common::transcript::Role;
use serde_json::{Value, json};

use super::line::{ExportLine, ExportTurn};
use crate::example::ExampleMessage;

pub(super) fn encode(line: &ExportLine) -> Result<Value, String> {
    let (system, pairs) = line.pairs()?;
    record(
        line,
        system,
        pairs.into_iter().flat_map(|(given, call)| [given, call]),
    )
}

/// Like [`encode`], for turns in any order.
pub(super) fn encode_turns(line: &ExportLine) -> Result<Value, String> {
    let (system, turns) = line.turns();
    if turns.last().is_none_or(|last| last.role != Role::Assistant) {
        return Err("the conversation does not end with a call".to_owned());
    }
    for call in turns.iter().filter(|turn| turn.role == Role::Assistant) {
        call.must_be_trained_on()?;
    }
    record(line, system, turns)
}

fn record<'t>(
    line: &ExportLine,
    system: &str,
    turns: impl IntoIterator<Item = &'t ExportTurn>,
) -> Result<Value, String> {
    let entry = |turn: &ExportTurn| {
        let from = match turn.role {
            Role::User => "human",
            Role::Tool => "observation",
            Role::Assistant => "gpt",
            Role::System => {
                return Err(
                    "a system turn after the first; this layout has one system text".to_owned(),
                );
            }
        };
        Ok(json!({ "from": from, "value": turn.content }))
    };
    let turns: Vec<Value> = turns.into_iter().map(entry).collect::<Result<_, _>>()?;
    Ok(
        json!({ "conversations": turns, "system": system, "id": line.get("id"), "source": line.get("source") }),
    )
}

pub(super) fn decode(record: &Value) -> Option<Vec<ExampleMessage>> {
    let system = record
        .get("system")?
        .as_str()
        .filter(|system| !system.is_empty());
    let mut messages: Vec<ExampleMessage> = system
        .map(|text| ExampleMessage {
            role: Role::System,
            content: text.to_owned(),
        })
        .into_iter()
        .collect();
    for turn in record.get("conversations")?.as_array()? {
        let role = match turn.get("from")?.as_str()? {
            "human" => Role::User,
            "observation" => Role::Tool,
            "gpt" => Role::Assistant,
            _ => return None,
        };
        messages.push(ExampleMessage {
            role,
            content: turn.get("value")?.as_str()?.to_owned(),
        });
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
