//! Keys and values of one session in a device's memory.

use burn::tensor::{Device, FloatDType, Tensor};

/// Positions of the first allocation; doubled when full.
const FIRST_POSITIONS: usize = 256;

/// Keys and values of every layer, `[kv heads, capacity, dim]` each. burn writes them in place,
/// except the first time after a clone, when it copies them.
#[derive(Clone, Default)]
pub(crate) struct DeviceKvCache {
    layers: Vec<Option<(Tensor<3>, Tensor<3>)>>,
    capacity: usize,
}

/// The shape of a model's cache.
pub(crate) struct CacheShape<'a> {
    pub(crate) layers: usize,
    pub(crate) kv_heads: usize,
    pub(crate) dim: usize,
    /// Maximum number of positions.
    pub(crate) context: usize,
    pub(crate) dtype: FloatDType,
    pub(crate) device: &'a Device,
}

impl DeviceKvCache {
    /// Makes room for `len` positions, of which `held` are written.
    pub(crate) fn reserve(&mut self, held: usize, len: usize, shape: &CacheShape<'_>) {
        if len <= self.capacity {
            return;
        }
        let capacity = len
            .next_power_of_two()
            .clamp(FIRST_POSITIONS, shape.context.max(FIRST_POSITIONS))
            .max(len);
        let dims = [shape.kv_heads, capacity, shape.dim];
        let moved = |old: Option<Tensor<3>>| {
            let new = Tensor::zeros(dims, (shape.device, shape.dtype.into()));
            match old.filter(|_| held > 0) {
                Some(old) => set(new, 0, old.narrow(1, 0, held)),
                None => new,
            }
        };
        self.layers.resize(shape.layers, None);
        for layer in &mut self.layers {
            let (keys, values) = layer.take().unzip();
            *layer = Some((moved(keys), moved(values)));
        }
        self.capacity = capacity;
    }

    /// Writes `[kv heads, rows, dim]` after `first` positions and returns keys and values of all
    /// positions up to there. `None` if nothing is reserved.
    pub(crate) fn write(
        &mut self,
        layer: usize,
        first: usize,
        keys: Tensor<3>,
        values: Tensor<3>,
    ) -> Option<(Tensor<3>, Tensor<3>)> {
        let slot = self.layers.get_mut(layer)?;
        let len = first + keys.dims()[1];
        // Taken out, so that the tensors have no second owner and are written in place.
        let (k, v) = slot.take()?;
        let (k, v) = (set(k, first, keys), set(v, first, values));
        let read = (k.clone().narrow(1, 0, len), v.clone().narrow(1, 0, len));
        *slot = Some((k, v));
        Some(read)
    }
}

/// `tensor` with `rows` from position `first` on.
fn set(tensor: Tensor<3>, first: usize, rows: Tensor<3>) -> Tensor<3> {
    let [heads, count, dim] = rows.dims();
    tensor.slice_assign([0..heads, first..first + count, 0..dim], rows)
}
