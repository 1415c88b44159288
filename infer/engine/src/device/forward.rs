//! One block of rows of several sessions through the layers.

use burn::tensor::{FloatDType, Int, Tensor, TensorData, activation};
use gpu::ops;

use super::device_error;
use super::weights::{DeviceLayer, DeviceLinear, DeviceLlama};
use crate::EngineError;
use crate::cache::CacheShape;
use crate::segment::{TokenSegment, angles};

/// Added to the score of a key that a query may not see; finite, so that scores stay finite.
const HIDDEN: f32 = -1e30;

/// Softmax over the last dimension, computed in f32.
fn softmax(x: Tensor<4>) -> Tensor<4> {
    let kind = x.dtype();
    activation::softmax(x.cast(FloatDType::F32), 3).cast(kind)
}

/// A session's rows in a block.
struct SegmentRows {
    /// First row in the block.
    begin: usize,
    rows: usize,
    /// Position of the first row in the conversation.
    first: usize,
    /// Leading rows whose logits are not read.
    skip: usize,
}

impl DeviceLinear {
    fn run(&self, x: Tensor<2>) -> Tensor<2> {
        let kind = x.dtype().into();
        let y = ops::project(x, self.weight.clone(), kind);
        match &self.bias {
            Some(bias) => y + bias.clone().unsqueeze(),
            None => y,
        }
    }
}

impl DeviceLlama {
    /// Appends the segments' tokens to their caches and the requested logits to their buffers.
    ///
    /// # Errors
    /// A failed operation on the device; the caches then hold what they held before.
    pub(crate) fn block(&self, segments: &mut [TokenSegment<'_>]) -> Result<(), EngineError> {
        let logits = match self.run(segments) {
            Some(logits) => logits.try_into_vec_as::<f32>().map_err(device_error)?,
            None => Vec::new(),
        };
        let mut rows = logits.chunks_exact(self.config.vocab_size);
        for segment in segments {
            segment.cache.advance(segment.ids.len());
            let Some(out) = segment.logits.as_mut() else {
                continue;
            };
            if !segment.every {
                out.clear();
            }
            let read = if segment.every { segment.ids.len() } else { 1 };
            rows.by_ref()
                .take(read)
                .for_each(|row| out.extend_from_slice(row));
        }
        Ok(())
    }

    /// The requested logits, row after row; `None` if there are none.
    fn run(&self, segments: &mut [TokenSegment<'_>]) -> Option<Tensor<2>> {
        let (ids, parts) = self.parts(segments);
        let rotation = self.rotation(&parts, ids.len());
        let together = self.lengths(&parts);
        let mut x = self.embeddings.clone().select(0, self.indices(ids));
        for (l, layer) in self.layers.iter().enumerate() {
            let last = l + 1 == self.layers.len();
            let y = layer.qkv.run(self.norm(&x, &layer.input_norm));
            let (q, k, v) = self.heads(layer, &y, &rotation);
            let mut mixed = Vec::with_capacity(parts.len());
            let mut decoded = Vec::new();
            for (part, segment) in parts.iter().zip(segments.iter_mut()) {
                let of_part =
                    |x: &Tensor<3>| x.clone().narrow(0, part.begin, part.rows).swap_dims(0, 1);
                let cache = &mut segment.cache.device;
                let (keys, values) = cache.write(l, part.first, of_part(&k), of_part(&v))?;
                // After the last layer's keys and values only rows with read logits matter.
                let skip = if last { part.skip } else { 0 };
                if together.is_some() {
                    decoded.push((keys, values));
                } else if skip < part.rows {
                    mixed.push(self.attend(&q, part, skip, keys, values));
                }
            }
            if let Some(hidden) = &together {
                mixed.push(self.attend_together(&q, decoded, hidden));
            }
            if mixed.is_empty() {
                return None;
            }
            if last {
                x = self.read_rows(x, &parts);
            }
            x = x + layer.o.run(Tensor::cat(mixed, 0));
            let y = layer.gate_up.run(self.norm(&x, &layer.post_norm));
            x = x + layer.down.run(ops::gated(y));
        }
        Some(self.head.run(self.norm(&x, &self.norm)))
    }

    /// The tokens of the block and the rows of each session. Reserves room in the caches.
    fn parts(&self, segments: &mut [TokenSegment<'_>]) -> (Vec<i64>, Vec<SegmentRows>) {
        let c = &self.config;
        let shape = CacheShape {
            layers: c.num_hidden_layers,
            kv_heads: c.num_key_value_heads,
            dim: c.head_dim,
            context: c.context(),
            dtype: self.dtype,
            device: &self.device,
        };
        let (mut ids, mut parts) = (Vec::new(), Vec::with_capacity(segments.len()));
        for segment in segments {
            let (first, rows) = (segment.cache.len(), segment.ids.len());
            segment.cache.device.reserve(first, first + rows, &shape);
            parts.push(SegmentRows {
                begin: ids.len(),
                rows,
                first,
                skip: segment.unread_rows(),
            });
            ids.extend(segment.ids.iter().map(|&id| i64::from(id)));
        }
        (ids, parts)
    }

    /// For several sessions that decode one token each: added to the scores, `[sessions, 1, 1,
    /// longest]`, to hide what lies behind the end of each. `None` for other blocks.
    fn lengths(&self, parts: &[SegmentRows]) -> Option<Tensor<4>> {
        let decodes = |part: &SegmentRows| part.rows == 1 && part.skip == 0;
        if parts.len() < 2 || !parts.iter().all(decodes) {
            return None;
        }
        let longest = parts.iter().map(|part| part.first + 1).max()?;
        let ends: Vec<i64> = parts.iter().map(|part| part.first as i64).collect();
        let ends = self.indices(ends).reshape([parts.len(), 1, 1, 1]);
        let places = Tensor::<1, Int>::arange(0..longest as i64, &self.device);
        let hidden = places.reshape([1, 1, 1, longest]).greater(ends);
        Some(hidden.float().mul_scalar(HIDDEN).cast(self.dtype))
    }

    fn indices(&self, list: Vec<i64>) -> Tensor<1, Int> {
        let count = list.len();
        Tensor::from_data(TensorData::new(list, [count]), &self.device)
    }

    /// Cosines and sines of every row's position, `[rows, dim / 2]`.
    fn rotation(&self, parts: &[SegmentRows], rows: usize) -> [Tensor<2>; 2] {
        let half = self.frequencies.len();
        let mut all = Vec::with_capacity(rows * half);
        let amplitude = self.config.rope.amplitude();
        for part in parts {
            angles(
                &self.frequencies,
                amplitude,
                part.first,
                part.rows,
                &mut all,
            );
        }
        let table = |of: fn(&(f32, f32)) -> f32| {
            let values: Vec<f32> = all.iter().map(of).collect();
            let data = TensorData::new(values, [rows, half]);
            Tensor::from_data(data, (&self.device, FloatDType::F32.into()))
        };
        [table(|angle| angle.0), table(|angle| angle.1)]
    }

    fn norm(&self, x: &Tensor<2>, weight: &Tensor<1>) -> Tensor<2> {
        let eps = self.config.rms_norm_eps as f32;
        ops::rms_norm(x.clone(), weight.clone(), eps, self.dtype)
    }

    /// Queries, keys and values, `[rows, heads, dim]`; queries and keys are normed, if the model
    /// has head norms, and rotated.
    fn heads(
        &self,
        layer: &DeviceLayer,
        qkv: &Tensor<2>,
        rotation: &[Tensor<2>; 2],
    ) -> (Tensor<3>, Tensor<3>, Tensor<3>) {
        let (heads, kv_heads, dim) = (
            self.config.num_attention_heads,
            self.config.num_key_value_heads,
            self.config.head_dim,
        );
        let rows = qkv.dims()[0];
        let part = |x: &Tensor<2>, first: usize, count: usize| {
            x.clone().narrow(1, first * dim, count * dim)
        };
        let normed = |first: usize, count: usize, weight: &Tensor<1>| {
            let heads = part(qkv, first, count).reshape([rows * count, dim]);
            self.norm(&heads, weight).reshape([rows, count * dim])
        };
        let qkv = match &layer.head_norms {
            Some((q_norm, k_norm)) => {
                let (q, k) = (normed(0, heads, q_norm), normed(heads, kv_heads, k_norm));
                Tensor::cat(vec![q, k, part(qkv, heads + kv_heads, kv_heads)], 1)
            }
            None => qkv.clone(),
        };
        let [cos, sin] = rotation.clone();
        let qkv = ops::rotate(qkv, cos, sin, (heads + kv_heads) * dim);
        let of = |first: usize, count: usize| part(&qkv, first, count).reshape([rows, count, dim]);
        (
            of(0, heads),
            of(heads, kv_heads),
            of(heads + kv_heads, kv_heads),
        )
    }

    /// Attention of a session's rows from `skip` on, `[rows, heads · dim]`.
    fn attend(
        &self,
        q: &Tensor<3>,
        part: &SegmentRows,
        skip: usize,
        keys: Tensor<3>,
        values: Tensor<3>,
    ) -> Tensor<2> {
        let (heads, kv_heads, dim) = (
            self.config.num_attention_heads,
            self.config.num_key_value_heads,
            self.config.head_dim,
        );
        let (rows, group) = (part.rows - skip, heads / kv_heads);
        // All query heads that share a key/value head are rows of one product.
        let q = q
            .clone()
            .narrow(0, part.begin + skip, rows)
            .reshape([rows, kv_heads, group, dim])
            .swap_dims(0, 1)
            .reshape([kv_heads, rows * group, dim]);
        let scores = q.matmul(keys.swap_dims(1, 2));
        ops::causal_softmax(scores, 1.0 / (dim as f32).sqrt(), group)
            .matmul(values)
            .reshape([kv_heads, rows, group, dim])
            .swap_dims(0, 1)
            .reshape([rows, heads * dim])
    }

    /// Attention of one row of every session at once, `[sessions, heads · dim]`. Shorter sessions are
    /// padded: a copy costs a GPU less than launching every operation for every session.
    fn attend_together(
        &self,
        q: &Tensor<3>,
        caches: Vec<(Tensor<3>, Tensor<3>)>,
        hidden: &Tensor<4>,
    ) -> Tensor<2> {
        let (heads, kv_heads, dim) = (
            self.config.num_attention_heads,
            self.config.num_key_value_heads,
            self.config.head_dim,
        );
        let (sessions, longest) = (caches.len(), hidden.dims()[3]);
        let padded = |x: Tensor<3>| -> Tensor<4> {
            let missing = longest - x.dims()[1];
            if missing == 0 {
                return x.unsqueeze();
            }
            let shape = [kv_heads, missing, dim];
            let zeros = Tensor::zeros(shape, (&self.device, self.dtype.into()));
            Tensor::cat(vec![x, zeros], 1).unsqueeze()
        };
        let (keys, values): (Vec<_>, Vec<_>) = caches
            .into_iter()
            .map(|(keys, values)| (padded(keys), padded(values)))
            .unzip();
        let scores = q
            .clone()
            .reshape([sessions, kv_heads, heads / kv_heads, dim])
            .mul_scalar(1.0 / (dim as f32).sqrt())
            .matmul(Tensor::cat(keys, 0).swap_dims(2, 3));
        softmax(scores + hidden.clone())
            .matmul(Tensor::cat(values, 0))
            .reshape([sessions, heads * dim])
    }

    /// The rows of the block whose logits are read.
    fn read_rows(&self, x: Tensor<2>, parts: &[SegmentRows]) -> Tensor<2> {
        if parts.iter().all(|part| part.skip == 0) {
            return x;
        }
        let rows = parts
            .iter()
            .flat_map(|part| part.begin + part.skip..part.begin + part.rows);
        let rows = rows.map(|row| row as i64).collect();
        x.select(0, self.indices(rows))
    }
}
