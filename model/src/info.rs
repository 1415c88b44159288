//! `kgagent.json`: what this program needs to know about a model beyond its configuration.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ModelError;
use crate::json::read_json;

/// The content of `kgagent.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KgAgentInfo {
    /// Hashes of the templates that rendered the training data, by agent.
    pub templates: BTreeMap<String, String>,
    /// Agents the model was trained for.
    pub agents: Vec<String>,
    /// Layouts of the training data.
    pub layouts: Vec<String>,
    /// The ranker of the relation lists in the training data; empty if unknown.
    pub ranker: String,
    /// Probability outside the allowed tokens, from 0 to 1, above which the model should abstain.
    /// Measured on held-out examples; `None` if it was not measured.
    #[serde(rename = "doubt", skip_serializing_if = "Option::is_none")]
    pub abstention_threshold: Option<f64>,
    /// Of an adapter: the digest of its base, which identifies the base after a move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_digest: Option<String>,
    /// The training configuration and its final figures.
    pub training: Value,
}

impl KgAgentInfo {
    /// Reads the notes of a model folder; the default without a file.
    ///
    /// # Errors
    /// When the file cannot be read or is not what this program writes.
    pub(crate) fn read(folder: &Path) -> Result<Self, ModelError> {
        let notes = folder.join(crate::files::INFO);
        if !notes.exists() {
            return Ok(Self::default());
        }
        serde_json::from_value(read_json(&notes)?)
            .map_err(|error| ModelError::json(&notes, error.to_string()))
    }

    /// Checks that the model was trained on prompts for `agent` rendered with the template `hash`.
    /// Accepts a model without information about its training.
    ///
    /// # Errors
    /// When the model was trained only for other agents, or with another template.
    pub fn check_template(&self, agent: &str, hash: &str, place: &str) -> Result<(), ModelError> {
        match self.templates.get(agent) {
            Some(expected) if expected != hash => Err(ModelError::Template {
                expected: expected.clone(),
                found: hash.to_owned(),
                place: place.to_owned(),
            }),
            None if !self.templates.is_empty() => Err(ModelError::Agent {
                agent: agent.to_owned(),
                known: self
                    .templates
                    .keys()
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .join(", "),
                place: place.to_owned(),
            }),
            _ => Ok(()),
        }
    }
}
