//! Worked examples for models that were not trained on our dialogues (Triad's few-shot mode, rules
//! C.1, and the same for the other agents): conversations on the demo graph, as `datagen` renders
//! them. A test checks them against the current rendering.

use common::transcript::{Part, Role, Turn};
use serde::Deserialize;
use toolbox::agent::Agent;
use toolbox::prompts::{SERVED_KG_AGENT, SERVED_KG_AGENT_TOOLS, SERVED_ODA, SERVED_TRIAD};

use crate::InferError;

const SHOTS: &str = include_str!("shots.jsonl");

#[derive(Deserialize)]
struct WorkedExample {
    agent: Agent,
    messages: Vec<ExampleMessage>,
}

#[derive(Deserialize)]
struct ExampleMessage {
    role: Role,
    content: String,
}

/// The first `n` worked conversations of an agent, or fewer if there are not as many, without their
/// system turns.
///
/// # Errors
/// [`InferError::Shots`] if the file in this crate is invalid, which a test rules out.
pub fn shots(agent: Agent, n: usize) -> Result<Vec<Vec<Turn>>, InferError> {
    let mut found = Vec::new();
    for line in SHOTS.lines() {
        let shot: WorkedExample =
            serde_json::from_str(line).map_err(|error| InferError::Shots(error.to_string()))?;
        if shot.agent == agent && found.len() < n {
            let turns = shot
                .messages
                .into_iter()
                .filter(|message| message.role != Role::System);
            found.push(
                turns
                    .map(|message| Turn::shown(message.role, vec![Part::ours(message.content)]))
                    .collect(),
            );
        }
    }
    Ok(found)
}

/// Instructions for a model that was not trained on an agent's turns; `tools` says whether it makes
/// calls as tool calls.
pub(super) fn instructions(agent: Agent, tools: bool) -> &'static str {
    let prompt = match (agent, tools) {
        (Agent::KgAgent, false) => SERVED_KG_AGENT,
        (Agent::KgAgent, true) => SERVED_KG_AGENT_TOOLS,
        (Agent::Oda, _) => SERVED_ODA,
        (Agent::Triad, _) => SERVED_TRIAD,
    };
    prompt.text()
}
