//! What a request says about what may be written, and the request that tests whether a server obeys.

use serde_json::{Value, json};
use toolbox::grammar::Grammar;

use super::options::{Constraint, Protocol, RemoteOptions};
use super::read::Wanted;
use toolbox::call::tool_definitions;

/// Most texts that a schema lists. OpenAI allows 1000 in all.
const LISTED: usize = 500;

/// Everything about the turn that is asked for. The texts are made only if they are needed.
pub(super) struct Language<'a> {
    pub(super) wanted: Wanted<'a>,
    /// Whether the reply is free text, which no server is told to constrain.
    pub(super) free: bool,
    /// Whether the turns say everything that the model needs to know, as in the paper layout.
    pub(super) whole: bool,
    /// As a grammar in GBNF.
    pub(super) grammar: &'a dyn Fn() -> String,
    /// As a JSON schema.
    pub(super) schema: &'a dyn Fn() -> Value,
    /// Some beginnings of turns.
    pub(super) examples: &'a dyn Fn() -> Vec<String>,
}

impl Language<'_> {
    /// Whether the turn goes as a tool call.
    pub(super) fn uses_tools(&self, options: &RemoteOptions) -> bool {
        options.protocol == Protocol::Tools && self.wanted.call.is_some()
    }

    /// Adds what `options` say about the form of the turn to the body of a request.
    pub(super) fn constrain(&self, options: &RemoteOptions, body: &mut Value) {
        if self.uses_tools(options) {
            body["tools"] = json!(tool_definitions());
            body["tool_choice"] = json!("required");
            body["parallel_tool_calls"] = json!(false);
        }
        if self.free {
            return;
        }
        // These servers penalise repetition by default (1.1 in llama-cpp-python), but calls name
        // the same sets and relations repeatedly.
        match options.constraint {
            Constraint::None => {}
            Constraint::Grammar => {
                body["grammar"] = json!((self.grammar)());
                body["repeat_penalty"] = json!(1.0);
            }
            Constraint::StructuredOutputs => {
                body["structured_outputs"] = json!({ "grammar": (self.grammar)() });
                body["repetition_penalty"] = json!(1.0);
            }
            Constraint::Ebnf => {
                body["ebnf"] = json!((self.grammar)());
                body["repetition_penalty"] = json!(1.0);
            }
            Constraint::JsonSchema => {
                body["response_format"] = json!({ "type": "json_schema", "json_schema": {
                    "name": "turn", "strict": true, "schema": (self.schema)(),
                } });
            }
        }
    }
}

/// The JSON schema of a turn that is no call: an object with its text. Only a choice between a few
/// texts can be listed; any other text is checked when it comes.
pub(super) fn text_schema(grammar: &Grammar) -> Value {
    let texts = match grammar {
        Grammar::Any(choices) if choices.len() <= LISTED => choices
            .iter()
            .map(|choice| match choice {
                Grammar::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect::<Option<Vec<&str>>>(),
        Grammar::Text(text) => Some(vec![text.as_str()]),
        _ => None,
    };
    let text = match texts {
        Some(texts) => json!({ "type": "string", "enum": texts }),
        None => json!({ "type": "string" }),
    };
    json!({
        "type": "object", "properties": { "text": text }, "required": ["text"],
        "additionalProperties": false,
    })
}

/// The only text that the probe allows. No model writes it by itself.
pub(super) const PROBED: &str = "obeyed-kestrel-41";
/// What the probe asks for instead.
pub(super) const ASKED: &str = "Write the word yes and nothing else.";

/// Which server takes which constraint, for the error of a probe.
pub(super) const SERVERS: &str = "llama.cpp takes `grammar`, vLLM `structured-outputs`, SGLang `ebnf`, OpenAI and most others `json-schema`; `none` checks replies without a constraint";
