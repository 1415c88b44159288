//! Turns as messages of a chat.

use common::transcript::{Part, Role, Turn};
use serde_json::{Value, json};
use toolbox::agent::Agent;
use toolbox::call::{Call, Target, arguments_of, parse_call};

use super::super::shots::{instructions, shots};
use super::constraint::Language;
use super::options::RemoteOptions;
use super::reply::Reply;
use crate::InferError;

/// Characters of an unusable reply that a repeated request shows.
const SHOWN: usize = 2000;
/// The id of an unusable tool call in a repeated request.
const REJECTED: &str = "rejected0";

/// Where an input begins in the prompt of a model without a chat template; such a model stops there.
pub(super) const HEAD: &str = "\n###";

/// Messages as one text, for a model without a chat template: what the system says, then inputs and
/// outputs in turn. It ends where the model writes.
pub(super) fn as_prompt(messages: &[Value]) -> String {
    let mut prompt = String::new();
    for message in messages {
        let text = message["content"].as_str().unwrap_or_default();
        // No text may look like the beginning of a part.
        let text = text.replace(HEAD, "\n ###");
        prompt.push_str(&match message["role"].as_str() {
            Some("system") => format!("{text}\n"),
            Some("assistant") => format!("{HEAD} Output\n{text}\n"),
            _ => format!("{HEAD} Input\n{text}\n"),
        });
    }
    prompt + HEAD + " Output\n"
}

/// The messages of a request. A model of ours gets the turns of its training; any other gets
/// instructions for the agent and worked examples first. `tools` says whether the turns are calls
/// that go as tool calls, `whole` whether they are a prompt that needs nothing else.
pub(super) fn messages(
    turns: &[Turn],
    options: &RemoteOptions,
    tools: bool,
    whole: bool,
) -> Result<Vec<Value>, InferError> {
    if options.own {
        return Ok(turns.iter().map(own_message).collect());
    }
    if whole {
        return Ok(text_messages(turns));
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
pub(super) fn text_messages(turns: &[Turn]) -> Vec<Value> {
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
fn call_message(id: &str, name: &str, arguments: &str) -> Value {
    json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": id, "type": "function", "function": { "name": name, "arguments": arguments } },
    ] })
}

/// The result of a tool call.
fn result_message(id: &str, content: &str) -> Value {
    json!({ "role": "tool", "tool_call_id": id, "content": content })
}

/// Adds an unusable reply and what is wrong with it to the messages.
pub(super) fn ask_again(
    messages: &mut Vec<Value>,
    reply: &Reply,
    problem: &str,
    language: &Language<'_>,
    tools: bool,
) {
    let such = |quote: &str| {
        let examples = (language.examples)();
        if examples.is_empty() {
            String::new()
        } else {
            format!(" {quote}: {}.", examples.join("  "))
        }
    };
    if let (true, Some(call)) = (tools, reply.calls.first()) {
        messages.push(call_message(REJECTED, &call.name, &call.arguments));
        let such = such("Possible calls begin so");
        messages.push(result_message(
            REJECTED,
            &format!("error: {problem}.{such}"),
        ));
        return;
    }
    let mut said: String = reply.text.chars().take(SHOWN).collect();
    if said.trim().is_empty() {
        // Some servers refuse an empty message.
        said = "…".to_owned();
    }
    messages.push(json!({ "role": "assistant", "content": said }));
    let form = if tools {
        "Call one tool, nothing else."
    } else {
        "Write one line in the required form, nothing else."
    };
    let such = such("It begins with one of");
    let content = format!("That cannot be used here: {problem}. {form}{such}");
    messages.push(json!({ "role": "user", "content": content }));
}
