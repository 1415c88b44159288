//! The result of one question.

use std::collections::BTreeSet;

use common::transcript::Turn;
use kg::Kg;
use kg::term::{NodeId, Term};
use serde::Serialize;
use toolbox::answer::{Answer, AnswerValue, CELL_SEPARATOR, Provenance};
use toolbox::explain::Terms;
use toolbox::trace::TraceEvent;
use toolbox::usage::ServedUsage;

use crate::InferError;

/// Failure: the planner failed.
pub const PLANNER_FAILED: &str = "planner_failed";
/// Failure: the model wrote a call that cannot be executed.
pub(super) const NO_CALL: &str = "call_failed";
/// Failure: the model did not end the question within the step limit.
pub(super) const NO_END: &str = "no_end";

/// The result of one question.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The answer, or the reason why the question has no answer.
    pub answer: Answer,
    /// All events, for the trace.
    pub events: Vec<TraceEvent>,
    /// The transcript as training samples (see [`toolbox::prompt::Conversation::into_samples`]).
    pub samples: Vec<Vec<Turn>>,
    /// Calls executed.
    pub calls: usize,
    /// Calls that did not parse or could not be executed.
    pub invalid: usize,
    /// Turns written by the model.
    pub asked: usize,
    /// Tokens read and written by the model.
    pub tokens: usize,
    /// What the server counted, if the model is a served one.
    pub served: Option<ServedUsage>,
    /// Seconds in the model.
    pub model_seconds: f64,
    /// Seconds in the graph.
    pub kg_seconds: f64,
    /// Seconds per phase, for agents with phases.
    pub phases: Vec<(&'static str, f64)>,
    /// Entities and relations left after each stage of linking. The share of gold ones among them
    /// is the recall of the stage.
    pub survived: Vec<Survived>,
    /// The answers of a decision's candidates, for fitting its weights.
    pub decided: Vec<DecidedAnswer>,
    /// The question of a decision as a scorer reads it.
    pub said: String,
    /// The agent's reason for having no answer.
    pub failure: Option<&'static str>,
}

/// A candidate of a decision.
#[derive(Clone, Debug)]
pub struct DecidedAnswer {
    /// Its answer; an empty set if it gives up.
    pub value: AnswerValue,
    /// Its terms.
    pub terms: Terms,
    /// Its program in words.
    pub said: String,
}

impl DecidedAnswer {
    /// The answer without program and evidence.
    #[must_use]
    pub fn answer(&self) -> Answer {
        Answer {
            value: self.value.clone(),
            provenance: Provenance::Kg,
            ..Answer::default()
        }
    }
}

/// The program of a candidate that gives up.
pub const GIVING_UP: &str = "ans = end([])";

/// What came nearest to an answer where giving up scored best.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Nearest {
    /// The calls of the best program; empty if there was none.
    pub program: Vec<String>,
    /// The words of the question, quoted, that nothing in it explains.
    pub unexplained: Vec<String>,
}

/// The result of a stage of linking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survived {
    /// The stage.
    pub stage: &'static str,
    /// Entities or relations.
    pub what: Linkable,
    /// Names in the graph (IRIs).
    pub names: Vec<String>,
}

impl Survived {
    /// The nodes left after a stage.
    pub(super) fn of(
        kg: &dyn Kg,
        stage: &'static str,
        what: Linkable,
        nodes: impl IntoIterator<Item = NodeId>,
    ) -> Self {
        let name = |node| match kg.term(node) {
            Term::Iri(iri) => iri,
            other => other.to_string(),
        };
        let names: BTreeSet<String> = nodes.into_iter().map(name).collect();
        Self {
            stage,
            what,
            names: names.into_iter().collect(),
        }
    }
}

/// What a stage of linking links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linkable {
    /// Entities and classes.
    Entities,
    /// Relations.
    Relations,
}

impl Outcome {
    /// An outcome without an answer and with the events so far.
    pub(super) fn unanswered(events: Vec<TraceEvent>) -> Self {
        Self {
            events,
            ..Self::default()
        }
    }

    /// The outcome of a question at which the planner failed; it counts as unanswered.
    #[must_use]
    pub fn failed(error: &InferError) -> Self {
        Self {
            failure: Some(PLANNER_FAILED),
            ..Self::unanswered(vec![TraceEvent::Error {
                message: error.to_string(),
            }])
        }
    }

    /// The program that would have been chosen, if none was because giving up scored best.
    #[must_use]
    pub fn nearest(&self) -> Option<Nearest> {
        let (candidates, why) = self.events.iter().find_map(|event| match event {
            TraceEvent::Decision { candidates, why } => Some((candidates, why)),
            _ => None,
        })?;
        let best = |chosen: bool| {
            let those = candidates.iter().filter(|one| one.chosen == chosen);
            those.max_by(|a, b| a.score.total_cmp(&b.score))
        };
        if best(true)?.program != [GIVING_UP] {
            return None;
        }
        let unexplained = why.iter().filter(|reason| reason.by.is_none());
        Some(Nearest {
            program: best(false)
                .map(|one| one.program.clone())
                .unwrap_or_default(),
            unexplained: unexplained
                .map(|reason| format!("“{}”", reason.word))
                .collect(),
        })
    }

    /// The outcome as the JSON object of `ask --json`. `entities` are the names of the topic
    /// entities.
    #[must_use]
    pub fn object(&self, question: &str, entities: &[String]) -> serde_json::Value {
        let mut object = serde_json::json!({
            "question": question, "entities": entities, "answer": self.answer,
            "calls": self.calls, "tokens": self.tokens,
        });
        if let Some(served) = self.served {
            object["served"] = serde_json::json!(served);
        }
        if let Some(failure) = self.failure {
            object["failure"] = failure.into();
        }
        if let Some(reason) = self.stuck() {
            object["reason"] = reason.into();
        }
        if let Some(nearest) = self.nearest() {
            object["nearest"] = serde_json::json!(nearest);
        }
        object
    }

    /// The answer in one line, with at most `most` members of a set or rows of a table.
    #[must_use]
    pub fn answer_text(&self, most: usize) -> String {
        if let Some(reason) = self.stuck() {
            return format!("none: the model failed to reach one: {reason}");
        }
        match &self.answer.value {
            value if value.is_empty() => match self.nearest() {
                Some(nearest) if !nearest.unexplained.is_empty() => format!(
                    "none: the graph has no answer to this; nothing in it was found for {}",
                    nearest.unexplained.join(", ")
                ),
                _ => "none: the graph has no answer to this".to_owned(),
            },
            AnswerValue::Set(members) => {
                let shown: Vec<&str> = members
                    .iter()
                    .take(most)
                    .map(|member| member.label.as_str())
                    .collect();
                let more = if members.len() > most {
                    format!(", … ({} in all)", members.len())
                } else {
                    String::new()
                };
                shown.join(", ") + &more
            }
            AnswerValue::Number(number) => number.to_string(),
            AnswerValue::Truth(true) => "yes".to_owned(),
            AnswerValue::Truth(false) => "no".to_owned(),
            AnswerValue::Table(table) => {
                let rows: Vec<String> = table
                    .labels()
                    .take(most)
                    .map(|row| row.join(CELL_SEPARATOR))
                    .collect();
                let more = if table.rows.len() > most {
                    format!("; … ({} rows in all)", table.rows.len())
                } else {
                    String::new()
                };
                rows.join("; ") + &more
            }
        }
    }

    /// The error message, if the model and not the graph is the reason for having no answer.
    #[must_use]
    pub fn stuck(&self) -> Option<String> {
        if !self
            .failure
            .is_some_and(|failure| [PLANNER_FAILED, NO_CALL, NO_END].contains(&failure))
        {
            return None;
        }
        let mut events = self.events.iter().rev();
        let message = events.find_map(|event| match event {
            TraceEvent::Error { message } => Some(message.clone()),
            _ => None,
        })?;
        // What was wrong with the reply says more than why the call in it does not parse.
        let problem = events.find_map(|event| match event {
            TraceEvent::Reply(reply) => Some(reply.problem.clone()),
            _ => None,
        });
        Some(match problem.flatten() {
            Some(problem) => format!("{problem}: {message}"),
            None => message,
        })
    }
}
