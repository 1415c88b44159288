//! Tiny random encoder folders.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use model::encoder::EncoderConfig;
use model::weights::Tensor;
use model::{EncoderFolder, Weights};
use serde_json::{Value, json};

pub(crate) const WORDS: [&str; 12] = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "who", "directed", "the", "film", "by", "genre", "born",
    "city",
];

pub(crate) struct Shape {
    pub(crate) kind: &'static str,
    hidden: usize,
    inner: usize,
    activation: &'static str,
    pooling: &'static str,
    prefix: &'static str,
}

pub(crate) const SHAPES: [Shape; 3] = [
    Shape {
        kind: "bert",
        hidden: 32,
        inner: 48,
        activation: "gelu",
        pooling: "mean",
        prefix: "",
    },
    Shape {
        kind: "bert",
        hidden: 24,
        inner: 40,
        activation: "gelu_new",
        pooling: "cls",
        prefix: "bert.",
    },
    Shape {
        kind: "roberta",
        hidden: 32,
        inner: 20,
        activation: "relu",
        pooling: "mean",
        prefix: "roberta.",
    },
];

fn number(state: &mut u64) -> f32 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    ((*state >> 40) as f32 / (1u64 << 24) as f32 - 0.5) * 0.8
}

pub(crate) fn write_folder(dir: &Path, shape: &Shape) -> (EncoderConfig, Weights) {
    let write = |name: &str, value: &Value| {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, value.to_string()).unwrap();
    };
    write(
        "config.json",
        &json!({
            "model_type": shape.kind, "vocab_size": WORDS.len(), "hidden_size": shape.hidden, "intermediate_size": shape.inner,
            "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 24, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
            "hidden_act": shape.activation, "pad_token_id": 0, "position_embedding_type": "absolute",
        }),
    );
    write(
        "1_Pooling/config.json",
        &json!({
            "word_embedding_dimension": shape.hidden, "pooling_mode_cls_token": shape.pooling == "cls", "pooling_mode_mean_tokens": shape.pooling == "mean",
        }),
    );
    let vocab: BTreeMap<&str, usize> = WORDS.iter().copied().zip(0..).collect();
    let special = |id: usize| json!({ "id": id, "content": WORDS[id], "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false });
    write(
        "tokenizer.json",
        &json!({
            "version": "1.0", "truncation": { "max_length": 4, "strategy": "LongestFirst", "stride": 0, "direction": "Right" },
            "padding": { "strategy": { "Fixed": 16 }, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]" },
            "added_tokens": (0..4).map(special).collect::<Vec<_>>(), "normalizer": null, "pre_tokenizer": { "type": "Whitespace" },
            "post_processor": { "type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2] }, "decoder": null,
            "model": { "type": "WordLevel", "vocab": vocab, "unk_token": "[UNK]" },
        }),
    );
    fs::write(dir.join("model.safetensors"), b"").unwrap();
    let mut config = EncoderFolder::open(dir).unwrap().config;
    config.prefix = shape.prefix.to_owned();
    let mut state = 7;
    let mut weights = Weights::default();
    for (name, dims) in config.tensors() {
        let norm = name.contains("LayerNorm.weight");
        let data = (0..dims.iter().product())
            .map(|_| number(&mut state) + f32::from(u8::from(norm)))
            .collect();
        weights.insert(name.clone(), Tensor::new(&name, dims, data).unwrap());
    }
    fs::write(dir.join("model.safetensors"), weights.to_bytes().unwrap()).unwrap();
    (config, weights)
}
