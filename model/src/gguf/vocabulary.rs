//! The tokenizer in llama.cpp's own keys: written for other programs, and read from files that have no `tokenizer.json`.
//!
//! llama.cpp splits text into words by rules that it knows by name and not from the file. Ours it does not know, so a vocabulary of ours is
//! written as pieces in SentencePiece's manner, which are merged without such a split: as no token reaches across words, merging finds the same
//! ones. What is lost are tokens that end inside a character.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value as Json, json};

use super::read::Value;
use super::write::Meta;
use crate::tokenizer::{END, PAD};
use crate::{ModelConfig, ModelError, Tokenizer};

/// What a token is: the numbers of `tokenizer.ggml.token_type`.
const NORMAL: i32 = 1;
const UNKNOWN: i32 = 2;
const CONTROL: i32 = 3;
const USER: i32 = 4;
const UNUSED: i32 = 5;
const BYTE: i32 = 6;

/// How words are split off before merging: names that llama.cpp gives to the rule, the expressions, and whether a word that is a token is one
/// whatever the merges say.
struct Words {
    names: &'static [&'static str],
    split: &'static [&'static str],
    whole: bool,
}

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

const RULES: [Words; 4] = [
    Words {
        names: &[
            "gpt-2",
            "phi-2",
            "jina-es",
            "jina-de",
            "roberta-bpe",
            "mpt",
            "olmo",
            "jais",
        ],
        split: &[GPT2],
        whole: false,
    },
    Words {
        names: &["llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral"],
        split: &[
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
        whole: true,
    },
    Words {
        names: &["qwen2", "stablelm2", "deepseek-r1-qwen", "megrez"],
        split: &[
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
        whole: false,
    },
    Words {
        names: &["smollm", "starcoder", "refact", "command-r", "codeshell"],
        split: &[r"\p{N}", GPT2],
        whole: false,
    },
];

/// The tokenizer in llama.cpp's own keys.
pub(super) fn keys(
    config: &ModelConfig,
    tokenizer: &Tokenizer,
    json: &[u8],
) -> Result<Vec<(&'static str, Meta)>, ModelError> {
    let failed = |message: &str| ModelError::Tokenizer(message.to_owned());
    let parsed: Json = serde_json::from_slice(json).map_err(|error| failed(&error.to_string()))?;
    let model = &parsed["model"];
    let byte_level = parsed["decoder"].to_string().contains("ByteLevel");
    if model["type"].as_str() != Some("BPE") || !byte_level {
        return Err(failed(
            "only byte-level BPE can be written as GGUF (export with --format merged and convert with llama.cpp's own script)",
        ));
    }
    let merge = |merge: &Json| match merge {
        Json::String(pair) => pair
            .split_once(' ')
            .map(|(a, b)| (a.to_owned(), b.to_owned())),
        Json::Array(pair) => Some((
            pair.first()?.as_str()?.to_owned(),
            pair.get(1)?.as_str()?.to_owned(),
        )),
        _ => None,
    };
    let merges: Option<Vec<(String, String)>> = model["merges"]
        .as_array()
        .ok_or_else(|| failed("no merges"))?
        .iter()
        .map(merge)
        .collect();
    let merges = merges.ok_or_else(|| failed("a merge is no pair"))?;
    let mut tokens: Vec<String> = (0..config.vocab_size)
        .map(|id| format!("[UNUSED_{id}]"))
        .collect();
    let mut kinds = vec![UNUSED; config.vocab_size];
    for (token, id) in tokenizer.inner().get_vocab(true) {
        let id = id as usize;
        if id < tokens.len() {
            kinds[id] = if tokenizer.is_special(id as u32) {
                CONTROL
            } else {
                NORMAL
            };
            tokens[id] = token;
        }
    }
    let mut all = Vec::new();
    let name = rule_of(&parsed["pre_tokenizer"]);
    if let Some(name) = name {
        all.push(("tokenizer.ggml.model", Meta::Text("gpt2".to_owned())));
        all.push(("tokenizer.ggml.pre", Meta::Text(name.to_owned())));
        all.push((
            "tokenizer.ggml.merges",
            Meta::Texts(
                merges
                    .into_iter()
                    .map(|(a, b)| format!("{a} {b}"))
                    .collect(),
            ),
        ));
    } else {
        let scores = pieces(&mut tokens, &mut kinds, &merges);
        all.push(("tokenizer.ggml.model", Meta::Text("llama".to_owned())));
        all.push(("tokenizer.ggml.scores", Meta::F32s(scores)));
    }
    all.push(("tokenizer.ggml.tokens", Meta::Texts(tokens)));
    all.push(("tokenizer.ggml.token_type", Meta::I32s(kinds)));
    let id = |text: &str| tokenizer.inner().token_to_id(text);
    let end = id(END).or_else(|| config.eos_token_ids.first().copied());
    all.extend(end.map(|id| ("tokenizer.ggml.eos_token_id", Meta::U32(id))));
    // Without one, readers of pieces take token 1 for the beginning of a text.
    all.extend(
        config
            .bos_token_id
            .or(end.filter(|_| name.is_none()))
            .map(|id| ("tokenizer.ggml.bos_token_id", Meta::U32(id))),
    );
    all.extend(
        id(PAD)
            .or(config.pad_token_id)
            .map(|id| ("tokenizer.ggml.padding_token_id", Meta::U32(id))),
    );
    Ok(all)
}

/// llama.cpp's name for how a pre-tokenizer splits, where it has one.
fn rule_of(pre_tokenizer: &Json) -> Option<&'static str> {
    let parts = pre_tokenizer["pretokenizers"]
        .as_array()
        .map_or_else(|| vec![pre_tokenizer], |parts| parts.iter().collect());
    let split: Vec<&str> = parts
        .iter()
        .filter_map(|part| part["pattern"]["Regex"].as_str())
        .collect();
    match RULES.iter().find(|rule| rule.split == split) {
        Some(rule) => rule.names.first().copied(),
        None if !split.is_empty() => None,
        None if parts.iter().any(|part| part["individual_digits"] == true) => Some("smollm"),
        // What has no expression of its own splits by `ByteLevel`, as GPT-2 does.
        None => Some("gpt-2"),
    }
}

/// Turns tokens of the byte alphabet into pieces, and gives their scores: what is merged earlier scores higher.
fn pieces(tokens: &mut [String], kinds: &mut [i32], merges: &[(String, String)]) -> Vec<f32> {
    let mut rank: HashMap<String, usize> = HashMap::new();
    for (at, (a, b)) in merges.iter().enumerate() {
        rank.entry(format!("{a}{b}")).or_insert(at + 1);
    }
    let mut scores = vec![0.0; tokens.len()];
    for ((token, kind), score) in tokens.iter_mut().zip(kinds).zip(&mut scores) {
        if *kind != NORMAL {
            continue;
        }
        *score = -(rank.get(token.as_str()).copied().unwrap_or(0) as f32);
        let Some(bytes) = token
            .chars()
            .map(alphabet_byte)
            .collect::<Option<Vec<u8>>>()
        else {
            continue;
        };
        match (&bytes[..], String::from_utf8(bytes.clone())) {
            (_, Ok(text)) => *token = text.replace(' ', "▁"),
            ([byte], Err(_)) => {
                *kind = BYTE;
                *token = format!("<0x{byte:02X}>");
            }
            // No text has this token: it ends inside a character, whose bytes stand for themselves.
            (_, Err(_)) => {
                *kind = UNUSED;
                *token = format!("[BYTES_{token}]");
            }
        }
    }
    scores
}

/// The byte that a character of GPT-2's alphabet stands for: itself where it is printable, else one of those from U+0100 on, in order.
fn alphabet_byte(c: char) -> Option<u8> {
    let printable = |byte: u8| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    match u32::from(c) {
        n @ 0..=0xff => u8::try_from(n).ok().filter(|byte| printable(*byte)),
        n => (0..=0xff)
            .filter(|byte| !printable(*byte))
            .nth(usize::try_from(n - 0x100).ok()?),
    }
}

/// The tokenizer that llama.cpp's keys describe.
///
/// # Errors
/// Says which kind this version does not know, or what is missing.
pub(super) fn read(metadata: &BTreeMap<String, Value>) -> Result<Tokenizer, String> {
    let get = |key: &str| metadata.get(&format!("tokenizer.ggml.{key}"));
    let text = |key: &str| match get(key) {
        Some(Value::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let texts = |key: &str| match get(key) {
        Some(Value::Texts(texts)) => Ok(texts),
        _ => Err(format!("it has no list `tokenizer.ggml.{key}`")),
    };
    let model =
        text("model").ok_or("it has no tokenizer in its metadata (`tokenizer.ggml.model`)")?;
    if !matches!(model, "gpt2" | "llama") {
        return Err(format!(
            "its tokenizer is of the kind `{model}`; this version reads gpt2 (byte-level BPE) and llama (SentencePiece)"
        ));
    }
    let tokens = texts("tokens")?;
    let kinds: Vec<i32> = match get("token_type") {
        Some(Value::Numbers(kinds)) if kinds.len() == tokens.len() => {
            kinds.iter().map(|kind| *kind as i32).collect()
        }
        Some(_) => {
            return Err(format!(
                "`tokenizer.ggml.token_type` is no list of {} numbers",
                tokens.len()
            ));
        }
        None => vec![NORMAL; tokens.len()],
    };
    let mut vocab = serde_json::Map::new();
    for (id, token) in tokens.iter().enumerate() {
        if vocab.insert(token.clone(), json!(id)).is_some() {
            return Err(format!(
                "the token {token:?} stands twice in `tokenizer.ggml.tokens`"
            ));
        }
    }
    let added: Vec<Json> = (tokens.iter().zip(&kinds).enumerate())
        .filter(|(_, (_, kind))| matches!(**kind, UNKNOWN | CONTROL | USER))
        .map(|(id, (content, kind))| {
            json!({ "id": id, "content": content, "special": *kind != USER, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false })
        })
        .collect();
    let parts = if model == "gpt2" {
        let pre =
            text("pre").ok_or("it does not say how words are split off (`tokenizer.ggml.pre`)")?;
        byte_level(pre, &vocab, texts("merges")?)?
    } else {
        let scores = match get("scores") {
            Some(Value::Numbers(scores)) if scores.len() == tokens.len() => scores,
            _ => {
                return Err(format!(
                    "it has no list `tokenizer.ggml.scores` of {} numbers",
                    tokens.len()
                ));
            }
        };
        let unknown = match get("unknown_token_id") {
            Some(Value::Unsigned(id)) => usize::try_from(*id).ok().and_then(|id| tokens.get(id)),
            _ => tokens
                .iter()
                .zip(&kinds)
                .find(|(_, kind)| **kind == UNKNOWN)
                .map(|(token, _)| token),
        };
        let prefix = !matches!(get("add_space_prefix"), Some(Value::Bool(false)));
        sentence_pieces(&vocab, &merges_of(tokens, &kinds, scores), unknown, prefix)
    };
    let mut whole = json!({ "version": "1.0", "truncation": null, "padding": null, "added_tokens": added, "post_processor": null });
    for (key, value) in parts {
        whole[key] = value;
    }
    let bytes = serde_json::to_vec(&whole).map_err(|error| error.to_string())?;
    Tokenizer::from_bytes(&bytes).map_err(|error| format!("its tokenizer cannot be built: {error}"))
}

type Parts = Vec<(&'static str, Json)>;

fn byte_level(
    pre: &str,
    vocab: &serde_json::Map<String, Json>,
    merges: &[String],
) -> Result<Parts, String> {
    let Some(rule) = RULES.iter().find(|rule| rule.names.contains(&pre)) else {
        let known: Vec<&str> = RULES.iter().flat_map(|rule| rule.names).copied().collect();
        return Err(format!(
            "words are split off by `{pre}` (`tokenizer.ggml.pre`), which this version does not know; it knows {}",
            known.join(", ")
        ));
    };
    let merges = merges
        .iter()
        .map(|merge| merge.split_once(' ').map(|(a, b)| json!([a, b])));
    let merges: Vec<Json> = merges
        .collect::<Option<_>>()
        .ok_or("an entry of `tokenizer.ggml.merges` is no pair")?;
    let split = rule
        .split
        .iter()
        .map(|expression| json!({ "type": "Split", "pattern": { "Regex": expression }, "behavior": "Isolated", "invert": false }));
    let bytes = json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false });
    let before: Vec<Json> = split.chain([bytes.clone()]).collect();
    Ok(vec![
        ("normalizer", Json::Null),
        (
            "pre_tokenizer",
            json!({ "type": "Sequence", "pretokenizers": before }),
        ),
        ("decoder", bytes),
        (
            "model",
            json!({ "type": "BPE", "vocab": vocab, "merges": merges, "byte_fallback": false, "ignore_merges": rule.whole }),
        ),
    ])
}

/// Pieces are merged where their sum is a piece, those with the highest score first: so every way to put a piece together is a merge, in the
/// order of scores.
fn merges_of(tokens: &[String], kinds: &[i32], scores: &[f64]) -> Vec<(String, String)> {
    let normal: HashMap<&str, usize> = tokens
        .iter()
        .zip(kinds)
        .enumerate()
        .filter(|(_, (_, kind))| **kind == NORMAL)
        .map(|(id, (token, _))| (token.as_str(), id))
        .collect();
    let mut found: Vec<(usize, usize, usize)> = Vec::new();
    for (&token, &id) in &normal {
        for (at, _) in token.char_indices().skip(1) {
            let (a, b) = token.split_at(at);
            found.extend(normal.get(a).zip(normal.get(b)).map(|(a, b)| (id, *a, *b)));
        }
    }
    found.sort_by(|x, y| scores[y.0].total_cmp(&scores[x.0]).then(x.cmp(y)));
    found
        .into_iter()
        .map(|(_, a, b)| (tokens[a].clone(), tokens[b].clone()))
        .collect()
}

fn sentence_pieces(
    vocab: &serde_json::Map<String, Json>,
    merges: &[(String, String)],
    unknown: Option<&String>,
    prefix: bool,
) -> Parts {
    let replace = |from: &str, to: &str| json!({ "type": "Replace", "pattern": { "String": from }, "content": to });
    let mut before = vec![replace(" ", "▁")];
    let mut after = vec![
        replace("▁", " "),
        json!({ "type": "ByteFallback" }),
        json!({ "type": "Fuse" }),
    ];
    if prefix {
        before.insert(0, json!({ "type": "Prepend", "prepend": "▁" }));
        after.push(json!({ "type": "Strip", "content": " ", "start": 1, "stop": 0 }));
    }
    let merges: Vec<Json> = merges.iter().map(|(a, b)| json!([a, b])).collect();
    vec![
        (
            "normalizer",
            json!({ "type": "Sequence", "normalizers": before }),
        ),
        ("pre_tokenizer", Json::Null),
        ("decoder", json!({ "type": "Sequence", "decoders": after })),
        (
            "model",
            json!({ "type": "BPE", "vocab": vocab, "merges": merges, "byte_fallback": true, "unk_token": unknown, "fuse_unk": true }),
        ),
    ]
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::Preset;

    const TEXTS: [&str; 6] = [
        "get_relation(e0) -> film.film.directed_by, people.person.place_of_birth",
        "  Which film of 1987 did m0 Zoë Müller direct in 日本?  It's theirs!",
        "v1 = get_tail_entity(v0, geography.mountain.elevation)\n\nans = end(v1)",
        "x0 = 12,345.5 km² – c1 \t tab; the e12's",
        "we're here. The end...(e0)[name]",
        "",
    ];

    /// A tokenizer trained on the texts, with another way to split words.
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

    /// What is written of a tokenizer, as it is read back from a file.
    fn metadata(tokenizer: &Tokenizer) -> BTreeMap<String, Value> {
        let config = Preset::Tiny.config(tokenizer.vocab_size());
        let value = |meta| match meta {
            Meta::Text(text) => Value::Text(text),
            Meta::Texts(texts) => Value::Texts(texts),
            Meta::I32s(numbers) => Value::Numbers(numbers.into_iter().map(f64::from).collect()),
            Meta::F32s(numbers) => Value::Numbers(numbers.into_iter().map(f64::from).collect()),
            Meta::U32(n) => Value::Unsigned(u64::from(n)),
            Meta::F32(x) => Value::Float(f64::from(x)),
            Meta::Bool(b) => Value::Bool(b),
        };
        let keys = keys(&config, tokenizer, &tokenizer.to_bytes().unwrap()).unwrap();
        let mut all: BTreeMap<String, Value> = keys
            .into_iter()
            .map(|(key, meta)| (key.to_owned(), value(meta)))
            .collect();
        all.insert(
            "tokenizer.ggml.add_space_prefix".to_owned(),
            Value::Bool(false),
        );
        all
    }

    #[test]
    fn every_kind_that_is_written_is_read_back_and_gives_the_same_tokens() {
        let rules = RULES.iter().map(|rule| Some(rule.split));
        for split in rules.chain([None, Some(&[r"\p{L}+|\s+"][..])]) {
            let tokenizer = trained(split);
            let metadata = metadata(&tokenizer);
            let pieces = metadata["tokenizer.ggml.model"] == Value::Text("llama".to_owned());
            assert_eq!(pieces, RULES.iter().all(|rule| Some(rule.split) != split));
            let again = read(&metadata).unwrap();
            assert_eq!(again.control().unwrap(), tokenizer.control().unwrap());
            for text in TEXTS {
                let ids = again.encode(text).unwrap();
                assert_eq!(again.decode(&ids).unwrap(), text, "{split:?}");
                // Pieces have no tokens that end inside a character, and stand for our own way to split words only.
                if !pieces || (split.is_none() && text.is_ascii()) {
                    assert_eq!(ids, tokenizer.encode(text).unwrap(), "{text:?} {split:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_not_known_is_named() {
        let with = |key: &str, value: Value| {
            let mut metadata = metadata(&trained(Some(RULES[0].split)));
            metadata.insert(format!("tokenizer.ggml.{key}"), value);
            read(&metadata).unwrap_err()
        };
        let text = |text: &str| Value::Text(text.to_owned());
        assert!(with("model", text("bert")).contains("`bert`"));
        assert!(with("pre", text("tekken")).contains("`tekken`"));
        assert!(with("merges", Value::Texts(vec!["ab".to_owned()])).contains("no pair"));
        assert!(with("merges", Value::Texts(vec!["zz qq".to_owned()])).contains("cannot be built"));
        assert!(
            with("tokens", Value::Texts(vec!["a".to_owned(), "a".to_owned()]))
                .contains("token_type")
        );
        assert!(with("token_type", Value::Bool(true)).contains("token_type"));
        assert!(
            read(&BTreeMap::new())
                .unwrap_err()
                .contains("tokenizer.ggml.model")
        );
    }

    #[test]
    fn the_byte_alphabet_is_that_of_the_library() {
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
