//! The operations for other devices, run on the CPU: equal to the kernels in f32, close in bf16,
//! also with recomputed layers.

use std::collections::BTreeMap;
use std::fs;

use model::{ModelConfig, ModelFolder};

use super::support::*;
use crate::device::Compute;
use crate::grads::NamedGrads;
use crate::llama::{Llama, Packed};
use crate::*;

fn model(config: &ModelConfig, compute: Compute) -> Llama {
    Llama::from_weights(config, weights(config), compute, 64, &device()).unwrap()
}

fn lora() -> LoraConfig {
    LoraConfig {
        rank: 4,
        dropout: 0.25,
        merge: false,
        ..LoraConfig::default()
    }
}

fn logits(model: &Llama, batch: &Packed) -> Vec<f32> {
    model
        .logits(batch, &device())
        .try_into_vec_as::<f32>()
        .unwrap()
}

/// Gradients by name, with or without recomputing layers.
fn by_layer(model: &Llama, batch: &Packed, recompute: bool) -> (f32, BTreeMap<String, Vec<f32>>) {
    let mut grads = NamedGrads::new();
    let gradients = if recompute {
        Llama::gradients_by_layer
    } else {
        Llama::gradients
    };
    let loss = gradients(model, batch, 0.25, 7, &device(), &mut grads);
    let grads = grads
        .into_iter()
        .map(|(name, grad)| (name, grad.try_into_vec_as::<f32>().unwrap()))
        .collect();
    (loss.try_into_vec_as::<f32>().unwrap()[0], grads)
}

#[test]
fn bf16_differs_from_f32_only_by_rounding() {
    for config in shapes() {
        for segments in [vec![1, 7, 33, 20, 2], vec![64]] {
            let batch = batch(&segments, 50, 2);
            rounds(&config, &batch, Compute::Stock(Precision::Bf16));
        }
    }
    // The kernels leave narrow products in f32.
    let wide = ModelConfig {
        hidden_size: 96,
        intermediate_size: 160,
        head_dim: 32,
        ..small(true)
    };
    let batch = batch(&[40, 61], 50, 2);
    rounds(&wide, &batch, Compute::Fused(Precision::Bf16));
}

/// Checks that products in bf16 change logits and gradients, and by how much.
fn rounds(config: &ModelConfig, batch: &Packed, compute: Compute) {
    let exact = model(config, Compute::Fused(Precision::F32));
    let rounded = model(config, compute);
    let (a, b) = (logits(&rounded, batch), logits(&exact, batch));
    assert!(a != b, "bf16 rounds");
    assert!(worst(&a, &b) < 0.05, "{}", worst(&a, &b));
    let (a, b) = (
        by_layer(&rounded, batch, false),
        by_layer(&exact, batch, false),
    );
    assert!((a.0 - b.0).abs() < 0.01 * b.0, "{} {}", a.0, b.0);
    for (name, grad) in &a.1 {
        let error = worst(grad, &b.1[name]);
        assert!(error < 0.3, "{name}: {error}");
    }
}

#[test]
fn recomputed_layers_have_the_same_gradients() {
    // Without automatic differentiation burn fuses some operations, which rounds differently.
    for (compute, most) in [
        (Compute::Fused(Precision::F32), 1e-6),
        (Compute::Fused(Precision::Bf16), 1e-6),
        (Compute::Stock(Precision::F32), 1e-5),
        (Compute::Stock(Precision::Bf16), 0.05),
    ] {
        for config in shapes() {
            let batch = batch(&[9, 30, 14], 50, 3);
            let adapted =
                Llama::from_frozen(&config, weights(&config), compute, 64, &device()).unwrap();
            for model in [
                model(&config, compute),
                adapted.with_lora(&lora(), 45, 3, &device()),
            ] {
                let (kept, again) = (
                    by_layer(&model, &batch, false),
                    by_layer(&model, &batch, true),
                );
                assert!(
                    (kept.0 - again.0).abs() < most * kept.0,
                    "{compute:?}: {} {}",
                    kept.0,
                    again.0
                );
                assert_eq!(
                    kept.1.keys().collect::<Vec<_>>(),
                    again.1.keys().collect::<Vec<_>>()
                );
                assert!(kept.1.len() >= 20);
                for (name, grad) in &kept.1 {
                    let error = worst(&again.1[name], grad);
                    assert!(error < most, "{compute:?} {name}: {error}");
                }
            }
        }
    }
}

#[test]
fn a_run_without_kernels_has_the_same_losses() {
    let dir = tempfile::tempdir().unwrap();
    let data = copy_task(120);
    let base = foreign_base(&dir.path().join("base"), &data);
    for method in [Method::Full, Method::Lora] {
        // Replicas have other dropout masks.
        let kernels = TrainConfig {
            method,
            lora: lora(),
            epochs: 2,
            max_steps: Some(6),
            devices: Some(1),
            ..quick()
        };
        let stock = with(kernels.clone(), |c| c.stock_ops = true);
        let bf16 = with(stock.clone(), |c| c.precision = Some(Precision::Bf16));
        let all: Vec<Vec<f64>> = [
            &kernels,
            &stock,
            &with(stock.clone(), |c| c.gradient_checkpointing = true),
            &bf16,
        ]
        .into_iter()
        .enumerate()
        .map(|(i, config)| {
            let out = dir.path().join(format!("{method:?}{i}"));
            run_from(config, &base, &data, &out).unwrap();
            losses(&out)
        })
        .collect();
        assert_eq!(all[0].len(), 6);
        for (i, most) in [(1, 1e-4), (2, 1e-4), (3, 0.02)] {
            let worst = all[0]
                .iter()
                .zip(&all[i])
                .map(|(a, b)| (a - b).abs() / a)
                .fold(0.0, f64::max);
            assert!(worst < most, "{method:?} {i}: {worst} {all:?}");
        }
    }
}

#[test]
fn a_frozen_base_in_bf16_is_written_exactly_and_a_run_resumes_to_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let data = copy_task(120);
    let base = foreign_base(&dir.path().join("base"), &data);
    let before = ModelFolder::open(&dir.path().join("base"))
        .unwrap()
        .weights()
        .unwrap();
    let config = TrainConfig {
        method: Method::Lora,
        lora: LoraConfig {
            targets: vec!["q_proj".into()],
            merge: true,
            ..lora()
        },
        stock_ops: true,
        precision: Some(Precision::Bf16),
        max_steps: Some(5),
        ..quick()
    };
    let (whole, parts) = (dir.path().join("whole"), dir.path().join("parts"));
    run_from(&config, &base, &data, &whole).unwrap();
    let after = ModelFolder::open(&whole).unwrap().weights().unwrap();
    for name in [
        "model.norm.weight",
        "model.layers.1.mlp.down_proj.weight",
        "model.layers.0.self_attn.k_proj.weight",
    ] {
        assert_eq!(after.find(name), before.find(name), "{name} is frozen");
    }
    let rows = &before.find("model.embed_tokens.weight").unwrap().data;
    assert_eq!(
        rows[..],
        after.find("model.embed_tokens.weight").unwrap().data[..rows.len()]
    );
    let q = "model.layers.0.self_attn.q_proj.weight";
    assert_ne!(after.find(q), before.find(q));

    interrupt(&config, &base, &data, &parts, 2);
    let resumed = with(config, |c| c.resume = true);
    run_from(&resumed, &base, &data, &parts).unwrap();
    assert_eq!(bytes(&whole), bytes(&parts));
}

#[test]
fn a_missing_gpu_stops_a_run_before_it_writes() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("m");
    let config = TrainConfig {
        processor: Processor::Cuda,
        max_steps: Some(1),
        ..quick()
    };
    match run(&config, &copy_task(20), &out) {
        Ok(summary) => assert!(gpu::BUILT && summary.loss.is_finite()),
        Err(error) => {
            assert!(matches!(error, TrainError::Device(_)), "{error}");
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        }
    }
}
