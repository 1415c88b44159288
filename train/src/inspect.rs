//! The tokens and the loss mask of an example, for people.

use model::{ChatFormat, ModelError, TrainingConversation};

/// A token of an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspected {
    /// Its text.
    pub text: String,
    /// Its id.
    pub id: u32,
    /// Whether it is trained.
    pub trained: bool,
    /// Whether it is a control token.
    pub control: bool,
}

/// The tokens of a conversation in order. A token that is not valid UTF-8 is shown as the
/// replacement character.
///
/// # Errors
/// When the tokenizer fails.
pub fn inspect(
    format: &ChatFormat,
    conversation: &TrainingConversation,
) -> Result<Vec<Inspected>, ModelError> {
    let encoded = format.encode(&conversation.turns)?;
    let tokenizer = format.tokenizer();
    encoded
        .ids
        .iter()
        .zip(&encoded.trained)
        .map(|(id, trained)| {
            let control = tokenizer.is_special(*id);
            let text = if control {
                tokenizer.token(*id).unwrap_or_default()
            } else {
                tokenizer.decode(&[*id])?
            };
            Ok(Inspected {
                text,
                id: *id,
                trained: *trained,
                control,
            })
        })
        .collect()
}
