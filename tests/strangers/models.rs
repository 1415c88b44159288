//! Hostile models: damaged configurations, weights, tokenizers, GGUF files and adapters.

use std::path::Path;

use common::rng::Rng;

use crate::change::{changed, known_or_changed, nested};
use crate::child::Sent;
use crate::place::Base;

const QUESTION: &str = "Which cities are in Portugal?";

/// Asks a question with a model in the working folder.
fn ask(base: &Base, model: &str) -> Sent {
    let graph = base.text("g");
    Sent::default().then(&["ask", "--kg", &graph, "--model", model, QUESTION])
}

/// The model folder with one file replaced.
fn with(base: &Base, name: &str, bytes: Vec<u8>) -> Sent {
    Sent {
        copies: vec!["m"],
        ..ask(base, "m").file(&format!("m/{name}"), bytes)
    }
}

/// The JSON file with one field replaced by a value.
fn field(base: &[u8], path: &[&str], value: &str) -> Vec<u8> {
    let mut json: serde_json::Value = serde_json::from_slice(base).unwrap();
    let mut at = &mut json;
    for name in path {
        at = &mut at[*name];
    }
    *at = serde_json::from_str(value).unwrap();
    json.to_string().into_bytes()
}

pub(crate) fn config(base: &Base, at: usize, rng: &mut Rng) -> Sent {
    let good = base.read("m/config.json");
    let set = |name: &'static str, value: &'static str| field(&good, &[name], value);
    let known: [&dyn Fn() -> Vec<u8>; 9] = [
        &|| set("vocab_size", "18446744073709551615"),
        &|| set("num_hidden_layers", "4000000000"),
        &|| set("hidden_size", "0"),
        &|| set("num_attention_heads", "0"),
        &|| set("num_key_value_heads", "3"),
        &|| set("max_position_embeddings", "9007199254740991"),
        &|| set("rope_theta", "-1e300"),
        &|| nested("{\"a\":", "1", "}", 100_000),
        &|| set("rms_norm_eps", "1e300"),
    ];
    let name = ["config.json", "kgagent.json"][rng.below(2)];
    if at >= known.len() && base.path("m").join(name).exists() {
        let good = base.read(&format!("m/{name}"));
        return with(base, name, changed(&good, rng));
    }
    with(
        base,
        "config.json",
        known_or_changed(&known, &[&good], at, rng),
    )
}

/// The header of a safetensors file, replaced, before the same bytes.
fn header(good: &[u8], change: &dyn Fn(&str) -> String) -> Vec<u8> {
    let length = usize::try_from(u64::from_le_bytes(good[..8].try_into().unwrap())).unwrap();
    let text = change(std::str::from_utf8(&good[8..8 + length]).unwrap());
    let size = (text.len() as u64).to_le_bytes();
    [&size[..], text.as_bytes(), &good[8 + length..]].concat()
}

fn weights_of(good: &[u8], at: usize, rng: &mut Rng) -> Vec<u8> {
    let known: [&dyn Fn() -> Vec<u8>; 8] = [
        &|| [&u64::MAX.to_le_bytes()[..], &good[8..]].concat(),
        &|| [&(1_u64 << 40).to_le_bytes()[..], &good[8..]].concat(),
        &|| header(good, &|text| text.replace("\"F32\"", "\"F64\"")),
        &|| {
            header(good, &|text| {
                text.replacen("[0,", "[18446744073709551615,", 1)
            })
        },
        &|| {
            header(good, &|text| {
                text.replacen("\"shape\":[", "\"shape\":[4294967296,4294967296,", 1)
            })
        },
        &|| {
            header(good, &|_| {
                String::from_utf8(nested("{\"a\":", "1", "}", 50_000)).unwrap()
            })
        },
        &|| header(good, &|text| text.replacen("model.", "../../model.", 1)),
        &|| good[..good.len() / 2].to_vec(),
    ];
    match known.get(at) {
        Some(known) => known(),
        None => {
            // Changes of the header; those of the numbers are never found.
            let length = good[0] as usize + 256 * good[1] as usize + 8;
            let head = changed(&good[..length.min(good.len())], rng);
            [&head, &good[length.min(good.len())..]].concat()
        }
    }
}

pub(crate) fn weights(base: &Base, at: usize, rng: &mut Rng) -> Sent {
    let file = base.only("m", ".safetensors");
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let good = std::fs::read(&file).unwrap();
    with(base, &name, weights_of(&good, at, rng))
}

pub(crate) fn tokenizer(base: &Base, at: usize, rng: &mut Rng) -> Sent {
    let good = base.read("m/tokenizer.json");
    let set = |name: &'static str, value: String| field(&good, &[name], &value);
    let chain = |depth| {
        let inner = r#"{"type":"Lowercase"}"#;
        let open = r#"{"type":"Sequence","normalizers":["#;
        String::from_utf8(nested(open, inner, "]}", depth)).unwrap()
    };
    let regex = r#"{"type":"Split","pattern":{"Regex":"(a+)+(b+)+\\1$"},"behavior":"Isolated","invert":false}"#;
    let many: String = (0..200_000).map(|i| format!("\"w{i}\":{i},")).collect();
    let known: [&dyn Fn() -> Vec<u8>; 8] = [
        &|| set("normalizer", chain(50)),
        &|| nested("{\"normalizer\":", "1", "}", 100_000),
        &|| set("pre_tokenizer", regex.to_owned()),
        &|| field(&good, &["model", "vocab"], r#"{"a": 3900000000}"#),
        &|| field(&good, &["model", "vocab"], &format!("{{{many}\"a\":1}}")),
        &|| field(&good, &["model", "merges"], r#"[["a","zzz"]]"#),
        &|| {
            set("added_tokens", r#"[{"id": 4294967295, "content": "x", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}]"#.to_owned())
        },
        &|| {
            set(
                "model",
                r#"{"type":"Unigram","unk_id":9,"vocab":[["a",-1e300]]}"#.to_owned(),
            )
        },
    ];
    with(
        base,
        "tokenizer.json",
        known_or_changed(&known, &[&good], at, rng),
    )
}

pub(crate) fn gguf(base: &Base, at: usize, rng: &mut Rng) -> Sent {
    let good = std::fs::read(base.only("gguf", ".gguf")).unwrap();
    let put = |place: usize, bytes: &[u8]| {
        let mut out = good.clone();
        out[place..place + bytes.len()].copy_from_slice(bytes);
        out
    };
    // What stands behind a name in the file, shifted.
    let behind = |name: &str, shift: usize, bytes: &[u8]| {
        let found = good
            .windows(name.len())
            .position(|part| part == name.as_bytes());
        put(found.map_or(8, |at| at + name.len() + shift), bytes)
    };
    let known: [&dyn Fn() -> Vec<u8>; 9] = [
        &|| put(8, &u64::MAX.to_le_bytes()),
        &|| put(16, &u64::MAX.to_le_bytes()),
        &|| put(24, &u64::MAX.to_le_bytes()),
        &|| behind("llama.block_count", 4, &u32::MAX.to_le_bytes()),
        &|| behind("llama.attention.head_count", 4, &[0; 4]),
        &|| behind("tokenizer.ggml.tokens", 8, &u64::MAX.to_le_bytes()),
        &|| behind("token_embd.weight", 4, &u64::MAX.to_le_bytes()),
        &|| behind("general.alignment", 4, &[0; 4]),
        &|| good[..good.len() - 1_000].to_vec(),
    ];
    let bytes = match known.get(at) {
        Some(known) => known(),
        None => {
            // The names and sizes stand at the beginning.
            let length = good.len().min(20_000);
            [changed(&good[..length], rng), good[length..].to_vec()].concat()
        }
    };
    ask(base, "model.gguf").file("model.gguf", bytes)
}

pub(crate) fn adapters(base: &Base, at: usize, rng: &mut Rng) -> Sent {
    let config = base.read("adapter/adapter_config.json");
    let weights = base.read("adapter/adapter_model.safetensors");
    let set = |name: &'static str, value: String| field(&config, &[name], &value);
    let model = Path::new("..").join("..").join("m");
    let (name, bytes) = match at {
        0 => ("adapter_config.json", set("r", "0".to_owned())),
        1 => ("adapter_config.json", set("r", "4294967295".to_owned())),
        2 => ("adapter_config.json", set("lora_alpha", "1e300".to_owned())),
        3 => (
            "adapter_config.json",
            set("base_model_name_or_path", format!("{model:?}")),
        ),
        4 => (
            "adapter_config.json",
            set("base_model_name_or_path", "\"/dev/zero\"".to_owned()),
        ),
        5 => (
            "adapter_config.json",
            set("base_model_name_or_path", "\".\"".to_owned()),
        ),
        6 => ("adapter_config.json", nested("[", "1", "]", 100_000)),
        7..12 => (
            "adapter_model.safetensors",
            weights_of(&weights, at - 7, rng),
        ),
        _ if rng.chance(0.5) => ("adapter_config.json", changed(&config, rng)),
        _ => ("adapter_model.safetensors", weights_of(&weights, at, rng)),
    };
    Sent {
        copies: vec!["m", "adapter"],
        ..ask(base, "adapter").file(&format!("adapter/{name}"), bytes)
    }
}

/// Word tables, which a model folder may have.
pub(crate) fn word_tables(base: &Base, at: usize, rng: &mut Rng) -> Sent {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/base/words.tsv");
    let good = std::fs::read(file).unwrap();
    let known: [&dyn Fn() -> Vec<u8>; 5] = [
        &|| vec![0xff; 1 << 20],
        &|| b"a\tb\t1e999\na\tb\tNaN\na\tb\t-inf\n".repeat(1_000),
        &|| b"\n".repeat(20 << 20),
        &|| b"word\t".repeat(1 << 20),
        &|| good.repeat(3),
    ];
    let good = &good[..good.len().min(50_000)];
    with(
        base,
        "words.tsv",
        known_or_changed(&known, &[good], at, rng),
    )
}
