//! Keys and values of one session in a device's memory.
use candle_core::{DType, Device, Result, Tensor};
use std::sync::Arc;

/// Positions of the first allocation; doubled when full.
const FIRST_POSITIONS: usize = 256;

/// Keys and values of every layer, `[kv heads, capacity, dim]` each, written in place. A clone shares them until one of both is written.
#[derive(Clone, Default)]
pub(crate) struct Buffers {
    layers: Arc<Vec<(Tensor, Tensor)>>,
    capacity: usize,
}

/// Sizes of a model's cache.
pub(super) struct Sizes<'a> {
    pub(super) layers: usize,
    pub(super) kv_heads: usize,
    pub(super) dim: usize,
    /// The most positions that there are.
    pub(super) context: usize,
    pub(super) dtype: DType,
    pub(super) device: &'a Device,
}

impl Buffers {
    /// Makes room for `len` positions, of which `held` are written, in buffers that nobody shares.
    pub(super) fn reserve(&mut self, held: usize, len: usize, sizes: &Sizes<'_>) -> Result<()> {
        if len <= self.capacity && Arc::get_mut(&mut self.layers).is_some() {
            return Ok(());
        }
        let capacity = len
            .next_power_of_two()
            .clamp(FIRST_POSITIONS, sizes.context.max(FIRST_POSITIONS))
            .max(self.capacity);
        let shape = (sizes.kv_heads, capacity, sizes.dim);
        let moved = |old: Option<&Tensor>| -> Result<Tensor> {
            let new = Tensor::zeros(shape, sizes.dtype, sizes.device)?;
            if let Some(old) = old.filter(|_| held > 0) {
                new.slice_set(&old.narrow(1, 0, held)?.contiguous()?, 1, 0)?;
            }
            Ok(new)
        };
        let layer = |l: usize| {
            Ok((
                moved(self.layers.get(l).map(|old| &old.0))?,
                moved(self.layers.get(l).map(|old| &old.1))?,
            ))
        };
        self.layers = Arc::new((0..sizes.layers).map(layer).collect::<Result<_>>()?);
        self.capacity = capacity;
        Ok(())
    }

    /// Writes `[kv heads, rows, dim]` behind `first` positions.
    pub(super) fn write(
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
    pub(super) fn read(&self, layer: usize, len: usize) -> Result<(Tensor, Tensor)> {
        let (k, v) = &self.layers[layer];
        Ok((k.narrow(1, 0, len)?, v.narrow(1, 0, len)?))
    }
}
