//! The encoder against plain f64 loops, on tiny random folders.

use std::fs;

use engine::encoder::Encoder;
use model::Weights;
use model::encoder::{Activation, EncoderConfig, Pooling};
use serde_json::{Value, json};

use crate::encoder_folders::{SHAPES, WORDS, write_folder};

/// Attention of each of `n` positions to all.
fn attention(config: &EncoderConfig, [q, k, v]: [&[f64]; 3], n: usize) -> Vec<f64> {
    let hidden = config.hidden_size;
    let dim = hidden / config.heads;
    let mut mixed = vec![0.0; n * hidden];
    for head in 0..config.heads {
        for i in 0..n {
            let scores: Vec<f64> = (0..n)
                .map(|j| {
                    ((0..dim)
                        .map(|d| q[i * hidden + head * dim + d] * k[j * hidden + head * dim + d])
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
    mixed
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
    for layer in 0..config.layers {
        let at = |name: &str| format!("encoder.layer.{layer}.{name}");
        let (q, k, v) = (
            linear(&x, hidden, &at("attention.self.query")),
            linear(&x, hidden, &at("attention.self.key")),
            linear(&x, hidden, &at("attention.self.value")),
        );
        let mixed = attention(config, [&q, &k, &v], n);
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

/// The error function by its power series, which converges quickly for small arguments.
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
fn vectors_equal_plain_loops_and_do_not_depend_on_the_other_texts() {
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
    let second = Encoder::open(dir.path(), Some(vectors.path())).unwrap();
    // Without weights the second encoder cannot compute anything new.
    fs::remove_file(dir.path().join("model.safetensors")).unwrap();
    assert_eq!(second.encode(&TEXTS).unwrap(), made);
    assert!(second.encode(&["city"]).is_err());
}

#[test]
fn other_weights_make_another_encoder() {
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
fn unsupported_folders_are_named() {
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
