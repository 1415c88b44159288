//! One block of rows of several sessions through the layers.

use candle_core::{DType, Result, Tensor};

use super::weights::{DeviceLayer, DeviceLinear, DeviceLlama};
use super::{device_error, ops};
use crate::EngineError;
use crate::cache::{CacheShape, DeviceKvCache};
use crate::segment::{TokenSegment, angles};

/// Added to the score of a key that a query may not see; finite, so that scores stay finite.
const HIDDEN: f64 = -1e30;

/// A session's rows in a block.
struct SegmentRows {
    /// First row in the block.
    begin: usize,
    rows: usize,
    /// Position of the first row in the conversation.
    first: usize,
    /// Added to the scores, `[rows, 1, positions]`, to hide later keys from earlier rows.
    mask: Option<Tensor>,
    /// Leading rows whose logits are not read.
    skip: usize,
}

/// A matrix product. On the CPU candle has no bf16 product, so it is computed in f32.
fn product(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    if x.dtype() == DType::BF16 && x.device().is_cpu() {
        return x
            .to_dtype(DType::F32)?
            .matmul(&y.to_dtype(DType::F32)?)?
            .to_dtype(DType::BF16);
    }
    x.matmul(y)
}

impl DeviceLinear {
    fn run(&self, x: &Tensor) -> Result<Tensor> {
        let y = product(x, &self.weight.t()?)?;
        self.bias
            .as_ref()
            .map_or(Ok(y.clone()), |bias| y.broadcast_add(bias))
    }
}

impl DeviceLlama {
    /// Appends the segments' tokens to their caches and the requested logits to their buffers.
    ///
    /// # Errors
    /// A failed operation on the device; the caches then hold what they held before.
    pub(crate) fn block(
        &self,
        segments: &mut [TokenSegment<'_>],
    ) -> std::result::Result<(), EngineError> {
        let logits = self.run(segments).map_err(device_error)?;
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

    /// The requested logits, row after row.
    fn run(&self, segments: &mut [TokenSegment<'_>]) -> Result<Vec<f32>> {
        let c = &self.config;
        let (ids, parts) = self.parts(segments)?;
        let rows = ids.len();
        let (cos, sin) = self.rotation(&parts, rows)?;
        let mut x = self
            .embeddings
            .index_select(&Tensor::from_vec(ids, rows, &self.device)?, 0)?;
        for (l, layer) in self.layers.iter().enumerate() {
            let last = l + 1 == self.layers.len();
            let y = layer.qkv.run(&self.norm(&x, &layer.input_norm)?)?;
            let (q, k, v) = self.heads(layer, &y, &cos, &sin)?;
            let mut mixed = Vec::with_capacity(parts.len());
            for (part, segment) in parts.iter().zip(segments.iter_mut()) {
                let of_part = |x: &Tensor| {
                    x.narrow(0, part.begin, part.rows)?
                        .transpose(0, 1)?
                        .contiguous()
                };
                let cache = &segment.cache.device;
                cache.write(l, part.first, &of_part(&k)?, &of_part(&v)?)?;
                // After the last layer's keys and values only rows with read logits matter.
                let skip = if last { part.skip } else { 0 };
                if skip < part.rows {
                    mixed.push(self.attend(&q, part, skip, l, cache)?);
                }
            }
            if mixed.is_empty() {
                return Ok(Vec::new());
            }
            let mixed = Tensor::cat(&mixed, 0)?;
            if last {
                x = read_rows(&x, &parts)?;
            }
            x = (x + layer.o.run(&mixed)?)?;
            let y = layer.gate_up.run(&self.norm(&x, &layer.post_norm)?)?;
            let (gate, up) = (
                y.narrow(1, 0, c.intermediate_size)?,
                y.narrow(1, c.intermediate_size, c.intermediate_size)?,
            );
            x = (x + layer.down.run(&(gate.silu()? * up)?)?)?;
        }
        let logits = self.head.run(&self.norm(&x, &self.norm)?)?;
        logits.to_dtype(DType::F32)?.flatten_all()?.to_vec1()
    }

    /// The tokens of the block and the rows of each session. Reserves room in the caches.
    fn parts(&self, segments: &mut [TokenSegment<'_>]) -> Result<(Vec<u32>, Vec<SegmentRows>)> {
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
            segment.cache.device.reserve(first, first + rows, &shape)?;
            parts.push(SegmentRows {
                begin: ids.len(),
                rows,
                first,
                mask: self.mask(first, rows)?,
                skip: segment.unread_rows(),
            });
            ids.extend_from_slice(segment.ids);
        }
        Ok((ids, parts))
    }

    /// The causal mask of `rows` rows after `first` positions; `None` for a single row.
    fn mask(&self, first: usize, rows: usize) -> Result<Option<Tensor>> {
        if rows == 1 {
            return Ok(None);
        }
        let seen = first + rows;
        // f32 holds integers up to 2²⁴ exactly, more than any context.
        let rows_at =
            Tensor::arange(first as f32, seen as f32, &self.device)?.reshape((rows, 1))?;
        let keys = Tensor::arange(0.0, seen as f32, &self.device)?.reshape((1, seen))?;
        let hidden = keys
            .broadcast_gt(&rows_at)?
            .to_dtype(DType::F32)?
            .affine(HIDDEN, 0.0)?;
        Ok(Some(hidden.to_dtype(self.dtype)?.reshape((rows, 1, seen))?))
    }

    /// Cosines and sines of every row's position, `[rows, dim / 2]`.
    fn rotation(&self, parts: &[SegmentRows], rows: usize) -> Result<(Tensor, Tensor)> {
        let mut all = Vec::with_capacity(rows * self.frequencies.len());
        for part in parts {
            angles(
                &self.frequencies,
                self.config.rope.amplitude(),
                part.first,
                part.rows,
                &mut all,
            );
        }
        let table = |of: fn(&(f32, f32)) -> f32| {
            let values: Vec<f32> = all.iter().map(of).collect();
            Tensor::from_vec(values, (rows, self.frequencies.len()), &self.device)?
                .to_dtype(self.dtype)
        };
        Ok((table(|angle| angle.0)?, table(|angle| angle.1)?))
    }

    fn norm(&self, x: &Tensor, weight: &Tensor) -> Result<Tensor> {
        ops::rms_norm(x, weight, self.config.rms_norm_eps)
    }

    /// Queries, keys and values, `[rows, heads, dim]`; queries and keys are normed, if the model
    /// has head norms, and rotated.
    fn heads(
        &self,
        layer: &DeviceLayer,
        qkv: &Tensor,
        cos: &Tensor,
        sin: &Tensor,
    ) -> Result<(Tensor, Tensor, Tensor)> {
        let (heads, kv_heads, dim) = (
            self.config.num_attention_heads,
            self.config.num_key_value_heads,
            self.config.head_dim,
        );
        let rows = qkv.dim(0)?;
        let part = |first: usize, count: usize| {
            qkv.narrow(1, first * dim, count * dim)?
                .contiguous()?
                .reshape((rows, count, dim))
        };
        let rotate = |x: &Tensor| ops::rotate(x, cos, sin);
        let v = part(heads + kv_heads, kv_heads)?;
        if let Some((q_norm, k_norm)) = &layer.head_norms {
            let q = rotate(&self.norm(&part(0, heads)?, q_norm)?)?;
            return Ok((q, rotate(&self.norm(&part(heads, kv_heads)?, k_norm)?)?, v));
        }
        let both = rotate(&part(0, heads + kv_heads)?)?;
        Ok((
            both.narrow(1, 0, heads)?,
            both.narrow(1, heads, kv_heads)?,
            v,
        ))
    }

    /// Attention of a session's rows from `skip` on over its cache, `[rows, heads · dim]`.
    fn attend(
        &self,
        q: &Tensor,
        part: &SegmentRows,
        skip: usize,
        layer: usize,
        cache: &DeviceKvCache,
    ) -> Result<Tensor> {
        let (heads, kv_heads, dim) = (
            self.config.num_attention_heads,
            self.config.num_key_value_heads,
            self.config.head_dim,
        );
        let (rows, group, seen) = (part.rows - skip, heads / kv_heads, part.first + part.rows);
        let (keys, values) = cache.read(layer, seen)?;
        // All query heads that share a key/value head are rows of one product.
        let q = q
            .narrow(0, part.begin + skip, rows)?
            .reshape((rows, kv_heads, group, dim))?
            .transpose(0, 1)?;
        let q = (q.contiguous()?.reshape((kv_heads, rows * group, dim))?
            * (1.0 / (dim as f64).sqrt()))?;
        let mut scores = product(&q, &keys.transpose(1, 2)?)?;
        if let Some(mask) = &part.mask {
            let mask = mask.narrow(0, skip, rows)?;
            scores = scores
                .reshape((kv_heads, rows, group, seen))?
                .broadcast_add(&mask)?
                .reshape((kv_heads, rows * group, seen))?;
        }
        let mixed = product(&ops::softmax(&scores)?, &values)?;
        mixed
            .reshape((kv_heads, rows, group, dim))?
            .transpose(0, 1)?
            .contiguous()?
            .reshape((rows, heads * dim))
    }
}

/// The rows of the block whose logits are read.
fn read_rows(x: &Tensor, parts: &[SegmentRows]) -> Result<Tensor> {
    if parts.iter().all(|part| part.skip == 0) {
        return Ok(x.clone());
    }
    let rows: Vec<u32> = parts
        .iter()
        .flat_map(|part| part.begin + part.skip..part.begin + part.rows)
        .map(|row| row as u32)
        .collect();
    let count = rows.len();
    x.index_select(&Tensor::from_vec(rows, count, x.device())?, 0)
}
