//! Alpaca: `instruction` is the last input, `output` the last call, and `history` all earlier
//! pairs. In the paper layout (one sample per call) `history` is empty, and `instruction` and
//! `output` are the sample of rules A.3.

use common::transcript::Role;
use serde_json::{Value, json};

use super::line::ExportLine;
use crate::example::ExampleMessage;

pub(super) fn encode(line: &ExportLine) -> Result<Value, String> {
    let (system, mut pairs) = line.pairs()?;
    let results = pairs
        .iter()
        .skip(1)
        .all(|(given, _)| given.role == Role::Tool);
    if !results || pairs[0].0.role != Role::User {
        return Err("a question after the first turn, or a tool result as the first turn, which this layout cannot represent".to_owned());
    }
    let Some((given, call)) = pairs.pop() else {
        return Err("the conversation has no call".to_owned());
    };
    let history: Vec<[&str; 2]> = pairs
        .iter()
        .map(|(given, call)| [given.content.as_str(), call.content.as_str()])
        .collect();
    Ok(json!({
        "instruction": given.content, "input": "", "output": call.content, "system": system, "history": history,
        "id": line.get("id"), "dataset": line.get("source"), "question": line.get("question"),
        "step": line.get("step"), "n_steps": line.get("n_steps"), "gold_program": line.get("program"),
    }))
}

pub(super) fn decode(record: &Value) -> Option<Vec<ExampleMessage>> {
    let text = |key: &str| record.get(key)?.as_str();
    let mut messages: Vec<ExampleMessage> = Vec::new();
    let mut add = |role: Role, content: &str| {
        messages.push(ExampleMessage {
            role,
            content: content.to_owned(),
        });
    };
    if let Some(system) = text("system").filter(|system| !system.is_empty()) {
        add(Role::System, system);
    }
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for pair in record.get("history")?.as_array()? {
        pairs.push((pair.get(0)?.as_str()?, pair.get(1)?.as_str()?));
    }
    pairs.push((text("instruction")?, text("output")?));
    for (i, (given, call)) in pairs.into_iter().enumerate() {
        add(if i == 0 { Role::User } else { Role::Tool }, given);
        add(Role::Assistant, call);
    }
    Some(messages)
}

/// The entry of `dataset_info.json`.
pub(super) fn info() -> Value {
    json!({
        "formatting": "alpaca",
        "columns": { "prompt": "instruction", "query": "input", "response": "output", "system": "system", "history": "history" },
    })
}
