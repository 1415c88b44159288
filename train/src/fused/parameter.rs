//! Parameters and sums of gradients as slices.

use burn::module::Param;
use burn::tensor::Tensor;

use crate::flat::{Flat, tensor_of};
use crate::grads::NamedGrads;
use crate::kernels::product::Matrix;

/// A parameter of the model.
pub(super) struct Parameter {
    name: String,
    values: Flat,
    /// Width of a row of a matrix, one for a vector.
    columns: usize,
    /// Whether it has a gradient.
    pub(super) trained: bool,
}

impl Parameter {
    pub(super) fn new<const D: usize>(name: String, param: &Param<Tensor<D>>) -> Self {
        let tensor = param.val();
        Self {
            name,
            columns: tensor.dims()[1..].iter().product(),
            trained: tensor.is_require_grad(),
            values: Flat::new(tensor),
        }
    }

    pub(super) fn values(&self) -> &[f32] {
        self.values.values()
    }

    /// Width of a row.
    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn rows(&self) -> usize {
        self.values().len() / self.columns
    }

    pub(super) fn matrix(&self) -> Matrix<'_> {
        Matrix::new(self.values(), self.columns)
    }
}

/// Sums of gradients by the names of their parameters.
pub(super) struct GradientSums<'a>(pub(super) &'a mut NamedGrads);

impl GradientSums<'_> {
    /// Calls `add` with the sum of a trained parameter's gradients and the factor for its old
    /// content: zero if this is the first gradient, else one.
    pub(super) fn add(&mut self, parameter: &Parameter, add: impl FnOnce(&mut [f32], f32)) {
        if !parameter.trained {
            return;
        }
        let sum = match self.0.remove(&parameter.name) {
            Some(sum) => {
                let mut sum = Flat::new(sum);
                add(sum.values_mut(), 1.0);
                sum.into_tensor()
            }
            None => {
                let n = parameter.values().len();
                let mut sum = vec![0.0; n];
                add(&mut sum, 0.0);
                tensor_of(sum, [n])
            }
        };
        self.0.insert(parameter.name.clone(), sum);
    }
}
