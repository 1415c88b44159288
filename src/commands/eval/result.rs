//! The result of an evaluation.

use std::collections::{BTreeMap, BTreeSet};

use datagen::linking::Linking;
use serde::{Deserialize, Serialize};
use toolbox::answer::{AnswerValue, Emptied, Provenance};
use toolbox::explain::Terms;
use toolbox::metrics::{Metrics, Scores};
use toolbox::trace::TraceEvent;
use toolbox::usage::ServedUsage;

use super::seen::Seen;

/// One line of `predictions.jsonl`.
#[derive(Serialize, Deserialize)]
pub(in crate::commands) struct Prediction {
    pub(in crate::commands) id: String,
    pub(super) question: String,
    pub(super) gold: BTreeSet<String>,
    pub(super) predicted: BTreeSet<String>,
    pub(super) gold_labels: Vec<String>,
    pub(super) predicted_labels: Vec<String>,
    pub(super) provenance: Provenance,
    pub(super) scores: Scores,
    pub(super) program: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gold_program: Option<bool>,
    pub(super) calls: usize,
    pub(super) invalid_calls: usize,
    pub(super) asked: usize,
    pub(super) tokens: usize,
    /// What the server of the model counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) served: Option<ServedUsage>,
    pub(super) groups: Vec<(String, String)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failure: Option<String>,
    /// Why there is no answer, if the model failed and not the graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) emptied: Option<Emptied>,
    /// The candidates of a decision: whether each is right, and its terms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::commands) decided: Vec<JudgedCandidate>,
    /// The question of a decision as a scorer reads it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(in crate::commands) said: String,
    /// The answer as terms, for QALD's format.
    #[serde(skip)]
    pub(in crate::commands) value: AnswerValue,
}

impl Prediction {
    /// Whether it has the gold answers and no others.
    pub(in crate::commands) fn is_exact(&self) -> bool {
        self.scores.exact >= 1.0
    }
}

/// A candidate of a decision with its terms; `datagen weights` reads it.
#[derive(Serialize, Deserialize)]
pub(in crate::commands) struct JudgedCandidate {
    pub(in crate::commands) right: bool,
    /// The place of the first candidate with the same set of answers.
    #[serde(default)]
    pub(in crate::commands) answer: usize,
    pub(in crate::commands) terms: Terms,
    /// The program in words.
    #[serde(default)]
    pub(in crate::commands) said: String,
}

/// The result of one agent on a set of questions.
#[derive(Default)]
pub(in crate::commands) struct Evaluation {
    /// The agent's name, with what was varied.
    pub(super) agent: String,
    /// The agent's name alone.
    pub(super) kind: &'static str,
    /// What differs from the setting that the options describe.
    pub(super) changed: String,
    /// The agent's options.
    pub(super) options: serde_json::Value,
    /// Hash of the prompt files that its requests were made from.
    pub(super) prompts: Option<String>,
    pub(in crate::commands) metrics: Metrics,
    /// How well entities were found, if they were linked.
    pub(super) linking: Option<Linking>,
    /// Questions that could not be evaluated, with the reason: no gold answer, or no verified
    /// program for the oracle.
    pub(super) skipped: Vec<(String, String)>,
    /// How much of the questions the model has read in training; `None` if nothing was trained.
    pub(super) seen: Option<Seen>,
    /// What the server of the model counted for all questions, and what that costs if prices are
    /// known; `None` without a server.
    pub(super) served: Option<(ServedUsage, Option<f64>)>,
    pub(in crate::commands) predictions: Vec<Prediction>,
    /// One per prediction.
    pub(in crate::commands) traces: Vec<Vec<TraceEvent>>,
}

impl Evaluation {
    /// How much of the questions the model has read in training, as a sentence.
    pub(in crate::commands) fn seen(&self) -> Option<String> {
        self.seen.as_ref().map(Seen::sentence)
    }

    /// Number of skipped questions by cause: the reason up to its first colon.
    pub(super) fn skipped_by(&self) -> BTreeMap<&str, usize> {
        let mut causes = BTreeMap::new();
        for (_, reason) in &self.skipped {
            let cause = reason.split(": ").next().unwrap_or(reason);
            *causes.entry(cause).or_default() += 1;
        }
        causes
    }
}
