//! Attention and the loss in burn and in [`gpu::ops`], for devices that our kernels do not run on, and
//! as the reference for testing these kernels.
//!
//! Products and the values between them are in the run's precision; norms, rotary embedding,
//! softmax, the residual stream and the loss in f32.

use std::collections::BTreeMap;
use std::sync::Arc;

use burn::tensor::{Device, Int, Tensor, TensorData};
use gpu::ops::{self, PickedRows};

use crate::kernels::attention::AttentionShape;

/// `scale` times the summed cross-entropy of `[rows, vocab]` against `targets`, as `[1]`.
pub(crate) fn cross_entropy_loss(logits: Tensor<2>, targets: &[u32], scale: f32) -> Tensor<1> {
    let ids: Vec<i64> = targets.iter().map(|id| i64::from(*id)).collect();
    let ids = Tensor::<1, Int>::from_data(TensorData::new(ids, [targets.len()]), &logits.device());
    ops::cross_entropy(logits, ids, scale)
}

/// Groups segments into blocks for attention: padded length and indices of the segments. Lengths in
/// a block differ by less than a factor of two, so that padding at most quadruples the cost of a
/// segment and there are few blocks.
pub(crate) fn blocks(segments: &[usize]) -> Vec<(usize, Vec<usize>)> {
    let mut groups: BTreeMap<usize, (usize, Vec<usize>)> = BTreeMap::new();
    for (i, len) in segments.iter().enumerate().filter(|(_, len)| **len > 0) {
        let (longest, members) = groups.entry(len.next_power_of_two()).or_default();
        *longest = (*longest).max(*len);
        members.push(i);
    }
    groups.into_values().collect()
}

/// A block of segments padded to the same length.
struct PaddedBlock {
    count: usize,
    len: usize,
}

/// The layout of a packed batch for attention on a device; the same for every layer.
pub(crate) struct Padded {
    shape: Arc<AttentionShape>,
    blocks: Vec<PaddedBlock>,
    /// Cosines and sines of the angles at every position of the concatenated blocks.
    rotation: [Tensor<2>; 2],
    /// The token at every position of the concatenated blocks; padding repeats the first token, its
    /// results are not used. `None` if the tokens are in this order.
    padded: Option<PickedRows>,
    /// The way back.
    packed: Option<PickedRows>,
}

impl Padded {
    pub(crate) fn new(shape: &Arc<AttentionShape>, device: &Device) -> Self {
        let starts: Vec<usize> = shape
            .segments
            .iter()
            .scan(0, |end, len| {
                *end += len;
                Some(*end - len)
            })
            .collect();
        let half = shape.head_dim / 2;
        let total: usize = shape.segments.iter().sum();
        // The place of every token, and the token at every place.
        let (mut places, mut tokens) = (vec![0_usize; total], Vec::new());
        let (mut cos, mut sin) = (Vec::new(), Vec::new());
        let mut out = Vec::new();
        for (len, members) in blocks(&shape.segments) {
            for segment in &members {
                let (start, own) = (starts[*segment], shape.segments[*segment]);
                let begin = tokens.len();
                tokens.extend((0..len).map(|i| (i < own).then_some(start + i)));
                places[start..start + own]
                    .iter_mut()
                    .zip(begin..)
                    .for_each(|(slot, place)| *slot = place);
                cos.extend_from_slice(&shape.rope.cos[..len * half]);
                sin.extend_from_slice(&shape.rope.sin[..len * half]);
            }
            out.push(PaddedBlock {
                count: members.len(),
                len,
            });
        }
        let places: Vec<Option<usize>> = places.into_iter().map(Some).collect();
        let moved = tokens != (0..total).map(Some).collect::<Vec<_>>();
        let picked = |rows, of| moved.then(|| PickedRows::new(rows, of, device));
        let rotation = [cos, sin]
            .map(|table| Tensor::from_data(TensorData::new(table, [tokens.len(), half]), device));
        Self {
            shape: Arc::clone(shape),
            blocks: out,
            rotation,
            padded: picked(&tokens, total),
            packed: picked(&places, tokens.len()),
        }
    }

    /// Attention of `[tokens, (heads + 2 kv) * d]`, as `[tokens, heads * d]`.
    pub(crate) fn attend(&self, x: &Tensor<2>) -> Tensor<2> {
        let moved = |x: Tensor<2>, rows: &Option<PickedRows>| match rows {
            Some(rows) => rows.of(x),
            None => x,
        };
        let x = moved(x.clone(), &self.padded);
        let turned = (self.shape.heads + self.shape.kv_heads) * self.shape.head_dim;
        let [cos, sin] = self.rotation.clone();
        let x = ops::rotate(x, cos, sin, turned);
        let mut begin = 0;
        let outputs = self.blocks.iter().map(|block| {
            let rows = block.count * block.len;
            begin += rows;
            self.block(&x.clone().narrow(0, begin - rows, rows), block)
        });
        let y = Tensor::cat(outputs.collect(), 0);
        moved(y, &self.packed)
    }

    /// Attention of a block of rotated queries and keys.
    fn block(&self, x: &Tensor<2>, block: &PaddedBlock) -> Tensor<2> {
        let (d, heads, kv_heads) = (self.shape.head_dim, self.shape.heads, self.shape.kv_heads);
        let PaddedBlock { count, len } = *block;
        // [sequences * kv, heads of one kv, len, d]: heads share keys and values without copies.
        let part = |from: usize, n: usize| {
            let part = x.clone().narrow(1, from * d, n * d);
            let part = part.reshape([count, len, n, d]).swap_dims(1, 2);
            part.reshape([count * kv_heads, n / kv_heads, len, d])
        };
        let (q, k) = (part(0, heads), part(heads, kv_heads));
        let scores = ops::shared_product(q, k.swap_dims(2, 3));
        let shares = ops::causal_softmax(scores, 1.0 / (d as f32).sqrt(), 1);
        let out = ops::shared_product(shares, part(heads + kv_heads, kv_heads));
        out.reshape([count, heads, len, d])
            .swap_dims(1, 2)
            .reshape([count * len, heads * d])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_every_segment_once_and_pad_less_than_twofold() {
        let segments = [1, 700, 3, 2, 512, 513, 64, 0, 4, 63];
        let all = blocks(&segments);
        let mut seen: Vec<usize> = all
            .iter()
            .flat_map(|(_, members)| members.clone())
            .collect();
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2, 3, 4, 5, 6, 8, 9]);
        for (len, members) in &all {
            assert!(
                members
                    .iter()
                    .all(|i| segments[*i] <= *len && *len < 2 * segments[*i]),
                "{len} {members:?}"
            );
        }
        assert_eq!(blocks(&[300; 7]), [(300, (0..7).collect())]);
    }
}
