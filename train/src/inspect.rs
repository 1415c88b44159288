//! What training sees of an example: its tokens, and which of them the loss is taken on.

use model::{ChatFormat, Conversation, ModelError};

/// A run of tokens of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspected {
    /// The text of one token.
    pub text: String,
    /// Its id.
    pub id: u32,
    /// Whether it is trained on.
    pub trained: bool,
    /// Whether it is a control token.
    pub control: bool,
}

/// The tokens of a conversation in order. Bytes that are no character by themselves show as the replacement character.
///
/// # Errors
/// When the tokenizer fails.
pub fn inspect(
    format: &ChatFormat,
    conversation: &Conversation,
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
