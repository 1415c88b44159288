//! One block of rows of several sessions through the layers.

use burn::tensor::{FloatDType, Int, Tensor, TensorData, activation};

use super::weights::{DeviceLayer, DeviceLinear, DeviceLlama};
use super::{device_error, ops};
use crate::EngineError;
use crate::cache::CacheShape;
use crate::segment::{TokenSegment, angles};

/// Added to the score of a key that a query may not see; finite, so that scores stay finite.
const HIDDEN: f32 = -1e30;

/// A session's rows in a block.
struct SegmentRows {
    /// First row in the block.
    begin: usize,
    rows: usize,
    /// Position of the first row in the conversation.
    first: usize,
    /// Added to the scores, `[1, rows, 1, positions]`, to hide later keys from earlier rows.
    mask: Option<Tensor<4>>,
    /// Leading rows whose logits are not read.
    skip: usize,
}

impl DeviceLinear {
    fn run(&self, x: Tensor<2>) -> Tensor<2> {
        let y = x.matmul(self.weight.clone().transpose());
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
        let c = &self.config;
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
            let gate = activation::silu(y.clone().narrow(1, 0, c.intermediate_size));
            let up = y.narrow(1, c.intermediate_size, c.intermediate_size);
            x = x + layer.down.run(gate * up);
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
                mask: self.mask(first, rows),
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

    /// The causal mask of `rows` rows after `first` positions; `None` for a single row.
    fn mask(&self, first: usize, rows: usize) -> Option<Tensor<4>> {
        let seen = first + rows;
        let places = |from: usize| Tensor::<1, Int>::arange(from as i64..seen as i64, &self.device);
        (rows > 1).then(|| {
            let hidden = places(0)
                .reshape([1, 1, 1, seen])
                .greater(places(first).reshape([1, rows, 1, 1]));
            hidden.float().mul_scalar(HIDDEN).cast(self.dtype)
        })
    }

    /// Cosines and sines of every row's position, `[rows, 1, dim / 2]`.
    fn rotation(&self, parts: &[SegmentRows], rows: usize) -> (Tensor<3>, Tensor<3>) {
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
            let data = TensorData::new(values, [rows, 1, half]);
            Tensor::from_data(data, (&self.device, FloatDType::F32.into()))
        };
        (table(|angle| angle.0), table(|angle| angle.1))
    }

    fn norm<const D: usize>(&self, x: &Tensor<D>, weight: &Tensor<1>) -> Tensor<D> {
        ops::rms_norm(x.clone(), weight, self.config.rms_norm_eps)
    }

    /// Queries, keys and values, `[rows, heads, dim]`; queries and keys are normed, if the model
    /// has head norms, and rotated.
    fn heads(
        &self,
        layer: &DeviceLayer,
        qkv: &Tensor<2>,
        rotation: &(Tensor<3>, Tensor<3>),
    ) -> (Tensor<3>, Tensor<3>, Tensor<3>) {
        let (heads, kv_heads, dim) = (
            self.config.num_attention_heads,
            self.config.num_key_value_heads,
            self.config.head_dim,
        );
        let rows = qkv.dims()[0];
        let part = |first: usize, count: usize| {
            qkv.clone()
                .narrow(1, first * dim, count * dim)
                .reshape([rows, count, dim])
        };
        let v = part(heads + kv_heads, kv_heads);
        if let Some((q_norm, k_norm)) = &layer.head_norms {
            let q = ops::rotate(self.norm(&part(0, heads), q_norm), rotation);
            let k = ops::rotate(self.norm(&part(heads, kv_heads), k_norm), rotation);
            return (q, k, v);
        }
        let both = ops::rotate(part(0, heads + kv_heads), rotation);
        let q = both.clone().narrow(1, 0, heads);
        (q, both.narrow(1, heads, kv_heads), v)
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
        let (rows, group, seen) = (part.rows - skip, heads / kv_heads, part.first + part.rows);
        // All query heads that share a key/value head are rows of one product.
        let q = q
            .clone()
            .narrow(0, part.begin + skip, rows)
            .reshape([rows, kv_heads, group, dim])
            .swap_dims(0, 1)
            .reshape([kv_heads, rows * group, dim])
            .mul_scalar(1.0 / (dim as f32).sqrt());
        let mut scores = q.matmul(keys.swap_dims(1, 2));
        if let Some(mask) = &part.mask {
            let mask = mask.clone().narrow(1, skip, rows);
            scores = (scores.reshape([kv_heads, rows, group, seen]) + mask).reshape([
                kv_heads,
                rows * group,
                seen,
            ]);
        }
        ops::softmax(scores)
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
        ops::softmax(scores + hidden.clone())
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
