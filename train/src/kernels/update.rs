//! Steps of the optimizers AdamW and Muon, each in one pass over memory, apart from Muon's
//! products.

use gpu::ops::AdamwStep;
use rayon::prelude::*;

use super::cross_entropy::square_sum;
use super::lanes::{Lanes, map, simd};
use super::product::{Matrix, Target, multiply};

/// Numbers per task.
const BLOCK: usize = 1 << 14;

/// The weights after a step. Updates the moments `m` and `v`, which are zero before the first one.
pub(crate) fn adamw(
    old: &[f32],
    grad: &[f32],
    m: &mut [f32],
    v: &mut [f32],
    step: &AdamwStep,
) -> Vec<f32> {
    let mut new = vec![0.0; old.len()];
    new.par_chunks_mut(BLOCK)
        .zip(m.par_chunks_mut(BLOCK).zip(v.par_chunks_mut(BLOCK)))
        .zip(old.par_chunks(BLOCK).zip(grad.par_chunks(BLOCK)))
        .for_each(|((new, (m, v)), (old, grad))| {
            simd!(l => adamw_block(l, new, [m, v], [old, grad], step));
        });
    new
}

#[inline(always)]
fn adamw_block<L: Lanes>(
    l: L,
    new: &mut [f32],
    [m, v]: [&mut [f32]; 2],
    [old, grad]: [&[f32]; 2],
    step: &AdamwStep,
) {
    let (beta1, beta2) = (l.splat(step.beta1), l.splat(step.beta2));
    let (rest1, rest2) = (l.splat(1.0 - step.beta1), l.splat(1.0 - step.beta2));
    let (bias1, bias2) = (l.splat(step.bias1), l.splat(step.bias2));
    let (kept, factor) = (l.splat(step.kept), l.splat(step.factor));
    let (rate, epsilon) = (l.splat(step.rate), l.splat(step.epsilon));
    map(
        l,
        m,
        [grad],
        #[inline(always)]
        |m, [g]| l.add(l.mul(m, beta1), l.mul(l.mul(g, factor), rest1)),
    );
    map(
        l,
        v,
        [grad],
        #[inline(always)]
        |v, [g]| {
            let g = l.mul(g, factor);
            l.add(l.mul(v, beta2), l.mul(l.mul(g, g), rest2))
        },
    );
    map(
        l,
        new,
        [old, m, v],
        #[inline(always)]
        |_, [old, m, v]| {
            let deviation = l.add(l.sqrt(l.div(v, bias2)), epsilon);
            let change = l.div(l.div(m, bias1), deviation);
            l.sub(l.mul(old, kept), l.mul(change, rate))
        },
    );
}

/// Constants of a step of Muon.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MuonStep {
    /// Momentum of the velocity; the update looks ahead by it (Nesterov).
    pub(crate) momentum: f32,
    /// Learning rate.
    pub(crate) rate: f64,
    /// Decoupled weight decay.
    pub(crate) decay: f32,
    /// Factor of the gradient.
    pub(crate) factor: f32,
}

/// Coefficients of the Newton-Schulz iteration (Jordan et al. 2024).
const COEFFICIENTS: (f32, f32, f32) = (3.4445, -4.775, 2.0315);
/// Its number of steps.
const ITERATIONS: usize = 5;
/// Lowest norm of an update, which is divided by it.
const MIN_NORM: f32 = 1e-7;

/// The weights after a step, `[rows, columns]`. Updates `velocity`, which is zero before the first
/// one. The update is scaled to the typical size of AdamW's, so that both use the same learning
/// rate (Liu et al. 2025, "Muon is scalable for LLM training").
pub(crate) fn muon(
    old: &[f32],
    grad: &[f32],
    velocity: &mut [f32],
    [rows, columns]: [usize; 2],
    step: &MuonStep,
) -> Vec<f32> {
    let mut update = vec![0.0; old.len()];
    simd!(l => {
        let (momentum, factor) = (l.splat(step.momentum), l.splat(step.factor));
        map(l, velocity, [grad], #[inline(always)] |v, [g]| l.add(l.mul(v, momentum), l.mul(g, factor)));
        map(l, &mut update, [velocity, grad], #[inline(always)] |_, [v, g]| l.add(l.mul(v, momentum), l.mul(g, factor)));
    });
    let norm = (square_sum(&update).sqrt() as f32).max(MIN_NORM);
    simd!(l => {
        let norm = l.splat(norm);
        map(l, &mut update, [], #[inline(always)] |x, []| l.div(x, norm));
    });
    let mut new = orthogonal(update, rows, columns);
    let kept = (1.0 - step.rate * f64::from(step.decay)) as f32;
    let rate = (step.rate * 0.2 * (rows.max(columns) as f64).sqrt()) as f32;
    simd!(l => {
        let (kept, rate) = (l.splat(kept), l.splat(rate));
        map(l, &mut new, [old], #[inline(always)] |x, [old]| l.sub(l.mul(old, kept), l.mul(x, rate)));
    });
    new
}

/// Brings all singular values of `x`, which are at most one, close to one: Newton-Schulz iterations
/// with the smaller one of the two square products.
fn orthogonal(mut x: Vec<f32>, rows: usize, columns: usize) -> Vec<f32> {
    let (a, b, c) = COEFFICIENTS;
    let n = rows.min(columns);
    let mut next = vec![0.0; x.len()];
    let mut square = vec![0.0; n * n];
    let mut factor = vec![0.0; n * n];
    for _ in 0..ITERATIONS {
        let matrix = Matrix::new(&x, columns);
        let (left, right) = if rows > columns {
            (matrix.transposed(), matrix)
        } else {
            (matrix, matrix.transposed())
        };
        multiply(Target::new(&mut square, n), 0.0, left, right, 1.0);
        // `b * square + c * square * square`.
        factor.copy_from_slice(&square);
        let half = Matrix::new(&square, n);
        multiply(Target::new(&mut factor, n), b, half, half, c);
        next.copy_from_slice(&x);
        let factor = Matrix::new(&factor, n);
        let (left, right) = if rows > columns {
            (matrix, factor)
        } else {
            (factor, matrix)
        };
        multiply(Target::new(&mut next, columns), a, left, right, 1.0);
        std::mem::swap(&mut x, &mut next);
    }
    x
}

/// [`adamw`] in place, on this thread. All slices have the same length.
pub(crate) fn adamw_here(
    weights: &mut [f32],
    grad: &[f32],
    m: &mut [f32],
    v: &mut [f32],
    step: &AdamwStep,
) {
    simd!(l => {
        let (beta1, beta2) = (l.splat(step.beta1), l.splat(step.beta2));
        let (rest1, rest2) = (l.splat(1.0 - step.beta1), l.splat(1.0 - step.beta2));
        let (bias1, bias2) = (l.splat(1.0 / step.bias1), l.splat(1.0 / step.bias2));
        let (kept, factor) = (l.splat(step.kept), l.splat(step.factor));
        let (rate, epsilon) = (l.splat(step.rate), l.splat(step.epsilon));
        for (((weights, grad), m), v) in weights
            .chunks_mut(CACHED)
            .zip(grad.chunks(CACHED))
            .zip(m.chunks_mut(CACHED))
            .zip(v.chunks_mut(CACHED))
        {
            map(l, m, [grad], #[inline(always)] |m, [g]| {
                l.fma(m, beta1, l.mul(l.mul(g, factor), rest1))
            });
            map(l, v, [grad], #[inline(always)] |v, [g]| {
                let g = l.mul(g, factor);
                l.fma(v, beta2, l.mul(l.mul(g, g), rest2))
            });
            map(l, weights, [m, v], #[inline(always)] |old, [m, v]| {
                let deviation = l.add(l.sqrt(l.mul(v, bias2)), epsilon);
                let change = l.div(l.mul(m, bias1), deviation);
                l.sub(l.mul(old, kept), l.mul(change, rate))
            });
        }
    });
}

/// Numbers that stay in the first cache between the passes of [`adamw_here`].
const CACHED: usize = 1 << 10;
