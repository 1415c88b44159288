//! RMS norm, forward and backward.

use rayon::prelude::*;

use super::BLOCK_ROWS;
use super::buffer::Buffer;
use super::lanes::{Lanes as _, dot, map, simd};

/// `y = x / rms(x) * w` per row, and `1 / rms(x)` of every row for [`backward`].
pub(crate) fn forward(x: &[f32], w: &[f32], eps: f32) -> (Buffer, Vec<f32>) {
    let width = w.len();
    let mut y = Buffer::unset(x.len());
    let mut inverse = vec![0.0; x.len() / width];
    y.par_chunks_mut(BLOCK_ROWS * width).zip(inverse.par_chunks_mut(BLOCK_ROWS)).zip(x.par_chunks(BLOCK_ROWS * width)).for_each(
        |((y, inverse), x)| {
            simd!(l => {
                for ((y, r), x) in y.chunks_exact_mut(width).zip(inverse).zip(x.chunks_exact(width)) {
                    *r = 1.0 / (dot(l, x, x) / width as f32 + eps).sqrt();
                    let factor = l.splat(*r);
                    map(l, y, [x, w], #[inline(always)] |_, [x, w]| l.mul(l.mul(x, factor), w));
                }
            });
        },
    );
    (y, inverse)
}

/// Adds the gradient of [`forward`] with respect to `x` to `dx` and returns the gradient with
/// respect to `w`.
pub(crate) fn backward(
    x: &[f32],
    w: &[f32],
    inverse: &[f32],
    grad: &[f32],
    dx: &mut [f32],
) -> Vec<f32> {
    let width = w.len();
    let partial: Vec<Vec<f32>> = dx
        .par_chunks_mut(BLOCK_ROWS * width)
        .zip(x.par_chunks(BLOCK_ROWS * width))
        .zip(grad.par_chunks(BLOCK_ROWS * width))
        .zip(inverse.par_chunks(BLOCK_ROWS))
        .map(|(((dx, x), grad), inverse)| {
            let mut dw = vec![0.0_f32; width];
            let mut scaled = vec![0.0_f32; width];
            simd!(l => {
                let rows = dx.chunks_exact_mut(width).zip(x.chunks_exact(width)).zip(grad.chunks_exact(width)).zip(inverse);
                for (((dx, x), grad), r) in rows {
                    let factor = l.splat(*r);
                    map(l, &mut dw, [x, grad], #[inline(always)] |dw, [x, g]| l.fma(l.mul(g, factor), x, dw));
                    map(l, &mut scaled, [grad, w], #[inline(always)] |_, [g, w]| l.mul(g, w));
                    let c = l.splat(-dot(l, &scaled, x) * r * r / width as f32);
                    map(l, dx, [x, &scaled], #[inline(always)] |dx, [x, scaled]| l.fma(factor, l.fma(c, x, scaled), dx));
                }
            });
            dw
        })
        .collect();
    let mut dw = vec![0.0; width];
    for block in &partial {
        for (sum, x) in dw.iter_mut().zip(block) {
            *sum += x;
        }
    }
    dw
}
