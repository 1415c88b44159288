//! What bytes the tokens of a `tokenizer.json` stand for: byte-level BPE, SentencePiece with byte fallback, or plain text.
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// How a tokenizer spells bytes in its vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// GPT-2's alphabet: every byte is one printable character (`Ġ` is a space).
    ByteLevel,
    /// `▁` is a space and `<0xNN>` a byte.
    SentencePiece,
    /// Tokens are the text itself.
    Plain,
}

/// The text tokens of a vocabulary.
#[derive(Debug, Clone)]
pub struct VocabBytes {
    /// Id and bytes of every token that can stand in text; added tokens (special or not) are not among them.
    pub tokens: Vec<(u32, Vec<u8>)>,
    /// Whether encoding a text puts a space before it that the text does not have (SentencePiece's dummy prefix).
    pub adds_space: bool,
}

impl Spelling {
    /// Reads the spelling off the decoder (or, where there is none, the pre-tokenizer) of a parsed `tokenizer.json`.
    pub fn of(tokenizer: &Value) -> Self {
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

    /// The bytes of a token; `None` where its spelling stands for none (a character outside the byte alphabet).
    pub fn bytes(self, token: &str) -> Option<Vec<u8>> {
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

/// The text tokens of a parsed `tokenizer.json` (`model.vocab` as an object or as a list of pairs).
pub fn vocab_bytes(tokenizer: &Value) -> VocabBytes {
    let spelling = Spelling::of(tokenizer);
    let id = |v: &Value| v.as_u64().and_then(|v| u32::try_from(v).ok());
    let added: HashSet<u32> = tokenizer["added_tokens"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|t| id(&t["id"]))
        .collect();
    // SentencePiece's unknown token is in the vocabulary, not always among the added ones.
    let unknown = tokenizer["model"]["unk_token"].as_str();
    let unknown_id = id(&tokenizer["model"]["unk_id"]);
    let mut seen: HashMap<u32, Vec<u8>> = HashMap::new();
    let mut keep = |token: &str, id: u32| {
        if added.contains(&id) || Some(token) == unknown || Some(id) == unknown_id {
            return;
        }
        if let Some(bytes) = spelling.bytes(token).filter(|b| !b.is_empty()) {
            seen.insert(id, bytes);
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
    let mut tokens: Vec<_> = seen.into_iter().collect();
    tokens.sort_unstable();
    VocabBytes {
        tokens,
        adds_space: adds_space(&tokenizer["normalizer"]) || adds_space(&tokenizer["pre_tokenizer"]),
    }
}

/// The `type`s of a component and of the parts of a sequence.
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

/// The byte a character of GPT-2's alphabet stands for. Printable Latin-1 stands for itself; the 68 other bytes, in order, are U+0100 onwards.
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
    fn spellings_are_told_apart_and_added_tokens_left_out() {
        let gpt = json!({"decoder": {"type": "ByteLevel"}, "added_tokens": [{"id": 1}], "model": {"vocab": {"Ġa": 0, "<end>": 1}}});
        assert_eq!(vocab_bytes(&gpt).tokens, vec![(0, b" a".to_vec())]);
        let llama = json!({
            "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace"}]},
            "decoder": {"type": "Sequence", "decoders": [{"type": "Replace"}, {"type": "ByteFallback"}]},
            "added_tokens": [{"id": 0}],
            "model": {"unk_token": "<unk>", "vocab": {"<unk>": 0, "<0x0A>": 1, "▁get": 2}},
        });
        let read = vocab_bytes(&llama);
        assert_eq!(
            read.tokens,
            vec![(1, b"\n".to_vec()), (2, b" get".to_vec())]
        );
        assert!(read.adds_space);
        let unigram = json!({"decoder": {"type": "Metaspace", "prepend_scheme": "never"}, "model": {"unk_id": 0, "vocab": [["<unk>", 0.0], ["▁", -1.0]]}});
        assert_eq!(vocab_bytes(&unigram).tokens, vec![(1, b" ".to_vec())]);
    }
}
