//! Worked examples for models that were not trained on our dialogues (Triad's few-shot mode, rules
//! C.1, and the same for the other agents): conversations on the demo graph, as `datagen` renders
//! them. A test checks them against the current rendering.

use common::transcript::{Part, Role, Turn};
use serde::Deserialize;
use toolbox::agent::Agent;

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
pub(super) const fn instructions(agent: Agent, tools: bool) -> &'static str {
    match (agent, tools) {
        (Agent::KgAgent, false) => KG_AGENT,
        (Agent::KgAgent, true) => KG_AGENT_TOOLS,
        (Agent::Oda, _) => ODA,
        (Agent::Triad, _) => TRIAD,
    }
}

const KG_AGENT: &str = "Answer a question over a knowledge graph by calls of these tools, one call a turn and nothing else. get_relation(SET) lists the relations of a set;
only relations that a list has shown can be walked. e0 is an entity of the question, x0 a value, c0 a class, v0 a result. ans = end(v0) gives the
answer, ans = end([]) says that the graph has none.";

const KG_AGENT_TOOLS: &str = "Answer a question over a knowledge graph by calling the tools, one call a turn. get_relation lists the relations of a set;
only relations that a list has shown can be walked. e0 is an entity of the question, x0 a value, c0 a class. A result has the name before the colon, such as
v0, and later calls name it so. end with v0 gives the answer, end with [] says that the graph has none.";

const ODA: &str = "Answer a question over a knowledge graph in turns. Choose exactly one action a turn and never one that was taken before:
neighbor SET            the triples around a set, grouped by relation (~ before a relation: walked from tails to heads)
path ENTITY ENTITY      how two entities are linked, at most three triples long
answer SET | answer count SET | answer judge SET | answer none     only when what is remembered suffices
A SET is an entity e0, a class c0, a result v0, intersect(v0, v1) or union(v0, v1). What can be seen around (see …) is a reference for choosing.
After neighbor or path write what is worth remembering: relations separated by `; `, each optionally narrowed (= x0, > x0, = e1, argmax, argmin), or none.";

const TRIAD: &str = "Answer a question over a knowledge graph in sub-tasks. Each message names one; write its result on one line and nothing else.
G triples       what the question says, as triples: <e0, directed by, ?x> <?x, born in, ?y>; e0 is an entity, c0 a class, ?x what is not known, the middle in
                your own words; two ways of naming one thing are <?x, is, e0>
G type          <select> for things, <count> for a number, <yes or no>
D entity        which of the listed entities is meant: d0
D relations t0  which of the listed relations is meant by triple t0, as it is listed, `out` or `in` before it; none where none fits
G template      the query: select ?x where t0 t1, count ?x where t0, ask where t0; behind it filter ?n = x0 (or <, >, …), max ?n, min ?n; `or` between
                alternatives
D query         which of the listed queries asks what the question asks: q0
A               graph where the result is what was asked for, none where it is not";
