//! The encoder against plain f64 loops, on tiny random folders that the test makes itself.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use infer::encoder::{Encoder, EncoderRanker, MixedRanker};
use model::encoder::{Activation, EncoderConfig, Pooling};
use model::weights::Tensor;
use model::{EncoderFolder, Weights};
use serde_json::{Value, json};
use toolbox::rank::{Ranker, RankingContext, RelationCandidate};

const WORDS: [&str; 12] = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "who", "directed", "the", "film", "by", "genre", "born",
    "city",
];

struct Shape {
    kind: &'static str,
    hidden: usize,
    inner: usize,
    activation: &'static str,
    pooling: &'static str,
    prefix: &'static str,
}

const SHAPES: [Shape; 3] = [
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

fn write_folder(dir: &Path, shape: &Shape) -> (EncoderConfig, Weights) {
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

/// The model in plain f64 loops.
fn reference(config: &EncoderConfig, weights: &Weights, ids: &[usize]) -> Vec<f64> {
    let hidden = config.hidden_size;
    let get = |name: &str| -> Vec<f64> {
        weights
            .find(&format!("{}{name}", config.prefix))
            .unwrap()
            .data
            .iter()
            .map(|&x| f64::from(x))
            .collect()
    };
    let norm = |x: &mut Vec<f64>, name: &str| {
        let (w, b) = (
            get(&format!("{name}.LayerNorm.weight")),
            get(&format!("{name}.LayerNorm.bias")),
        );
        for row in x.chunks_mut(hidden) {
            let mean = row.iter().sum::<f64>() / hidden as f64;
            let variance = row.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / hidden as f64;
            for (i, v) in row.iter_mut().enumerate() {
                *v = (*v - mean) / (variance + 1e-12).sqrt() * w[i] + b[i];
            }
        }
    };
    let linear = |x: &[f64], inputs: usize, name: &str| -> Vec<f64> {
        let (w, b) = (get(&format!("{name}.weight")), get(&format!("{name}.bias")));
        x.chunks(inputs)
            .flat_map(|row| {
                (0..b.len())
                    .map(|o| b[o] + (0..inputs).map(|i| row[i] * w[o * inputs + i]).sum::<f64>())
                    .collect::<Vec<_>>()
            })
            .collect()
    };
    let (words, places, types) = (
        get("embeddings.word_embeddings.weight"),
        get("embeddings.position_embeddings.weight"),
        get("embeddings.token_type_embeddings.weight"),
    );
    let mut x: Vec<f64> = Vec::new();
    for (at, &id) in ids.iter().enumerate() {
        x.extend((0..hidden).map(|i| {
            words[id * hidden + i] + places[(at + config.first_position) * hidden + i] + types[i]
        }));
    }
    norm(&mut x, "embeddings");
    let n = ids.len();
    let dim = hidden / config.heads;
    for layer in 0..config.layers {
        let at = |name: &str| format!("encoder.layer.{layer}.{name}");
        let (q, k, v) = (
            linear(&x, hidden, &at("attention.self.query")),
            linear(&x, hidden, &at("attention.self.key")),
            linear(&x, hidden, &at("attention.self.value")),
        );
        let mut mixed = vec![0.0; n * hidden];
        for head in 0..config.heads {
            for i in 0..n {
                let scores: Vec<f64> = (0..n)
                    .map(|j| {
                        ((0..dim)
                            .map(|d| {
                                q[i * hidden + head * dim + d] * k[j * hidden + head * dim + d]
                            })
                            .sum::<f64>()
                            / (dim as f64).sqrt())
                        .exp()
                    })
                    .collect();
                let sum: f64 = scores.iter().sum();
                for d in 0..dim {
                    mixed[i * hidden + head * dim + d] = (0..n)
                        .map(|j| scores[j] / sum * v[j * hidden + head * dim + d])
                        .sum();
                }
            }
        }
        let out = linear(&mixed, hidden, &at("attention.output.dense"));
        x.iter_mut().zip(&out).for_each(|(x, o)| *x += o);
        norm(&mut x, &at("attention.output"));
        let mut up = linear(&x, hidden, &at("intermediate.dense"));
        for v in &mut up {
            *v = match config.activation {
                Activation::Relu => v.max(0.0),
                Activation::GeluTanh => {
                    0.5 * *v
                        * (1.0
                            + ((2.0 / std::f64::consts::PI).sqrt() * (*v + 0.044715 * v.powi(3)))
                                .tanh())
                }
                Activation::Gelu => *v * 0.5 * (1.0 + erf(*v / 2f64.sqrt())),
            };
        }
        let out = linear(&up, config.intermediate_size, &at("output.dense"));
        x.iter_mut().zip(&out).for_each(|(x, o)| *x += o);
        norm(&mut x, &at("output"));
    }
    let mut vector: Vec<f64> = match config.pooling {
        Pooling::Cls => x[..hidden].to_vec(),
        Pooling::Mean => (0..hidden)
            .map(|i| x.iter().skip(i).step_by(hidden).sum::<f64>())
            .collect(),
    };
    let length = vector.iter().map(|v| v * v).sum::<f64>().sqrt();
    vector.iter_mut().for_each(|v| *v /= length);
    vector
}

/// By its power series, which converges quickly for the small arguments here.
fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    2.0 / std::f64::consts::PI.sqrt() * sum
}

fn ids(text: &str, most: usize) -> Vec<usize> {
    let mut ids = vec![2];
    ids.extend(
        text.split_whitespace()
            .map(|word| WORDS.iter().position(|known| *known == word).unwrap_or(1)),
    );
    ids.push(3);
    if ids.len() > most {
        ids.truncate(most - 1);
        ids.push(3);
    }
    ids
}

const TEXTS: [&str; 5] = [
    "who directed the film",
    "film",
    "",
    "city born genre by the film nobody knows who directed by who by who by who by who by who by who by who by who by who",
    "the genre",
];

#[test]
fn vectors_are_those_of_plain_loops_and_do_not_depend_on_company() {
    for shape in &SHAPES {
        let dir = tempfile::tempdir().unwrap();
        let (config, weights) = write_folder(dir.path(), shape);
        let together = Encoder::open(dir.path(), None)
            .unwrap()
            .encode(&TEXTS)
            .unwrap();
        for (text, vector) in TEXTS.iter().zip(&together) {
            let want = reference(&config, &weights, &ids(text, config.max_tokens));
            let worst = vector
                .iter()
                .zip(&want)
                .map(|(a, b)| (f64::from(*a) - b).abs())
                .fold(0.0, f64::max);
            assert!(worst < 2e-6, "{} {text:?}: {worst}", shape.kind);
            let alone = Encoder::open(dir.path(), None)
                .unwrap()
                .encode(&[text])
                .unwrap();
            assert_eq!(alone[0], *vector, "{text:?} alone");
        }
    }
}

#[test]
fn a_second_run_reads_no_weights() {
    let (dir, vectors) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_folder(dir.path(), &SHAPES[0]);
    let first = Encoder::open(dir.path(), Some(vectors.path())).unwrap();
    let made = first.encode(&TEXTS).unwrap();
    assert_eq!(first.known(), TEXTS.len());
    let second = Encoder::open(dir.path(), Some(vectors.path())).unwrap();
    // Without its weights the second could make nothing new.
    fs::remove_file(dir.path().join("model.safetensors")).unwrap();
    assert_eq!(second.encode(&TEXTS).unwrap(), made);
    assert!(second.encode(&["city"]).is_err());
    let ranker = EncoderRanker::new(second);
    let error = ranker
        .score("never seen", &["nor this".to_owned()])
        .unwrap_err();
    assert!(error.to_string().contains("model.safetensors"), "{error}");
}

#[test]
fn other_weights_are_another_encoder() {
    let (dir, vectors) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_folder(dir.path(), &SHAPES[0]);
    let before = Encoder::open(dir.path(), Some(vectors.path())).unwrap();
    let old = before.encode(&["film"]).unwrap();
    write_folder(dir.path(), &SHAPES[2]);
    let after = Encoder::open(dir.path(), Some(vectors.path())).unwrap();
    assert_ne!(before.digest(), after.digest());
    assert_ne!(after.encode(&["film"]).unwrap(), old);
}

#[test]
fn what_cannot_be_run_is_named() {
    let dir = tempfile::tempdir().unwrap();
    write_folder(dir.path(), &SHAPES[0]);
    let config: Value =
        serde_json::from_slice(&fs::read(dir.path().join("config.json")).unwrap()).unwrap();
    for (name, value) in [
        ("model_type", json!("t5")),
        ("position_embedding_type", json!("relative_key")),
        ("hidden_act", json!("swish")),
        ("num_attention_heads", json!(7)),
        ("hidden_size", json!(0)),
    ] {
        let mut wrong = config.clone();
        wrong[name] = value;
        fs::write(dir.path().join("config.json"), wrong.to_string()).unwrap();
        assert!(Encoder::open(dir.path(), None).is_err(), "{name}");
    }
    fs::write(dir.path().join("config.json"), config.to_string()).unwrap();
    fs::write(
        dir.path().join("modules.json"),
        json!([{ "type": "sentence_transformers.models.Dense" }]).to_string(),
    )
    .unwrap();
    let error = Encoder::open(dir.path(), None).err().unwrap().to_string();
    assert!(error.contains("Dense"), "{error}");
}

#[test]
fn long_lists_are_ranked_whole_and_alike_by_all_rankers() {
    let dir = tempfile::tempdir().unwrap();
    write_folder(dir.path(), &SHAPES[0]);
    let words = &WORDS[4..];
    let mut relations: Vec<RelationCandidate> = (0..1_200)
        .map(|i| RelationCandidate {
            name: format!(
                "{}.{}_{}",
                words[i % 8],
                words[i / 8 % 8],
                words[i / 64 % 8]
            ),
            out: true,
            ..RelationCandidate::default()
        })
        .collect();
    relations[700].name = "film.directed_by_x".to_owned();
    let asked = RankingContext {
        question: "directed by x , film",
        path: &[],
    };
    let open = || EncoderRanker::new(Encoder::open(dir.path(), None).unwrap());
    let rankers: [Box<dyn Ranker>; 2] = [Box::new(open()), Box::new(MixedRanker::new(open()))];
    for ranker in &rankers {
        let whole = ranker.score_relations(asked, &relations).unwrap();
        assert_eq!(whole.len(), 1_200);
        assert!(whole.iter().all(|score| score.is_finite()));
    }
    // A relation's cosine is its own wherever it stands.
    let whole = rankers[0].score_relations(asked, &relations).unwrap();
    for i in [0, 299, 300, 700, 1_199] {
        assert_eq!(
            rankers[0]
                .score_relations(asked, &relations[i..=i])
                .unwrap(),
            [whole[i]]
        );
    }
}
