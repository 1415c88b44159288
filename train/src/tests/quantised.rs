//! LoRA on a frozen base whose matrices stay in blocks (QLoRA).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use model::adapter::grow_rows;
use model::gguf::{self, BlockFormat, Recipe, blocks};
use model::{Dataset, ModelConfig, ModelFolder, Tensor, Weights};

use super::support::*;
use crate::device::Compute;
use crate::llama::{FrozenBase, Llama};
use crate::*;

/// The shapes of [`shapes`] with rows of whole blocks.
fn block_shapes() -> Vec<ModelConfig> {
    let widen = |config| ModelConfig {
        hidden_size: 64,
        intermediate_size: 96,
        head_dim: 16,
        ..config
    };
    shapes().into_iter().map(widen).collect()
}

fn formats(config: &ModelConfig, format: BlockFormat) -> BTreeMap<String, BlockFormat> {
    let tensors = config.tensors().into_iter();
    tensors
        .filter(|(_, shape)| shape.len() == 2)
        .map(|(name, _)| (name, format))
        .collect()
}

/// `weights` with the numbers that the blocks of their matrices stand for, and the mean of the first
/// `rows` rows of the embedding after these.
fn unpacked(weights: &Weights, config: &ModelConfig, format: BlockFormat, rows: usize) -> Weights {
    let mut out = weights.clone();
    for name in ["model.embed_tokens.weight", "lm_head.weight"] {
        grow_rows(&mut out, name, rows, config.vocab_size).unwrap();
    }
    for name in formats(config, format).keys() {
        let Tensor { shape, mut data } = out.take(name).unwrap();
        let old = if shape[0] == config.vocab_size {
            rows * shape[1]
        } else {
            data.len()
        };
        let mut raw = Vec::new();
        blocks::quantise(format, &data[..old], &mut raw);
        blocks::dequantise(format, &raw, &mut data[..old]);
        out.insert(name, Tensor { shape, data });
    }
    out
}

#[test]
fn blocks_have_the_gradients_of_their_numbers() {
    let (rows, lora) = (45, LoraConfig::default());
    for config in block_shapes() {
        for format in [BlockFormat::Q8_0, BlockFormat::F16] {
            let (weights, formats) = (weights(&config), formats(&config, format));
            let frozen = FrozenBase {
                source: &weights,
                formats: &formats,
                rows,
            };
            let packed = |compute| {
                let model = Llama::from_blocks(&config, &frozen, compute, 64, &device()).unwrap();
                model.with_lora(&lora, rows, 3, &device())
            };
            let plain = unpacked(&weights, &config, format, rows);
            let plain = Llama::from_weights(
                &config,
                plain,
                Compute::Fused(Precision::F32),
                64,
                &device(),
            )
            .unwrap();
            let plain = plain.with_lora(&lora, rows, 3, &device());
            let batch = batch(&[9, 30, 14], 50, 3);
            let expected = gradients(&plain, &batch);
            for compute in [
                Compute::Fused(Precision::F32),
                Compute::Stock(Precision::F32),
            ] {
                let (loss, grads) = gradients(&packed(compute), &batch);
                assert!((loss - expected.0).abs() < 1e-5 * expected.0);
                assert_eq!(
                    grads.keys().collect::<Vec<_>>(),
                    expected.1.keys().collect::<Vec<_>>()
                );
                for (name, grad) in &grads {
                    let error = worst(grad, &expected.1[name]);
                    assert!(error < 1e-3, "{compute:?} {name}: {error}");
                }
            }
        }
    }
}

fn trained_base(dir: &Path, data: &Dataset) -> Base {
    let base = dir.join("base");
    let config = with(quick(), |c| c.epochs = 2);
    run(&config, data, &base).unwrap();
    Base::Folder(base)
}

fn qlora() -> TrainConfig {
    TrainConfig {
        method: Method::Lora,
        quantize: Some(Recipe::Q8_0),
        learning_rate: 1e-3,
        epochs: 6,
        ..quick()
    }
}

#[test]
fn losses_are_those_of_an_exact_base_within_a_hundredth() {
    let dir = tempfile::tempdir().unwrap();
    let data = copy_task(200);
    let base = trained_base(dir.path(), &data);
    let losses = |quantize, name: &str| {
        let out = dir.path().join(name);
        run_from(
            &with(qlora(), |c| c.quantize = quantize),
            &base,
            &data,
            &out,
        )
        .unwrap();
        losses(&out)
    };
    let (exact, eight) = (losses(None, "exact"), losses(Some(Recipe::Q8_0), "q8"));
    assert!(exact.len() >= 40, "{}", exact.len());
    let (first, last) = (exact[0], exact[exact.len() - 1]);
    assert!(last < 0.8 * first, "the run learns: {first} to {last}");
    assert_ne!(exact, eight);
    // Every tenth of the run. Single steps differ more while the loss falls steeply.
    let size = exact.len() / 10;
    for (part, (exact, eight)) in exact.chunks(size).zip(eight.chunks(size)).enumerate() {
        let mean = |losses: &[f64]| losses.iter().sum::<f64>() / losses.len() as f64;
        let (exact, eight) = (mean(exact), mean(eight));
        assert!((exact - eight).abs() < 0.01, "{part}: {exact} {eight}");
    }
}

#[test]
fn the_frozen_base_is_written_exactly_and_a_run_resumes_to_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let data = copy_task(120);
    let base = foreign_base(&dir.path().join("base"), &data);
    let folder = ModelFolder::open(&dir.path().join("base")).unwrap();
    let before = folder.weights().unwrap();
    let config = with(qlora(), |c| {
        c.max_steps = Some(5);
        c.lora.targets = vec!["q_proj".into()];
        c.gradient_checkpointing = true;
    });
    let (whole, parts) = (dir.path().join("whole"), dir.path().join("parts"));
    run_from(&config, &base, &data, &whole).unwrap();
    let after = ModelFolder::open(&whole).unwrap().weights().unwrap();
    let down = "model.layers.1.mlp.down_proj.weight";
    assert_eq!(after.find(down), before.find(down), "{down} is frozen");
    let table = "model.embed_tokens.weight";
    let rows = &before.find(table).unwrap().data;
    assert_eq!(rows[..], after.find(table).unwrap().data[..rows.len()]);
    assert!(after.find(table).unwrap().data.len() > rows.len());
    let q = "model.layers.0.self_attn.q_proj.weight";
    assert_ne!(after.find(q), before.find(q));

    let adapter = dir.path().join("adapter");
    let unmerged = with(config.clone(), |c| c.lora.merge = false);
    run_from(&unmerged, &base, &data, &adapter).unwrap();
    let adapted = ModelFolder::open(&adapter).unwrap().weights().unwrap();
    assert_eq!(
        adapted, after,
        "the base with the adapter is the merged model"
    );

    interrupt(&config, &base, &data, &parts, 2);
    let saved = partial_folder(&parts).join("checkpoint-2/weights.safetensors");
    let saved = Weights::read(&saved).unwrap();
    assert!(saved.find(down).is_none(), "the base is not in checkpoints");
    let resumed = with(config.clone(), |c| c.resume = true);
    run_from(&resumed, &base, &data, &parts).unwrap();
    assert_eq!(bytes(&whole), bytes(&parts));

    // With another base the checkpoint is of no use.
    interrupt(&config, &base, &data, &dir.path().join("other"), 2);
    let mut changed = before.clone();
    let mut matrix = changed.take(down).unwrap();
    matrix.data[0] += 1.0;
    changed.insert(down, matrix);
    fs::write(
        dir.path().join("base/model.safetensors"),
        changed.to_bytes().unwrap(),
    )
    .unwrap();
    let error = run_from(&resumed, &base, &data, &dir.path().join("other")).unwrap_err();
    assert!(
        error.to_string().contains("another `base_weights`"),
        "{error}"
    );
}

#[test]
fn a_gguf_file_trains_like_a_folder_in_its_format() {
    let dir = tempfile::tempdir().unwrap();
    let data = copy_task(120);
    // Without new tokens, whose rows begin with the mean of rounded rows.
    let base = trained_base(dir.path(), &data);
    let folder = ModelFolder::open(&dir.path().join("base")).unwrap();
    let file = |recipe: Recipe| {
        let path = dir.path().join(format!("{}.gguf", recipe.name()));
        let (info, weights) = (&folder.info, folder.weights().unwrap());
        let (config, tokenizer) = (&folder.config, &folder.tokenizer);
        gguf::write(&path, "m", config, tokenizer, info, &weights, recipe).unwrap();
        Base::Gguf(path)
    };
    let config = with(qlora(), |c| {
        c.max_steps = Some(5);
        c.lora.targets = vec!["q_proj".into()];
    });
    let run = |config: &TrainConfig, base: &Base, name: &str| {
        let out = dir.path().join(name);
        run_from(config, base, &data, &out).unwrap();
        let weights = ModelFolder::open(&out).unwrap().weights().unwrap();
        (losses(&out), weights)
    };
    let (expected, _) = run(&config, &base, "folder");
    let eight = file(Recipe::Q8_0);
    let (found, weights) = run(&config, &eight, "file");
    assert_eq!(found, expected, "the same blocks");
    let own = with(config.clone(), |c| c.quantize = None);
    assert_eq!(run(&own, &eight, "own").0, expected, "the file says it");
    let down = "model.layers.1.mlp.down_proj.weight";
    let original = folder.weights().unwrap();
    let original = original.find(down).unwrap();
    let far = worst(&weights.find(down).unwrap().data, &original.data);
    assert!(far > 0.0 && far < 0.01, "{far}: the numbers of the file");
    assert_ne!(run(&own, &file(Recipe::F16), "half").0, expected);

    let refused = |config: &TrainConfig, base: &Base| {
        let out = dir.path().join("refused");
        let error = run_from(config, base, &data, &out).unwrap_err().to_string();
        assert!(!out.exists());
        error
    };
    let half = file(Recipe::F16);
    let error = refused(&config, &half);
    assert!(error.contains("in F16"), "{error}");
    let full = with(own.clone(), |c| c.method = Method::Full);
    let error = refused(&full, &eight);
    assert!(error.contains("`--method lora`"), "{error}");
    let adapter = with(own, |c| c.lora.merge = false);
    let error = refused(&adapter, &eight);
    assert!(error.contains("`--adapter`"), "{error}");
}

#[test]
fn options_that_contradict_a_quantised_base_are_named() {
    let full = with(qlora(), |c| c.method = Method::Full);
    let cuda = with(qlora(), |c| c.processor = Processor::Cuda);
    let same = with(qlora(), |c| c.quantize = Some(Recipe::F32));
    for (config, says) in [
        (full, "needs `--method lora`"),
        (cuda, "is for the CPU"),
        (same, "saves nothing"),
    ] {
        let error = config.check().unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    assert!(qlora().check().is_ok());
}

#[test]
fn the_estimate_counts_blocks() {
    let dir = tempfile::tempdir().unwrap();
    let data = copy_task(60);
    let base = trained_base(dir.path(), &data);
    let weights = |quantize| {
        let config = with(qlora(), |c| c.quantize = quantize);
        dry_run(&config, &base, &data).unwrap().memory.weights as f64
    };
    let (plain, eight) = (weights(None), weights(Some(Recipe::Q8_0)));
    assert!(eight < 0.6 * plain, "{eight} {plain}");
}
