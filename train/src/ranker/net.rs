//! The parameters of a ranker, and its arithmetic forward and backward on one thread.
//!
//! Pairs are concatenated as rows without padding: `[tokens, hidden]`. A layer is attention, the sum
//! with its input, a norm, a feed-forward block, the sum with its input, a norm. The logit of a pair
//! is a linear function of the mean of its last rows.

use std::ops::Range;

use model::PairTokens;
use model::encoder::Activation;

use super::shape::{Affine, LayerSlots, RankerShape};
use crate::kernels::lanes::{Lanes as _, dot, map, simd};
use crate::kernels::product::{Matrix, Target, multiply_here};
use crate::kernels::two_way::{self, Attended};
use crate::kernels::{gelu, layer_norm};

/// The parameters.
#[derive(Clone, Debug)]
pub(crate) struct Net {
    pub(crate) shape: RankerShape,
    /// The word embedding, `[vocab_size, hidden]`.
    pub(crate) words: Vec<f32>,
    /// All other parameters, as `shape` places them.
    pub(crate) dense: Vec<f32>,
}

/// What the backward pass of a layer needs; rows of `hidden` unless stated.
#[derive(Default)]
struct LayerMemory {
    /// The input.
    x: Vec<f32>,
    /// Queries, keys and values: rows of `3 * hidden`.
    qkv: Vec<f32>,
    mixed: Vec<f32>,
    lse: Vec<f32>,
    /// After the first norm.
    mid: Vec<f32>,
    mid_hat: Vec<f32>,
    mid_inverse: Vec<f32>,
    /// The activations inside the feed-forward block and their derivatives: rows of `inner`.
    act: Vec<f32>,
    slope: Vec<f32>,
    out_hat: Vec<f32>,
    out_inverse: Vec<f32>,
}

/// Work memory of one thread, kept between passes.
#[derive(Default)]
pub(crate) struct Memory {
    layers: Vec<LayerMemory>,
    /// The rows behind the last layer.
    out: Vec<f32>,
    embed_hat: Vec<f32>,
    embed_inverse: Vec<f32>,
    /// Means of the last rows, a row per pair.
    means: Vec<f32>,
    /// Of the backward pass.
    grad: Vec<f32>,
    grad_mixed: Vec<f32>,
    grad_wide: Vec<f32>,
}

/// Gradients of one pass.
#[derive(Default)]
pub(crate) struct Gradients {
    /// Of the dense parameters.
    pub(crate) dense: Vec<f32>,
    /// The words of the pass, sorted.
    pub(crate) ids: Vec<u32>,
    /// Gradients of their rows.
    pub(crate) rows: Vec<f32>,
}

/// The first `len` numbers of work memory, whatever they are.
fn room(memory: &mut Vec<f32>, len: usize) -> &mut [f32] {
    if memory.len() < len {
        memory.resize(len, 0.0);
    }
    &mut memory[..len]
}

/// `out = x * weight^T + bias`.
fn linear(x: &[f32], inputs: usize, weight: &[f32], bias: &[f32], out: &mut [f32]) {
    let outputs = bias.len();
    multiply_here(
        Target::new(out, outputs),
        0.0,
        Matrix::new(x, inputs),
        Matrix::new(weight, inputs).transposed(),
    );
    simd!(l => {
        for row in out.chunks_exact_mut(outputs) {
            map(l, row, [bias], #[inline(always)] |y, [bias]| l.add(y, bias));
        }
    });
}

/// `dx = keep * dx + grad * weight`: the gradient of [`linear`] with respect to `x`.
fn linear_input(grad: &[f32], outputs: usize, weight: &[f32], keep: f32, dx: &mut [f32]) {
    let inputs = weight.len() / outputs;
    multiply_here(
        Target::new(dx, inputs),
        keep,
        Matrix::new(grad, outputs),
        Matrix::new(weight, inputs),
    );
}

/// The gradients of [`linear`] with respect to weight and bias, written into `dense`.
fn linear_weight(grad: &[f32], x: &[f32], inputs: usize, at: &Affine, dense: &mut [f32]) {
    let outputs = at.bias.len();
    multiply_here(
        Target::new(&mut dense[at.weight.clone()], inputs),
        0.0,
        Matrix::new(grad, outputs).transposed(),
        Matrix::new(x, inputs),
    );
    let sums = &mut dense[at.bias.clone()];
    sums.fill(0.0);
    simd!(l => {
        for row in grad.chunks_exact(outputs) {
            map(l, sums, [row], #[inline(always)] |sum, [x]| l.add(sum, x));
        }
    });
}

fn add(sum: &mut [f32], x: &[f32]) {
    simd!(l => map(l, sum, [x], #[inline(always)] |sum, [x]| l.add(sum, x)));
}

/// `sum += factor * x`.
fn add_scaled(sum: &mut [f32], x: &[f32], factor: f32) {
    simd!(l => {
        let factor = l.splat(factor);
        map(l, sum, [x], #[inline(always)] |sum, [x]| l.fma(x, factor, sum));
    });
}

/// Replaces `x` by its activation and writes the derivative to `slope`.
fn activate(kind: Activation, x: &mut [f32], slope: &mut [f32]) {
    match kind {
        Activation::Gelu => gelu::forward(x, slope),
        Activation::Relu => {
            for (x, slope) in x.iter_mut().zip(slope) {
                *slope = if *x > 0.0 { 1.0 } else { 0.0 };
                *x *= *slope;
            }
        }
        Activation::GeluTanh => {
            let scale = (2.0 / std::f32::consts::PI).sqrt();
            for (x, slope) in x.iter_mut().zip(slope) {
                let v = *x;
                let tanh = (scale * (v + 0.044_715 * v * v * v)).tanh();
                let inner = scale * (1.0 + 3.0 * 0.044_715 * v * v);
                *slope = 0.5 * (1.0 + tanh) + 0.5 * v * (1.0 - tanh * tanh) * inner;
                *x = 0.5 * v * (1.0 + tanh);
            }
        }
    }
}

/// The rows of each pair.
fn spans(pairs: &[&PairTokens]) -> impl Iterator<Item = Range<usize>> {
    let mut end = 0;
    pairs.iter().map(move |pair| {
        let first = end;
        end += pair.ids.len();
        first..end
    })
}

impl Net {
    fn part(&self, at: &Range<usize>) -> &[f32] {
        &self.dense[at.clone()]
    }

    /// Logits of the pairs, in order. For [`Net::backward`], `keep` keeps every layer's values.
    pub(crate) fn forward(
        &self,
        pairs: &[&PairTokens],
        memory: &mut Memory,
        keep: bool,
    ) -> Vec<f32> {
        let config = &self.shape.config;
        let hidden = config.hidden_size;
        let lengths: Vec<usize> = pairs.iter().map(|pair| pair.ids.len()).collect();
        let rows: usize = lengths.iter().sum();
        let count = if keep { config.layers } else { 1 };
        while memory.layers.len() < count.max(1) {
            memory.layers.push(LayerMemory::default());
        }
        self.embed(pairs, rows, memory);
        for (index, layer) in self.shape.layers.iter().enumerate() {
            let of = &mut memory.layers[if keep { index } else { 0 }];
            std::mem::swap(&mut of.x, &mut memory.out);
            let out = room(&mut memory.out, rows * hidden);
            self.layer(layer, &lengths, rows, of, out);
        }
        let means = room(&mut memory.means, pairs.len() * hidden);
        means.fill(0.0);
        for (span, mean) in spans(pairs).zip(means.chunks_exact_mut(hidden)) {
            let factor = 1.0 / span.len() as f32;
            for row in memory.out[span.start * hidden..span.end * hidden].chunks_exact(hidden) {
                add_scaled(mean, row, factor);
            }
        }
        let head = self.part(&self.shape.head.weight);
        let bias = self.dense[self.shape.head.bias.start];
        let means = means.chunks_exact(hidden);
        means
            .map(|mean| simd!(l => dot(l, mean, head)) + bias)
            .collect()
    }

    /// Writes the embeddings of all tokens to `memory.out`.
    fn embed(&self, pairs: &[&PairTokens], rows: usize, memory: &mut Memory) {
        let shape = &self.shape;
        let hidden = shape.config.hidden_size;
        let (positions, types) = (self.part(&shape.positions), self.part(&shape.types));
        let row_of = |row: usize| row * hidden..(row + 1) * hidden;
        let out = room(&mut memory.out, rows * hidden);
        let mut rows_left = out.chunks_exact_mut(hidden);
        for pair in pairs {
            for ((at, &id), row) in pair.ids.iter().enumerate().zip(&mut rows_left) {
                row.copy_from_slice(&self.words[row_of(id as usize)]);
                let position = shape.config.first_position + at;
                add(row, &positions[row_of(position)]);
                add(row, &types[row_of(self.kind(pair, at))]);
            }
        }
        layer_norm::forward(
            out,
            self.part(&shape.norm.weight),
            self.part(&shape.norm.bias),
            shape.config.layer_norm_eps,
            room(&mut memory.embed_hat, rows * hidden),
            room(&mut memory.embed_inverse, rows),
        );
    }

    /// The row of the token type embedding for a token of a pair.
    fn kind(&self, pair: &PairTokens, at: usize) -> usize {
        usize::from(at >= pair.first).min(self.shape.config.token_types - 1)
    }

    fn layer(
        &self,
        layer: &LayerSlots,
        lengths: &[usize],
        rows: usize,
        of: &mut LayerMemory,
        out: &mut [f32],
    ) {
        let config = &self.shape.config;
        let (hidden, inner, eps) = (
            config.hidden_size,
            config.intermediate_size,
            config.layer_norm_eps,
        );
        let weights = |at: &Affine| (self.part(&at.weight), self.part(&at.bias));
        let x = &of.x[..rows * hidden];
        let qkv = room(&mut of.qkv, rows * 3 * hidden);
        let (w, b) = weights(&layer.qkv);
        linear(x, hidden, w, b, qkv);
        let mixed = room(&mut of.mixed, rows * hidden);
        let lse = room(&mut of.lse, rows * config.heads);
        two_way::forward(qkv, hidden, config.heads, lengths, mixed, lse);
        let mid = room(&mut of.mid, rows * hidden);
        let (w, b) = weights(&layer.mix);
        linear(mixed, hidden, w, b, mid);
        add(mid, x);
        let (w, b) = weights(&layer.mix_norm);
        let hat = room(&mut of.mid_hat, rows * hidden);
        layer_norm::forward(mid, w, b, eps, hat, room(&mut of.mid_inverse, rows));
        let act = room(&mut of.act, rows * inner);
        let (w, b) = weights(&layer.up);
        linear(mid, hidden, w, b, act);
        activate(config.activation, act, room(&mut of.slope, rows * inner));
        let (w, b) = weights(&layer.down);
        linear(act, inner, w, b, out);
        add(out, mid);
        let (w, b) = weights(&layer.down_norm);
        let hat = room(&mut of.out_hat, rows * hidden);
        layer_norm::forward(out, w, b, eps, hat, room(&mut of.out_inverse, rows));
    }

    /// Gradients of a loss whose derivatives by the logits of the last [`Net::forward`] with `keep`
    /// are `slopes`.
    pub(crate) fn backward(
        &self,
        pairs: &[&PairTokens],
        slopes: &[f32],
        memory: &mut Memory,
        out: &mut Gradients,
    ) {
        let shape = &self.shape;
        let hidden = shape.config.hidden_size;
        let lengths: Vec<usize> = pairs.iter().map(|pair| pair.ids.len()).collect();
        let rows: usize = lengths.iter().sum();
        let dense = room(&mut out.dense, shape.dense());
        dense[shape.head.weight.clone()].fill(0.0);
        dense[shape.head.bias.start] = slopes.iter().sum();
        let head = self.part(&shape.head.weight);
        let grad = room(&mut memory.grad, rows * hidden);
        let means = memory.means.chunks_exact(hidden);
        for ((span, mean), slope) in spans(pairs).zip(means).zip(slopes) {
            add_scaled(&mut dense[shape.head.weight.clone()], mean, *slope);
            let factor = slope / span.len() as f32;
            for row in grad[span.start * hidden..span.end * hidden].chunks_exact_mut(hidden) {
                row.fill(0.0);
                add_scaled(row, head, factor);
            }
        }
        let mut work = BackwardMemory {
            grad,
            mixed: room(&mut memory.grad_mixed, rows * hidden),
            wide: &mut memory.grad_wide,
        };
        for (layer, of) in shape.layers.iter().zip(&memory.layers).rev() {
            self.layer_backward(layer, &lengths, of, &mut work, dense);
        }
        let (dw, db) = two(dense, &shape.norm);
        let inverse = &memory.embed_inverse[..rows];
        let hat = &memory.embed_hat[..rows * hidden];
        layer_norm::backward(
            work.grad,
            self.part(&shape.norm.weight),
            hat,
            inverse,
            dw,
            db,
        );
        self.embed_backward(pairs, work.grad, dense, &mut out.ids, &mut out.rows);
    }

    fn layer_backward(
        &self,
        layer: &LayerSlots,
        lengths: &[usize],
        of: &LayerMemory,
        work: &mut BackwardMemory<'_>,
        dense: &mut [f32],
    ) {
        let config = &self.shape.config;
        let (hidden, inner) = (config.hidden_size, config.intermediate_size);
        let BackwardMemory { grad, mixed, wide } = work;
        let rows = grad.len() / hidden;
        let (dw, db) = two(dense, &layer.down_norm);
        let w = self.part(&layer.down_norm.weight);
        let hat = &of.out_hat[..rows * hidden];
        layer_norm::backward(grad, w, hat, &of.out_inverse[..rows], dw, db);
        linear_weight(grad, &of.act[..rows * inner], inner, &layer.down, dense);
        let inside = room(wide, rows * inner);
        linear_input(grad, hidden, self.part(&layer.down.weight), 0.0, inside);
        let slope = &of.slope[..rows * inner];
        simd!(l => map(l, inside, [slope], #[inline(always)] |g, [slope]| l.mul(g, slope)));
        linear_weight(inside, &of.mid[..rows * hidden], hidden, &layer.up, dense);
        linear_input(inside, inner, self.part(&layer.up.weight), 1.0, grad);
        let (dw, db) = two(dense, &layer.mix_norm);
        let w = self.part(&layer.mix_norm.weight);
        let hat = &of.mid_hat[..rows * hidden];
        layer_norm::backward(grad, w, hat, &of.mid_inverse[..rows], dw, db);
        linear_weight(grad, &of.mixed[..rows * hidden], hidden, &layer.mix, dense);
        linear_input(grad, hidden, self.part(&layer.mix.weight), 0.0, mixed);
        let inside = room(wide, rows * 3 * hidden);
        let attended = Attended {
            x: &of.qkv[..rows * 3 * hidden],
            out: &of.mixed[..rows * hidden],
            lse: &of.lse[..rows * config.heads],
        };
        two_way::backward(attended, hidden, config.heads, lengths, mixed, inside);
        linear_weight(inside, &of.x[..rows * hidden], hidden, &layer.qkv, dense);
        linear_input(inside, 3 * hidden, self.part(&layer.qkv.weight), 1.0, grad);
    }

    fn embed_backward(
        &self,
        pairs: &[&PairTokens],
        grad: &[f32],
        dense: &mut [f32],
        ids: &mut Vec<u32>,
        rows: &mut Vec<f32>,
    ) {
        let shape = &self.shape;
        let hidden = shape.config.hidden_size;
        ids.clear();
        ids.extend(pairs.iter().flat_map(|pair| &pair.ids));
        ids.sort_unstable();
        ids.dedup();
        rows.clear();
        rows.resize(ids.len() * hidden, 0.0);
        dense[shape.positions.start..shape.types.end].fill(0.0);
        let mut grads = grad.chunks_exact(hidden);
        for pair in pairs {
            for ((at, id), grad) in pair.ids.iter().enumerate().zip(&mut grads) {
                let slot = ids.partition_point(|known| known < id);
                add(&mut rows[slot * hidden..(slot + 1) * hidden], grad);
                let position = shape.positions.start + (shape.config.first_position + at) * hidden;
                add(&mut dense[position..position + hidden], grad);
                let kind = shape.types.start + self.kind(pair, at) * hidden;
                add(&mut dense[kind..kind + hidden], grad);
            }
        }
    }
}

/// Work memory of the backward pass of a layer.
struct BackwardMemory<'a> {
    /// The gradient with respect to the rows behind the layer, then before it.
    grad: &'a mut [f32],
    mixed: &'a mut [f32],
    wide: &'a mut Vec<f32>,
}

/// The gradients of weight and bias, which are next to each other.
fn two<'a>(dense: &'a mut [f32], at: &Affine) -> (&'a mut [f32], &'a mut [f32]) {
    dense[at.weight.start..at.bias.end].split_at_mut(at.weight.len())
}
