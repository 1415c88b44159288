//! LoRA: factors, adapters and new tokens.

use std::path::Path;

use model::{ModelFolder, Weights};

use super::support::*;
use crate::device::Compute;
use crate::llama::Llama;
use crate::*;

fn rank_four() -> LoraConfig {
    LoraConfig {
        rank: 4,
        alpha: 8.0,
        merge: false,
        ..LoraConfig::default()
    }
}

#[test]
fn a_folder_round_trips_and_new_factors_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let data = copy_task(100);
    let base = dir.path().join("base");
    run(&with(quick(), |c| c.max_steps = Some(3)), &data, &base).unwrap();
    let folder = ModelFolder::open(&base).unwrap();
    let weights = folder.weights().unwrap();
    let model = Llama::from_weights(
        &folder.config,
        weights.clone(),
        Compute::Fused(Precision::F32),
        64,
        &device(),
    )
    .unwrap();
    assert_eq!(model.tensors().to_bytes().unwrap(), bytes(&base));

    let batch = batch(&[12, 9], 260, 1);
    let logits = |model: &Llama| {
        model
            .logits(&batch, &device())
            .into_data()
            .try_to_vec::<f32>()
            .unwrap()
    };
    let plain = logits(&model);
    let lora = rank_four();
    assert_eq!(
        plain,
        logits(&model.with_lora(&lora, folder.config.vocab_size, 1, &device()))
    );
}

#[test]
fn lora_trains_only_its_factors_and_the_adapter_equals_the_merged_model() {
    let dir = tempfile::tempdir().unwrap();
    let data = copy_task(100);
    let (base, out) = (dir.path().join("base"), dir.path().join("lora"));
    let few = with(quick(), |c| c.max_steps = Some(3));
    run(&few, &data, &base).unwrap();
    let weights = ModelFolder::open(&base).unwrap().weights().unwrap();
    let lora = rank_four();
    let config = TrainConfig {
        method: Method::Lora,
        lora: lora.clone(),
        learning_rate: 1e-2,
        max_steps: Some(6),
        ..quick()
    };
    let from = Base::Folder(base);
    run_from(&config, &from, &data, &out).unwrap();
    let adapter = Weights::read(&out.join("adapter_model.safetensors")).unwrap();
    assert_eq!(adapter.iter().count(), 4 * 7 * 2);
    assert!(
        adapter
            .get(
                "base_model.model.model.layers.0.mlp.down_proj.lora_B.weight",
                &[160, 4]
            )
            .unwrap()
            .data
            .iter()
            .any(|x| *x != 0.0)
    );

    let adapted = ModelFolder::open(&out).unwrap().weights().unwrap();

    let merged = dir.path().join("merged");
    let config = TrainConfig {
        lora: LoraConfig {
            merge: true,
            ..lora
        },
        ..config
    };
    run_from(&config, &from, &data, &merged).unwrap();
    let after = ModelFolder::open(&merged).unwrap().weights().unwrap();
    for name in ["model.embed_tokens.weight", "model.norm.weight"] {
        assert_eq!(after.find(name), weights.find(name), "{name} is frozen");
    }
    assert_ne!(
        after.find("model.layers.0.mlp.up_proj.weight"),
        weights.find("model.layers.0.mlp.up_proj.weight")
    );
    assert_eq!(
        adapted, after,
        "the base with the adapter is the merged model"
    );
}

#[test]
fn lora_trains_new_tokens_and_only_the_chosen_projections() {
    let dir = tempfile::tempdir().unwrap();
    let data = copy_task(100);
    let (base, out) = (dir.path().join("base"), dir.path().join("lora"));
    foreign_base(&base, &data);
    let had = ModelFolder::open(&base).unwrap().config.vocab_size;

    let lora = LoraConfig {
        rank: 2,
        dropout: 0.2,
        rslora: true,
        targets: vec!["q_proj".into(), "v_proj".into()],
        merge: false,
        ..LoraConfig::default()
    };
    let config = TrainConfig {
        method: Method::Lora,
        lora,
        learning_rate: 1e-2,
        max_steps: Some(4),
        ..quick()
    };
    let once = |out: &Path| {
        run_from(&config, &Base::Folder(base.clone()), &data, out).unwrap();
        Weights::read(&out.join("adapter_model.safetensors")).unwrap()
    };
    let adapter = once(&out);
    assert_eq!(
        adapter.to_bytes().unwrap(),
        once(&dir.path().join("again")).to_bytes().unwrap(),
        "dropout follows the seed"
    );
    assert_eq!(adapter.iter().count(), 4 * 2 * 2 + 1);
    let table = adapter
        .get(
            "base_model.model.model.embed_tokens.weight",
            &[had + 6, 160],
        )
        .unwrap();
    let rows = &table.data[had * 160..];
    assert!(
        rows.chunks(160).skip(1).any(|row| row != &rows[..160]),
        "rows that were equal have learned different values"
    );
    let folder = ModelFolder::open(&out).unwrap();
    let weights = folder.weights().unwrap();
    assert_eq!(weights.find("model.embed_tokens.weight").unwrap(), table);
    let before = ModelFolder::open(&base).unwrap().weights().unwrap();
    assert_eq!(
        weights.find("model.layers.0.mlp.up_proj.weight"),
        before.find("model.layers.0.mlp.up_proj.weight")
    );
    assert_ne!(
        weights.find("model.layers.0.self_attn.q_proj.weight"),
        before.find("model.layers.0.self_attn.q_proj.weight")
    );
}
