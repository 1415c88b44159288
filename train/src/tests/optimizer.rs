//! The optimizer and its learning rate.

use burn::tensor::{Tensor, TensorData};

use super::support::*;
use crate::device::Compute;
use crate::llama::Llama;
use crate::optim::Optimizer;
use crate::{Algorithm, TrainConfig};

/// Muon's step is orthogonal: it has about the same length in every direction, regardless of the
/// gradient.
#[test]
fn muon_steps_have_the_same_length_in_every_direction() {
    let shape = small(true);
    let config = TrainConfig {
        weight_decay: 0.0,
        optimizer: Algorithm::Muon,
        ..quick()
    };
    let before = weights(&shape);
    let model = Llama::from_weights(&shape, before.clone(), Compute::Fused, 64, &device()).unwrap();
    let name = "model.layers.0.self_attn.q_proj.weight";
    let [rows, columns] = before.find(name).unwrap().shape[..] else {
        panic!("{name} is not a matrix")
    };
    // A tall matrix with columns of very different magnitude.
    assert!(rows > columns);
    let grad: Vec<f32> = (0..rows * columns)
        .map(|i| ((i * i + 3 * i) as f32).sin() * if i % columns % 2 == 0 { 10.0 } else { 0.1 })
        .collect();
    let mut optimizer = Optimizer::new(&config);
    let mut net = model.net.clone();
    let mut last = before.find(name).unwrap().data.clone();
    for _ in 0..2 {
        let grads = [(
            name.to_owned(),
            Tensor::<1>::from_data(
                TensorData::new(grad.clone(), [grad.len()]),
                &device().inner(),
            ),
        )]
        .into();
        net = optimizer.step(net, grads, 0.01, 1.0);
        let now = Llama {
            net: net.clone(),
            ..model.clone()
        }
        .tensors()
        .find(name)
        .unwrap()
        .data
        .clone();
        let scale = 0.01 * 0.2 * (rows.max(columns) as f32).sqrt();
        let step: Vec<f32> = last
            .iter()
            .zip(&now)
            .map(|(a, b)| (a - b) / scale)
            .collect();
        let along: f32 = step.iter().zip(&grad).map(|(a, b)| a * b).sum();
        assert!(along > 0.0, "down the gradient");
        let lengths: Vec<f32> = (0..columns)
            .map(|j| {
                step[j..]
                    .iter()
                    .step_by(columns)
                    .map(|v| v * v)
                    .sum::<f32>()
                    .sqrt()
            })
            .collect();
        assert!(
            lengths.iter().all(|length| (0.4..1.4).contains(length)),
            "{lengths:?}"
        );
        last = now;
    }
    let kept: Vec<String> = optimizer
        .tensors()
        .iter()
        .map(|(name, _)| name.to_owned())
        .collect();
    assert_eq!(kept, [format!("{name}.velocity")]);
}

/// The kernels of AdamW and Muon take the steps that burn's optimizers take.
#[test]
fn kernels_take_the_steps_of_burn() {
    let shape = small(true);
    let before = weights(&shape);
    for optimizer in [Algorithm::Adamw, Algorithm::Muon] {
        let after = [false, true].map(|stock_ops| {
            let config = TrainConfig {
                weight_decay: 0.1,
                optimizer,
                stock_ops,
                ..quick()
            };
            let compute = config.compute();
            assert_eq!(compute == Compute::Fused, !stock_ops);
            let model =
                Llama::from_weights(&shape, before.clone(), compute, 64, &device()).unwrap();
            let (mut optimizer, mut net) = (Optimizer::new(&config), model.net.clone());
            for step in 0..3 {
                let gradient = |(name, tensor): (&str, &model::Tensor)| {
                    let length = tensor.data.len();
                    let grad: Vec<f32> = (0..length)
                        .map(|i| ((i * 7 + step * 13) as f32).sin())
                        .collect();
                    let data = TensorData::new(grad, [length]);
                    (
                        name.to_owned(),
                        Tensor::<1>::from_data(data, &device().inner()),
                    )
                };
                let grads = before.iter().map(gradient).collect();
                net = optimizer.step(net, grads, 0.01, 0.5);
            }
            Llama { net, ..model }.tensors()
        });
        let [kernels, burn] = &after;
        for (name, old) in before.iter() {
            let (a, b) = (kernels.find(name).unwrap(), burn.find(name).unwrap());
            let moved = (a.data.iter().zip(&old.data)).any(|(a, old)| (a - old).abs() > 1e-3);
            assert!(moved, "{optimizer:?} {name} stayed as it was");
            for (a, b) in a.data.iter().zip(&b.data) {
                assert!((a - b).abs() < 2e-4, "{optimizer:?} {name}: {a} and {b}");
            }
        }
    }
}

#[test]
fn the_rate_rises_and_falls() {
    let config = TrainConfig {
        warmup: 0.1,
        ..TrainConfig::recipe("default").unwrap()
    };
    let rates: Vec<f64> = (0..100).map(|step| config.rate(step, 100)).collect();
    assert!(rates[..10].is_sorted() && rates[9..].iter().rev().is_sorted());
    assert!(
        (rates[9] - config.learning_rate).abs() < 1e-12
            && (rates[99] - 0.1 * config.learning_rate).abs() < 1e-12
    );
    let paper = TrainConfig::recipe("paper").unwrap();
    assert_eq!(
        (
            paper.epochs,
            paper.batch_examples,
            paper.max_length,
            paper.weight_decay
        ),
        (3, Some(256), 1500, 0.1)
    );
}
