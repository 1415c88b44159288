//! The model's operations in burn, for devices without kernels and as the reference for testing the
//! kernels.
//!
//! Products and the values between them are in the run's precision; norms, rotary embedding,
//! softmax, the residual stream and the loss in f32.

use std::collections::BTreeMap;
use std::sync::Arc;

use burn::tensor::{Bool, Device, FloatDType, Int, Tensor, TensorData, activation};

use crate::device::Precision;
use crate::kernels::attention::AttentionShape;

/// Added to the score of a masked key. Finite, because not every backend handles infinity in
/// exponentials.
const MASKED: f32 = -1e30;

/// `x * w^T` of `[rows, in]` and `[out, in]`.
pub(crate) fn linear(precision: Precision, x: Tensor<2>, w: Tensor<2>) -> Tensor<2> {
    x.cast(precision.dtype())
        .matmul(w.cast(precision.dtype()).transpose())
}

/// RMS norm of `[rows, width]` by `[width]`.
pub(crate) fn rms_norm(precision: Precision, x: Tensor<2>, w: Tensor<1>, eps: f32) -> Tensor<2> {
    let x = x.cast(FloatDType::F32);
    let inverse = x
        .clone()
        .square()
        .mean_dim(1)
        .add_scalar(eps)
        .sqrt()
        .recip();
    (x * inverse * w.unsqueeze()).cast(precision.dtype())
}

/// `silu(gate) * up` of `[rows, 2 * inner]`.
pub(crate) fn gated(x: &Tensor<2>) -> Tensor<2> {
    let inner = x.dims()[1] / 2;
    activation::silu(x.clone().narrow(1, 0, inner)) * x.clone().narrow(1, inner, inner)
}

/// `scale` times the summed cross-entropy of `[rows, vocab]` against `targets`, as `[1]`.
pub(crate) fn cross_entropy_loss(logits: Tensor<2>, targets: &[u32], scale: f32) -> Tensor<1> {
    let device = logits.device();
    let ids: Vec<i64> = targets.iter().map(|id| i64::from(*id)).collect();
    let rows = ids.len();
    let ids = Tensor::<2, Int>::from_data(TensorData::new(ids, [rows, 1]), &device);
    activation::log_softmax(logits.cast(FloatDType::F32), 1)
        .gather(1, ids)
        .sum()
        .mul_scalar(-scale)
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
    /// The token at every position of the block. Padding repeats the first token; its results are
    /// not used.
    tokens: Tensor<1, Int>,
    cos: Tensor<4>,
    sin: Tensor<4>,
    /// Zero if a query sees a key.
    mask: Tensor<4>,
}

/// The layout of a packed batch for attention on a device; the same for every layer.
pub(crate) struct Padded {
    shape: Arc<AttentionShape>,
    blocks: Vec<PaddedBlock>,
    /// The position of every token in the concatenated blocks.
    places: Tensor<1, Int>,
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
        let indices = |list: Vec<i64>| {
            let n = list.len();
            Tensor::<1, Int>::from_data(TensorData::new(list, [n]), device)
        };
        let half = shape.head_dim / 2;
        let mut places = vec![0_i64; shape.segments.iter().sum()];
        let mut place = 0;
        let mut out = Vec::new();
        for (len, members) in blocks(&shape.segments) {
            let mut tokens = Vec::with_capacity(len * members.len());
            for segment in &members {
                let (start, own) = (starts[*segment], shape.segments[*segment]);
                tokens.extend((0..len).map(|i| if i < own { (start + i) as i64 } else { 0 }));
                places[start..start + own]
                    .iter_mut()
                    .zip(place..)
                    .for_each(|(slot, place)| *slot = place);
                place += len as i64;
            }
            let table = |all: &[f32]| {
                Tensor::<4>::from_data(
                    TensorData::new(all[..len * half].to_vec(), [1, len, 1, half]),
                    device,
                )
            };
            let mask = Tensor::<2, Bool>::tril_mask([len, len], 0, device)
                .float()
                .mul_scalar(MASKED)
                .reshape([1, 1, len, len]);
            let (cos, sin) = (table(&shape.rope.cos), table(&shape.rope.sin));
            out.push(PaddedBlock {
                count: members.len(),
                len,
                tokens: indices(tokens),
                cos,
                sin,
                mask,
            });
        }
        Self {
            shape: Arc::clone(shape),
            blocks: out,
            places: indices(places),
        }
    }

    /// Attention of `[tokens, (heads + 2 kv) * d]`, as `[tokens, heads * d]`.
    pub(crate) fn attend(&self, precision: Precision, x: &Tensor<2>) -> Tensor<2> {
        let outputs = self
            .blocks
            .iter()
            .map(|block| self.block(precision, &x.clone().select(0, block.tokens.clone()), block));
        Tensor::cat(outputs.collect(), 0).select(0, self.places.clone())
    }

    fn block(&self, precision: Precision, x: &Tensor<2>, block: &PaddedBlock) -> Tensor<2> {
        let (d, heads, kv_heads) = (self.shape.head_dim, self.shape.heads, self.shape.kv_heads);
        let (half, group, kind) = (d / 2, heads / kv_heads, precision.dtype());
        let PaddedBlock { count, len, .. } = *block;
        let part = |from: usize, n: usize| {
            x.clone()
                .narrow(1, from * d, n * d)
                .reshape([count, len, n, d])
        };
        let rotate = |x: Tensor<4>| {
            let x = x.cast(FloatDType::F32);
            let (low, high) = (x.clone().narrow(3, 0, half), x.narrow(3, half, half));
            let first = low.clone() * block.cos.clone() - high.clone() * block.sin.clone();
            Tensor::cat(
                vec![first, high * block.cos.clone() + low * block.sin.clone()],
                3,
            )
        };
        // [sequences * kv, group * len, d] times [sequences * kv, len, d]: query heads share keys
        // and values without copies.
        let q = rotate(part(0, heads))
            .mul_scalar(1.0 / (d as f32).sqrt())
            .cast(kind);
        let q = q
            .swap_dims(1, 2)
            .reshape([count * kv_heads, group * len, d]);
        let shared = |x: Tensor<4>| {
            x.cast(kind)
                .swap_dims(1, 2)
                .reshape([count * kv_heads, len, d])
        };
        let (k, v) = (
            shared(rotate(part(heads, kv_heads))),
            shared(part(heads + kv_heads, kv_heads)),
        );
        let scores = q.matmul(k.swap_dims(1, 2)).cast(FloatDType::F32).reshape([
            count * kv_heads,
            group,
            len,
            len,
        ]);
        let shares = activation::softmax(scores + block.mask.clone(), 3).cast(kind);
        let out = shares
            .reshape([count * kv_heads, group * len, len])
            .matmul(v);
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
