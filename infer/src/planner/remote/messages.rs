//! Turns as messages of a chat.

use common::transcript::{Part, Role, Turn};
use serde_json::{Value, json};
use toolbox::agent::Agent;
use toolbox::call::{Call, Target, arguments_of, parse_call};

use super::super::shots::{instructions, shots};
use super::options::RemoteOptions;
use crate::InferError;

/// The messages of a request. A model of ours gets the turns of its training; any other gets
/// instructions for the agent and worked examples first. `tools` says whether the turns are calls
/// that go as tool calls.
pub(super) fn messages(
    turns: &[Turn],
    options: &RemoteOptions,
    tools: bool,
) -> Result<Vec<Value>, InferError> {
    if options.own {
        return Ok(turns.iter().map(own_message).collect());
    }
    let mut all = Vec::new();
    let mut rest = turns;
    let system = turns.first().filter(|turn| turn.role == Role::System);
    let text = system.map(Turn::text).unwrap_or_default();
    let agent = text.lines().next().and_then(|name| Agent::named(name).ok());
    if let (Some(agent), [first, others @ ..]) = (agent, turns) {
        let more = Part::ours(format!("\n{}", instructions(agent, tools)));
        all.push(Turn {
            parts: [first.parts.clone(), vec![more]].concat(),
            ..first.clone()
        });
        all.extend(shots(agent, options.shots)?.into_iter().flatten());
        rest = others;
    }
    all.extend_from_slice(rest);
    Ok(if tools {
        tool_messages(&all)
    } else {
        text_messages(&all)
    })
}

/// A turn in the format of our own training. Servers require a call id with a tool result.
fn own_message(turn: &Turn) -> Value {
    let (role, content) = (turn.role, turn.text());
    if role == Role::Tool {
        json!({ "role": role, "content": content, "tool_call_id": "call" })
    } else {
        json!({ "role": role, "content": content })
    }
}

/// Calls and results as text. Tool results become user messages, because the role `tool` belongs to
/// the other protocol. Many servers require user and assistant to alternate, so consecutive turns
/// of one role are joined.
fn text_messages(turns: &[Turn]) -> Vec<Value> {
    let mut joined: Vec<(&str, String)> = Vec::new();
    for turn in turns {
        let role = match turn.role {
            Role::System => "system",
            Role::User | Role::Tool => "user",
            Role::Assistant => "assistant",
        };
        match joined.last_mut().filter(|last| last.0 == role) {
            Some(last) => last.1.push_str(&format!("\n{}", turn.text())),
            None => joined.push((role, turn.text())),
        }
    }
    joined
        .into_iter()
        .map(|(role, content)| json!({ "role": role, "content": content }))
        .collect()
}

/// Calls as tool calls and their results in the role `tool`. A result begins with its variable,
/// which later calls name. A turn that is no call stays text.
fn tool_messages(turns: &[Turn]) -> Vec<Value> {
    let mut messages = Vec::new();
    // The call that waits for its result, by its id and the beginning of the result.
    let mut open: Option<(String, String)> = None;
    let mut calls = 0;
    for turn in turns {
        let text = turn.text();
        if turn.role == Role::Tool
            && let Some((id, variable)) = open.take()
        {
            messages.push(result_message(&id, &format!("{variable}{text}")));
            continue;
        }
        // Servers require a result after every call; the last call of a worked example has none.
        if let Some((id, _)) = open.take() {
            messages.push(result_message(&id, "done"));
        }
        match (turn.role, parse_call(&text)) {
            (Role::Assistant, Ok(call)) => {
                let id = call_id(calls);
                calls += 1;
                messages.push(call_message(
                    &id,
                    call.tool.name(),
                    &arguments_of(&call).to_string(),
                ));
                open = Some((id, variable(&call)));
            }
            (Role::Assistant, Err(_)) => {
                messages.push(json!({ "role": "assistant", "content": text }));
            }
            (Role::System, _) => messages.push(json!({ "role": "system", "content": text })),
            (Role::User | Role::Tool, _) => {
                messages.push(json!({ "role": "user", "content": text }));
            }
        }
    }
    messages
}

/// How the result of a call begins: the variable that holds it.
fn variable(call: &Call) -> String {
    match call.target {
        Target::Var(index) => format!("v{index}: "),
        Target::None | Target::Ans => String::new(),
    }
}

/// The id of a call. Mistral's format wants nine letters and digits.
fn call_id(number: usize) -> String {
    format!("call{number:05}")
}

/// A turn of the model with one tool call.
pub(super) fn call_message(id: &str, name: &str, arguments: &str) -> Value {
    json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": id, "type": "function", "function": { "name": name, "arguments": arguments } },
    ] })
}

/// The result of a tool call.
pub(super) fn result_message(id: &str, content: &str) -> Value {
    json!({ "role": "tool", "tool_call_id": id, "content": content })
}
