//! Keys and values of one session, written in place.
//!
//! Per layer and key/value head, keys are stored as panels of sixteen positions `[position /
//! 16][dim][16]` and values as rows `[position][dim]`. Both products of attention are thus the
//! packed product of [`kernels`](crate::kernels), and the cache grows at the end of its buffers.
//! Buffers double; nothing is copied per step, and [`truncate`](KvCache::truncate) is free.

mod device;

pub(crate) use device::{CacheShape, DeviceKvCache};

use crate::kernels::{PANEL, Panels};

/// Positions of the first allocation; doubled when full.
const FIRST_POSITIONS: usize = 256;

/// The cache of one session.
#[derive(Clone)]
pub(crate) struct KvCache {
    heads: Vec<HeadCache>,
    kv_heads: usize,
    dim: usize,
    len: usize,
    capacity: usize,
    /// Keys and values in the memory of a device; `heads` is then empty.
    pub(crate) device: DeviceKvCache,
}

#[derive(Clone, Default)]
struct HeadCache {
    keys: Vec<f32>,
    values: Vec<f32>,
}

impl KvCache {
    /// An empty cache; memory is allocated with the first token.
    pub(crate) fn new(layers: usize, kv_heads: usize, dim: usize) -> Self {
        Self {
            heads: vec![HeadCache::default(); layers * kv_heads],
            kv_heads,
            dim,
            len: 0,
            capacity: 0,
            device: DeviceKvCache::default(),
        }
    }

    /// An empty cache in the memory of a device.
    pub(crate) fn on_device() -> Self {
        Self::new(0, 0, 0)
    }

    /// Positions held.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Keeps the first `len` positions.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Makes room for `len` positions.
    pub(crate) fn reserve(&mut self, len: usize) {
        if len <= self.capacity {
            return;
        }
        self.capacity = len.next_power_of_two().max(FIRST_POSITIONS);
        let (keys, values) = (self.capacity * self.dim, self.capacity * self.value_width());
        for head in &mut self.heads {
            head.keys.resize(keys, 0.0);
            head.values.resize(values, 0.0);
        }
    }

    /// Width of a value row: the head's dimension padded to whole panels.
    pub(crate) fn value_width(&self) -> usize {
        self.dim.next_multiple_of(PANEL)
    }

    pub(crate) fn write(
        &mut self,
        layer: usize,
        head: usize,
        position: usize,
        key: &[f32],
        value: &[f32],
    ) {
        let width = self.value_width();
        let dim = self.dim;
        let head = &mut self.heads[layer * self.kv_heads + head];
        let panel = &mut head.keys[position / PANEL * dim * PANEL..][..dim * PANEL];
        for (line, &k) in panel.chunks_exact_mut(PANEL).zip(key) {
            line[position % PANEL] = k;
        }
        head.values[position * width..][..dim].copy_from_slice(value);
    }

    /// Marks `n` more positions, written in every layer, as held.
    pub(crate) fn advance(&mut self, n: usize) {
        self.len += n;
    }

    /// The keys of the first `positions` positions: a panel holds sixteen positions, a term of its
    /// sums is one dimension.
    pub(crate) fn keys(&self, layer: usize, head: usize, positions: usize) -> Panels<'_> {
        let data = &self.heads[layer * self.kv_heads + head].keys;
        Panels {
            data,
            step: self.dim * PANEL,
            stride: PANEL,
            count: positions.div_ceil(PANEL),
            streamed: false,
        }
    }

    /// The values: a panel holds sixteen dimensions, a term of its sums is one position.
    pub(crate) fn values(&self, layer: usize, head: usize) -> Panels<'_> {
        let data = &self.heads[layer * self.kv_heads + head].values;
        Panels {
            data,
            step: PANEL,
            stride: self.value_width(),
            count: self.value_width() / PANEL,
            streamed: false,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn growing_keeps_the_content_and_truncating_keeps_the_buffers() {
        let mut cache = KvCache::new(1, 2, 4);
        for position in 0..FIRST_POSITIONS + 40 {
            cache.reserve(position + 1);
            let v = position as f32;
            cache.write(0, 1, position, &[v, v + 0.25, v + 0.5, v + 0.75], &[-v; 4]);
            cache.advance(1);
        }
        let keys = cache.keys(0, 1, cache.len());
        assert_eq!(keys.data[3 * keys.step + 2 * PANEL + 5], 53.5);
        assert_eq!(cache.values(0, 1).data[100 * cache.value_width()], -100.0);
        let capacity = cache.capacity;
        cache.truncate(10);
        assert_eq!((cache.len(), cache.capacity), (10, capacity));
    }
}
