//! RMS norm, forward and backward.

use rayon::prelude::*;

use super::{BLOCK_ROWS, dot, simd};

/// `y = x / rms(x) * w` per row; also returns `1 / rms(x)` of every row for [`backward`].
pub(crate) fn forward(x: &[f32], w: &[f32], eps: f32) -> (Vec<f32>, Vec<f32>) {
    let width = w.len();
    let mut y = vec![0.0; x.len()];
    let mut inverse = vec![0.0; x.len() / width];
    y.par_chunks_mut(BLOCK_ROWS * width).zip(inverse.par_chunks_mut(BLOCK_ROWS)).zip(x.par_chunks(BLOCK_ROWS * width)).for_each(
        |((y, inverse), x)| {
            simd(#[inline(always)] || {
                for ((y, r), x) in y.chunks_exact_mut(width).zip(inverse).zip(x.chunks_exact(width)) {
                    *r = 1.0 / (dot(x, x) / width as f32 + eps).sqrt();
                    for ((y, x), w) in y.iter_mut().zip(x).zip(w) {
                        *y = x * *r * w;
                    }
                }
            });
        },
    );
    (y, inverse)
}

/// Gradients of [`forward`] with respect to `x` and `w`.
pub(crate) fn backward(x: &[f32], w: &[f32], inverse: &[f32], grad: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let width = w.len();
    let mut dx = vec![0.0; x.len()];
    let partial: Vec<Vec<f32>> = dx
        .par_chunks_mut(BLOCK_ROWS * width)
        .zip(x.par_chunks(BLOCK_ROWS * width))
        .zip(grad.par_chunks(BLOCK_ROWS * width))
        .zip(inverse.par_chunks(BLOCK_ROWS))
        .map(|(((dx, x), grad), inverse)| {
            let mut dw = vec![0.0_f32; width];
            let mut scaled = vec![0.0_f32; width];
            simd(#[inline(always)] || {
                let rows = dx.chunks_exact_mut(width).zip(x.chunks_exact(width)).zip(grad.chunks_exact(width)).zip(inverse);
                for (((dx, x), grad), r) in rows {
                    for i in 0..width {
                        scaled[i] = grad[i] * w[i];
                        dw[i] = (grad[i] * r).mul_add(x[i], dw[i]);
                    }
                    let c = dot(&scaled, x) * r * r / width as f32;
                    for i in 0..width {
                        dx[i] = r * (-c).mul_add(x[i], scaled[i]);
                    }
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
    (dx, dw)
}
