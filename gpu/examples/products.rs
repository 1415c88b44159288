//! `products` compares the time of [`gpu::ops::project`] with that of burn's own matrix product. It runs on
//! the first NVIDIA GPU, in bf16, with the shapes of a LLaMA of 1.1 billion parameters. `products cpu` runs
//! small shapes on the CPU. That only shows that the example works.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::time::Instant;

use burn::tensor::{Device, Distribution, FloatDType, Tensor};
use gpu::ops;

/// Runs that are timed together.
const RUNS: usize = 10;

/// Milliseconds of one product, after two that compile its kernels.
fn time(
    device: &Device,
    product: impl Fn() -> Tensor<2>,
) -> Result<f64, Box<dyn std::error::Error>> {
    for _ in 0..2 {
        product();
    }
    device.sync()?;
    let begun = Instant::now();
    for _ in 0..RUNS {
        product();
    }
    device.sync()?;
    Ok(1e3 * begun.elapsed().as_secs_f64() / RUNS as f64)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let small = std::env::args().nth(1).as_deref() == Some("cpu");
    let (device, part) = if small {
        (Device::flex(), 32)
    } else {
        (gpu::open(1)?.swap_remove(0), 1)
    };
    let bf16 = FloatDType::BF16;
    for rows in [1, 8, 2048 / part] {
        for [inner, columns] in [[2048, 5632], [5632, 2048], [2048, 32_000]] {
            let [inner, columns] = [inner / part, columns / part];
            let random = |shape: [usize; 2]| {
                Tensor::<2>::random(shape, Distribution::Uniform(-1.0, 1.0), &device).cast(bf16)
            };
            let (x, w) = (random([rows, inner]), random([columns, inner]));
            let burn = time(&device, || x.clone().matmul(w.clone().transpose()))?;
            let here = time(&device, || ops::project(x.clone(), w.clone(), bf16))?;
            println!(
                "{rows} rows, {inner} to {columns}: burn {burn:.3} ms, here {here:.3} ms, ratio {:.2}",
                here / burn
            );
        }
    }
    Ok(())
}
