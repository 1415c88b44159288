//! `silu(gate) * up` on rows that hold gate and up side by side.

use rayon::prelude::*;

use super::{BLOCK_ROWS, exp, simd};

/// Rows of `2 * inner` to rows of `inner`.
pub(crate) fn forward(x: &[f32], inner: usize) -> Vec<f32> {
    let mut y = vec![0.0; x.len() / 2];
    y.par_chunks_mut(BLOCK_ROWS * inner).zip(x.par_chunks(BLOCK_ROWS * 2 * inner)).for_each(|(y, x)| {
        simd(#[inline(always)] || {
            for (y, x) in y.chunks_exact_mut(inner).zip(x.chunks_exact(2 * inner)) {
                let (gate, up) = x.split_at(inner);
                for ((y, g), u) in y.iter_mut().zip(gate).zip(up) {
                    *y = g / (1.0 + exp(-g)) * u;
                }
            }
        });
    });
    y
}

/// Gradient of [`forward`] with respect to its input.
pub(crate) fn backward(x: &[f32], inner: usize, grad: &[f32]) -> Vec<f32> {
    let mut dx = vec![0.0; x.len()];
    dx.par_chunks_mut(BLOCK_ROWS * 2 * inner).zip(x.par_chunks(BLOCK_ROWS * 2 * inner)).zip(grad.par_chunks(BLOCK_ROWS * inner)).for_each(
        |((dx, x), grad)| {
            simd(#[inline(always)] || {
                let rows = dx.chunks_exact_mut(2 * inner).zip(x.chunks_exact(2 * inner)).zip(grad.chunks_exact(inner));
                for ((dx, x), grad) in rows {
                    let (gate, up) = x.split_at(inner);
                    let (dgate, dup) = dx.split_at_mut(inner);
                    for i in 0..inner {
                        let s = 1.0 / (1.0 + exp(-gate[i]));
                        let silu = gate[i] * s;
                        dup[i] = grad[i] * silu;
                        dgate[i] = grad[i] * up[i] * (silu.mul_add(1.0 - s, s));
                    }
                }
            });
        },
    );
    dx
}
