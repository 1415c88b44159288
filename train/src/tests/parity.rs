//! Parity with transformers and PyTorch, on checkpoints from `benches/peers/checkpoints.py`, which
//! explains how to run this test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use burn::tensor::Device;
use model::{ModelConfig, Weights};

use crate::device::{Compute, Precision};
use crate::grads::NamedGrads;
use crate::llama::{Llama, Packed};
use crate::optim::Optimizer;
use crate::{Algorithm, TrainConfig};

#[test]
#[ignore = "needs checkpoints made by benches/peers/checkpoints.py in KGAGENT_PARITY"]
fn parity_with_transformers() {
    let dir = PathBuf::from(
        std::env::var_os("KGAGENT_PARITY").expect("KGAGENT_PARITY names the folder of checkpoints"),
    );
    let mut folders: Vec<PathBuf> = fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    assert!(!folders.is_empty(), "no checkpoint in {}", dir.display());
    eprintln!(
        "{:<24} {:>10} {:>10} {:>10}",
        "checkpoint", "logits", "gradients", "losses"
    );
    let (mut worst_logit, mut worst_gradient, mut worst_loss) = (0.0_f32, 0.0_f32, 0.0_f32);
    for folder in folders {
        let json =
            |name: &str| serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap();
        let (config, about): (serde_json::Value, serde_json::Value) =
            (json("config.json"), json("reference.json"));
        let config = ModelConfig::from_json(&config).unwrap();
        let weights = Weights::read_folder(&folder).unwrap();
        let reference = Weights::read(&folder.join("reference.safetensors")).unwrap();
        let ids: Vec<u32> = about["ids"]
            .as_array()
            .unwrap()
            .iter()
            .map(|id| id.as_u64().unwrap() as u32)
            .collect();
        let n = ids.len();
        let device = Device::flex().autodiff();
        let mut model =
            Llama::from_weights(&config, weights, Compute::Fused(Precision::F32), n, &device)
                .unwrap();
        let all = Packed {
            ids: ids.clone(),
            segments: vec![n],
            rows: (0..n as u32).collect(),
            targets: Arc::new(vec![0; n]),
        };
        let logits = model
            .logits(&all, &device)
            .into_data()
            .try_to_vec::<f32>()
            .unwrap();
        let logit = difference(&logits, &reference.find("logits").unwrap().data);

        let batch = Packed {
            ids: ids[..n - 1].to_vec(),
            segments: vec![n - 1],
            rows: (0..n as u32 - 1).collect(),
            targets: Arc::new(ids[1..].to_vec()),
        };
        let options = TrainConfig {
            optimizer: Algorithm::Adamw,
            weight_decay: 0.1,
            beta1: 0.9,
            beta2: 0.95,
            epsilon: 1e-8,
            ..TrainConfig::default()
        };
        let mut optimizer = Optimizer::new(&options);
        let (mut gradient, mut loss) = (0.0_f32, 0.0_f32);
        for (step, expected) in reference.find("losses").unwrap().data.iter().enumerate() {
            let mut grads = NamedGrads::new();
            let scale = 1.0 / (n - 1) as f32;
            let value = model.gradients(&batch, scale, 0, &device, &mut grads);
            loss = loss.max((value.to_data().try_to_vec::<f32>().unwrap()[0] - expected).abs());
            if step == 0 {
                assert_eq!(grads.len(), config.tensors().len());
                for (name, grad) in &grads {
                    let theirs = &reference.find(&format!("grad.{name}")).unwrap().data;
                    let scale = theirs.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
                    gradient = gradient.max(
                        difference(&grad.to_data().try_to_vec::<f32>().unwrap(), theirs) / scale,
                    );
                }
            }
            model.net = optimizer.step(
                model.net.clone(),
                grads,
                about["rate"].as_f64().unwrap(),
                1.0,
            );
        }
        eprintln!(
            "{:<24} {logit:>10.1e} {gradient:>10.1e} {loss:>10.1e}",
            folder.file_name().unwrap().to_string_lossy()
        );
        worst_logit = worst_logit.max(logit);
        worst_gradient = worst_gradient.max(gradient);
        worst_loss = worst_loss.max(loss);
    }
    assert!(worst_logit < 1e-4 && worst_gradient < 1e-3 && worst_loss < 1e-3);
}

fn difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max)
}
