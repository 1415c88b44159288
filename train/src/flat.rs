//! The memory of tensors on the CPU, without copies and without burn's operations.

use burn::backend::Flex;
use burn::backend::tensor::FloatTensor;
use burn::tensor::{Device, Tensor, TensorData};

/// A tensor of f32 on the CPU.
pub(crate) struct Flat(Option<FloatTensor<Flex>>);

impl Flat {
    /// Shares the memory of `tensor`. With the kernels all tensors are f32 and on the CPU; for any
    /// other the slices are empty.
    pub(crate) fn new<const D: usize>(tensor: Tensor<D>) -> Self {
        let tensor = tensor.inner().try_into_primitive::<Flex>().ok();
        Self(tensor.map(|tensor| {
            if tensor.is_contiguous() && tensor.layout().start_offset() == 0 {
                tensor
            } else {
                tensor.to_contiguous()
            }
        }))
    }

    /// The numbers in row-major order.
    pub(crate) fn values(&self) -> &[f32] {
        let tensor = self.0.as_ref();
        tensor
            .and_then(|tensor| tensor.as_slice::<f32>())
            .unwrap_or_default()
    }

    /// The numbers in row-major order; copied first if another tensor shares them.
    pub(crate) fn values_mut(&mut self) -> &mut [f32] {
        let tensor = self.0.as_mut();
        tensor
            .map(|tensor| {
                let n = tensor.layout().num_elements();
                &mut tensor.storage_mut::<f32>()[..n]
            })
            .unwrap_or_default()
    }

    /// As a tensor of one dimension.
    pub(crate) fn into_tensor(self) -> Tensor<1> {
        match self.0 {
            Some(tensor) => {
                let n = tensor.layout().num_elements();
                Tensor::<1>::from_primitive::<Flex>(tensor.reshape([n].into()))
            }
            None => tensor_of(Vec::new(), [0]),
        }
    }
}

/// A tensor on the CPU with this memory.
pub(crate) fn tensor_of<const D: usize>(values: Vec<f32>, shape: [usize; D]) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values, shape), &Device::flex())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_shared_until_it_is_written() {
        let tensor = tensor_of(vec![1.0, 2.0, 3.0, 4.0], [2, 2]);
        let mut own = Flat::new(tensor.clone());
        let before = own.values().as_ptr();
        assert_eq!(before, Flat::new(tensor.clone()).values().as_ptr());
        own.values_mut()[3] = 5.0;
        assert_ne!(before, own.values().as_ptr());
        let after = own.values().as_ptr();
        own.values_mut()[0] = 7.0;
        assert_eq!(after, own.values().as_ptr(), "no copy if nothing shares it");
        assert_eq!(Flat::new(tensor.clone()).values(), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(Flat::new(tensor.transpose()).values(), [1.0, 3.0, 2.0, 4.0]);
        let tensor = own.into_tensor();
        assert_eq!(tensor.dims(), [4]);
        assert_eq!(Flat::new(tensor).values(), [7.0, 2.0, 3.0, 5.0]);
    }
}
