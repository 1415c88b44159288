//! Softmax cross-entropy over rows of logits: loss and gradient in one pass over memory.

use rayon::prelude::*;

use super::lanes::{Lanes as _, dot, exp_sum, map, max, simd};

/// Rows per task: a row is a whole vocabulary.
const ROWS: usize = 16;

/// Whether the target has the highest logit, for every row.
pub(crate) fn hits(logits: &[f32], targets: &[u32], vocab: usize) -> Vec<bool> {
    logits
        .par_chunks(vocab)
        .zip(targets)
        .map(|(row, target)| simd!(l => row[*target as usize] >= max(l, row)))
        .collect()
}

/// Replaces `logits` with the gradient of `scale * sum(-ln p(target))` and returns this scaled sum.
pub(crate) fn loss_and_grad(logits: &mut [f32], targets: &[u32], vocab: usize, scale: f32) -> f32 {
    let blocks: Vec<f64> = logits
        .par_chunks_mut(ROWS * vocab)
        .zip(targets.par_chunks(ROWS))
        .map(|(logits, targets)| {
            simd!(l => {
                let mut loss = 0.0_f64;
                for (row, target) in logits.chunks_exact_mut(vocab).zip(targets) {
                    let target = *target as usize;
                    let top = max(l, row);
                    let logit = row[target];
                    let sum = exp_sum(l, row, top);
                    loss += f64::from(sum.ln() - (logit - top));
                    let factor = l.splat(scale / sum);
                    map(l, row, [], #[inline(always)] |x, []| l.mul(x, factor));
                    row[target] -= scale;
                }
                loss
            })
        })
        .collect();
    (blocks.iter().sum::<f64>() * f64::from(scale)) as f32
}

/// Sum of squares, in blocks of fixed size.
pub(crate) fn square_sum(x: &[f32]) -> f64 {
    let blocks: Vec<f64> = x
        .par_chunks(1 << 14)
        .map(|block| simd!(l => f64::from(dot(l, block, block))))
        .collect();
    blocks.iter().sum()
}
