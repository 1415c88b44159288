//! The kernels themselves. A plane of threads shares a row, or a thread has one value.

use cubecl::prelude::*;

/// How many of its `len` values row `row` sees. Matrices have `each` rows in groups of `group`. The last
/// group sees all values, each group one more than the group before it.
#[cube]
fn seen_by(row: usize, len: usize, each: usize, group: usize) -> usize {
    len - each / group + row % each / group + 1
}

/// Softmax of `scale` times the rows of length `len`; see [`seen_by`].
#[cube(launch)]
pub(super) fn softmax_kernel<F: Float>(
    scores: &Tensor<F>,
    shares: &mut Tensor<F>,
    rows: usize,
    len: usize,
    each: usize,
    group: usize,
    scale: f32,
    #[define(F)] _kind: ElemType,
) {
    let row = CUBE_POS * CUBE_DIM_Y as usize + UNIT_POS_Y as usize;
    if row >= rows {
        terminate!();
    }
    let (lane, step) = (UNIT_POS_X as usize, CUBE_DIM_X as usize);
    let (begin, seen) = (row * len, seen_by(row, len, each, group));
    let mut most = f32::min_value();
    let mut at = lane;
    while at < seen {
        most = most.max(f32::cast_from(scores[begin + at]));
        at += step;
    }
    let most = plane_max(most);
    let mut sum = 0.0f32;
    let mut at = lane;
    while at < seen {
        sum += ((f32::cast_from(scores[begin + at]) - most) * scale).exp();
        at += step;
    }
    let share = 1.0f32 / plane_sum(sum);
    let mut at = lane;
    while at < len {
        if at < seen {
            let e = ((f32::cast_from(scores[begin + at]) - most) * scale).exp();
            shares[begin + at] = F::cast_from(e * share);
        } else {
            shares[begin + at] = F::cast_from(0.0f32);
        }
        at += step;
    }
}

/// The gradient of the scores from the shares and their gradient.
#[cube(launch)]
pub(super) fn softmax_gradient_kernel<F: Float>(
    shares: &Tensor<F>,
    grad: &Tensor<F>,
    out: &mut Tensor<F>,
    rows: usize,
    len: usize,
    scale: f32,
    #[define(F)] _kind: ElemType,
) {
    let row = CUBE_POS * CUBE_DIM_Y as usize + UNIT_POS_Y as usize;
    if row >= rows {
        terminate!();
    }
    let (lane, step) = (UNIT_POS_X as usize, CUBE_DIM_X as usize);
    let begin = row * len;
    let mut sum = 0.0f32;
    let mut at = lane;
    while at < len {
        sum += f32::cast_from(shares[begin + at]) * f32::cast_from(grad[begin + at]);
        at += step;
    }
    let sum = plane_sum(sum);
    let mut at = lane;
    while at < len {
        let share = f32::cast_from(shares[begin + at]);
        let rest = f32::cast_from(grad[begin + at]) - sum;
        out[begin + at] = F::cast_from(share * rest * scale);
        at += step;
    }
}

/// RMS norm of rows of `width`.
#[cube(launch)]
pub(super) fn norm_kernel<I: Float, O: Float>(
    x: &Tensor<I>,
    weight: &Tensor<f32>,
    out: &mut Tensor<O>,
    rows: usize,
    width: usize,
    eps: f32,
    #[define(I, O)] _kinds: [ElemType; 2],
) {
    let row = CUBE_POS * CUBE_DIM_Y as usize + UNIT_POS_Y as usize;
    if row >= rows {
        terminate!();
    }
    let (lane, step, begin) = (UNIT_POS_X as usize, CUBE_DIM_X as usize, row * width);
    let mut sum = 0.0f32;
    let mut at = lane;
    while at < width {
        let value = f32::cast_from(x[begin + at]);
        sum += value * value;
        at += step;
    }
    let scale = 1.0f32 / (plane_sum(sum) / f32::cast_from(width) + eps).sqrt();
    let mut at = lane;
    while at < width {
        out[begin + at] = O::cast_from(f32::cast_from(x[begin + at]) * scale * weight[at]);
        at += step;
    }
}

/// The gradient of the norm's input.
#[cube(launch)]
pub(super) fn norm_gradient_kernel<I: Float, O: Float>(
    x: &Tensor<I>,
    weight: &Tensor<f32>,
    grad: &Tensor<O>,
    out: &mut Tensor<I>,
    rows: usize,
    width: usize,
    eps: f32,
    #[define(I, O)] _kinds: [ElemType; 2],
) {
    let row = CUBE_POS * CUBE_DIM_Y as usize + UNIT_POS_Y as usize;
    if row >= rows {
        terminate!();
    }
    let (lane, step, begin) = (UNIT_POS_X as usize, CUBE_DIM_X as usize, row * width);
    let mut squares = 0.0f32;
    let mut sum = 0.0f32;
    let mut at = lane;
    while at < width {
        let value = f32::cast_from(x[begin + at]);
        squares += value * value;
        sum += f32::cast_from(grad[begin + at]) * weight[at] * value;
        at += step;
    }
    let scale = 1.0f32 / (plane_sum(squares) / f32::cast_from(width) + eps).sqrt();
    let along = plane_sum(sum) * scale * scale / f32::cast_from(width);
    let mut at = lane;
    while at < width {
        let grad = f32::cast_from(grad[begin + at]) * weight[at];
        let value = f32::cast_from(x[begin + at]);
        out[begin + at] = I::cast_from((grad - value * along) * scale);
        at += step;
    }
}

/// `silu(gate) * up` of rows of `2 * inner`.
#[cube(launch)]
pub(super) fn gated_kernel<F: Float>(
    x: &Tensor<F>,
    out: &mut Tensor<F>,
    count: usize,
    inner: usize,
    #[define(F)] _kind: ElemType,
) {
    let at = ABSOLUTE_POS;
    if at >= count {
        terminate!();
    }
    let begin = at / inner * inner + at;
    let gate = f32::cast_from(x[begin]);
    let up = f32::cast_from(x[begin + inner]);
    out[at] = F::cast_from(gate / (1.0f32 + (-gate).exp()) * up);
}

/// The gradient of gates and ups.
#[cube(launch)]
pub(super) fn gated_gradient_kernel<F: Float>(
    x: &Tensor<F>,
    grad: &Tensor<F>,
    out: &mut Tensor<F>,
    count: usize,
    inner: usize,
    #[define(F)] _kind: ElemType,
) {
    let at = ABSOLUTE_POS;
    if at >= count {
        terminate!();
    }
    let begin = at / inner * inner + at;
    let gate = f32::cast_from(x[begin]);
    let up = f32::cast_from(x[begin + inner]);
    let grad = f32::cast_from(grad[at]);
    let open = 1.0f32 / (1.0f32 + (-gate).exp());
    out[begin] = F::cast_from(grad * up * open * (1.0f32 + gate * (1.0f32 - open)));
    out[begin + inner] = F::cast_from(grad * gate * open);
}

/// Rotates the first `turned` values of every row of `width` in heads of `2 * half`, half against
/// half, by the row's angles; against them if `sign` is negative.
#[cube(launch)]
pub(super) fn rotate_kernel<F: Float>(
    x: &Tensor<F>,
    cos: &Tensor<f32>,
    sin: &Tensor<f32>,
    out: &mut Tensor<F>,
    count: usize,
    width: usize,
    turned: usize,
    half: usize,
    sign: f32,
    #[define(F)] _kind: ElemType,
) {
    let at = ABSOLUTE_POS;
    if at >= count {
        terminate!();
    }
    let (row, column) = (at / width, at % width);
    if column >= turned {
        out[at] = x[at];
    } else {
        let place = column % (2 * half);
        let value = f32::cast_from(x[at]);
        if place < half {
            let angle = row * half + place;
            let other = f32::cast_from(x[at + half]);
            out[at] = F::cast_from(value * cos[angle] - other * sin[angle] * sign);
        } else {
            let angle = row * half + place - half;
            let other = f32::cast_from(x[at - half]);
            out[at] = F::cast_from(value * cos[angle] + other * sin[angle] * sign);
        }
    }
}

/// Surprise of the targets under the softmax of each row.
#[cube(launch)]
pub(super) fn surprise_kernel<F: Float, I: Int>(
    logits: &Tensor<F>,
    targets: &Tensor<I>,
    out: &mut Tensor<f32>,
    rows: usize,
    width: usize,
    #[define(F, I)] _kinds: [ElemType; 2],
) {
    let row = CUBE_POS * CUBE_DIM_Y as usize + UNIT_POS_Y as usize;
    if row >= rows {
        terminate!();
    }
    let begin = row * width;
    let (most, sum) = row_sum::<F>(logits, begin, width);
    if UNIT_POS_X == 0 {
        let right = f32::cast_from(logits[begin + usize::cast_from(targets[row])]);
        out[row] = sum.ln() + most - right;
    }
}

/// The gradient of the logits, times `scale`.
#[cube(launch)]
pub(super) fn surprise_gradient_kernel<F: Float, I: Int>(
    logits: &Tensor<F>,
    targets: &Tensor<I>,
    out: &mut Tensor<F>,
    rows: usize,
    width: usize,
    scale: f32,
    #[define(F, I)] _kinds: [ElemType; 2],
) {
    let row = CUBE_POS * CUBE_DIM_Y as usize + UNIT_POS_Y as usize;
    if row >= rows {
        terminate!();
    }
    let begin = row * width;
    let (most, sum) = row_sum::<F>(logits, begin, width);
    let target = usize::cast_from(targets[row]);
    let mut at = UNIT_POS_X as usize;
    while at < width {
        let mut share = (f32::cast_from(logits[begin + at]) - most).exp() / sum;
        if at == target {
            share -= 1.0f32;
        }
        out[begin + at] = F::cast_from(share * scale);
        at += CUBE_DIM_X as usize;
    }
}

/// The largest value of a row, and the sum of the exponentials of its values' distances to it.
#[cube]
fn row_sum<F: Float>(x: &Tensor<F>, begin: usize, width: usize) -> (f32, f32) {
    let (lane, step) = (UNIT_POS_X as usize, CUBE_DIM_X as usize);
    let mut most = f32::min_value();
    let mut at = lane;
    while at < width {
        most = most.max(f32::cast_from(x[begin + at]));
        at += step;
    }
    let most = plane_max(most);
    let mut sum = 0.0f32;
    let mut at = lane;
    while at < width {
        sum += (f32::cast_from(x[begin + at]) - most).exp();
        at += step;
    }
    (most, plane_sum(sum))
}

/// Every plane's part of the sum of the squares of `count` values. All planes have `threads` threads.
#[cube(launch)]
pub(super) fn square_sums_kernel(
    x: &Tensor<f32>,
    out: &mut Tensor<f32>,
    count: usize,
    threads: usize,
) {
    let plane = CUBE_POS * CUBE_DIM_Y as usize + UNIT_POS_Y as usize;
    let mut sum = 0.0f32;
    let mut at = ABSOLUTE_POS;
    while at < count {
        sum += x[at] * x[at];
        at += threads;
    }
    let sum = plane_sum(sum);
    if UNIT_POS_X == 0 {
        out[plane] = sum;
    }
}

/// A step of AdamW; see [`crate::ops::AdamwStep`].
#[cube(launch)]
pub(super) fn adamw_kernel(
    old: &Tensor<f32>,
    grad: &Tensor<f32>,
    first: &Tensor<f32>,
    second: &Tensor<f32>,
    new: &mut Tensor<f32>,
    new_first: &mut Tensor<f32>,
    new_second: &mut Tensor<f32>,
    count: usize,
    beta1: f32,
    beta2: f32,
    bias1: f32,
    bias2: f32,
    epsilon: f32,
    rate: f32,
    kept: f32,
    factor: f32,
) {
    let at = ABSOLUTE_POS;
    if at >= count {
        terminate!();
    }
    let grad = grad[at] * factor;
    let first = first[at] * beta1 + grad * (1.0f32 - beta1);
    let second = second[at] * beta2 + grad * grad * (1.0f32 - beta2);
    new_first[at] = first;
    new_second[at] = second;
    let deviation = (second / bias2).sqrt() + epsilon;
    new[at] = old[at] * kept - first / bias1 / deviation * rate;
}
