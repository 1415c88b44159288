//! AdamW for a ranker: gradients of all lanes are summed in order, clipped, and applied.
//!
//! The word embedding is updated lazily: only rows with a gradient in this step change, with their
//! moments. Its other rows keep moments and values, where dense AdamW would let the moments fade and
//! the values follow them.

use gpu::ops::AdamwStep;
use model::{Tensor, Weights};
use rayon::prelude::*;

use super::net::{Gradients, Net};
use crate::TrainError;
use crate::kernels::lanes::{Lanes as _, dot, map, simd};
use crate::kernels::update::adamw_here;

/// Numbers per task. Fixed, so that sums do not depend on the number of threads.
const BLOCK: usize = 1 << 15;
/// Highest norm of the gradient.
const CLIP: f64 = 1.0;

const BETA1: f32 = 0.9;
const BETA2: f32 = 0.999;

/// The learning rates and the decay of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rates {
    pub(crate) body: f64,
    pub(crate) head: f64,
    pub(crate) decay: f64,
}

/// The state of the optimizer.
pub(crate) struct LazyAdam {
    /// Moments of the dense parameters.
    dense: [Vec<f32>; 2],
    /// Moments of the word embedding.
    words: [Vec<f32>; 2],
}

/// A block of parameters with their gradients and moments.
struct AdamBlock<'a> {
    weights: &'a mut [f32],
    grad: &'a [f32],
    m: &'a mut [f32],
    v: &'a mut [f32],
    step: AdamwStep,
}

/// Adds the gradients of the words of a lane to `ids` and `rows`, which are sorted, too.
fn merge(ids: &mut Vec<u32>, rows: &mut Vec<f32>, other: &Gradients, width: usize) {
    let mut all: Vec<u32> = ids.iter().chain(&other.ids).copied().collect();
    all.sort_unstable();
    all.dedup();
    let mut sums = vec![0.0; all.len() * width];
    for (ids, rows) in [(&*ids, &*rows), (&other.ids, &other.rows)] {
        for (id, row) in ids.iter().zip(rows.chunks_exact(width)) {
            let slot = all.partition_point(|known| known < id);
            let sum = &mut sums[slot * width..(slot + 1) * width];
            simd!(l => map(l, sum, [row], #[inline(always)] |sum, [x]| l.add(sum, x)));
        }
    }
    (*ids, *rows) = (all, sums);
}

/// The sum of the squares of `x`.
fn squares(x: &[f32]) -> f64 {
    simd!(l => f64::from(dot(l, x, x)))
}

/// Sums the gradients of all lanes into the first one and returns the norm of the sum.
fn sum(lanes: &mut [Gradients], width: usize) -> f64 {
    let Some((first, others)) = lanes.split_first_mut() else {
        return 0.0;
    };
    let blocks: Vec<f64> = first
        .dense
        .par_chunks_mut(BLOCK)
        .enumerate()
        .map(|(index, sum)| {
            let start = index * BLOCK;
            for other in others.iter() {
                let part = &other.dense[start..start + sum.len()];
                simd!(l => map(l, sum, [part], #[inline(always)] |sum, [x]| l.add(sum, x)));
            }
            squares(sum)
        })
        .collect();
    for other in others.iter() {
        merge(&mut first.ids, &mut first.rows, other, width);
    }
    let words = first.rows.chunks(BLOCK).map(squares);
    blocks.into_iter().chain(words).sum::<f64>().sqrt()
}

impl LazyAdam {
    pub(crate) fn new(net: &Net) -> Self {
        let zeros = |count: usize| [vec![0.0; count], vec![0.0; count]];
        Self {
            dense: zeros(net.dense.len()),
            words: zeros(net.words.len()),
        }
    }

    /// Takes step `time`, from 1, with the gradients of all lanes, which it consumes. Returns the
    /// norm of their sum before clipping; if it is not finite, nothing changes.
    pub(crate) fn step(
        &mut self,
        net: &mut Net,
        lanes: &mut [Gradients],
        rates: Rates,
        time: usize,
    ) -> f64 {
        let width = net.shape.config.hidden_size;
        let norm = sum(lanes, width);
        let Some(grads) = lanes.first().filter(|_| norm.is_finite()) else {
            return norm;
        };
        let factor = if norm > CLIP { CLIP / norm } else { 1.0 };
        let constants = |rate: f64, decays: bool| AdamwStep {
            beta1: BETA1,
            beta2: BETA2,
            bias1: 1.0 - BETA1.powi(time as i32),
            bias2: 1.0 - BETA2.powi(time as i32),
            epsilon: 1e-8,
            rate: rate as f32,
            kept: if decays {
                (1.0 - rate * rates.decay) as f32
            } else {
                1.0
            },
            factor: factor as f32,
        };
        let mut blocks = Vec::new();
        let [m, v] = &mut self.dense;
        let mut left = (&mut net.dense[..], &grads.dense[..], &mut m[..], &mut v[..]);
        for slot in &net.shape.slots {
            let rate = if slot.head { rates.head } else { rates.body };
            let mut count = slot.at.len();
            while count > 0 {
                let n = count.min(BLOCK);
                let (w, g, m, v) = left;
                let (weights, w) = w.split_at_mut(n);
                let (grad, g) = g.split_at(n);
                let (m0, m) = m.split_at_mut(n);
                let (v0, v) = v.split_at_mut(n);
                left = (w, g, m, v);
                count -= n;
                blocks.push(AdamBlock {
                    weights,
                    grad,
                    m: m0,
                    v: v0,
                    step: constants(rate, slot.decays),
                });
            }
        }
        blocks
            .into_par_iter()
            .for_each(|one| adamw_here(one.weights, one.grad, one.m, one.v, &one.step));
        let step = constants(rates.body, true);
        let [m, v] = &mut self.words;
        for (id, grad) in grads.ids.iter().zip(grads.rows.chunks_exact(width)) {
            let at = *id as usize * width..(*id as usize + 1) * width;
            let (m, v) = (&mut m[at.clone()], &mut v[at.clone()]);
            adamw_here(&mut net.words[at], grad, m, v, &step);
        }
        norm
    }

    /// The moments as tensors.
    pub(crate) fn tensors(&self) -> Weights {
        let mut out = Weights::default();
        for (name, moments) in [("dense", &self.dense), ("words", &self.words)] {
            for (end, data) in ["m", "v"].iter().zip(moments) {
                let tensor = Tensor {
                    shape: vec![data.len()],
                    data: data.clone(),
                };
                out.insert(format!("{name}.{end}"), tensor);
            }
        }
        out
    }

    /// Restores the moments from [`LazyAdam::tensors`].
    ///
    /// # Errors
    /// When one is missing or has another length.
    pub(crate) fn load(&mut self, weights: &Weights) -> Result<(), TrainError> {
        for (name, moments) in [("dense", &mut self.dense), ("words", &mut self.words)] {
            for (end, data) in ["m", "v"].iter().zip(moments) {
                let tensor = weights.get(&format!("{name}.{end}"), &[data.len()])?;
                data.copy_from_slice(&tensor.data);
            }
        }
        Ok(())
    }
}
