//! GGUF files: models round-trip, and damaged files are rejected.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::Path;

use model::gguf::{BlockFormat, GgufFile, GgufValue, Recipe, StoredFormat, blocks, write};
use model::rope::{Llama3Scaling, Rope, RopeScaling};
use model::{
    Family, GgufModel, KgAgentInfo, ModelConfig, Preset, Tensor, Tokenizer, WeightSource, Weights,
};

fn tokenizer() -> Tokenizer {
    Tokenizer::train_bpe(
        ["get_relation(e0) film.directed_by 1987 émile"]
            .iter()
            .cycle()
            .take(50),
        300,
    )
    .unwrap()
}

fn base() -> ModelConfig {
    ModelConfig {
        hidden_size: 256,
        intermediate_size: 512,
        num_attention_heads: 8,
        num_key_value_heads: 4,
        head_dim: 32,
        ..Preset::Tiny.config(300)
    }
}

fn weights(config: &ModelConfig) -> Weights {
    let mut out = Weights::default();
    let mut seed = 1u32;
    for (name, shape) in config.tensors() {
        let n: usize = shape.iter().product();
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as f32 / 8_388_608.0 - 1.0
        };
        out.insert(
            name,
            Tensor {
                shape,
                data: (0..n).map(|_| next()).collect(),
            },
        );
    }
    out
}

fn written(
    dir: &Path,
    config: &ModelConfig,
    weights: &Weights,
    recipe: Recipe,
) -> std::path::PathBuf {
    let path = dir.join(format!("{}.gguf", recipe.name()));
    let info = KgAgentInfo {
        ranker: "words".to_owned(),
        ..KgAgentInfo::default()
    };
    write(&path, "test", config, &tokenizer(), &info, weights, recipe).unwrap();
    path
}

#[test]
fn every_recipe_of_every_family_round_trips() {
    let dir = tempfile::tempdir().unwrap();
    let base = base();
    let llama3 = Llama3Scaling {
        factor: 8.0,
        low_freq_factor: 1.0,
        high_freq_factor: 4.0,
        original_max_position_embeddings: 8192,
    };
    for config in [
        base.clone(),
        ModelConfig {
            tie_word_embeddings: false,
            qkv_bias: true,
            o_bias: true,
            mlp_bias: true,
            ..base.clone()
        },
        ModelConfig {
            rope: Rope {
                theta: 5e5,
                scaling: RopeScaling::Llama3(llama3),
            },
            ..base.clone()
        },
        ModelConfig {
            family: Family::Qwen2,
            qkv_bias: true,
            ..base.clone()
        },
        ModelConfig {
            family: Family::Qwen3,
            qk_norm: true,
            ..base.clone()
        },
        // Rows that are not a whole number of blocks of 256: 8 bits instead of 4.
        Preset::Tiny.config(300),
    ] {
        let weights = weights(&config);
        for recipe in [Recipe::F32, Recipe::F16, Recipe::Q8_0, Recipe::Q4KM] {
            let model = GgufModel::open(&written(dir.path(), &config, &weights, recipe)).unwrap();
            assert_eq!(model.config, config);
            assert_eq!(model.info.ranker, "words");
            assert_eq!(
                model.tokenizer.to_bytes().unwrap(),
                tokenizer().to_bytes().unwrap()
            );
            for (name, tensor) in weights.iter() {
                let stored = model.open(name).unwrap();
                assert_eq!(
                    (stored.format, &stored.shape),
                    (recipe.format(&config, name, &tensor.shape), &tensor.shape),
                    "{name}"
                );
                let (mut bytes, mut want) = (Vec::new(), vec![0.0; tensor.data.len()]);
                blocks::quantise(stored.format, &tensor.data, &mut bytes);
                blocks::dequantise(stored.format, &bytes, &mut want);
                assert_eq!(stored.values().unwrap(), want, "{} {name}", recipe.name());
            }
        }
    }
}

#[test]
fn the_rows_of_q_and_k_are_in_llama_cpp_order() {
    let dir = tempfile::tempdir().unwrap();
    let config = base();
    let weights = weights(&config);
    let q = weights
        .find("model.layers.1.self_attn.q_proj.weight")
        .unwrap();
    let row = |file: &GgufFile, row| {
        let (mut bytes, mut out) = (Vec::new(), vec![0.0; 256]);
        file.read_rows("blk.1.attn_q.weight", row, 1, &mut bytes)
            .unwrap();
        blocks::dequantise(BlockFormat::F32, &bytes, &mut out);
        out
    };
    let file = GgufFile::open(&written(dir.path(), &config, &weights, Recipe::F32)).unwrap();
    // In head 2 of width 32, row 5 moves to row 10, and row 16 + 5, its partner in the rotation, to
    // row 11.
    assert_eq!(row(&file, 64 + 10), q.data[(64 + 5) * 256..][..256]);
    assert_eq!(row(&file, 64 + 11), q.data[(64 + 21) * 256..][..256]);
    let qwen = ModelConfig {
        family: Family::Qwen2,
        ..config
    };
    let file = GgufFile::open(&written(dir.path(), &qwen, &weights, Recipe::F32)).unwrap();
    assert_eq!(row(&file, 64 + 10), q.data[(64 + 10) * 256..][..256]);
}

#[test]
fn a_foreign_file_is_described_by_its_metadata() {
    let dir = tempfile::tempdir().unwrap();
    let llama3 = Llama3Scaling {
        factor: 32.0,
        low_freq_factor: 1.0,
        high_freq_factor: 4.0,
        original_max_position_embeddings: 8192,
    };
    for config in [
        ModelConfig {
            rope: Rope {
                theta: 5e5,
                scaling: RopeScaling::Llama3(llama3),
            },
            ..base()
        },
        ModelConfig {
            family: Family::Qwen3,
            qk_norm: true,
            tie_word_embeddings: false,
            ..base()
        },
    ] {
        let path = written(dir.path(), &config, &weights(&config), Recipe::F16);
        // Rename this program's keys, which foreign files lack.
        let bytes = fs::read(&path).unwrap();
        let text = [
            (&b"kgagent.config"[..], &b"another.config"[..]),
            (b"tokenizer.huggingface.json", b"tokenizer.huggingface.nosj"),
        ];
        let bytes = text
            .iter()
            .fold(bytes, |bytes, (from, to)| replaced(&bytes, from, to));
        let other = dir.path().join("other.gguf");
        fs::write(&other, bytes).unwrap();
        // llama.cpp's keys describe the tokenizer; a tokenizer.json in the folder has precedence.
        let described = GgufModel::open(&other).unwrap().tokenizer;
        let text = "get_relation(e0) film.directed_by 1987";
        assert_eq!(
            described.encode(text).unwrap(),
            tokenizer().encode(text).unwrap()
        );
        let unknown = dir.path().join("unknown.gguf");
        let bytes = fs::read(&other).unwrap();
        fs::write(
            &unknown,
            replaced(&bytes, b"tokenizer.ggml.model", b"tokenizer.ggml.ledom"),
        )
        .unwrap();
        let error = GgufModel::open(&unknown).unwrap_err().to_string();
        assert!(
            error.contains("`tokenizer.ggml.model`") && error.contains("tokenizer.json"),
            "{error}"
        );
        fs::write(
            dir.path().join("tokenizer.json"),
            tokenizer().to_bytes().unwrap(),
        )
        .unwrap();
        let model = GgufModel::open(&other).unwrap();
        let rms_norm_eps = f64::from(config.rms_norm_eps as f32);
        let eos_token_ids = model.config.eos_token_ids.clone();
        let initializer_range = model.config.initializer_range;
        assert_eq!(
            model.config,
            ModelConfig {
                rms_norm_eps,
                eos_token_ids,
                initializer_range,
                ..config
            }
        );
        fs::remove_file(dir.path().join("tokenizer.json")).unwrap();
    }
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let at = bytes
        .windows(from.len())
        .position(|window| window == from)
        .unwrap();
    [&bytes[..at], to, &bytes[at + from.len()..]].concat()
}

#[test]
fn damaged_files_are_rejected() {
    let dir = tempfile::tempdir().unwrap();
    let config = base();
    let good = fs::read(written(
        dir.path(),
        &config,
        &weights(&config),
        Recipe::Q4KM,
    ))
    .unwrap();
    let path = dir.path().join("damaged.gguf");
    let open = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        GgufModel::open(&path)
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    open(&good).unwrap();
    let cases = [damaged_metadata(&good), damaged_tensors(&good)].concat();
    assert!(cases.len() >= 40);
    let mut wrong = Vec::new();
    for (what, at, bytes, says) in cases {
        let mut damaged = good.clone();
        damaged[at..at + bytes.len()].copy_from_slice(&bytes);
        match open(&damaged) {
            Ok(()) => wrong.push(format!("{what}: not rejected")),
            Err(error) if error.contains(says) && error.len() < 400 => {}
            Err(error) => wrong.push(format!("{what}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // Truncated anywhere in the header or the weights.
    let data = good.len() / 40;
    for cut in (0..good.len())
        .step_by(data.max(1))
        .chain(0..64)
        .chain([good.len() - 1])
    {
        assert!(
            open(&good[..cut]).is_err(),
            "cut at {cut} of {}",
            good.len()
        );
    }
    assert!(
        matches!(GgufFile::open(&written(dir.path(), &config, &weights(&config), Recipe::F16)).unwrap().metadata["general.architecture"], GgufValue::Text(ref a) if a == "llama")
    );
}

/// Name of the case, position and bytes of the damage, and a part of the expected error.
type DamagedCase = (&'static str, usize, Vec<u8>, &'static str);

fn u32s(n: u32) -> Vec<u8> {
    n.to_le_bytes().to_vec()
}

fn u64s(n: u64) -> Vec<u8> {
    n.to_le_bytes().to_vec()
}

fn find(bytes: &[u8], what: &[u8]) -> usize {
    let mut windows = bytes.windows(what.len());
    windows.position(|window| window == what).unwrap()
}

fn damaged_metadata(good: &[u8]) -> Vec<DamagedCase> {
    let find = |what| find(good, what);
    let list = find(b"tokenizer.ggml.token_type") + 25;
    let texts = find(b"tokenizer.ggml.tokens") + 21;
    let alignment = find(b"general.alignment") + 17;
    let name = find(b"general.name") + 12;
    let rotated = find(b"llama.rope.dimension_count") + 26;
    vec![
        ("magic", 0, b"GGML".to_vec(), "not a GGUF"),
        ("version 1", 4, u32s(1), "version 1"),
        ("big endian", 4, u32s(3u32.swap_bytes()), "version"),
        ("tensors", 8, u64s(u64::MAX), "tensors are declared"),
        ("many tensors", 8, u64s(200_000), "tensors"),
        (
            "one tensor more",
            8,
            u64s(u64::from_le_bytes(good[8..16].try_into().unwrap()) + 1),
            "",
        ),
        ("no tensor", 8, u64s(0), "embed_tokens"),
        (
            "one tensor less",
            8,
            u64s(u64::from_le_bytes(good[8..16].try_into().unwrap()) - 1),
            "",
        ),
        (
            "metadata",
            16,
            u64s(1 << 60),
            "metadata entries are declared",
        ),
        (
            "one entry more",
            16,
            u64s(u64::from_le_bytes(good[16..24].try_into().unwrap()) + 1),
            "",
        ),
        ("no metadata", 16, u64s(0), ""),
        (
            "key length",
            24,
            u64s(1 << 40),
            "bytes of text are declared",
        ),
        ("key length 0", 24, u64s(0), ""),
        ("type of a value", name, u32s(99), "type 99"),
        ("text length", name + 4, u64s(u64::MAX), "declared"),
        ("text that is no UTF-8", name + 12, vec![0xff], "UTF-8"),
        ("list of lists", texts + 4, u32s(9), "list of lists"),
        ("list of unknowns", list + 4, u32s(77), "type 77"),
        ("list length", list + 8, u64s(u64::MAX / 2), "declared"),
        ("texts length", texts + 8, u64s(1 << 50), "declared"),
        ("texts one more", texts + 8, u64s(301), ""),
        (
            "half a head rotated",
            rotated + 4,
            u32s(16),
            "only whole heads",
        ),
        ("alignment 0", alignment + 4, u32s(0), "alignment"),
        ("alignment 24", alignment + 4, u32s(24), "alignment"),
        ("alignment as float", alignment, u32s(6), "alignment"),
    ]
}

fn damaged_tensors(good: &[u8]) -> Vec<DamagedCase> {
    let find = |what| find(good, what);
    let table = find(b"token_embd.weight") + 17;
    vec![
        ("rank 0", table, u32s(0), "0 dimensions"),
        ("rank 5", table, u32s(5), "5 dimensions"),
        ("rank 1", table, u32s(1), ""),
        ("dimension 0", table + 4, u64s(0), "dimension of 0"),
        ("dimension 2^63", table + 4, u64s(1 << 63), "dimension"),
        (
            "dimension 2^39",
            table + 12,
            u64s(1 << 39),
            "beyond the file",
        ),
        ("a row of 250", table + 4, u64s(250), "not a whole number"),
        ("twice the rows", table + 12, u64s(600), "end at"),
        ("half the rows", table + 12, u64s(150), "end at"),
        ("unknown type", table + 20, u32s(99), "number 99"),
        ("a type that is not read", table + 20, u32s(16), "IQ2_XXS"),
        ("a type of smaller blocks", table + 20, u32s(10), "end at"),
        ("another known type", table + 20, u32s(0), "end at"),
        ("offset between", table + 24, u64s(16), "multiple"),
        ("offset of another", table + 24, u64s(1 << 20), ""),
        ("offset beyond", table + 24, u64s(1 << 62), "beyond"),
        ("offset overflow", table + 24, u64s(u64::MAX - 31), "beyond"),
        (
            "configuration",
            find(b"\"hidden_size\":256"),
            b"\"hidden_size\":512".to_vec(),
            "shape",
        ),
        (
            "configuration text",
            find(b"{\"architectures"),
            b"[".to_vec(),
            "kgagent.config",
        ),
        (
            "tensor name",
            find(b"blk.0.attn_k.weight"),
            b"blk.9.attn_k.weight".to_vec(),
            "k_proj",
        ),
        (
            "same name twice",
            find(b"blk.0.attn_k.weight"),
            b"blk.0.attn_q.weight".to_vec(),
            "twice",
        ),
        (
            "same key twice",
            find(b"general.file_type"),
            b"general.alignment".to_vec(),
            "twice",
        ),
    ]
}

/// Candle reads and writes the block formats of GGUF too. Both read the same numbers from the same
/// bytes, whoever quantised them.
#[test]
fn candle_reads_the_same_numbers() {
    use candle_core::quantized::{GgmlDType, QStorage, QTensor};
    use candle_core::{Device, Tensor as CandleTensor};

    let values: Vec<f32> = (0..8 * 256)
        .map(|i| ((i * 37 % 101) as f32 - 50.0) / 17.0 * (1.0 + (i / 256) as f32))
        .collect();
    for (ours, theirs) in [
        (StoredFormat::Q4_0, GgmlDType::Q4_0),
        (StoredFormat::Q4_1, GgmlDType::Q4_1),
        (StoredFormat::Q5_0, GgmlDType::Q5_0),
        (StoredFormat::Q5_1, GgmlDType::Q5_1),
        (StoredFormat::Q2K, GgmlDType::Q2K),
        (StoredFormat::Q3K, GgmlDType::Q3K),
        (StoredFormat::Q5K, GgmlDType::Q5K),
    ] {
        let tensor = CandleTensor::from_slice(&values, (8, 256), &Device::Cpu).unwrap();
        let by_candle = QTensor::quantize(&tensor, theirs).unwrap();
        let bytes = by_candle.data().unwrap().into_owned();
        let same = by_candle.dequantize(&Device::Cpu).unwrap();
        let same = same.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        let mut read = vec![0.0; values.len()];
        ours.values(&bytes, &mut read);
        assert_eq!(read, same, "{ours:?}");
    }
    for (ours, theirs) in [
        (BlockFormat::Q8_0, GgmlDType::Q8_0),
        (BlockFormat::Q4K, GgmlDType::Q4K),
        (BlockFormat::Q6K, GgmlDType::Q6K),
    ] {
        let tensor = CandleTensor::from_slice(&values, (8, 256), &Device::Cpu).unwrap();
        let by_candle = QTensor::quantize(&tensor, theirs).unwrap();
        let by_candle = by_candle.data().unwrap().into_owned();
        let mut by_us = Vec::new();
        blocks::quantise(ours, &values, &mut by_us);
        assert_eq!(by_us.len(), by_candle.len(), "{ours:?}");
        for bytes in [by_candle, by_us] {
            let mut read = vec![0.0; values.len()];
            blocks::dequantise(ours, &bytes, &mut read);
            let storage =
                QStorage::from_data(bytes.as_slice().into(), &Device::Cpu, theirs).unwrap();
            let same = QTensor::new(storage, (8, 256)).unwrap();
            let same = same
                .dequantize(&Device::Cpu)
                .unwrap()
                .flatten_all()
                .unwrap();
            assert_eq!(read, same.to_vec1::<f32>().unwrap(), "{ours:?}");
            let away = read.iter().zip(&values).map(|(a, b)| (a - b).abs());
            let away = away.fold(0.0_f32, f32::max);
            assert!(away > 0.0 && away < 2.0, "{ours:?}: {away}");
        }
    }
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks_exact(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    pairs.map(byte).collect()
}

/// The blocks of every format, and what the dequantisers of the Python package `gguf` compute.
#[test]
fn every_format_is_read_as_the_package_gguf_reads_it() {
    let lines = include_str!("blocks.txt").lines();
    let mut checked = 0;
    for line in lines.filter(|line| !line.starts_with('#')) {
        let parts: Vec<&str> = line.split(' ').collect();
        let [name, block, digest, second, later] = parts[..] else {
            panic!("{line}");
        };
        let format = StoredFormat::ALL
            .into_iter()
            .find(|one| one.name() == name)
            .unwrap();
        let bytes = bytes_of(block);
        let each = bytes.len() / 2;
        let n = (1..=256)
            .find(|n| format.row_bytes(*n) == Some(each))
            .unwrap();
        let mut values = vec![f32::NAN; 2 * n];
        format.values(&bytes, &mut values);
        let number = |text: &str| text.parse::<f32>().unwrap();
        assert_eq!(
            (values[1], values[n + n / 2 + 3]),
            (number(second), number(later)),
            "{name}"
        );
        let raw: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        assert_eq!(
            model::digest::sha256_hex([raw.as_slice()]),
            digest,
            "{name}"
        );
        // What is held has the same values, or, in half precision, values within rounding.
        let mut held = Vec::new();
        format.hold(&bytes, &mut held);
        assert_eq!(Some(held.len()), format.held().row_bytes(2 * n), "{name}");
        let mut again = vec![f32::NAN; 2 * n];
        blocks::dequantise(format.held(), &held, &mut again);
        for (a, b) in values.iter().zip(&again) {
            let most = if format.is_exact() {
                0.0
            } else {
                a.abs() / 2048.0 + 6e-8
            };
            assert!((a - b).abs() <= most, "{name}: {a} {b}");
        }
        checked += 1;
    }
    // All but the three that are plain numbers.
    assert_eq!(checked, StoredFormat::ALL.len() - 3);
}

/// A file with single-precision numbers, with blocks of `format` in its matrices instead.
fn with_blocks(good: &[u8], file: &GgufFile, format: StoredFormat) -> Vec<u8> {
    let mut pattern = include_str!("blocks.txt").lines();
    let begins = format!("{} ", format.name());
    let pattern = pattern.find_map(|line| line.strip_prefix(&begins)).unwrap();
    let pattern = bytes_of(pattern.split(' ').next().unwrap());
    let data = good.len() - data_bytes(file);
    let mut out = good[..data].to_vec();
    let place = |name: &str, rank: usize| find(good, name.as_bytes()) + name.len() + 4 + 8 * rank;
    let offset = |at: usize| u64::from_le_bytes(good[at + 4..at + 12].try_into().unwrap());
    let mut tensors: Vec<_> = file.tensors.iter().collect();
    tensors.sort_by_key(|(name, info)| offset(place(name, info.shape.len())));
    for (name, info) in tensors {
        let at = place(name, info.shape.len());
        let begin = out.len() - data;
        if info.shape.len() < 2 {
            let from = data + usize::try_from(offset(at)).unwrap();
            out.extend(&good[from..from + 4 * info.width()]);
        } else {
            let size = info.rows() * format.row_bytes(info.width()).unwrap();
            out.extend(pattern.iter().copied().cycle().take(size));
            out[at..at + 4].copy_from_slice(&format.id().to_le_bytes());
        }
        out[at + 4..at + 12].copy_from_slice(&u64s(begin as u64));
        out.resize(out.len().next_multiple_of(32), 0);
    }
    out
}

/// Bytes of all tensors of a file in single precision, with their padding.
fn data_bytes(file: &GgufFile) -> usize {
    let sizes = file
        .tensors
        .values()
        .map(|info| 4 * info.rows() * info.width());
    sizes.map(|size| size.next_multiple_of(32)).sum()
}

#[test]
fn models_in_every_format_open_and_damaged_sizes_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model.gguf");
    let config = ModelConfig {
        num_hidden_layers: 2,
        ..base()
    };
    let whole = written(dir.path(), &config, &weights(&config), Recipe::F32);
    let (bytes, file) = (fs::read(&whole).unwrap(), GgufFile::open(&whole).unwrap());
    let plain = 3;
    for format in StoredFormat::ALL.into_iter().skip(plain) {
        let good = with_blocks(&bytes, &file, format);
        fs::write(&path, &good).unwrap();
        let model = GgufModel::open(&path).unwrap();
        let name = "model.layers.1.self_attn.q_proj.weight";
        let (stored, exact) = (model.open(name).unwrap(), model.exact());
        assert_eq!(stored.format, format.held(), "{}", format.name());
        let exact = exact.open(name).unwrap().values().unwrap();
        for (a, b) in stored.values().unwrap().iter().zip(&exact) {
            assert!(
                (a - b).abs() <= a.abs() / 1024.0 + 1e-7,
                "{}: {a} {b}",
                format.name()
            );
        }
        let table = find(&good, b"token_embd.weight") + 17;
        for (at, bytes, says) in [
            (table + 4, u64s(250), "not a whole number"),
            (table + 12, u64s(1 << 39), "beyond the file"),
            (table + 12, u64s(298), ""),
        ] {
            let mut damaged = good.clone();
            damaged[at..at + bytes.len()].copy_from_slice(&bytes);
            fs::write(&path, &damaged).unwrap();
            let error = GgufModel::open(&path).unwrap_err().to_string();
            assert!(error.contains(says), "{}: {error}", format.name());
        }
        fs::write(&path, &good[..good.len() / 3]).unwrap();
        assert!(GgufModel::open(&path).is_err(), "{}", format.name());
    }
}

#[test]
fn tensors_that_the_model_does_not_use_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let config = ModelConfig {
        qkv_bias: true,
        ..base()
    };
    let path = written(dir.path(), &config, &weights(&config), Recipe::F32);
    let good = fs::read(&path).unwrap();
    let other = replaced(
        &good,
        b"\"attention_bias\":true",
        b"\"attention_bias\":null",
    );
    assert_eq!(good.len(), other.len());
    fs::write(&path, other).unwrap();
    let error = GgufModel::open(&path).unwrap_err().to_string();
    assert!(
        error.contains("bias") && error.contains("is not a tensor of the model"),
        "{error}"
    );
}

#[test]
fn the_rule_of_words_is_named_or_the_file_is_refused_with_advice() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model.gguf");
    let config = base();
    // A tokenizer whose rule llama.cpp knows.
    let mut json: serde_json::Value =
        serde_json::from_slice(&tokenizer().to_bytes().unwrap()).unwrap();
    let gpt2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
    json["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = gpt2.into();
    let known = Tokenizer::from_bytes(json.to_string().as_bytes()).unwrap();
    let info = KgAgentInfo::default();
    write(
        &path,
        "x",
        &config,
        &known,
        &info,
        &weights(&config),
        Recipe::F16,
    )
    .unwrap();
    let bytes = fs::read(&path).unwrap();
    let bytes = replaced(
        &bytes,
        b"tokenizer.huggingface.json",
        b"tokenizer.huggingface.nosj",
    );
    let open = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        GgufModel::open(&path).map(|model| model.tokenizer)
    };
    let of_file = open(&bytes).unwrap();
    let text = "get_relation(e0) film.directed_by 1987";
    assert_eq!(of_file.encode(text).unwrap(), known.encode(text).unwrap());
    let error = open(&replaced(
        &bytes,
        b"tokenizer.ggml.pre",
        b"tokenizer.ggml.erp",
    ));
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("`tokenizer.ggml.pre` is missing") && error.contains("tokenizer.json"),
        "{error}"
    );
    let at = find(&bytes, b"tokenizer.ggml.pre") + 18 + 12;
    assert_eq!(&bytes[at..at + 5], b"gpt-2");
    let error = open(&replaced(&bytes, b"gpt-2", b"tekke"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("`tekke`") && error.contains("tokenizer.json"),
        "{error}"
    );
}
