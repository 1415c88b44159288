//! Model folders with one defect each: all are rejected with an error that names it, without a
//! panic and without reading the declared amount of data.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::fs::{self, File};
use std::path::Path;
use std::time::Instant;

use model::{KgAgentInfo, ModelConfig, ModelFolder, Preset, Tensor, Tokenizer, Weights};
use serde_json::{Value, json};

const WEIGHTS: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// A defect and a part of the expected error.
struct Case {
    name: String,
    says: &'static str,
    damage: Box<dyn Fn(&Path)>,
}

fn case(name: impl Into<String>, says: &'static str, damage: impl Fn(&Path) + 'static) -> Case {
    Case {
        name: name.into(),
        says,
        damage: Box::new(damage),
    }
}

/// Writes a small valid model folder.
fn write_valid(dir: &Path) {
    let tokenizer = Tokenizer::train_bpe(["abc abd"].iter(), 262).unwrap();
    let config = ModelConfig {
        hidden_size: 8,
        intermediate_size: 12,
        num_hidden_layers: 1,
        num_attention_heads: 2,
        num_key_value_heads: 1,
        head_dim: 4,
        eos_token_ids: vec![4],
        ..Preset::Tiny.config(tokenizer.vocab_size())
    };
    let mut weights = Weights::default();
    for (name, shape) in config.tensors() {
        let n = shape.iter().product();
        weights.insert(
            name,
            Tensor {
                shape,
                data: vec![0.5; n],
            },
        );
    }
    ModelFolder::write(dir, &config, &tokenizer, &KgAgentInfo::default(), &weights).unwrap();
}

/// Header and data of the weight file.
fn parts(dir: &Path) -> (Value, Vec<u8>) {
    let bytes = fs::read(dir.join(WEIGHTS)).unwrap();
    let n = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    (
        serde_json::from_slice(&bytes[8..8 + n]).unwrap(),
        bytes[8 + n..].to_vec(),
    )
}

fn write_raw(dir: &Path, length: u64, header: &[u8], data: &[u8]) {
    fs::write(
        dir.join(WEIGHTS),
        [&length.to_le_bytes(), header, data].concat(),
    )
    .unwrap();
}

fn write_parts(dir: &Path, header: &Value, data: &[u8]) {
    let text = header.to_string();
    write_raw(dir, text.len() as u64, text.as_bytes(), data);
}

fn raw_case(name: &str, says: &'static str, length: Option<u64>, header: Vec<u8>) -> Case {
    case(format!("header: {name}"), says, move |dir| {
        write_raw(dir, length.unwrap_or(header.len() as u64), &header, &[]);
    })
}

/// Files that are not safetensors.
fn files() -> Vec<Case> {
    vec![
        case("an empty file", "an empty file", |dir| {
            fs::write(dir.join(WEIGHTS), b"").unwrap();
        }),
        case("three bytes", "the text", |dir| {
            fs::write(dir.join(WEIGHTS), b"abc").unwrap();
        }),
        case("a pickle", "pickle", |dir| {
            fs::write(
                dir.join(WEIGHTS),
                [b"PK\x03\x04".as_slice(), &[7; 400]].concat(),
            )
            .unwrap();
        }),
        case("a GGUF file", "a GGUF file", |dir| {
            fs::write(
                dir.join(WEIGHTS),
                [b"GGUF\x03\0\0\0".as_slice(), &[0; 400]].concat(),
            )
            .unwrap();
        }),
        case("no file", "it has no model.safetensors", |dir| {
            fs::remove_file(dir.join(WEIGHTS)).unwrap();
        }),
        case("a folder", "directory", |dir| {
            fs::remove_file(dir.join(WEIGHTS)).unwrap();
            fs::create_dir(dir.join(WEIGHTS)).unwrap();
        }),
        case(
            "a header of 100 MB and one byte in a sparse file",
            "declares a header",
            |dir| {
                write_raw(dir, 100_000_001, b"{}", &[]);
                File::options()
                    .write(true)
                    .open(dir.join(WEIGHTS))
                    .unwrap()
                    .set_len(300_000_000)
                    .unwrap();
            },
        ),
        case(
            "a sparse file of 60 GB that holds one tensor of another shape",
            "config",
            |dir| {
                let header = json!({"model.embed_tokens.weight": {"dtype": "F32", "shape": [15_000_000_000_u64], "data_offsets": [0, 60_000_000_000_u64]}});
                write_parts(dir, &header, &[]);
                let size = 8 + header.to_string().len() as u64 + 60_000_000_000;
                File::options()
                    .write(true)
                    .open(dir.join(WEIGHTS))
                    .unwrap()
                    .set_len(size)
                    .unwrap();
            },
        ),
        case("a sparse file beyond any model", "zeros", |dir| {
            File::create(dir.join(WEIGHTS))
                .unwrap()
                .set_len(80 << 30)
                .unwrap();
        }),
    ]
}

fn headers() -> Vec<Case> {
    let mut all = Vec::new();
    for (name, length) in [
        ("2^64 - 1 long", u64::MAX),
        ("2^63 long", 1 << 63),
        ("one byte too long", 3),
        ("a gigabyte long", 1 << 30),
    ] {
        all.push(raw_case(
            name,
            "declares a header",
            Some(length),
            b"{}".to_vec(),
        ));
    }
    for (name, header) in [
        ("of no bytes", b"".to_vec()),
        ("of blanks", b"        ".to_vec()),
        ("no UTF-8", vec![0xff; 30]),
        ("an open brace", b"{".to_vec()),
        ("a list", b"[]".to_vec()),
        ("a string", b"\"weights\"".to_vec()),
        ("a hundred thousand open brackets", vec![b'['; 100_000]),
        ("a tensor that is a number", b"{\"w\":3}".to_vec()),
        (
            "a tensor without a shape",
            b"{\"w\":{\"dtype\":\"F32\",\"data_offsets\":[0,0]}}".to_vec(),
        ),
    ] {
        all.push(raw_case(name, "invalid header", None, header));
    }
    all.push(raw_case(
        "without tensors",
        "is missing",
        None,
        b"{}".to_vec(),
    ));
    all
}

/// Changes the entry of a tensor in the header.
type Change = fn(&mut Value);

/// Invalid entries of tensors: name of the case, part of the error, change.
fn invalid_entries() -> [(&'static str, &'static str, Change); 15] {
    [
        ("reversed offsets", "invalid header", |t| {
            t["data_offsets"].as_array_mut().unwrap().reverse();
        }),
        ("an overlap", "invalid header", |t| {
            t["data_offsets"][0] = json!(
                t["data_offsets"][0]
                    .as_u64()
                    .unwrap()
                    .saturating_sub(4)
                    .max(1)
            );
        }),
        ("a gap", "invalid header", |t| {
            t["data_offsets"][0] = json!(t["data_offsets"][0].as_u64().unwrap() + 4);
        }),
        ("an end beyond the file", "invalid header", |t| {
            t["data_offsets"][1] = json!(1_u64 << 40);
        }),
        ("an end of 2^64 - 1", "invalid header", |t| {
            t["data_offsets"][1] = json!(u64::MAX);
        }),
        ("an end of 2^64", "invalid header", |t| {
            t["data_offsets"][1] = json!(18_446_744_073_709_551_616_f64);
        }),
        ("a negative offset", "invalid header", |t| {
            t["data_offsets"][0] = json!(-4);
        }),
        ("one offset", "invalid header", |t| {
            t["data_offsets"] = json!([0]);
        }),
        ("a row more than there is", "invalid header", |t| {
            t["shape"][0] = json!(t["shape"][0].as_u64().unwrap() + 1);
        }),
        ("a shape whose product overflows", "invalid header", |t| {
            t["shape"] = json!([1_u64 << 33, 1_u64 << 33]);
        }),
        ("a negative dimension", "invalid header", |t| {
            t["shape"][0] = json!(-8);
        }),
        ("an unknown type", "invalid header", |t| {
            t["dtype"] = json!("F31");
        }),
        ("a type of another width", "invalid header", |t| {
            t["dtype"] = json!("F64");
        }),
        ("integers for numbers", "are supported", |t| {
            t["dtype"] = json!("I32");
        }),
        ("nine dimensions", "dimensions", |t| {
            t["shape"] = json!([
                1,
                1,
                1,
                1,
                1,
                1,
                1,
                1,
                t["shape"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|n| n.as_u64().unwrap())
                    .product::<u64>()
            ]);
        }),
    ]
}

/// Defects of tensors. Invalid entries at the beginning, in the middle and at the end of the file.
fn tensors() -> Vec<Case> {
    let mut all = Vec::new();
    for at in [0, 5, 10] {
        for (name, says, change) in invalid_entries() {
            all.push(case(format!("tensor {at}: {name}"), says, move |dir| {
                let (mut header, data) = parts(dir);
                let tensors = header.as_object_mut().unwrap();
                let key = tensors
                    .keys()
                    .filter(|key| *key != "__metadata__")
                    .nth(at)
                    .unwrap()
                    .clone();
                let before = tensors[&key].clone();
                change(&mut tensors[&key]);
                assert_ne!(tensors[&key], before);
                write_parts(dir, &header, &data);
            }));
        }
    }
    for (name, says, new) in [
        (
            "a name with ..",
            "not a tensor name",
            "../../etc/passwd".to_owned(),
        ),
        (
            "a name with a line break",
            "not a tensor name",
            "model\n.norm".to_owned(),
        ),
        ("not a tensor name", "not a tensor name", String::new()),
        (
            "a name of 10,000 characters",
            "not a tensor name",
            "w".repeat(10_000),
        ),
        (
            "a name that no model has",
            "not a tensor of the model",
            "model.layers.0.mlp.secret.weight".to_owned(),
        ),
        (
            "a bias that the configuration lacks",
            "not a tensor of the model",
            "model.layers.0.self_attn.q_proj.bias".to_owned(),
        ),
        (
            "a second layer",
            "not a tensor of the model",
            "model.layers.1.mlp.up_proj.weight".to_owned(),
        ),
    ] {
        all.push(case(name, says, move |dir| {
            let (mut header, data) = parts(dir);
            let tensors = header.as_object_mut().unwrap();
            let norm = tensors.remove("model.norm.weight").unwrap();
            tensors.insert(new.clone(), norm);
            write_parts(dir, &header, &data);
        }));
    }
    all.push(case("a transposed matrix", "has shape", |dir| {
        let (mut header, data) = parts(dir);
        header["model.layers.0.mlp.up_proj.weight"]["shape"]
            .as_array_mut()
            .unwrap()
            .reverse();
        write_parts(dir, &header, &data);
    }));
    for (name, change) in [
        ("one byte short", -1_i64),
        ("one byte long", 1),
        ("half", -4000),
    ] {
        all.push(case(name, "bytes of tensors", move |dir| {
            let file = File::options().write(true).open(dir.join(WEIGHTS)).unwrap();
            let size = file.metadata().unwrap().len();
            file.set_len(size.checked_add_signed(change).unwrap())
                .unwrap();
        }));
    }
    all
}

fn shards() -> Vec<Case> {
    let mut all = Vec::new();
    for (name, says, index) in [
        ("no map", "weight_map", json!({"metadata": {}})),
        (
            "a map that is a list",
            "weight_map",
            json!({"weight_map": []}),
        ),
        (
            "a shard that is a number",
            "not a file name",
            json!({"weight_map": {"model.norm.weight": 1}}),
        ),
        (
            "a shard outside",
            "not a file of this folder",
            json!({"weight_map": {"model.norm.weight": "../../etc/shadow.safetensors"}}),
        ),
        (
            "an absolute shard",
            "not a file of this folder",
            json!({"weight_map": {"model.norm.weight": "/etc/shadow.safetensors"}}),
        ),
        (
            "a pickle as shard",
            "not a file of this folder",
            json!({"weight_map": {"model.norm.weight": "pytorch_model.bin"}}),
        ),
        (
            "a missing shard",
            "No such file",
            json!({"weight_map": {"model.norm.weight": "model-2.safetensors"}}),
        ),
        (
            "a tensor that no shard has",
            "no shard contains",
            json!({"weight_map": {"model.norm.weight": "a.safetensors", "lm_head.weight": "a.safetensors"}}),
        ),
        (
            "two shards with the same tensors",
            "two shards",
            json!({"weight_map": {"model.norm.weight": "a.safetensors", "model.embed_tokens.weight": "b.safetensors"}}),
        ),
    ] {
        all.push(case(format!("index: {name}"), says, move |dir| {
            fs::copy(dir.join(WEIGHTS), dir.join("a.safetensors")).unwrap();
            fs::rename(dir.join(WEIGHTS), dir.join("b.safetensors")).unwrap();
            fs::write(dir.join(INDEX), index.to_string()).unwrap();
        }));
    }
    all
}

fn configs() -> Vec<Case> {
    let mut all = vec![
        case("no configuration", "is not a model folder", |dir| {
            fs::remove_file(dir.join("config.json")).unwrap();
        }),
        case("a configuration cut off", "EOF", |dir| {
            fs::write(dir.join("config.json"), b"{\"model_type\":").unwrap();
        }),
        case("a configuration of 20 MB", "the limit is", |dir| {
            fs::write(dir.join("config.json"), vec![b' '; 20 << 20]).unwrap();
        }),
        case("a configuration that is a list", "not an object", |dir| {
            fs::write(dir.join("config.json"), b"[1]").unwrap();
        }),
        case("no tokenizer", "No such file", |dir| {
            fs::remove_file(dir.join("tokenizer.json")).unwrap();
        }),
        case("a tokenizer cut off", "tokenizer", |dir| {
            fs::write(dir.join("tokenizer.json"), b"{\"version\":").unwrap();
        }),
        case("a tokenizer without a model", "tokenizer", |dir| {
            fs::write(dir.join("tokenizer.json"), b"{}").unwrap();
        }),
    ];
    for (key, value, says) in [
        ("model_type", json!("gpt2"), "model_type"),
        ("model_type", json!(null), "model_type"),
        ("hidden_act", json!("gelu"), "hidden_act"),
        ("hidden_size", json!(0), "hidden_size"),
        ("hidden_size", json!(-8), "hidden_size"),
        ("hidden_size", json!("8"), "hidden_size"),
        ("hidden_size", json!(1_u64 << 62), "hidden_size"),
        ("hidden_size", json!(1 << 21), "hidden_size"),
        ("intermediate_size", json!(null), "intermediate_size"),
        ("intermediate_size", json!(u64::MAX), "intermediate_size"),
        ("num_hidden_layers", json!(1_u64 << 31), "num_hidden_layers"),
        ("num_hidden_layers", json!(4096), "is missing"),
        ("num_attention_heads", json!(0), "num_attention_heads"),
        (
            "num_attention_heads",
            json!(1_000_003),
            "num_attention_heads",
        ),
        ("num_key_value_heads", json!(3), "share"),
        ("head_dim", json!(5), "head_dim"),
        ("head_dim", json!(1 << 20), "head_dim"),
        ("vocab_size", json!(0), "vocab_size"),
        ("vocab_size", json!(1 << 24), "has shape"),
        ("vocab_size", json!(1_u64 << 32), "vocab_size"),
        ("vocab_size", json!(200), "embedding"),
        (
            "max_position_embeddings",
            json!(1.5),
            "max_position_embeddings",
        ),
        ("rms_norm_eps", json!(-1.0), "rms_norm_eps"),
        ("rope_theta", json!(0.5), "rope_theta"),
        (
            "rope_parameters",
            json!({"rope_type": "longrope", "rope_theta": 10000.0}),
            "longrope",
        ),
        (
            "rope_parameters",
            json!({"rope_type": "default", "rope_theta": 5e5}),
            "rope_theta",
        ),
        (
            "rope_parameters",
            json!({"rope_type": "linear", "rope_theta": 10000.0}),
            "factor",
        ),
        ("eos_token_id", json!(1 << 20), "token id"),
        ("eos_token_id", json!(["</s>"]), "token id"),
        (
            "quantization_config",
            json!({"bits": 4}),
            "quantization_config",
        ),
        ("tie_word_embeddings", json!(false), "lm_head.weight"),
        ("attention_bias", json!(true), "bias"),
    ] {
        all.push(case(format!("{key} is {value}"), says, move |dir| {
            let path = dir.join("config.json");
            let mut config: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            config[key] = value.clone();
            fs::write(&path, config.to_string()).unwrap();
        }));
    }
    all
}

/// Peak memory of this process in kB, if the system provides it.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .ok()
}

/// Opens every damaged folder and returns the longest time.
fn open_all() -> f64 {
    let dir = tempfile::tempdir().unwrap();
    let good = dir.path().join("good");
    write_valid(&good);
    ModelFolder::open(&good)
        .and_then(|folder| folder.weights())
        .unwrap();
    let cases: Vec<Case> = [files(), headers(), tensors(), shards(), configs()]
        .into_iter()
        .flatten()
        .collect();
    assert!(cases.len() >= 60, "{}", cases.len());
    let (before, mut longest) = (peak(), 0.0_f64);
    for case in &cases {
        let damaged = dir.path().join("damaged");
        write_valid(&damaged);
        (case.damage)(&damaged);
        let begin = Instant::now();
        let error = ModelFolder::open(&damaged)
            .and_then(|folder| folder.weights())
            .expect_err(&case.name)
            .to_string();
        longest = longest.max(begin.elapsed().as_secs_f64());
        assert!(
            error.contains(case.says) && error.len() < 1000,
            "{}: {error}",
            case.name
        );
        fs::remove_dir_all(&damaged).unwrap();
    }
    if let (Some(before), Some(after)) = (before, peak()) {
        assert!(
            after - before < 100_000,
            "{} kB more for {} files",
            after - before,
            cases.len()
        );
        println!(
            "{} damaged folders, the slowest rejected after {:.1} ms, {} kB",
            cases.len(),
            longest * 1e3,
            after - before
        );
    }
    longest
}

#[test]
fn every_damaged_folder_is_rejected_with_an_error_and_little_memory() {
    open_all();
}

/// Not in the suite, which does not measure times: `cargo test -p model --test damaged -- --ignored
/// --nocapture`.
#[test]
#[ignore = "measures times"]
fn every_damaged_folder_is_rejected_within_100_ms() {
    assert!(open_all() < 0.1);
}
