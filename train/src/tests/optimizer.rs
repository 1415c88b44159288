//! The optimizer and its learning rate.

use burn::optim::{AdamWConfig, Optimizer as _};
use burn::tensor::{Tensor, TensorData};
use gpu::ops::AdamwStep;

use super::support::*;
use crate::device::{Compute, Precision};
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
    let model = Llama::from_weights(
        &shape,
        before.clone(),
        Compute::Fused(Precision::F32),
        64,
        &device(),
    )
    .unwrap();
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

/// The operation that takes the steps of AdamW on a GPU takes those of burn's optimizer.
#[test]
fn adamw_takes_the_steps_of_burn() {
    const COUNT: usize = 40;
    let vector = |of: &dyn Fn(usize) -> f32| {
        let data: Vec<f32> = (0..COUNT).map(of).collect();
        Tensor::<1>::from_data(TensorData::new(data, [COUNT]), &device().inner())
    };
    let optimizer = AdamWConfig::new()
        .with_beta_1(0.9)
        .with_beta_2(0.95)
        .with_epsilon(1e-8)
        .with_weight_decay(0.1)
        .build();
    let start = vector(&|i| (i as f32).cos());
    let (mut burn, mut state) = (start.clone(), None);
    let (mut own, mut moments) = (start, [vector(&|_| 0.0), vector(&|_| 0.0)]);
    for time in 1..=3_i32 {
        let grad = vector(&|i| (i as f32 * 7.0 + time as f32 * 13.0).sin());
        (burn, state) = optimizer.step(0.01, burn, grad.clone().mul_scalar(0.5), state);
        let step = AdamwStep {
            beta1: 0.9,
            beta2: 0.95,
            bias1: 1.0 - 0.9_f32.powi(time),
            bias2: 1.0 - 0.95_f32.powi(time),
            epsilon: 1e-8,
            rate: 0.01,
            kept: 1.0 - 0.01 * 0.1,
            factor: 0.5,
        };
        (own, moments) = gpu::ops::adamw(own, grad, moments, step);
    }
    let [own, burn] = [own, burn].map(|x| x.try_into_vec_as::<f32>().unwrap());
    for (i, (own, burn)) in own.iter().zip(&burn).enumerate() {
        assert!((own - burn).abs() < 1e-6, "weight {i}: {own} and {burn}");
        assert!((burn - (i as f32).cos()).abs() > 1e-3, "weight {i} stayed");
    }
}

/// The kernels of AdamW and Muon take the steps of the operations of other devices.
#[test]
fn kernels_take_the_steps_of_other_devices() {
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
            assert_eq!(compute == Compute::Fused(Precision::F32), !stock_ops);
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
        let [kernels, other] = &after;
        for (name, old) in before.iter() {
            let (a, b) = (kernels.find(name).unwrap(), other.find(name).unwrap());
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
