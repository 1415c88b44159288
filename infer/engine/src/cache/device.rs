//! Keys and values of one session in a device's memory.

use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor};

/// Positions of the first allocation; doubled when full.
const FIRST_POSITIONS: usize = 256;

/// Keys and values of every layer, `[kv heads, capacity, dim]` each, written in place. A clone
/// shares them until one of the two grows or is written.
#[derive(Clone, Default)]
pub(crate) struct DeviceKvCache {
    layers: Arc<Vec<(Tensor, Tensor)>>,
    capacity: usize,
}

/// The shape of a model's cache.
pub(crate) struct CacheShape<'a> {
    pub(crate) layers: usize,
    pub(crate) kv_heads: usize,
    pub(crate) dim: usize,
    /// Maximum number of positions.
    pub(crate) context: usize,
    pub(crate) dtype: DType,
    pub(crate) device: &'a Device,
}

impl DeviceKvCache {
    /// Makes room for `len` positions, of which `held` are written, in buffers not shared with a
    /// clone.
    pub(crate) fn reserve(
        &mut self,
        held: usize,
        len: usize,
        shape: &CacheShape<'_>,
    ) -> Result<()> {
        if len <= self.capacity && Arc::get_mut(&mut self.layers).is_some() {
            return Ok(());
        }
        let capacity = len
            .next_power_of_two()
            .clamp(FIRST_POSITIONS, shape.context.max(FIRST_POSITIONS))
            .max(self.capacity);
        let dims = (shape.kv_heads, capacity, shape.dim);
        let moved = |old: Option<&Tensor>| -> Result<Tensor> {
            let new = Tensor::zeros(dims, shape.dtype, shape.device)?;
            if let Some(old) = old.filter(|_| held > 0) {
                new.slice_set(&old.narrow(1, 0, held)?.contiguous()?, 1, 0)?;
            }
            Ok(new)
        };
        let layer = |l: usize| {
            let old = self.layers.get(l);
            Ok((moved(old.map(|old| &old.0))?, moved(old.map(|old| &old.1))?))
        };
        self.layers = Arc::new((0..shape.layers).map(layer).collect::<Result<_>>()?);
        self.capacity = capacity;
        Ok(())
    }

    /// Writes `[kv heads, rows, dim]` after `first` positions.
    pub(crate) fn write(
        &self,
        layer: usize,
        first: usize,
        keys: &Tensor,
        values: &Tensor,
    ) -> Result<()> {
        let (k, v) = &self.layers[layer];
        k.slice_set(keys, 1, first)?;
        v.slice_set(values, 1, first)
    }

    /// Keys and values of the first `len` positions.
    pub(crate) fn read(&self, layer: usize, len: usize) -> Result<(Tensor, Tensor)> {
        let (k, v) = &self.layers[layer];
        Ok((k.narrow(1, 0, len)?, v.narrow(1, 0, len)?))
    }
}
