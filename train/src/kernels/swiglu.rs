//! `silu(gate) * up` on rows that contain gate and up.

use rayon::prelude::*;

use super::BLOCK_ROWS;
use super::buffer::Buffer;
use super::lanes::{Lanes as _, exp, map, simd};

/// Maps rows of `2 * inner` to rows of `inner`.
pub(crate) fn forward(x: &[f32], inner: usize) -> Buffer {
    let mut y = Buffer::unset(x.len() / 2);
    y.par_chunks_mut(BLOCK_ROWS * inner).zip(x.par_chunks(BLOCK_ROWS * 2 * inner)).for_each(|(y, x)| {
        simd!(l => {
            let (zero, one) = (l.splat(0.0), l.splat(1.0));
            for (y, x) in y.chunks_exact_mut(inner).zip(x.chunks_exact(2 * inner)) {
                let (gate, up) = x.split_at(inner);
                map(l, y, [gate, up], #[inline(always)] |_, [g, u]| l.mul(l.div(g, l.add(one, exp(l, l.sub(zero, g)))), u));
            }
        });
    });
    y
}

/// Gradient of [`forward`] with respect to its input.
pub(crate) fn backward(x: &[f32], inner: usize, grad: &[f32]) -> Buffer {
    let mut dx = Buffer::unset(x.len());
    dx.par_chunks_mut(BLOCK_ROWS * 2 * inner).zip(x.par_chunks(BLOCK_ROWS * 2 * inner)).zip(grad.par_chunks(BLOCK_ROWS * inner)).for_each(
        |((dx, x), grad)| {
            simd!(l => {
                let (zero, one) = (l.splat(0.0), l.splat(1.0));
                let rows = dx.chunks_exact_mut(2 * inner).zip(x.chunks_exact(2 * inner)).zip(grad.chunks_exact(inner));
                for ((dx, x), grad) in rows {
                    let (gate, up) = x.split_at(inner);
                    let (dgate, dup) = dx.split_at_mut(inner);
                    // `dgate` first contains the sigmoid, then the gradient.
                    map(l, dgate, [gate], #[inline(always)] |_, [g]| l.div(one, l.add(one, exp(l, l.sub(zero, g)))));
                    map(l, dup, [grad, gate, dgate], #[inline(always)] |_, [d, g, s]| l.mul(d, l.mul(g, s)));
                    map(l, dgate, [grad, gate, up], #[inline(always)] |s, [d, g, u]| {
                        l.mul(l.mul(d, u), l.fma(l.mul(g, s), l.sub(one, s), s))
                    });
                }
            });
        },
    );
    dx
}
