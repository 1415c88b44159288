//! Attention of all tokens of a sequence to all of them, without positions, on this thread.
//!
//! A row of the input contains the queries of all heads, then the keys, then the values. A sequence
//! attends only to itself, so that there is no padding. Probabilities are not stored: the backward
//! pass recomputes them from the log-sum-exp.

use super::attention::{ROWS, TILE, add_transposed, copy_rows, multiply, round_up, transpose};
use super::lanes::{Lanes, dot, exp, exp_sum, map, max, simd};

/// Queries of one head with a factor, in rows of `ld`.
#[inline(always)]
fn scaled(x: &[f32], width: usize, offset: usize, d: usize, out: &mut [f32], ld: usize, by: f32) {
    for (row, out) in x.chunks_exact(width).zip(out.chunks_exact_mut(ld)) {
        for (out, x) in out.iter_mut().zip(&row[offset..offset + d]) {
            *out = x * by;
        }
    }
}

/// Attention of the sequences of `lengths`: writes rows of `hidden` to `out` and the log-sum-exp of
/// every row and head to `lse`. `x` has rows of `3 * hidden`.
pub(crate) fn forward(
    x: &[f32],
    hidden: usize,
    heads: usize,
    lengths: &[usize],
    out: &mut [f32],
    lse: &mut [f32],
) {
    let mut first = 0;
    for &len in lengths {
        let end = first + len;
        let x = &x[first * 3 * hidden..end * 3 * hidden];
        let out = &mut out[first * hidden..end * hidden];
        let lse = &mut lse[first * heads..end * heads];
        simd!(l => forward_sequence(l, x, hidden, heads, len, out, lse));
        first = end;
    }
}

#[inline(always)]
fn forward_sequence<L: Lanes>(
    l: L,
    x: &[f32],
    hidden: usize,
    heads: usize,
    len: usize,
    out: &mut [f32],
    lse: &mut [f32],
) {
    let (d, width) = (hidden / heads, 3 * hidden);
    let scale = 1.0 / (d as f32).sqrt();
    let (dp, lp, rows) = (round_up(d, TILE), round_up(len, TILE), round_up(len, ROWS));
    let mut q = vec![0.0; rows * dp];
    let mut k = vec![0.0; len * dp];
    let mut kt = vec![0.0; d * lp];
    let mut v = vec![0.0; len * dp];
    let mut p = vec![0.0; ROWS * lp];
    let mut o = vec![0.0; ROWS * dp];
    for head in 0..heads {
        scaled(x, width, head * d, d, &mut q, dp, scale);
        copy_rows(x, width, hidden + head * d, d, &mut k, dp);
        transpose(&k, len, dp, d, &mut kt, lp);
        copy_rows(x, width, 2 * hidden + head * d, d, &mut v, dp);
        for first in (0..len).step_by(ROWS) {
            let queries = &q[first * dp..(first + ROWS) * dp];
            multiply(l, queries, dp, d, &kt, lp, len, &mut p, lp);
            let count = ROWS.min(len - first);
            for r in 0..count {
                let row = &mut p[r * lp..r * lp + len];
                let top = max(l, row);
                let sum = exp_sum(l, row, top);
                lse[(first + r) * heads + head] = top + sum.ln();
                let inverse = l.splat(1.0 / sum);
                map(
                    l,
                    row,
                    [],
                    #[inline(always)]
                    |x, []| l.mul(x, inverse),
                );
            }
            multiply(l, &p, lp, len, &v, dp, d, &mut o, dp);
            for r in 0..count {
                let at = (first + r) * hidden + head * d;
                out[at..at + d].copy_from_slice(&o[r * dp..r * dp + d]);
            }
        }
    }
}

/// What [`forward`] read and wrote.
#[derive(Clone, Copy)]
pub(crate) struct Attended<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) out: &'a [f32],
    pub(crate) lse: &'a [f32],
}

/// Writes the gradient of [`forward`] with respect to its input to `dx`.
pub(crate) fn backward(
    of: Attended<'_>,
    hidden: usize,
    heads: usize,
    lengths: &[usize],
    grad: &[f32],
    dx: &mut [f32],
) {
    let mut first = 0;
    for &len in lengths {
        let part = |width: usize| first * width..(first + len) * width;
        let of = Attended {
            x: &of.x[part(3 * hidden)],
            out: &of.out[part(hidden)],
            lse: &of.lse[part(heads)],
        };
        let (grad, dx) = (&grad[part(hidden)], &mut dx[part(3 * hidden)]);
        simd!(l => backward_sequence(l, of, hidden, heads, len, grad, dx));
        first += len;
    }
}

#[inline(always)]
fn backward_sequence<L: Lanes>(
    l: L,
    of: Attended<'_>,
    hidden: usize,
    heads: usize,
    len: usize,
    grad: &[f32],
    dx: &mut [f32],
) {
    let (d, width) = (hidden / heads, 3 * hidden);
    let scale = 1.0 / (d as f32).sqrt();
    let (dp, lp, rows) = (round_up(d, TILE), round_up(len, TILE), round_up(len, ROWS));
    let mut q = vec![0.0; rows * dp];
    let mut g = vec![0.0; rows * dp];
    let mut k = vec![0.0; len * dp];
    let mut kt = vec![0.0; d * lp];
    let mut v = vec![0.0; len * dp];
    let mut vt = vec![0.0; d * lp];
    let mut p = vec![0.0; ROWS * lp];
    let mut ds = vec![0.0; ROWS * lp];
    let mut dq = vec![0.0; rows * dp];
    let mut dk = vec![0.0; len * dp];
    let mut dv = vec![0.0; len * dp];
    for head in 0..heads {
        scaled(of.x, width, head * d, d, &mut q, dp, scale);
        copy_rows(grad, hidden, head * d, d, &mut g, dp);
        copy_rows(of.x, width, hidden + head * d, d, &mut k, dp);
        transpose(&k, len, dp, d, &mut kt, lp);
        copy_rows(of.x, width, 2 * hidden + head * d, d, &mut v, dp);
        transpose(&v, len, dp, d, &mut vt, lp);
        dk.fill(0.0);
        dv.fill(0.0);
        for first in (0..len).step_by(ROWS) {
            let block = first * dp..(first + ROWS) * dp;
            multiply(l, &q[block.clone()], dp, d, &kt, lp, len, &mut p, lp);
            multiply(l, &g[block.clone()], dp, d, &vt, lp, len, &mut ds, lp);
            for r in 0..ROWS {
                let (prow, drow) = (&mut p[r * lp..][..len], &mut ds[r * lp..][..len]);
                if first + r >= len {
                    prow.fill(0.0);
                    drow.fill(0.0);
                    continue;
                }
                let at = (first + r) * hidden + head * d;
                let delta = l.splat(dot(l, &grad[at..at + d], &of.out[at..at + d]));
                let shift = l.splat(of.lse[(first + r) * heads + head]);
                map(
                    l,
                    prow,
                    [],
                    #[inline(always)]
                    |p, []| exp(l, l.sub(p, shift)),
                );
                map(
                    l,
                    drow,
                    [prow],
                    #[inline(always)]
                    |ds, [p]| l.mul(p, l.sub(ds, delta)),
                );
            }
            multiply(l, &ds, lp, len, &k, dp, d, &mut dq[block.clone()], dp);
            add_transposed(l, &ds, lp, len, &q[block.clone()], dp, &mut dk);
            add_transposed(l, &p, lp, len, &g[block], dp, &mut dv);
        }
        // The queries include the scale, so the keys' gradient does, too; the queries' gradient gets
        // it here.
        for (row, out) in dx.chunks_exact_mut(width).enumerate() {
            let at = head * d;
            let from = row * dp..row * dp + d;
            for (out, x) in out[at..at + d].iter_mut().zip(&dq[from.clone()]) {
                *out = x * scale;
            }
            out[hidden + at..hidden + at + d].copy_from_slice(&dk[from.clone()]);
            out[2 * hidden + at..2 * hidden + at + d].copy_from_slice(&dv[from]);
        }
    }
}
