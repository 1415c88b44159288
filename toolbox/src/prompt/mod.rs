//! Prompt templates: the one renderer that turns a session's knowledge memory (KG-Agent §4.3:
//! question, toolbox definition, current KG information, history program) into transcripts. Data
//! generation and inference share it, so a training example equals the prompt at inference byte for
//! byte.

mod conversation;
mod dialogue;
mod template;

pub use conversation::Conversation;
pub(crate) use dialogue::{dialogue_question, dialogue_relations, size_word};
pub use template::{Layout, Template};
