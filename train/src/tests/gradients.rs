//! Logits and gradients: kernels against burn's operations, and both against plain loops.

use common::rng::Rng;
use model::{ModelConfig, Weights};

use super::reference;
use super::support::*;
use crate::device::{Compute, Precision};
use crate::llama::Llama;

#[test]
fn fused_gradients_match_the_stock_operations() {
    for config in shapes() {
        let weights = weights(&config);
        for segments in [vec![1, 7, 33, 20, 2], vec![64], vec![5]] {
            let batch = batch(&segments, 50, 2);
            let model = |compute| {
                Llama::from_weights(&config, weights.clone(), compute, 64, &device()).unwrap()
            };
            let (fused, stock) = (
                gradients(&model(Compute::Fused(Precision::F32)), &batch),
                gradients(&model(Compute::Stock(Precision::F32)), &batch),
            );
            assert!(
                (fused.0 - stock.0).abs() < 1e-5 * stock.0,
                "{} {}",
                fused.0,
                stock.0
            );
            assert_eq!(
                fused.1.keys().collect::<Vec<_>>(),
                stock.1.keys().collect::<Vec<_>>()
            );
            assert_eq!(fused.1.len(), config.tensors().len());
            for (name, grad) in &fused.1 {
                let error = worst(grad, &stock.1[name]);
                assert!(error < 1e-4, "{name}: {error}");
            }
        }
    }
}

#[test]
fn gradients_are_the_slope_of_the_loss() {
    for config in shapes() {
        slopes(&config);
    }
}

fn slopes(config: &ModelConfig) {
    let weights = weights(config);
    let batch = batch(&[9, 14], 50, 3);
    let model = |weights: &Weights| {
        Llama::from_weights(
            config,
            weights.clone(),
            Compute::Fused(Precision::F32),
            64,
            &device(),
        )
        .unwrap()
    };
    let (_, grads) = gradients(&model(&weights), &batch);
    let mut rng = Rng::new(11);
    for (name, shape) in config.tensors() {
        let n: usize = shape.iter().product();
        // In a random direction the difference is large enough for f32.
        let direction: Vec<f32> = (0..n).map(|_| rng.normal()).collect();
        let step = 2e-3 / (n as f32).sqrt();
        let at = |sign: f32| {
            let mut moved = weights.clone();
            let data = weights
                .find(&name)
                .unwrap()
                .data
                .iter()
                .zip(&direction)
                .map(|(x, d)| x + sign * step * d)
                .collect();
            moved.insert(
                name.clone(),
                model::Tensor {
                    shape: shape.clone(),
                    data,
                },
            );
            reference::loss(config, &moved, &batch)
        };
        let slope = (at(1.0) - at(-1.0)) / (2.0 * f64::from(step));
        let expected: f64 = grads[&name]
            .iter()
            .zip(&direction)
            .map(|(g, d)| f64::from(*g) * f64::from(*d))
            .sum();
        assert!(
            (slope - expected).abs() < 2e-2 * expected.abs().max(0.02),
            "{name}: {slope} and {expected}"
        );
    }
}

#[test]
fn logits_match_the_definition() {
    for config in shapes() {
        let weights = weights(&config);
        for compute in [
            Compute::Fused(Precision::F32),
            Compute::Stock(Precision::F32),
        ] {
            let batch = batch(&[3, 40, 1, 17], 50, 1);
            let model =
                Llama::from_weights(&config, weights.clone(), compute, 64, &device()).unwrap();
            let logits = model
                .logits(&batch, &device())
                .into_data()
                .try_to_vec::<f32>()
                .unwrap();
            let mut from = 0;
            let mut worst = 0.0_f64;
            for len in &batch.segments {
                let expected = reference::logits(&config, &weights, &batch.ids[from..from + len]);
                for (row, ours) in expected.iter().zip(logits[from * 50..].chunks(50)) {
                    worst = row
                        .iter()
                        .zip(ours)
                        .map(|(a, b)| (a - f64::from(*b)).abs())
                        .fold(worst, f64::max);
                }
                from += len;
            }
            assert!(worst < 1e-4, "{compute:?}: {worst}");
        }
    }
}
