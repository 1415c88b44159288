//! The tokenizer in llama.cpp's keys: written for other programs, and read from files without a
//! `tokenizer.json`.
//!
//! llama.cpp splits text into words with rules that a file can only name. It does not know this
//! program's rule, so a vocabulary trained here is written as SentencePiece pieces, which are
//! merged without splitting. Since no token crosses a word boundary, merging produces the same
//! tokens, except tokens that end inside a character, which are lost.

mod read;
mod rules;
mod write;

pub(super) use read::read;
pub(super) use write::keys;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value as Json, json};

    use super::rules::RULES;
    use super::write::alphabet_byte;
    use super::*;
    use crate::gguf::metadata::{GgufValue, WrittenValue};
    use crate::{Preset, Tokenizer};

    const TEXTS: [&str; 6] = [
        "get_relation(e0) -> film.film.directed_by, people.person.place_of_birth",
        "  Which film of 1987 did m0 Zoë Müller direct in 日本?  It's theirs!",
        "v1 = get_tail_entity(v0, geography.mountain.elevation)\n\nans = end(v1)",
        "x0 = 12,345.5 km² – c1 \t tab; the e12's",
        "we're here. The end...(e0)[name]",
        "",
    ];

    /// A tokenizer trained on the texts, with other rules to split words.
    fn trained(split: Option<&[&str]>) -> Tokenizer {
        let trained = Tokenizer::train_bpe(TEXTS.iter().cycle().take(60), 420).unwrap();
        let Some(split) = split else { return trained };
        let mut json: Json = serde_json::from_slice(&trained.to_bytes().unwrap()).unwrap();
        let parts = json["pre_tokenizer"]["pretokenizers"]
            .as_array_mut()
            .unwrap();
        let words = parts.remove(0);
        for (i, expression) in split.iter().enumerate() {
            let mut words = words.clone();
            words["pattern"]["Regex"] = json!(expression);
            parts.insert(i, words);
        }
        Tokenizer::from_bytes(json.to_string().as_bytes()).unwrap()
    }

    /// The metadata of a tokenizer, as read back from a file.
    fn metadata(tokenizer: &Tokenizer) -> BTreeMap<String, GgufValue> {
        let config = Preset::Tiny.config(tokenizer.vocab_size());
        let value = |meta| match meta {
            WrittenValue::Text(text) => GgufValue::Text(text),
            WrittenValue::Texts(texts) => GgufValue::Texts(texts),
            WrittenValue::I32s(numbers) => {
                GgufValue::Numbers(numbers.into_iter().map(f64::from).collect())
            }
            WrittenValue::F32s(numbers) => {
                GgufValue::Numbers(numbers.into_iter().map(f64::from).collect())
            }
            WrittenValue::U32(n) => GgufValue::Unsigned(u64::from(n)),
            WrittenValue::F32(x) => GgufValue::Float(f64::from(x)),
            WrittenValue::Bool(b) => GgufValue::Bool(b),
        };
        let keys = keys(&config, tokenizer, &tokenizer.to_bytes().unwrap()).unwrap();
        let mut all: BTreeMap<String, GgufValue> = keys
            .into_iter()
            .map(|(key, meta)| (key.to_owned(), value(meta)))
            .collect();
        all.insert(
            "tokenizer.ggml.add_space_prefix".to_owned(),
            GgufValue::Bool(false),
        );
        all
    }

    #[test]
    fn every_kind_round_trips_to_the_same_tokens() {
        let rules = RULES.iter().map(|rule| Some(rule.split));
        for split in rules.chain([None, Some(&[r"\p{L}+|\s+"][..])]) {
            let tokenizer = trained(split);
            let metadata = metadata(&tokenizer);
            let pieces = metadata["tokenizer.ggml.model"] == GgufValue::Text("llama".to_owned());
            assert_eq!(pieces, RULES.iter().all(|rule| Some(rule.split) != split));
            let again = read(&metadata).unwrap();
            assert_eq!(again.control().unwrap(), tokenizer.control().unwrap());
            for text in TEXTS {
                let ids = again.encode(text).unwrap();
                assert_eq!(again.decode(&ids).unwrap(), text, "{split:?}");
                // Pieces cannot end inside a character and reproduce only this program's own rule.
                if !pieces || (split.is_none() && text.is_ascii()) {
                    assert_eq!(ids, tokenizer.encode(text).unwrap(), "{text:?} {split:?}");
                }
            }
        }
    }

    #[test]
    fn unsupported_tokenizers_are_named() {
        let with = |key: &str, value: GgufValue| {
            let mut metadata = metadata(&trained(Some(RULES[0].split)));
            metadata.insert(format!("tokenizer.ggml.{key}"), value);
            read(&metadata).unwrap_err()
        };
        let text = |text: &str| GgufValue::Text(text.to_owned());
        assert!(with("model", text("bert")).contains("`bert`"));
        assert!(with("pre", text("tekken")).contains("`tekken`"));
        assert!(with("merges", GgufValue::Texts(vec!["ab".to_owned()])).contains("not a pair"));
        assert!(
            with("merges", GgufValue::Texts(vec!["zz qq".to_owned()])).contains("cannot be built")
        );
        assert!(
            with(
                "tokens",
                GgufValue::Texts(vec!["a".to_owned(), "a".to_owned()])
            )
            .contains("token_type")
        );
        assert!(with("token_type", GgufValue::Bool(true)).contains("token_type"));
        assert!(
            read(&BTreeMap::new())
                .unwrap_err()
                .contains("tokenizer.ggml.model")
        );
    }

    #[test]
    fn the_byte_alphabet_matches_the_library() {
        let mut bytes: Vec<u8> = tokenizers::pre_tokenizers::byte_level::ByteLevel::alphabet()
            .into_iter()
            .map(|c| alphabet_byte(c).unwrap())
            .collect();
        bytes.sort_unstable();
        assert_eq!(bytes, (0..=255).collect::<Vec<u8>>());
        assert_eq!(
            (
                alphabet_byte('Ġ'),
                alphabet_byte('Ċ'),
                alphabet_byte('a'),
                alphabet_byte('日')
            ),
            (Some(b' '), Some(b'\n'), Some(b'a'), None)
        );
    }
}
