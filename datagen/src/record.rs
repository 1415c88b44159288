//! The outcome of one processed question: stored in the journal, and read by selection and the
//! report.

use serde::{Deserialize, Serialize};
use toolbox::agent::Agent;
use toolbox::prompt::Layout;
use toolbox::tokens;

use crate::Refusal;
use crate::example::Example;
use crate::fingerprint::Fingerprint;

/// A processed question; its examples are stored separately.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) outcome: QuestionOutcome,
    pub(crate) converted: bool,
    pub(crate) values_added: usize,
    pub(crate) ties: bool,
    pub(crate) seconds: f64,
}

/// Whether a question is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum QuestionOutcome {
    /// Kept, with the input of selection and the sizes of its examples.
    Kept(Fingerprint, Vec<ExampleSize>),
    /// Refused, with the reason.
    Refused(RefusedQuestion),
}

/// A refused question: a line of `refused.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedQuestion {
    /// The question's id.
    pub id: String,
    /// The source's format.
    pub source: String,
    /// The reason.
    pub reason: Refusal,
    /// Details of the reason.
    pub detail: String,
    /// The gold query.
    pub sparql: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ExampleSize {
    pub(crate) agent: Agent,
    /// Calls that it trains.
    pub(crate) steps: usize,
    /// Whether it is an abstention example, or the last part of one.
    pub(crate) abstain: bool,
    /// Estimated tokens.
    pub(crate) tokens: usize,
}

impl ExampleSize {
    pub(crate) fn of(example: &Example) -> Self {
        // A paper-layout example trains one call; a dialogue trains all calls of the program.
        let steps = if example.layout == Layout::Dialogue {
            example.n_steps
        } else {
            1
        };
        let tokens = example
            .messages
            .iter()
            .map(|message| tokens::estimate(&message.content))
            .sum();
        Self {
            agent: example.agent,
            steps,
            abstain: example.abstain && example.step == example.n_steps,
            tokens,
        }
    }
}
