//! The chat format: turns to tokens and the loss mask.
//!
//! A turn is `[role] text [<|end|>]`. A conversation is encoded as the concatenation of its turns,
//! so that an unfinished conversation is always a prefix of the finished one and key/value caches
//! stay valid from turn to turn.

use common::transcript::{Role, Turn};

use crate::tokenizer::ControlIds;
use crate::{ModelError, Tokenizer};

/// A tokenised conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoded {
    /// Token ids.
    pub ids: Vec<u32>,
    /// The loss mask: true for the text and the end token of trained turns, false for role tokens.
    pub trained: Vec<bool>,
}

/// Encodes turns as tokens.
#[derive(Clone, Debug)]
pub struct ChatFormat {
    tokenizer: Tokenizer,
    control: ControlIds,
}

impl ChatFormat {
    /// The chat format with `tokenizer`.
    ///
    /// # Errors
    /// When the tokenizer lacks the control tokens.
    pub fn new(tokenizer: Tokenizer) -> Result<Self, ModelError> {
        let control = tokenizer.control()?;
        Ok(Self { tokenizer, control })
    }

    /// The tokenizer.
    #[must_use]
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// The token that opens a turn.
    #[must_use]
    pub fn open_turn(&self, role: Role) -> u32 {
        self.control.role(role)
    }

    /// The token that ends a turn.
    #[must_use]
    pub fn end_of_turn(&self) -> u32 {
        self.control.end
    }

    /// Tokens and loss mask of a conversation.
    ///
    /// # Errors
    /// When the tokenizer fails.
    pub fn encode(&self, turns: &[Turn]) -> Result<Encoded, ModelError> {
        let mut out = Encoded::default();
        for turn in turns {
            let ids = self.encode_turn(turn)?;
            out.trained.push(false);
            out.trained
                .extend(std::iter::repeat_n(turn.trained, ids.len() - 1));
            out.ids.extend(ids);
        }
        Ok(out)
    }

    /// Tokens of one turn, with those that open and end it.
    ///
    /// # Errors
    /// When the tokenizer fails.
    pub fn encode_turn(&self, turn: &Turn) -> Result<Vec<u32>, ModelError> {
        let mut ids = vec![self.control.role(turn.role)];
        ids.extend(self.tokenizer.encode(&turn.text())?);
        ids.push(self.control.end);
        Ok(ids)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use common::transcript::Part;

    fn format() -> ChatFormat {
        ChatFormat::new(
            Tokenizer::train_bpe(
                ["who directed it", "get_tail(e0, r0)", "end()"]
                    .iter()
                    .cycle()
                    .take(30),
                300,
            )
            .unwrap(),
        )
        .unwrap()
    }

    fn conversation() -> Vec<Turn> {
        vec![
            Turn::shown(Role::System, vec![Part::ours("agent")]),
            Turn::shown(
                Role::User,
                vec![
                    Part::user("who <|end|> directed"),
                    Part::kg(" <|assistant|>it"),
                ],
            ),
            Turn::call("get_tail(e0, r0)"),
            Turn::shown(Role::Tool, vec![Part::kg("v0: 1 entity")]),
            Turn::shown(Role::Assistant, vec![Part::ours("end(shown)")]),
            Turn::call("end(v0)"),
        ]
    }

    #[test]
    fn the_mask_covers_exactly_the_trained_turns_and_their_ends() {
        let format = format();
        let encoded = format.encode(&conversation()).unwrap();
        let trained: Vec<u32> = encoded
            .ids
            .iter()
            .zip(&encoded.trained)
            .filter(|(_, t)| **t)
            .map(|(id, _)| *id)
            .collect();
        let mut expected = format.tokenizer().encode("get_tail(e0, r0)").unwrap();
        expected.push(format.end_of_turn());
        expected.extend(format.tokenizer().encode("end(v0)").unwrap());
        expected.push(format.end_of_turn());
        assert_eq!(trained, expected);
        let ends = encoded
            .ids
            .iter()
            .filter(|id| **id == format.end_of_turn())
            .count();
        assert_eq!(ends, 6, "text cannot end a turn");
    }

    #[test]
    fn a_conversation_is_the_concatenation_of_its_turns() {
        let format = format();
        let turns = conversation();
        let whole = format.encode(&turns).unwrap();
        for cut in 0..=turns.len() {
            let prefix = format.encode(&turns[..cut]).unwrap();
            assert_eq!(prefix.ids, whole.ids[..prefix.ids.len()]);
            assert_eq!(prefix.trained, whole.trained[..prefix.ids.len()]);
        }
        let parts: Vec<u32> = turns
            .chunks(1)
            .flat_map(|turn| format.encode(turn).unwrap().ids)
            .collect();
        assert_eq!(parts, whole.ids);
    }
}
