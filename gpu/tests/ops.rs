//! The operations on a GPU against those on the CPU, values and gradients.
#![cfg(feature = "cuda")]
#![allow(clippy::unwrap_used)]

use std::io::Write;

use burn::tensor::{Device, FloatDType, Int, Tensor, TensorData};
use gpu::ops::{self, PickedRows};

/// Numbers between -1 and 1.
fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// A tensor that a gradient is wanted of.
fn leaf(shape: [usize; 2], seed: u64, kind: FloatDType, device: &Device) -> Tensor<2> {
    let data = TensorData::new(numbers(shape[0] * shape[1], seed), shape);
    Tensor::from_data(data, (device, kind.into())).require_grad()
}

/// The values of `of`, and its gradients where the result is weighted with random numbers.
fn run(leaves: &[Tensor<2>], of: impl Fn(&[Tensor<2>]) -> Tensor<2>) -> Vec<Vec<f32>> {
    let y = of(leaves);
    let weights = TensorData::new(numbers(y.dims().iter().product(), 77), y.dims());
    let weights = Tensor::<2>::from_data(weights, &y.device());
    let grads = (y.clone().cast(FloatDType::F32) * weights).sum().backward();
    let read = |x: Tensor<2>| x.cast(FloatDType::F32).try_into_vec_as::<f32>().unwrap();
    let mut out = vec![read(y.inner())];
    out.extend(leaves.iter().map(|x| read(x.grad(&grads).unwrap())));
    out
}

/// Distance over length.
fn distance(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
    let apart = norm(&mut a.iter().zip(b).map(|(a, b)| f64::from(a - b)));
    let length = norm(&mut b.iter().map(|b| f64::from(*b)));
    if apart == 0.0 { 0.0 } else { apart / length }
}

/// Says that there is no GPU. Not with `eprintln!`, which a passing test does not show.
fn skipped(reason: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {reason}");
}

/// Compares both devices on tensors of these shapes.
fn compare(name: &str, shapes: &[[usize; 2]], of: impl Fn(&[Tensor<2>], FloatDType) -> Tensor<2>) {
    let gpu = match gpu::open(1) {
        Ok(mut devices) => devices.remove(0).autodiff(),
        Err(reason) => return skipped(&reason),
    };
    let cpu = Device::flex().autodiff();
    for (kind, limit) in [(FloatDType::F32, 2e-3), (FloatDType::BF16, 2e-2)] {
        let results = [&cpu, &gpu].map(|device| {
            let shapes = shapes.iter().zip(1..);
            let leaves: Vec<_> = shapes
                .map(|(shape, seed)| leaf(*shape, seed, kind, device))
                .collect();
            run(&leaves, |leaves| of(leaves, kind))
        });
        for (i, (cpu, gpu)) in results[0].iter().zip(&results[1]).enumerate() {
            let far = distance(gpu, cpu);
            eprintln!("{name}, {kind:?}, tensor {i}: {far:.1e}");
            assert!(far < limit, "{name}, {kind:?}, tensor {i}: {far}");
        }
    }
}

#[test]
fn products() {
    // Wide enough for the tensor memory accelerator, and not.
    for (rows, inner, columns) in [
        (1027, 1024, 1032),
        (300, 512, 264),
        (7, 40, 24),
        (1, 512, 512),
    ] {
        let name = format!("project {rows} {inner} {columns}");
        compare(&name, &[[rows, inner], [columns, inner]], |x, kind| {
            ops::project(x[0].clone(), x[1].clone(), kind)
        });
    }
}

#[test]
fn shared_products() {
    // The scores of two heads, and their values.
    for (len, inner, columns) in [(1056, 64, 1056), (1056, 1056, 64), (24, 16, 40)] {
        let name = format!("shared product {len} {inner} {columns}");
        compare(&name, &[[4 * len, inner], [2 * inner, columns]], |x, _| {
            let many = x[0].clone().reshape([2, 2, len, inner]);
            let one = x[1].clone().reshape([2, 1, inner, columns]);
            ops::shared_product(many, one).reshape([4 * len, columns])
        });
    }
}

#[test]
fn rows() {
    compare("pick", &[[5, 70]], |x, _| {
        let rows = [Some(4), Some(0), Some(2)];
        PickedRows::new(&rows, 5, &x[0].device()).of(x[0].clone())
    });
}

#[test]
fn softmax() {
    for len in [1, 5, 64, 333] {
        compare("softmax", &[[3 * len, len]], |x, _| {
            let scores = x[0].clone().reshape([3, len, len]);
            ops::causal_softmax(scores, 1.7, 1).reshape([3 * len, len])
        });
    }
    // Two heads of three rows after 17.
    compare("softmax of few rows", &[[12, 20]], |x, _| {
        let scores = x[0].clone().reshape([2, 6, 20]);
        ops::causal_softmax(scores, 0.6, 2).reshape([12, 20])
    });
}

#[test]
fn norm() {
    compare("norm", &[[37, 200], [1, 200]], |x, kind| {
        let weight = x[1].clone().reshape([200]);
        ops::rms_norm(x[0].clone(), weight, 1e-5, kind)
    });
}

#[test]
fn gates_and_rotations() {
    compare("gated", &[[33, 120]], |x, _| ops::gated(x[0].clone()));
    compare("rotate", &[[9, 40]], |x, _| {
        let table = |seed| {
            let data = TensorData::new(numbers(9 * 4, seed), [9, 4]);
            Tensor::<2>::from_data(data, &x[0].device())
        };
        ops::rotate(x[0].clone(), table(5), table(6), 24)
    });
}

#[test]
fn loss() {
    compare("loss", &[[31, 1000]], |x, _| {
        let targets: Vec<i64> = (0..31).map(|i| i * 31 % 1000).collect();
        let targets = Tensor::<1, Int>::from_data(TensorData::new(targets, [31]), &x[0].device());
        ops::cross_entropy(x[0].clone().mul_scalar(8.0), targets, 0.1).reshape([1, 1])
    });
}

#[test]
fn optimizer() {
    let gpu = match gpu::open(1) {
        Ok(mut devices) => devices.remove(0),
        Err(reason) => return skipped(&reason),
    };
    for count in [1, 300, 70_000] {
        let [cpu, gpu] = [Device::flex(), gpu.clone()].map(|device| {
            let vector = |seed| {
                let data = TensorData::new(numbers(count, seed), [count]);
                Tensor::<1>::from_data(data, &device)
            };
            let step = ops::AdamwStep {
                beta1: 0.9,
                beta2: 0.95,
                bias1: 0.19,
                bias2: 0.0975,
                epsilon: 1e-8,
                rate: 0.01,
                kept: 0.999,
                factor: 0.5,
            };
            let second = vector(4).abs();
            let (new, moments) = ops::adamw(vector(1), vector(2), [vector(3), second], step);
            let mut out = vec![new, ops::square_sum(vector(1))];
            out.extend(moments);
            out.into_iter()
                .map(|x| x.try_into_vec_as::<f32>().unwrap())
                .collect::<Vec<_>>()
        });
        for (i, (cpu, gpu)) in cpu.iter().zip(&gpu).enumerate() {
            let far = distance(gpu, cpu);
            eprintln!("optimizer, {count}, tensor {i}: {far:.1e}");
            assert!(far < 1e-5, "{count} values, tensor {i}: {far}");
        }
    }
}
