//! The bytes of the tokens of a `tokenizer.json`: byte-level BPE, SentencePiece with byte fallback,
//! or plain text.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use crate::trie::TokenTrie;

/// What generation needs to know about a vocabulary.
#[derive(Debug, Clone)]
pub struct Vocab {
    /// The text tokens. Added tokens, special or not, are left out.
    pub trie: TokenTrie,
    /// The token that ends a turn.
    pub end: u32,
    /// Whether the tokenizer prepends a space to a text (SentencePiece's dummy prefix).
    pub adds_space: bool,
}

impl Vocab {
    /// The vocabulary of a parsed `tokenizer.json`; `end` is the token that ends a turn.
    #[must_use]
    pub fn of_tokenizer(tokenizer: &Value, end: u32) -> Self {
        Self {
            trie: TokenTrie::new(text_tokens(tokenizer).into_iter()),
            end,
            adds_space: adds_space(&tokenizer["normalizer"])
                || adds_space(&tokenizer["pre_tokenizer"]),
        }
    }
}

/// How a tokenizer spells bytes in its vocabulary.
#[derive(Clone, Copy)]
enum Spelling {
    /// GPT-2's alphabet: every byte is a printable character (`Ġ` is a space).
    ByteLevel,
    /// `▁` is a space and `<0xNN>` a byte.
    SentencePiece,
    /// Tokens are the text itself.
    Plain,
}

impl Spelling {
    /// Detects the spelling from the decoder, pre-tokenizer and normalizer of a `tokenizer.json`.
    fn of(tokenizer: &Value) -> Self {
        let kinds = ["decoder", "pre_tokenizer", "normalizer"].map(|part| kinds(&tokenizer[part]));
        let has = |name: &str| kinds.iter().any(|k| k.contains(name));
        if has("ByteLevel") {
            Self::ByteLevel
        } else if has("Metaspace")
            || has("ByteFallback")
            || tokenizer["model"]["byte_fallback"].as_bool() == Some(true)
        {
            Self::SentencePiece
        } else {
            Self::Plain
        }
    }

    /// The bytes of a token; `None` for a character outside the byte alphabet.
    fn bytes(self, token: &str) -> Option<Vec<u8>> {
        match self {
            Self::Plain => Some(token.as_bytes().to_vec()),
            Self::ByteLevel => token.chars().map(alphabet_byte).collect(),
            Self::SentencePiece => {
                let hex = token.strip_prefix("<0x").and_then(|t| t.strip_suffix('>'));
                match hex
                    .filter(|h| h.len() == 2)
                    .and_then(|h| u8::from_str_radix(h, 16).ok())
                {
                    Some(byte) => Some(vec![byte]),
                    None => Some(token.replace('▁', " ").into_bytes()),
                }
            }
        }
    }
}

/// Id and bytes of every text token (`model.vocab` is an object or a list of pairs).
fn text_tokens(tokenizer: &Value) -> BTreeMap<u32, Vec<u8>> {
    let spelling = Spelling::of(tokenizer);
    let id = |v: &Value| v.as_u64().and_then(|v| u32::try_from(v).ok());
    let added: HashSet<u32> = tokenizer["added_tokens"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|t| id(&t["id"]))
        .collect();
    // SentencePiece's unknown token is in the vocabulary, but not always among the added tokens.
    let unknown = tokenizer["model"]["unk_token"].as_str();
    let unknown_id = id(&tokenizer["model"]["unk_id"]);
    let mut tokens = BTreeMap::new();
    let mut keep = |token: &str, id: u32| {
        if added.contains(&id) || Some(token) == unknown || Some(id) == unknown_id {
            return;
        }
        if let Some(bytes) = spelling.bytes(token).filter(|b| !b.is_empty()) {
            tokens.insert(id, bytes);
        }
    };
    match &tokenizer["model"]["vocab"] {
        Value::Object(vocab) => vocab
            .iter()
            .filter_map(|(t, v)| id(v).map(|i| (t, i)))
            .for_each(|(t, i)| keep(t, i)),
        Value::Array(vocab) => vocab.iter().enumerate().for_each(|(i, pair)| {
            if let (Some(token), Ok(i)) = (pair[0].as_str(), u32::try_from(i)) {
                keep(token, i);
            }
        }),
        _ => {}
    }
    tokens
}

/// The types of a component and of the parts of a sequence.
fn kinds(part: &Value) -> HashSet<&str> {
    parts(part)
        .into_iter()
        .filter_map(|p| p["type"].as_str())
        .collect()
}

fn parts(part: &Value) -> Vec<&Value> {
    let mut all = vec![part];
    for list in ["decoders", "pretokenizers", "normalizers"] {
        all.extend(part[list].as_array().into_iter().flatten());
    }
    all
}

fn adds_space(part: &Value) -> bool {
    parts(part).into_iter().any(|p| match p["type"].as_str() {
        Some("Prepend") => p["prepend"].as_str() == Some("▁"),
        Some("Metaspace") => match p["prepend_scheme"].as_str() {
            Some(scheme) => scheme != "never",
            None => p["add_prefix_space"].as_bool() != Some(false),
        },
        Some("ByteLevel") => p["add_prefix_space"].as_bool() == Some(true),
        _ => false,
    })
}

/// The byte of a character of GPT-2's alphabet. Printable Latin-1 characters are their own bytes;
/// the other 68 bytes are U+0100 onwards, in order.
fn alphabet_byte(c: char) -> Option<u8> {
    let code = u32::from(c);
    let own = |b: u32| matches!(b, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    if own(code) {
        return u8::try_from(code).ok();
    }
    let nth = code.checked_sub(0x100)? as usize;
    (0..256u32)
        .filter(|&b| !own(b))
        .nth(nth)
        .and_then(|b| u8::try_from(b).ok())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_byte_alphabet_is_a_bijection() {
        let all: HashSet<u8> = (0u32..0x200)
            .filter_map(char::from_u32)
            .filter_map(alphabet_byte)
            .collect();
        assert_eq!(all.len(), 256);
        assert_eq!(alphabet_byte('Ġ'), Some(b' '));
        assert_eq!(alphabet_byte('Ċ'), Some(b'\n'));
        assert_eq!(
            Spelling::ByteLevel.bytes("Ã©"),
            Some("é".as_bytes().to_vec())
        );
        assert_eq!(Spelling::ByteLevel.bytes("▁"), None);
    }

    #[test]
    fn spellings_are_detected_and_added_tokens_left_out() {
        let gpt = json!({"decoder": {"type": "ByteLevel"}, "added_tokens": [{"id": 1}], "model": {"vocab": {"Ġa": 0, "<end>": 1}}});
        assert_eq!(text_tokens(&gpt), [(0, b" a".to_vec())].into());
        let llama = json!({
            "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace"}]},
            "decoder": {"type": "Sequence", "decoders": [{"type": "Replace"}, {"type": "ByteFallback"}]},
            "added_tokens": [{"id": 0}],
            "model": {"unk_token": "<unk>", "vocab": {"<unk>": 0, "<0x0A>": 1, "▁get": 2}},
        });
        assert_eq!(
            text_tokens(&llama),
            [(1, b"\n".to_vec()), (2, b" get".to_vec())].into()
        );
        assert!(Vocab::of_tokenizer(&llama, 9).adds_space);
        let unigram = json!({"decoder": {"type": "Metaspace", "prepend_scheme": "never"}, "model": {"unk_id": 0, "vocab": [["<unk>", 0.0], ["▁", -1.0]]}});
        assert_eq!(text_tokens(&unigram), [(1, b" ".to_vec())].into());
    }
}
