//! The parameters of a ranker, and its arithmetic forward and backward on one thread.
//!
//! Pairs are concatenated as rows without padding: `[tokens, hidden]`. A layer is attention, the sum
//! with its input, a norm, a feed-forward block, the sum with its input, a norm. The logit of a pair
//! is a linear function of the mean of its last rows.

use std::ops::Range;

use model::PairTokens;
use model::encoder::Activation;
use rayon::prelude::*;

use super::linear::{Factors, Linear, PackedLayer, PackedWeight, pack};
use super::shape::{Affine, LayerSlots, RankerShape};
use crate::kernels::lanes::{Lanes as _, dot, map, simd};
use crate::kernels::two_way::{self, Attended};
use crate::kernels::{gelu, layer_norm};

/// The parameters.
pub(crate) struct Net {
    pub(crate) shape: RankerShape,
    /// The word embedding, `[vocab_size, hidden]`.
    pub(crate) words: Vec<f32>,
    /// All other parameters, as `shape` places them.
    pub(crate) dense: Vec<f32>,
    /// The matrices of the layers in tiles, for bfloat16 products. [`Net::pack`] updates them.
    pub(crate) packed: Option<Vec<PackedLayer>>,
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
    factors: Factors,
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

    /// A linear layer; `of` names it among the packed ones of layer `layer`.
    fn linear<'a>(
        &'a self,
        at: &Affine,
        layer: usize,
        of: impl Fn(&'a PackedLayer) -> &'a PackedWeight,
    ) -> Linear<'a> {
        let packed = self.packed.as_ref();
        Linear {
            weight: self.part(&at.weight),
            bias: self.part(&at.bias),
            packed: packed.and_then(|packed| packed.get(layer)).map(of),
        }
    }

    /// From now on products use bfloat16 numbers.
    pub(crate) fn use_bf16(&mut self) {
        self.packed = Some(vec![PackedLayer::default(); self.shape.layers.len()]);
        self.pack();
    }

    /// Brings the packed matrices up to date, if they are used.
    pub(crate) fn pack(&mut self) {
        let config = &self.shape.config;
        let (hidden, inner) = (config.hidden_size, config.intermediate_size);
        let layers = self.packed.iter_mut().flatten().zip(&self.shape.layers);
        let parts: Vec<_> = layers
            .flat_map(|(layer, at)| layer.parts(at, hidden, inner))
            .collect();
        let dense = &self.dense;
        parts.into_par_iter().for_each(|part| pack(part, dense));
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
            self.layer((layer, index), &lengths, of, out, &mut memory.factors);
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
        (layer, index): (&LayerSlots, usize),
        lengths: &[usize],
        of: &mut LayerMemory,
        out: &mut [f32],
        factors: &mut Factors,
    ) {
        let config = &self.shape.config;
        let (hidden, inner, eps) = (
            config.hidden_size,
            config.intermediate_size,
            config.layer_norm_eps,
        );
        let weights = |at: &Affine| (self.part(&at.weight), self.part(&at.bias));
        let rows = out.len() / hidden;
        let x = &of.x[..rows * hidden];
        let qkv = room(&mut of.qkv, rows * 3 * hidden);
        let qkv_linear = self.linear(&layer.qkv, index, |packed| &packed.qkv);
        qkv_linear.forward(x, qkv, factors);
        let mixed = room(&mut of.mixed, rows * hidden);
        let lse = room(&mut of.lse, rows * config.heads);
        two_way::forward(qkv, hidden, config.heads, lengths, mixed, lse);
        let mid = room(&mut of.mid, rows * hidden);
        let mix = self.linear(&layer.mix, index, |packed| &packed.mix);
        mix.forward(mixed, mid, factors);
        add(mid, x);
        let (w, b) = weights(&layer.mix_norm);
        let hat = room(&mut of.mid_hat, rows * hidden);
        layer_norm::forward(mid, w, b, eps, hat, room(&mut of.mid_inverse, rows));
        let act = room(&mut of.act, rows * inner);
        let up = self.linear(&layer.up, index, |packed| &packed.up);
        up.forward(mid, act, factors);
        activate(config.activation, act, room(&mut of.slope, rows * inner));
        let down = self.linear(&layer.down, index, |packed| &packed.down);
        down.forward(act, out, factors);
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
            factors: &mut memory.factors,
        };
        let layers = shape.layers.iter().zip(&memory.layers).enumerate();
        for (index, (layer, of)) in layers.rev() {
            self.layer_backward((layer, index), &lengths, of, &mut work, dense);
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
        (layer, index): (&LayerSlots, usize),
        lengths: &[usize],
        of: &LayerMemory,
        work: &mut BackwardMemory<'_>,
        dense: &mut [f32],
    ) {
        let config = &self.shape.config;
        let (hidden, inner) = (config.hidden_size, config.intermediate_size);
        let BackwardMemory {
            grad,
            mixed,
            wide,
            factors,
        } = work;
        let rows = grad.len() / hidden;
        let (dw, db) = two(dense, &layer.down_norm);
        let w = self.part(&layer.down_norm.weight);
        let hat = &of.out_hat[..rows * hidden];
        layer_norm::backward(grad, w, hat, &of.out_inverse[..rows], dw, db);
        let down = self.linear(&layer.down, index, |packed| &packed.down);
        down.backward_weight(grad, &of.act[..rows * inner], &layer.down, dense, factors);
        let inside = room(wide, rows * inner);
        down.backward_input(grad, false, inside, factors);
        let slope = &of.slope[..rows * inner];
        simd!(l => map(l, inside, [slope], #[inline(always)] |g, [slope]| l.mul(g, slope)));
        let up = self.linear(&layer.up, index, |packed| &packed.up);
        up.backward_weight(inside, &of.mid[..rows * hidden], &layer.up, dense, factors);
        up.backward_input(inside, true, grad, factors);
        let (dw, db) = two(dense, &layer.mix_norm);
        let w = self.part(&layer.mix_norm.weight);
        let hat = &of.mid_hat[..rows * hidden];
        layer_norm::backward(grad, w, hat, &of.mid_inverse[..rows], dw, db);
        let mix = self.linear(&layer.mix, index, |packed| &packed.mix);
        mix.backward_weight(grad, &of.mixed[..rows * hidden], &layer.mix, dense, factors);
        mix.backward_input(grad, false, mixed, factors);
        let inside = room(wide, rows * 3 * hidden);
        let attended = Attended {
            x: &of.qkv[..rows * 3 * hidden],
            out: &of.mixed[..rows * hidden],
            lse: &of.lse[..rows * config.heads],
        };
        two_way::backward(attended, hidden, config.heads, lengths, mixed, inside);
        let qkv = self.linear(&layer.qkv, index, |packed| &packed.qkv);
        qkv.backward_weight(inside, &of.x[..rows * hidden], &layer.qkv, dense, factors);
        qkv.backward_input(inside, true, grad, factors);
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
    factors: &'a mut Factors,
}

/// The gradients of weight and bias, which are next to each other.
fn two<'a>(dense: &'a mut [f32], at: &Affine) -> (&'a mut [f32], &'a mut [f32]) {
    dense[at.weight.start..at.bias.end].split_at_mut(at.weight.len())
}
