//! A batch on several devices gives the same result as on one, except for the order of additions.

use std::fs;
use std::path::Path;

use model::{Dataset, ModelFolder, Preset, Weights};

use super::support::*;
use crate::*;

/// Losses by step and all weights of a run on several devices.
fn on(
    devices: usize,
    config: &TrainConfig,
    base: &Base,
    data: &Dataset,
    out: &Path,
) -> (Vec<f64>, Weights) {
    let config = with(config.clone(), |c| c.devices = Some(devices));
    run_from(&config, base, data, out).unwrap();
    (
        losses(out),
        ModelFolder::open(out).unwrap().weights().unwrap(),
    )
}

#[test]
fn several_devices_match_one_with_the_same_batches() {
    let dir = tempfile::tempdir().unwrap();
    let data = copy_task(120);
    let base = dir.path().join("base");
    run(&with(quick(), |c| c.max_steps = Some(2)), &data, &base).unwrap();
    let lora = LoraConfig {
        rank: 4,
        merge: false,
        ..LoraConfig::default()
    };
    // If a gradient is almost zero, rounding sets its sign, but AdamW takes a full step: the
    // learning rate limits the difference of weights. `full` has one forward pass per device,
    // `several` has several.
    let full = TrainConfig {
        learning_rate: 2e-4,
        batch_tokens: 200,
        micro_tokens: 2000,
        ..quick()
    };
    let several = TrainConfig {
        micro_tokens: 30,
        gradient_checkpointing: true,
        ..full.clone()
    };
    let stock = TrainConfig {
        stock_ops: true,
        method: Method::Lora,
        lora,
        ..full.clone()
    };
    for (name, config, from) in [
        ("full", &full, Base::Scratch(Preset::Tiny)),
        ("several", &several, Base::Folder(base.clone())),
        ("lora", &stock, Base::Folder(base.clone())),
    ] {
        let at = |devices: usize| dir.path().join(format!("{name}{devices}"));
        let (losses, weights) = on(1, config, &from, &data, &at(1));
        for devices in [2, 3] {
            let (split, others) = on(devices, config, &from, &data, &at(devices));
            assert!(
                losses.len() >= 3 && losses.len() == split.len(),
                "{losses:?}"
            );
            assert!(
                losses.windows(2).all(|two| (two[0] - two[1]).abs() > 1e-3),
                "steps change the model: {losses:?}"
            );
            let worst = losses
                .iter()
                .zip(&split)
                .map(|(a, b)| (a - b).abs())
                .fold(0.0, f64::max);
            assert!(worst < 1e-5, "{name} {devices}: {worst}");
            let mut count = 0;
            for (tensor, value) in weights.iter() {
                let apart = value
                    .data
                    .iter()
                    .zip(&others.find(tensor).unwrap().data)
                    .map(|(a, b)| (a - b).abs())
                    .fold(0.0, f32::max);
                assert!(apart < 1e-5, "{name} {devices} {tensor}: {apart}");
                count += value.data.len();
            }
            assert!(count > 100_000);
        }
    }
}

#[test]
fn a_run_on_two_devices_resumes_to_the_same_bytes_only_on_two() {
    let dir = tempfile::tempdir().unwrap();
    let data = copy_task(150);
    let config = with(quick(), |c| c.devices = Some(2));
    let (whole, again, parts) = (
        dir.path().join("whole"),
        dir.path().join("again"),
        dir.path().join("parts"),
    );
    run(&config, &data, &whole).unwrap();
    run(&config, &data, &again).unwrap();
    assert!(bytes(&whole) == bytes(&again), "the same run twice");
    let base = Base::Scratch(Preset::Tiny);
    interrupt(&config, &base, &data, &parts, 2);
    let resumed = with(config, |c| c.resume = true);
    let error = run(
        &with(resumed.clone(), |c| c.devices = Some(1)),
        &data,
        &parts,
    )
    .unwrap_err()
    .to_string();
    assert!(error.contains("devices"), "{error}");
    run(&resumed, &data, &parts).unwrap();
    assert!(bytes(&whole) == bytes(&parts));
}

#[test]
fn devices_without_work_are_rejected_before_anything_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let data = copy_task(40);
    for (config, says) in [
        (with(quick(), |c| c.devices = Some(0)), "`devices` is 0"),
        (
            TrainConfig {
                devices: Some(3),
                batch_examples: Some(2),
                ..quick()
            },
            "the batch of step 1 has 2 examples",
        ),
        (
            TrainConfig {
                devices: Some(41),
                batch_tokens: 100_000,
                ..quick()
            },
            "has 40 examples",
        ),
    ] {
        let error = run(&config, &data, &dir.path().join("m")).unwrap_err();
        assert!(
            matches!(error, TrainError::Config(_)) && error.to_string().contains(says),
            "{error}"
        );
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    // 40 examples in batches of 13: the last step has one, which one device computes.
    let config = TrainConfig {
        devices: Some(2),
        batch_examples: Some(13),
        ..quick()
    };
    let summary = run(&config, &data, &dir.path().join("m")).unwrap();
    assert_eq!((summary.steps, summary.examples), (4, 40));
}

#[test]
fn a_small_model_is_trained_in_four_replicas_on_any_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    let data = copy_task(60);
    let config = TrainConfig {
        max_steps: Some(6),
        batch_tokens: 200,
        ..quick()
    };
    let base = Base::Scratch(Preset::Tiny);
    let mut outs = Vec::new();
    for (threads, devices) in [(1, None), (3, None), (6, None), (2, Some(4)), (2, Some(1))] {
        let out = dir.path().join(format!("m{}", outs.len()));
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            run_from(
                &with(config.clone(), |c| c.devices = devices),
                &base,
                &data,
                &out,
            )
        })
        .unwrap();
        outs.push(bytes(&out));
    }
    assert!(outs[..4].iter().all(|out| *out == outs[0]));
    assert!(outs[4] != outs[0], "one replica adds in another order");
    let devices = |config: &TrainConfig, parameters| config.for_size(parameters).devices;
    assert_eq!(devices(&config, 1_500_000), Some(4));
    assert_eq!(devices(&config, 100_000_000), Some(1));
    assert_eq!(
        devices(&with(config.clone(), |c| c.stock_ops = true), 1_500_000),
        Some(1)
    );
    assert_eq!(
        devices(&with(config, |c| c.devices = Some(2)), 1_500_000),
        Some(2)
    );
}
