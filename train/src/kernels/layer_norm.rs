//! LayerNorm, forward and backward, on this thread.

use super::lanes::{Lanes, dot, map, simd, total};

#[inline(always)]
fn sum<L: Lanes>(l: L, x: &[f32]) -> f32 {
    let (chunks, rest) = x.as_chunks::<8>();
    let mut sum = l.splat(0.0);
    for chunk in chunks {
        sum = l.add(sum, l.load(chunk));
    }
    rest.iter().fold(total(l, sum), |sum, x| sum + x)
}

/// Replaces every row of `x` by `hat * w + b`, where `hat` is the row with mean 0 and variance 1.
/// Writes `hat` and the factor that made it, for [`backward`].
pub(crate) fn forward(
    x: &mut [f32],
    w: &[f32],
    b: &[f32],
    eps: f32,
    hat: &mut [f32],
    inverse: &mut [f32],
) {
    let width = w.len();
    simd!(l => {
        let rows = x.chunks_exact_mut(width).zip(hat.chunks_exact_mut(width)).zip(inverse);
        for ((x, hat), inverse) in rows {
            let mean = l.splat(sum(l, x) / width as f32);
            map(l, hat, [x], #[inline(always)] |_, [x]| l.sub(x, mean));
            *inverse = 1.0 / (dot(l, hat, hat) / width as f32 + eps).sqrt();
            let factor = l.splat(*inverse);
            map(l, hat, [], #[inline(always)] |hat, []| l.mul(hat, factor));
            map(l, x, [hat, w, b], #[inline(always)] |_, [hat, w, b]| l.fma(hat, w, b));
        }
    });
}

/// Replaces the gradient `grad` with respect to the output of [`forward`] by that with respect to its
/// input. Writes the gradients with respect to `w` and `b`.
pub(crate) fn backward(
    grad: &mut [f32],
    w: &[f32],
    hat: &[f32],
    inverse: &[f32],
    dw: &mut [f32],
    db: &mut [f32],
) {
    let width = w.len();
    dw.fill(0.0);
    db.fill(0.0);
    simd!(l => {
        let rows = grad.chunks_exact_mut(width).zip(hat.chunks_exact(width)).zip(inverse);
        for ((grad, hat), inverse) in rows {
            map(l, dw, [grad, hat], #[inline(always)] |dw, [g, hat]| l.fma(g, hat, dw));
            map(l, db, [grad], #[inline(always)] |db, [g]| l.add(db, g));
            map(l, grad, [w], #[inline(always)] |g, [w]| l.mul(g, w));
            let mean = l.splat(sum(l, grad) / width as f32);
            let along = l.splat(-dot(l, grad, hat) / width as f32);
            let factor = l.splat(*inverse);
            map(l, grad, [hat], #[inline(always)] |g, [hat]| {
                l.mul(factor, l.fma(along, hat, l.sub(g, mean)))
            });
        }
    });
}
