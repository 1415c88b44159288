//! Pairs of texts as tokens, for models that score them together (cross-encoders).

use crate::{EncoderFolder, ModelError, Tokenizer};

/// A pair of texts: `[CLS] first [SEP] second [SEP]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairTokens {
    /// All tokens.
    pub ids: Vec<u32>,
    /// Number of the tokens of the first part, including its `[CLS]` and `[SEP]`. They have token
    /// type 0, the others 1.
    pub first: usize,
}

/// Makes [`PairTokens`] with the tokenizer of an encoder.
#[derive(Clone, Debug)]
pub struct PairTokenizer {
    tokenizer: Tokenizer,
    /// `[CLS]` and `[SEP]`.
    ends: [u32; 2],
    max_tokens: usize,
    /// Rows of the word embedding.
    rows: usize,
}

/// Special tokens of a pair.
const SPECIAL: usize = 3;

impl PairTokenizer {
    /// A tokenizer of pairs of at most `max_tokens` tokens for a word embedding of `rows` rows.
    ///
    /// # Errors
    /// When the tokenizer does not put one token before and one behind a text, gives a token
    /// outside the embedding, or the limit leaves no room for texts.
    pub fn new(tokenizer: Tokenizer, max_tokens: usize, rows: usize) -> Result<Self, ModelError> {
        let special = tokenizer.encode_with_special("")?;
        let [open, close] = special[..] else {
            return Err(ModelError::Tokenizer(format!(
                "it puts {} special tokens around a text; for pairs of texts it must be 2",
                special.len()
            )));
        };
        if max_tokens < SPECIAL + 2 {
            return Err(ModelError::Config(format!(
                "the limit of {max_tokens} tokens leaves no room for two texts"
            )));
        }
        let size = tokenizer.vocab_size();
        if size > rows {
            return Err(ModelError::Tokenizer(format!(
                "it has {size} tokens, but the word embedding has {rows} rows"
            )));
        }
        Ok(Self {
            tokenizer,
            ends: [open, close],
            max_tokens,
            rows,
        })
    }

    /// The tokenizer of pairs for an encoder folder, with the folder's limit of tokens.
    ///
    /// # Errors
    /// Those of [`PairTokenizer::new`].
    pub fn of_folder(folder: &EncoderFolder) -> Result<Self, ModelError> {
        let config = &folder.config;
        Self::new(
            folder.tokenizer.clone(),
            config.max_tokens,
            config.vocab_size,
        )
    }

    /// The longest pair in tokens.
    #[must_use]
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// The token that stands for a hidden one, if the vocabulary has it.
    #[must_use]
    pub fn mask(&self) -> Option<u32> {
        self.tokenizer.id("[MASK]")
    }

    /// Tokens of one text without special tokens.
    ///
    /// # Errors
    /// When the tokenizer fails.
    pub fn tokens(&self, text: &str) -> Result<Vec<u32>, ModelError> {
        let mut ids = self.tokenizer.encode_with_special(text)?;
        ids.pop();
        if !ids.is_empty() {
            ids.remove(0);
        }
        match ids.iter().find(|id| **id as usize >= self.rows) {
            Some(id) => Err(ModelError::Tokenizer(format!(
                "it gives the token {id}, but the word embedding has {} rows",
                self.rows
            ))),
            None => Ok(ids),
        }
    }

    /// The pair of two texts given as [`PairTokenizer::tokens`]. If it is too long, the first text
    /// is cut, but not below half of the limit; then the second one is.
    #[must_use]
    pub fn join(&self, first: &[u32], second: &[u32]) -> PairTokens {
        let room = self.max_tokens - SPECIAL;
        let half = self.max_tokens / 2;
        let most = room.saturating_sub(second.len()).max(half.min(room - 1));
        let first = &first[..first.len().min(most)];
        let second = &second[..second.len().min(room - first.len())];
        let [open, close] = self.ends;
        let mut ids = Vec::with_capacity(first.len() + second.len() + SPECIAL);
        ids.push(open);
        ids.extend_from_slice(first);
        ids.push(close);
        ids.extend_from_slice(second);
        ids.push(close);
        PairTokens {
            ids,
            first: first.len() + 2,
        }
    }
}
