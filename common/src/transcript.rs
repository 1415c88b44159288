//! Transcripts: everything a model sees or writes, as turns made of parts, rendered by `toolbox::prompt`.

use serde::{Deserialize, Serialize};

/// Whose words a part is. Text that is not [`Trust::Ours`] is tokenised with special tokens off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// Fixed text of this program, or a call printed by it.
    Ours,
    /// Typed by a user.
    User,
    /// Taken from a graph.
    Kg,
}

/// A run of text of one origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The text.
    pub text: String,
    /// Whose words they are.
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
    /// Text a user typed.
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

/// Who speaks in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Names the agent and what it can do.
    System,
    /// The question and what was linked to it.
    User,
    /// The model: the only turns that are ever trained on.
    Assistant,
    /// What a tool answered.
    Tool,
}

/// One turn of a transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Who speaks.
    pub role: Role,
    /// The text, in order.
    pub parts: Vec<Part>,
    /// Whether the loss is taken on this turn (and on its end-of-turn token).
    pub trained: bool,
}

impl Turn {
    /// A turn that is shown and not trained on.
    #[must_use]
    pub fn shown(role: Role, parts: Vec<Part>) -> Self {
        Self {
            role,
            parts,
            trained: false,
        }
    }
    /// A trained assistant turn: one call.
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
