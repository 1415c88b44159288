//! The tokenizer: a checked wrapper over `tokenizers`, and byte-level BPE training for models made
//! from scratch.

use std::collections::HashSet;
use std::path::Path;

use common::transcript::Role;
use serde_json::{Value, json};
use tokenizers::models::bpe::{BPE, BpeTrainerBuilder};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{
    AddedToken, DecoderWrapper, NormalizerWrapper, PostProcessorWrapper, PreTokenizerWrapper,
    SplitDelimiterBehavior, TokenizerBuilder,
};

use crate::guard::guarded;
use crate::json::is_nested_deeper;
use crate::mistaken::Kind;
use crate::{ModelError, limits, mistaken};

/// The end-of-turn token.
pub const END: &str = "<|end|>";
/// The padding token.
pub const PAD: &str = "<|pad|>";
/// Every control token, in the order of their ids in a new tokenizer.
pub const SPECIAL: [&str; 6] = [
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|tool|>",
    END,
    PAD,
];

/// Words: contractions, handles, dotted names, single digits, sequences of other symbols, white
/// space. No token crosses a word boundary.
const WORDS: &str = r"'(?:s|t|re|ve|m|ll|d)| ?\b[cemrvx]\p{N}{1,2}\b| ?[\p{L}_]+(?:\.[\p{L}_]+)*| ?\p{N}| ?[^\s\p{L}\p{N}_]+|\s+(?!\S)|\s+";

/// The chat format as a template for `apply_chat_template` of transformers.
pub const CHAT_TEMPLATE: &str = "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}\
{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}";

/// Ids of the control tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlIds {
    /// One per role, in the order system, user, assistant, tool.
    pub roles: [u32; 4],
    /// End of turn.
    pub end: u32,
    /// Padding.
    pub pad: u32,
}

impl ControlIds {
    /// The token that opens a turn of `role`.
    #[must_use]
    pub fn role(&self, role: Role) -> u32 {
        self.roles[match role {
            Role::System => 0,
            Role::User => 1,
            Role::Assistant => 2,
            Role::Tool => 3,
        }]
    }
}

/// A tokenizer whose [`Tokenizer::encode`] can never produce a control token.
#[derive(Clone)]
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    control: Option<ControlIds>,
    special: HashSet<u32>,
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokenizer")
            .field("vocab_size", &self.vocab_size())
            .field("control", &self.control)
            .finish()
    }
}

fn failed(error: impl std::fmt::Display) -> ModelError {
    ModelError::Tokenizer(error.to_string())
}

/// Runs the library on a foreign tokenizer.
fn library<T>(work: impl FnOnce() -> tokenizers::Result<T>) -> Result<T, ModelError> {
    guarded(work)
        .map_err(|panic| failed(format!("it contradicts itself: {panic}")))?
        .map_err(failed)
}

fn special_tokens() -> Vec<AddedToken> {
    SPECIAL
        .iter()
        .map(|text| AddedToken::from(*text, true))
        .collect()
}

impl Tokenizer {
    fn wrap(mut inner: tokenizers::Tokenizer) -> Self {
        inner.set_encode_special_tokens(true);
        // Truncation or padding set in the file would silently change the training data.
        let _ = inner.with_truncation(None);
        inner.with_padding(None);
        let special = inner
            .get_added_tokens_decoder()
            .iter()
            .filter(|(_, token)| token.special)
            .map(|(id, _)| *id)
            .collect();
        let id = |text: &str| inner.token_to_id(text);
        let control = || {
            let [system, user, assistant, tool, end, pad] = SPECIAL.map(id);
            Some(ControlIds {
                roles: [system?, user?, assistant?, tool?],
                end: end?,
                pad: pad?,
            })
        };
        let control = control();
        Self {
            inner,
            control,
            special,
        }
    }

    /// Trains byte-level BPE on `texts`. Every digit is a word, so that numbers and handles (`r12`)
    /// share tokens. A dotted name such as `film.film.directed_by` is one word, so that frequent
    /// relations become one token. The result does not depend on the number of threads.
    ///
    /// # Errors
    /// When `vocab_size` is below the 262 that bytes and control tokens need.
    pub fn train_bpe<I, S>(texts: I, vocab_size: usize) -> Result<Self, ModelError>
    where
        I: Iterator<Item = S> + Send,
        S: AsRef<str> + Send,
    {
        let least = 256 + SPECIAL.len();
        if vocab_size < least {
            return Err(failed(format!(
                "a vocabulary of {vocab_size} is too small: bytes and control tokens alone are {least}"
            )));
        }
        let byte_level = || ByteLevel::new(false, false, false);
        let words = Split::new(
            SplitPattern::Regex(WORDS.to_owned()),
            SplitDelimiterBehavior::Isolated,
            false,
        )
        .map_err(failed)?;
        let pre = Sequence::new(vec![
            PreTokenizerWrapper::Split(words),
            PreTokenizerWrapper::ByteLevel(byte_level()),
        ]);
        let mut tokenizer = TokenizerBuilder::<
            BPE,
            NormalizerWrapper,
            PreTokenizerWrapper,
            PostProcessorWrapper,
            DecoderWrapper,
        >::new()
        .with_model(BPE::default())
        .with_pre_tokenizer(Some(PreTokenizerWrapper::Sequence(pre)))
        .with_decoder(Some(DecoderWrapper::ByteLevel(byte_level())))
        .build()
        .map_err(failed)?;
        let mut trainer = BpeTrainerBuilder::new()
            .vocab_size(vocab_size)
            .min_frequency(2)
            .show_progress(false)
            .special_tokens(special_tokens())
            .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
            .build();
        tokenizer.train(&mut trainer, texts).map_err(failed)?;
        let json = tokenizer.to_string(false).map_err(failed)?;
        Self::from_bytes(json.as_bytes())
    }

    /// Reads a `tokenizer.json` file. Ignores its truncation and padding.
    ///
    /// # Errors
    /// When the file cannot be read, is too large or is not a tokenizer.
    pub fn from_file(path: &Path) -> Result<Self, ModelError> {
        let bytes = mistaken::read(path, limits::TOKENIZER_BYTES)?;
        Self::from_bytes(&bytes).map_err(|error| {
            let what = mistaken::describe(&bytes, bytes.len() as u64, Kind::Text);
            let what = what.map(|what| format!("it is {what}"));
            let message = what.unwrap_or_else(|| error.to_string());
            failed(format!("{}: {message}", path.display()))
        })
    }

    /// Ids of `text` with the special tokens that an encoder expects around it (`[CLS]` … `[SEP]`).
    ///
    /// # Errors
    /// When the tokenizer fails.
    pub fn encode_with_special(&self, text: &str) -> Result<Vec<u32>, ModelError> {
        let encoded = library(|| self.inner.encode_fast(text, true))?;
        Ok(encoded.get_ids().to_vec())
    }

    /// Parses the content of a `tokenizer.json`.
    ///
    /// # Errors
    /// When it is not a tokenizer, is nested too deep or has too large an id.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ModelError> {
        if is_nested_deeper(bytes, limits::TOKENIZER_DEPTH) {
            return Err(failed(format!(
                "its JSON is nested deeper than {}",
                limits::TOKENIZER_DEPTH
            )));
        }
        let tokenizer = library(|| tokenizers::Tokenizer::from_bytes(bytes).map(Self::wrap))?;
        let size = tokenizer.vocab_size();
        if size > limits::TOKEN_IDS {
            return Err(failed(format!(
                "it has the token id {}; ids up to {} are supported",
                size - 1,
                limits::TOKEN_IDS - 1
            )));
        }
        Ok(tokenizer)
    }

    /// Adds the control tokens that a foreign tokenizer lacks and returns their ids. The model's
    /// embedding must grow accordingly.
    ///
    /// # Errors
    /// When the tokenizer rejects them.
    pub fn ensure_control_tokens(&mut self) -> Result<Vec<u32>, ModelError> {
        let missing: Vec<&str> = SPECIAL
            .into_iter()
            .filter(|text| self.inner.token_to_id(text).is_none())
            .collect();
        self.inner
            .add_special_tokens(special_tokens())
            .map_err(failed)?;
        *self = Self::wrap(self.inner.clone());
        Ok(missing
            .iter()
            .filter_map(|text| self.inner.token_to_id(text))
            .collect())
    }

    /// Ids of the control tokens.
    ///
    /// # Errors
    /// When the tokenizer lacks them, as in a foreign model.
    pub fn control(&self) -> Result<ControlIds, ModelError> {
        self.control
            .ok_or_else(|| failed(format!("it lacks the control tokens {}", SPECIAL.join(" "))))
    }

    /// Number of ids, control tokens included.
    #[must_use]
    pub fn vocab_size(&self) -> usize {
        // The largest id, not the number of tokens: foreign vocabularies have gaps.
        self.inner
            .get_vocab(true)
            .values()
            .max()
            .map_or(0, |id| *id as usize + 1)
    }

    /// Ids of `text`. Encodes text that looks like a control token as ordinary characters.
    ///
    /// # Errors
    /// When the tokenizer fails or produces a control token.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, ModelError> {
        let encoded = library(|| self.inner.encode_fast(text, false))?;
        let ids = encoded.get_ids().to_vec();
        if let Some(id) = ids.iter().find(|id| self.special.contains(id)) {
            return Err(failed(format!(
                "text would become the control token {id}: {:?}",
                text.chars().take(80).collect::<String>()
            )));
        }
        Ok(ids)
    }

    /// The text of `ids` without control tokens.
    ///
    /// # Errors
    /// When the decoder does not know an id.
    pub fn decode(&self, ids: &[u32]) -> Result<String, ModelError> {
        library(|| self.inner.decode(ids, true))
    }

    /// The id of a vocabulary entry, if there is one.
    #[must_use]
    pub fn id(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }

    /// The vocabulary entry of `id` (in the byte-level alphabet); `None` outside the vocabulary.
    #[must_use]
    pub fn token(&self, id: u32) -> Option<String> {
        self.inner.id_to_token(id)
    }

    /// Whether `id` is a control token.
    #[must_use]
    pub fn is_special(&self, id: u32) -> bool {
        self.special.contains(&id)
    }

    /// The underlying tokenizer.
    pub(crate) fn inner(&self) -> &tokenizers::Tokenizer {
        &self.inner
    }

    /// The content of `tokenizer.json`.
    ///
    /// # Errors
    /// When the tokenizer cannot be serialised.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ModelError> {
        let value: Value =
            serde_json::from_str(&self.inner.to_string(false).map_err(failed)?).map_err(failed)?;
        serde_json::to_vec_pretty(&value).map_err(failed)
    }

    /// `tokenizer_config.json` for transformers' `AutoTokenizer`.
    #[must_use]
    pub fn config_json(&self, max_length: usize) -> Value {
        json!({
            "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": max_length, "clean_up_tokenization_spaces": false,
            "eos_token": END, "pad_token": PAD, "additional_special_tokens": &SPECIAL[..4],
            "chat_template": CHAT_TEMPLATE,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn texts() -> Vec<String> {
        (0..200).map(|i| format!("get_relation(e{i}) -> r0 film.directed_by, r1 film.starred_actors Ünïcode 日本 {i}")).collect()
    }

    #[test]
    fn training_is_deterministic_and_round_trips() {
        let one = Tokenizer::train_bpe(texts().iter(), 400)
            .unwrap()
            .to_bytes()
            .unwrap();
        for _ in 0..2 {
            assert_eq!(
                one,
                Tokenizer::train_bpe(texts().iter(), 400)
                    .unwrap()
                    .to_bytes()
                    .unwrap()
            );
        }
        let tokenizer = Tokenizer::from_bytes(&one).unwrap();
        assert_eq!(one, tokenizer.to_bytes().unwrap());
        for text in [
            "",
            " ",
            "a  b\n\tc",
            "日本 r12 émile 🎬",
            "get_relation(e7) -> r0 film.directed_by",
        ] {
            assert_eq!(
                tokenizer.decode(&tokenizer.encode(text).unwrap()).unwrap(),
                text
            );
        }
        assert_eq!(tokenizer.control().unwrap().roles, [0, 1, 2, 3]);
        assert_eq!(tokenizer.encode("1234").unwrap().len(), 4);
    }

    /// Damaged parts of a `tokenizer.json`, each with a part of its error; `None` if it may be
    /// read.
    const DAMAGED: [(&str, &str, Option<&str>); 9] = [
        (
            "model",
            r#"{"type":"BPE","vocab":{"a":3900000000},"merges":[]}"#,
            Some("token id 3900000000"),
        ),
        (
            "added_tokens",
            r#"[{"id":3900000000,"content":"<x>","special":true,"single_word":false,"lstrip":false,"rstrip":false,"normalized":false}]"#,
            None,
        ),
        (
            "model",
            r#"{"type":"BPE","vocab":{"a":0},"merges":[["a","b"]]}"#,
            Some("tokenizer: "),
        ),
        (
            "model",
            r#"{"type":"Unigram","unk_id":7,"vocab":[["a",0.0]],"byte_fallback":false}"#,
            Some("tokenizer: "),
        ),
        (
            "normalizer",
            r#"{"type":"Precompiled","precompiled_charsmap":"/////w=="}"#,
            Some("tokenizer: "),
        ),
        (
            "normalizer",
            r#"{"type":"Replace","pattern":{"Regex":"("},"content":""}"#,
            Some("tokenizer: "),
        ),
        (
            "pre_tokenizer",
            r#"{"type":"FixedLength","length":0}"#,
            None,
        ),
        (
            "post_processor",
            r#"{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"[X]","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],"pair":[],"special_tokens":{}}"#,
            None,
        ),
        (
            "decoder",
            r#"{"type":"Strip","content":" ","start":900000,"stop":900000}"#,
            None,
        ),
    ];

    #[test]
    fn damaged_tokenizers_are_errors() {
        let good = Tokenizer::train_bpe(texts().iter(), 400).unwrap();
        let good: Value = serde_json::from_slice(&good.to_bytes().unwrap()).unwrap();
        for (part, value, says) in DAMAGED {
            let mut json = good.clone();
            json[part] = serde_json::from_str(value).unwrap();
            let read = Tokenizer::from_bytes(json.to_string().as_bytes());
            match (read, says) {
                (Ok(tokenizer), None) => {
                    // Errors, but no panic.
                    for text in ["", "a", "日本 r12"] {
                        let _ = tokenizer.encode(text);
                        let _ = tokenizer.encode_with_special(text);
                    }
                    let _ = tokenizer.decode(&[0, 1, 260, 399]);
                }
                (Err(error), _) => {
                    let error = error.to_string();
                    assert!(error.contains(says.unwrap_or("tokenizer: ")), "{error}");
                }
                (Ok(_), Some(_)) => panic!("{part} {value} was read"),
            }
        }
    }

    #[test]
    fn nesting_is_limited_before_the_library_reads() {
        for levels in [20_usize, 1000, 100_000] {
            let sequence = r#"{"type":"Sequence","normalizers":["#;
            let open = sequence.repeat(levels);
            let close = "]}".repeat(levels);
            let json = format!(r#"{{"version":"1.0","normalizer":{open}{close}}}"#);
            let error = Tokenizer::from_bytes(json.as_bytes()).unwrap_err();
            assert!(
                error.to_string().contains("nested deeper than 32"),
                "{error}"
            );
        }
    }

    #[test]
    fn no_text_becomes_a_control_token() {
        let tokenizer = Tokenizer::train_bpe(SPECIAL.iter().cycle().take(600), 600).unwrap();
        for text in SPECIAL {
            for text in [
                text.to_owned(),
                format!("a {text} b"),
                format!("{text}{text}"),
            ] {
                let ids = tokenizer.encode(&text).unwrap();
                assert!(
                    ids.iter().all(|id| !tokenizer.is_special(*id)),
                    "{text}: {ids:?}"
                );
                assert_eq!(tokenizer.decode(&ids).unwrap(), text);
            }
        }
    }
}
