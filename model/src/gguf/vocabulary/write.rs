//! Writing a tokenizer as metadata.

use std::collections::HashMap;

use serde_json::Value as Json;

use super::rules::{BYTE, CONTROL, NORMAL, RULES, UNUSED};
use crate::gguf::metadata::WrittenValue;
use crate::tokenizer::{END, PAD};
use crate::{ModelConfig, ModelError, Tokenizer};

/// The tokenizer as metadata in llama.cpp's keys. `json` is its `tokenizer.json`.
///
/// # Errors
/// When it is not byte-level BPE.
pub(in crate::gguf) fn keys(
    config: &ModelConfig,
    tokenizer: &Tokenizer,
    json: &[u8],
) -> Result<Vec<(&'static str, WrittenValue)>, ModelError> {
    let failed = |message: &str| ModelError::Tokenizer(message.to_owned());
    let parsed: Json = serde_json::from_slice(json).map_err(|error| failed(&error.to_string()))?;
    let model = &parsed["model"];
    let byte_level = parsed["decoder"].to_string().contains("ByteLevel");
    if model["type"].as_str() != Some("BPE") || !byte_level {
        return Err(failed(
            "only byte-level BPE can be written as GGUF (export with --format merged and convert the result with llama.cpp's script)",
        ));
    }
    let pair = |merge: &Json| match merge {
        Json::String(pair) => pair
            .split_once(' ')
            .map(|(a, b)| (a.to_owned(), b.to_owned())),
        pair => Some((pair[0].as_str()?.to_owned(), pair[1].as_str()?.to_owned())),
    };
    let merges = model["merges"].as_array();
    let merges = merges.ok_or_else(|| failed("no merges"))?.iter().map(pair);
    let merges: Vec<(String, String)> = merges
        .collect::<Option<_>>()
        .ok_or_else(|| failed("a merge is not a pair"))?;
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
        all.push((
            "tokenizer.ggml.model",
            WrittenValue::Text("gpt2".to_owned()),
        ));
        all.push(("tokenizer.ggml.pre", WrittenValue::Text(name.to_owned())));
        let merges = merges.iter().map(|(a, b)| format!("{a} {b}")).collect();
        all.push(("tokenizer.ggml.merges", WrittenValue::Texts(merges)));
    } else {
        let scores = pieces(&mut tokens, &mut kinds, &merges);
        all.push((
            "tokenizer.ggml.model",
            WrittenValue::Text("llama".to_owned()),
        ));
        all.push(("tokenizer.ggml.scores", WrittenValue::F32s(scores)));
    }
    all.push(("tokenizer.ggml.tokens", WrittenValue::Texts(tokens)));
    all.push(("tokenizer.ggml.token_type", WrittenValue::I32s(kinds)));
    let id = |text: &str| tokenizer.inner().token_to_id(text);
    let end = id(END).or_else(|| config.eos_token_ids.first().copied());
    all.extend(end.map(|id| ("tokenizer.ggml.eos_token_id", WrittenValue::U32(id))));
    // Without one, readers of SentencePiece vocabularies start every text with token 1.
    let begin = config.bos_token_id.or(end.filter(|_| name.is_none()));
    all.extend(begin.map(|id| ("tokenizer.ggml.bos_token_id", WrittenValue::U32(id))));
    let pad = id(PAD).or(config.pad_token_id);
    all.extend(pad.map(|id| ("tokenizer.ggml.padding_token_id", WrittenValue::U32(id))));
    Ok(all)
}

/// llama.cpp's name of a pre-tokenizer's rule; `None` if llama.cpp does not know it.
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
        // Without an expression `ByteLevel` splits, with GPT-2's rule.
        None => Some("gpt-2"),
    }
}

/// Converts tokens of the byte alphabet to SentencePiece pieces and returns their scores: earlier
/// merges score higher.
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
            // The token ends inside a character, so no piece can represent it; its bytes remain
            // available.
            (_, Err(_)) => {
                *kind = UNUSED;
                *token = format!("[BYTES_{token}]");
            }
        }
    }
    scores
}

/// The byte of a character in GPT-2's alphabet: printable bytes represent themselves, the others
/// follow in order from U+0100.
pub(super) fn alphabet_byte(c: char) -> Option<u8> {
    let printable = |byte: u8| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    match u32::from(c) {
        n @ 0..=0xff => u8::try_from(n).ok().filter(|byte| printable(*byte)),
        n => (0..=0xff)
            .filter(|byte| !printable(*byte))
            .nth(usize::try_from(n - 0x100).ok()?),
    }
}
