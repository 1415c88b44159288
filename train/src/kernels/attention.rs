//! Causal grouped-query attention over packed segments, rotary embedding included.
//!
//! A row of the input contains the queries of all heads, then keys, then values. A segment attends
//! only to itself, so that the cost is the sum of squared segment lengths and there is no mask.
//! Probabilities are not stored: the backward pass recomputes them from the log-sum-exp.

use rayon::prelude::*;

use super::buffer::Buffer;
use super::lanes::{Lanes, dot, exp, exp_sum, map, max, simd};

/// Query rows per step: four rows of accumulators fill the vector registers.
pub(super) const ROWS: usize = 4;
/// Columns of one register tile.
pub(super) const TILE: usize = 16;

/// Shape and constants of attention.
#[derive(Clone, Debug)]
pub(crate) struct AttentionShape {
    /// Query heads.
    pub(crate) heads: usize,
    /// Key and value heads.
    pub(crate) kv_heads: usize,
    /// Width of a head.
    pub(crate) head_dim: usize,
    /// Lengths of the packed segments, in order.
    pub(crate) segments: Vec<usize>,
    /// Cosines and sines, `head_dim / 2` of each per position.
    pub(crate) rope: std::sync::Arc<RopeTable>,
}

/// Rotary angles, by position.
#[derive(Clone, Debug)]
pub(crate) struct RopeTable {
    pub(crate) cos: Vec<f32>,
    pub(crate) sin: Vec<f32>,
}

impl RopeTable {
    /// Tables for `positions` positions; every entry is multiplied by `amplitude`.
    #[must_use]
    pub(crate) fn new(inv_freq: &[f32], amplitude: f32, positions: usize) -> Self {
        let angles = || (0..positions).flat_map(|p| inv_freq.iter().map(move |f| p as f32 * f));
        Self {
            cos: angles().map(|x| x.cos() * amplitude).collect(),
            sin: angles().map(|x| x.sin() * amplitude).collect(),
        }
    }
}

impl AttentionShape {
    /// Width of a row of the input.
    pub(crate) fn width(&self) -> usize {
        (self.heads + 2 * self.kv_heads) * self.head_dim
    }
    /// Width of a row of the output.
    pub(crate) fn out_width(&self) -> usize {
        self.heads * self.head_dim
    }
    fn scale(&self) -> f32 {
        1.0 / (self.head_dim as f32).sqrt()
    }
}

/// Loads one tile of a row.
#[inline(always)]
fn tile<L: Lanes>(l: L, b: &[f32], at: usize) -> [L::V; 2] {
    let (b, _) = b[at..at + TILE].as_chunks::<8>();
    [l.load(&b[0]), l.load(&b[1])]
}

/// `out[r][..n] = a[r][..k] * b[k][..n]` for four rows. `b` and `out` have rows of `ldb` and `ldo`,
/// which must have room for `n` rounded up to whole tiles.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(super) fn multiply<L: Lanes>(
    l: L,
    a: &[f32],
    lda: usize,
    k: usize,
    b: &[f32],
    ldb: usize,
    n: usize,
    out: &mut [f32],
    ldo: usize,
) {
    let (a0, a1, a2, a3) = (
        &a[..k],
        &a[lda..lda + k],
        &a[2 * lda..2 * lda + k],
        &a[3 * lda..3 * lda + k],
    );
    for col in (0..n).step_by(TILE) {
        let mut acc = [[l.splat(0.0); 2]; ROWS];
        let rows = b.chunks_exact(ldb).zip(a0).zip(a1).zip(a2).zip(a3);
        for ((((b, x0), x1), x2), x3) in rows {
            let b = tile(l, b, col);
            let x = [l.splat(*x0), l.splat(*x1), l.splat(*x2), l.splat(*x3)];
            for r in 0..ROWS {
                acc[r][0] = l.fma(x[r], b[0], acc[r][0]);
                acc[r][1] = l.fma(x[r], b[1], acc[r][1]);
            }
        }
        for (r, acc) in acc.iter().enumerate() {
            let (out, _) = out[r * ldo + col..r * ldo + col + TILE].as_chunks_mut::<8>();
            l.store(acc[0], &mut out[0]);
            l.store(acc[1], &mut out[1]);
        }
    }
}

/// `out[j][..] += sum over r of a[r][j] * b[r][..]` for `j < n`: the contribution of four rows to a
/// transposed product.
#[inline(always)]
pub(super) fn add_transposed<L: Lanes>(
    l: L,
    a: &[f32],
    lda: usize,
    n: usize,
    b: &[f32],
    ld: usize,
    out: &mut [f32],
) {
    let (a0, a1, a2, a3) = (
        &a[..n],
        &a[lda..lda + n],
        &a[2 * lda..2 * lda + n],
        &a[3 * lda..3 * lda + n],
    );
    for col in (0..ld).step_by(TILE) {
        let b = [
            tile(l, b, col),
            tile(l, b, ld + col),
            tile(l, b, 2 * ld + col),
            tile(l, b, 3 * ld + col),
        ];
        let rows = out.chunks_exact_mut(ld).zip(a0).zip(a1).zip(a2).zip(a3);
        for ((((out, x0), x1), x2), x3) in rows {
            let (out, _) = out[col..col + TILE].as_chunks_mut::<8>();
            let x = [l.splat(*x0), l.splat(*x1), l.splat(*x2), l.splat(*x3)];
            let mut sum = [l.load(&out[0]), l.load(&out[1])];
            for r in 0..ROWS {
                sum[0] = l.fma(x[r], b[r][0], sum[0]);
                sum[1] = l.fma(x[r], b[r][1], sum[1]);
            }
            l.store(sum[0], &mut out[0]);
            l.store(sum[1], &mut out[1]);
        }
    }
}

pub(super) fn round_up(n: usize, to: usize) -> usize {
    n.div_ceil(to) * to
}

/// Copies one head's rows into rows of `ld`, rotated by their positions and multiplied by `factor`.
#[inline(always)]
fn rotated(
    shape: &AttentionShape,
    x: &[f32],
    offset: usize,
    factor: f32,
    out: &mut [f32],
    ld: usize,
) {
    let (width, half) = (shape.width(), shape.head_dim / 2);
    for (p, (row, out)) in x
        .chunks_exact(width)
        .zip(out.chunks_exact_mut(ld))
        .enumerate()
    {
        let head = &row[offset..offset + shape.head_dim];
        let (cos, sin) = (
            &shape.rope.cos[p * half..(p + 1) * half],
            &shape.rope.sin[p * half..(p + 1) * half],
        );
        let (low, high) = head.split_at(half);
        for i in 0..half {
            out[i] = (low[i] * cos[i] - high[i] * sin[i]) * factor;
            out[half + i] = (high[i] * cos[i] + low[i] * sin[i]) * factor;
        }
    }
}

/// The inverse of [`rotated`], written to the head in rows of the input's width.
#[inline(always)]
fn rotated_back(
    shape: &AttentionShape,
    x: &[f32],
    ld: usize,
    factor: f32,
    out: &mut [f32],
    offset: usize,
) {
    let (width, half) = (shape.width(), shape.head_dim / 2);
    for (p, (row, x)) in out
        .chunks_exact_mut(width)
        .zip(x.chunks_exact(ld))
        .enumerate()
    {
        let head = &mut row[offset..offset + shape.head_dim];
        let (cos, sin) = (
            &shape.rope.cos[p * half..(p + 1) * half],
            &shape.rope.sin[p * half..(p + 1) * half],
        );
        for i in 0..half {
            let (low, high) = (x[i] * factor, x[half + i] * factor);
            head[i] = low * cos[i] + high * sin[i];
            head[half + i] = high * cos[i] - low * sin[i];
        }
    }
}

#[inline(always)]
pub(super) fn copy_rows(
    x: &[f32],
    width: usize,
    offset: usize,
    len: usize,
    out: &mut [f32],
    ld: usize,
) {
    for (row, out) in x.chunks_exact(width).zip(out.chunks_exact_mut(ld)) {
        out[..len].copy_from_slice(&row[offset..offset + len]);
    }
}

#[inline(always)]
pub(super) fn transpose(
    x: &[f32],
    rows: usize,
    ld: usize,
    cols: usize,
    out: &mut [f32],
    ldo: usize,
) {
    for c in 0..cols {
        for r in 0..rows {
            out[c * ldo + r] = x[r * ld + c];
        }
    }
}

/// Splits `data`, rows of `width`, into segments.
fn split<'a>(mut data: &'a mut [f32], segments: &[usize], width: usize) -> Vec<&'a mut [f32]> {
    let mut out = Vec::with_capacity(segments.len());
    for len in segments {
        let (head, tail) = data.split_at_mut(len * width);
        out.push(head);
        data = tail;
    }
    out
}

fn starts(segments: &[usize]) -> Vec<usize> {
    let ends = segments.iter().scan(0, |at, len| {
        *at += len;
        Some(*at)
    });
    ends.zip(segments).map(|(end, len)| end - len).collect()
}

/// Attention output, rows of `heads * head_dim`, and the log-sum-exp of every row and head.
pub(crate) fn forward(x: &[f32], shape: &AttentionShape) -> (Buffer, Vec<f32>) {
    let tokens = x.len() / shape.width();
    let mut out = Buffer::unset(tokens * shape.out_width());
    let mut lse = vec![0.0; tokens * shape.heads];
    let begins = starts(&shape.segments);
    split(&mut out, &shape.segments, shape.out_width())
        .into_par_iter()
        .zip(split(&mut lse, &shape.segments, shape.heads))
        .zip(begins.par_iter().zip(&shape.segments))
        .for_each(|((out, lse), (begin, len))| {
            let x = &x[begin * shape.width()..(begin + len) * shape.width()];
            simd!(l => forward_segment(l, x, *len, shape, out, lse));
        });
    (out, lse)
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn forward_segment<L: Lanes>(
    l: L,
    x: &[f32],
    len: usize,
    shape: &AttentionShape,
    out: &mut [f32],
    lse: &mut [f32],
) {
    let (d, heads, kv_heads, width) = (shape.head_dim, shape.heads, shape.kv_heads, shape.width());
    let (dp, lp, rows) = (round_up(d, TILE), round_up(len, TILE), round_up(len, ROWS));
    let mut q = vec![0.0; rows * dp];
    let mut k = vec![0.0; len * dp];
    let mut kt = vec![0.0; d * lp];
    let mut v = vec![0.0; len * dp];
    let mut p = vec![0.0; ROWS * lp];
    let mut o = [0.0; ROWS * MAX_HEAD];
    for kv in 0..kv_heads {
        rotated(shape, x, (heads + kv) * d, 1.0, &mut k, dp);
        transpose(&k, len, dp, d, &mut kt, lp);
        copy_rows(x, width, (heads + kv_heads + kv) * d, d, &mut v, dp);
        for head in kv * (heads / kv_heads)..(kv + 1) * (heads / kv_heads) {
            rotated(shape, x, head * d, shape.scale(), &mut q, dp);
            for first in (0..len).step_by(ROWS) {
                let count = ROWS.min(len - first);
                let n = first + count;
                multiply(
                    l,
                    &q[first * dp..(first + ROWS) * dp],
                    dp,
                    d,
                    &kt,
                    lp,
                    n,
                    &mut p,
                    lp,
                );
                for r in 0..count {
                    let (row, rest) = p[r * lp..(r + 1) * lp].split_at_mut(first + r + 1);
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
                    rest.fill(0.0);
                }
                multiply(l, &p, lp, n, &v, dp, d, &mut o, dp);
                for r in 0..count {
                    let at = (first + r) * heads * d + head * d;
                    out[at..at + d].copy_from_slice(&o[r * dp..r * dp + d]);
                }
            }
        }
    }
}

/// Widest head: the largest models have 256.
pub(crate) const MAX_HEAD: usize = 256;

/// Gradient with respect to the input.
pub(crate) fn backward(
    x: &[f32],
    shape: &AttentionShape,
    out: &[f32],
    lse: &[f32],
    grad: &[f32],
) -> Buffer {
    let mut dx = Buffer::unset(x.len());
    let begins = starts(&shape.segments);
    split(&mut dx, &shape.segments, shape.width())
        .into_par_iter()
        .zip(begins.par_iter().zip(&shape.segments))
        .for_each(|(dx, (begin, len))| {
            let part = |width: usize| begin * width..(begin + len) * width;
            let (x, lse) = (&x[part(shape.width())], &lse[part(shape.heads)]);
            let (out, grad) = (
                &out[part(shape.out_width())],
                &grad[part(shape.out_width())],
            );
            simd!(l => backward_segment(l, x, *len, shape, out, lse, grad, dx));
        });
    dx
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn backward_segment<L: Lanes>(
    l: L,
    x: &[f32],
    len: usize,
    shape: &AttentionShape,
    out: &[f32],
    lse: &[f32],
    grad: &[f32],
    dx: &mut [f32],
) {
    let (d, heads, kv_heads, width) = (shape.head_dim, shape.heads, shape.kv_heads, shape.width());
    let (dp, lp, rows) = (round_up(d, TILE), round_up(len, TILE), round_up(len, ROWS));
    let out_width = shape.out_width();
    let mut q = vec![0.0; rows * dp];
    let mut g = vec![0.0; rows * dp];
    let mut k = vec![0.0; len * dp];
    let mut kt = vec![0.0; d * lp];
    let mut v = vec![0.0; len * dp];
    let mut vt = vec![0.0; d * lp];
    let mut p = vec![0.0; ROWS * lp];
    let mut ds = vec![0.0; ROWS * lp];
    let mut dq = vec![0.0; rows * dp];
    for kv in 0..kv_heads {
        let mut dk = vec![0.0; len * dp];
        let mut dv = vec![0.0; len * dp];
        rotated(shape, x, (heads + kv) * d, 1.0, &mut k, dp);
        transpose(&k, len, dp, d, &mut kt, lp);
        copy_rows(x, width, (heads + kv_heads + kv) * d, d, &mut v, dp);
        transpose(&v, len, dp, d, &mut vt, lp);
        for head in kv * (heads / kv_heads)..(kv + 1) * (heads / kv_heads) {
            rotated(shape, x, head * d, shape.scale(), &mut q, dp);
            copy_rows(grad, out_width, head * d, d, &mut g, dp);
            for first in (0..len).step_by(ROWS) {
                let count = ROWS.min(len - first);
                let n = first + count;
                let block = first * dp..(first + ROWS) * dp;
                multiply(l, &q[block.clone()], dp, d, &kt, lp, n, &mut p, lp);
                multiply(l, &g[block.clone()], dp, d, &vt, lp, n, &mut ds, lp);
                for r in 0..ROWS {
                    let live = if r < count { first + r + 1 } else { 0 };
                    let (prow, prest) = p[r * lp..(r + 1) * lp].split_at_mut(live);
                    let (drow, drest) = ds[r * lp..(r + 1) * lp].split_at_mut(live);
                    prest.fill(0.0);
                    drest.fill(0.0);
                    if live == 0 {
                        continue;
                    }
                    let shift = lse[(first + r) * heads + head];
                    let at = (first + r) * out_width + head * d;
                    let delta = dot(l, &grad[at..at + d], &out[at..at + d]);
                    let (shift, delta) = (l.splat(shift), l.splat(delta));
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
                multiply(l, &ds, lp, n, &k, dp, d, &mut dq[block.clone()], dp);
                add_transposed(l, &ds, lp, n, &q[block.clone()], dp, &mut dk);
                add_transposed(l, &p, lp, n, &g[block], dp, &mut dv);
            }
            // The queries include the scale, so the keys' gradient does, too; the queries' gradient
            // gets it here.
            rotated_back(shape, &dq, dp, shape.scale(), dx, head * d);
        }
        rotated_back(shape, &dk, dp, 1.0, dx, (heads + kv) * d);
        let offset = (heads + kv_heads + kv) * d;
        for (row, dv) in dx.chunks_exact_mut(width).zip(dv.chunks_exact(dp)) {
            row[offset..offset + d].copy_from_slice(&dv[..d]);
        }
    }
}
