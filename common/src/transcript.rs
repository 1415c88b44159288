//! Transcripts: everything that a model reads or writes, as turns made of parts. `toolbox::prompt`
//! renders them.

use serde::{Deserialize, Serialize};

/// The origin of a part. Text that is not [`Trust::Ours`] is tokenised without control tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// Fixed text of this program, or a call that it printed.
    Ours,
    /// Typed by a user.
    User,
    /// Taken from a graph.
    Kg,
}

/// A run of text from one origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The text.
    pub text: String,
    /// Its origin.
    pub trust: Trust,
}

impl Part {
    /// Fixed text of this program.
    #[must_use]
    pub fn ours(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            trust: Trust::Ours,
        }
    }
    /// Text typed by a user.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            trust: Trust::User,
        }
    }
    /// Text from a graph.
    #[must_use]
    pub fn kg(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            trust: Trust::Kg,
        }
    }
}

/// The speaker of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Introduces the agent and its tools.
    System,
    /// The question and its linked entities.
    User,
    /// The model. Only these turns are trained on.
    Assistant,
    /// The result of a tool.
    Tool,
}

/// One turn of a transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The speaker.
    pub role: Role,
    /// The text, in order.
    pub parts: Vec<Part>,
    /// Whether the loss is taken on this turn (and on its end-of-turn token).
    pub trained: bool,
}

impl Turn {
    /// A turn that is in the context but not trained on.
    #[must_use]
    pub fn shown(role: Role, parts: Vec<Part>) -> Self {
        Self {
            role,
            parts,
            trained: false,
        }
    }
    /// A trained assistant turn that contains one call.
    #[must_use]
    pub fn call(text: impl Into<String>) -> Self {
        Self {
            role: Role::Assistant,
            parts: vec![Part::ours(text)],
            trained: true,
        }
    }
    /// The whole text of the turn.
    #[must_use]
    pub fn text(&self) -> String {
        self.parts.iter().map(|part| part.text.as_str()).collect()
    }
}
