//! Reading a tokenizer from metadata.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value as Json, json};

use super::rules::{CONTROL, NORMAL, RULES, UNKNOWN, USER};
use crate::Tokenizer;
use crate::gguf::metadata::GgufValue;

/// Reads the tokenizer that llama.cpp's keys describe.
///
/// # Errors
/// Names the missing key or the unsupported kind.
pub(in crate::gguf) fn read(metadata: &BTreeMap<String, GgufValue>) -> Result<Tokenizer, String> {
    let get = |key: &str| metadata.get(&format!("tokenizer.ggml.{key}"));
    let text = |key: &str| match get(key) {
        Some(GgufValue::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let texts = |key: &str| match get(key) {
        Some(GgufValue::Texts(texts)) => Ok(texts),
        _ => Err(format!("it has no list `tokenizer.ggml.{key}`")),
    };
    let model =
        text("model").ok_or("it has no tokenizer in its metadata (`tokenizer.ggml.model`)")?;
    if !matches!(model, "gpt2" | "llama") {
        return Err(format!(
            "its tokenizer is of the kind `{model}`; supported are gpt2 (byte-level BPE) and llama (SentencePiece)"
        ));
    }
    let tokens = texts("tokens")?;
    let kinds: Vec<i32> = match get("token_type") {
        Some(GgufValue::Numbers(kinds)) if kinds.len() == tokens.len() => {
            kinds.iter().map(|kind| *kind as i32).collect()
        }
        Some(_) => {
            return Err(format!(
                "`tokenizer.ggml.token_type` is not a list of {} numbers",
                tokens.len()
            ));
        }
        None => vec![NORMAL; tokens.len()],
    };
    let mut vocab = serde_json::Map::new();
    for (id, token) in tokens.iter().enumerate() {
        if vocab.insert(token.clone(), json!(id)).is_some() {
            return Err(format!(
                "the token {token:?} occurs twice in `tokenizer.ggml.tokens`"
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
        let pre = text("pre").ok_or(MISSING_RULE)?;
        byte_level(pre, &vocab, texts("merges")?)?
    } else {
        let scores = match get("scores") {
            Some(GgufValue::Numbers(scores)) if scores.len() == tokens.len() => scores,
            _ => {
                return Err(format!(
                    "it has no list `tokenizer.ggml.scores` of {} numbers",
                    tokens.len()
                ));
            }
        };
        let unknown = match get("unknown_token_id") {
            Some(GgufValue::Unsigned(id)) => {
                usize::try_from(*id).ok().and_then(|id| tokens.get(id))
            }
            _ => tokens
                .iter()
                .zip(&kinds)
                .find(|(_, kind)| **kind == UNKNOWN)
                .map(|(token, _)| token),
        };
        let prefix = !matches!(get("add_space_prefix"), Some(GgufValue::Bool(false)));
        sentence_pieces(&vocab, &merges_of(tokens, &kinds, scores), unknown, prefix)
    };
    let mut whole = json!({ "version": "1.0", "truncation": null, "padding": null, "added_tokens": added, "post_processor": null });
    for (key, value) in parts {
        whole[key] = value;
    }
    let bytes = serde_json::to_vec(&whole).map_err(|error| error.to_string())?;
    Tokenizer::from_bytes(&bytes).map_err(|error| format!("its tokenizer cannot be built: {error}"))
}

/// llama.cpp falls back to its rule `default` for such files and warns that answers may be worse.
/// Here they are refused; a file that names `default` is read with it.
const MISSING_RULE: &str = "it does not say how to split words (`tokenizer.ggml.pre` is missing, as \
    in files of converters from before May 2024)";

/// Entries of a `tokenizer.json`.
type JsonEntries = Vec<(&'static str, Json)>;

fn byte_level(
    pre: &str,
    vocab: &serde_json::Map<String, Json>,
    merges: &[String],
) -> Result<JsonEntries, String> {
    let Some(rule) = RULES.iter().find(|rule| rule.names.contains(&pre)) else {
        let known: Vec<&str> = RULES.iter().flat_map(|rule| rule.names).copied().collect();
        return Err(format!(
            "the rule `{pre}` for splitting words (`tokenizer.ggml.pre`) is not supported; supported are {}",
            known.join(", ")
        ));
    };
    let merges = merges
        .iter()
        .map(|merge| merge.split_once(' ').map(|(a, b)| json!([a, b])));
    let merges: Vec<Json> = merges
        .collect::<Option<_>>()
        .ok_or("an entry of `tokenizer.ggml.merges` is not a pair")?;
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

/// SentencePiece merges two pieces if their concatenation is a piece, the highest score first. As
/// BPE: every split of a piece into two pieces is a merge, in the order of the scores.
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
) -> JsonEntries {
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
