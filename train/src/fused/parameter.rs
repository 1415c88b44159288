//! Parameters and sums of gradients as slices.

use std::sync::Arc;

use burn::module::Param;
use burn::tensor::Tensor;

use crate::flat::{Flat, tensor_of};
use crate::grads::NamedGrads;
use crate::kernels::blocks::BlockMatrix;
use crate::kernels::product::{self, Matrix, Target};
use crate::llama;

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

/// A matrix: a parameter, or the blocks of a frozen base.
pub(super) enum Weight {
    Numbers(Parameter),
    Blocks(Arc<BlockMatrix>),
}

impl Weight {
    pub(super) fn new(name: String, matrix: &llama::Matrix) -> Self {
        match matrix {
            llama::Matrix::Numbers(param) => Self::Numbers(Parameter::new(name, param)),
            llama::Matrix::Blocks(frozen) => Self::Blocks(Arc::clone(&frozen.blocks)),
        }
    }

    /// The parameter, if it can be trained.
    pub(super) fn parameter(&self) -> Option<&Parameter> {
        match self {
            Self::Numbers(parameter) => Some(parameter),
            Self::Blocks(_) => None,
        }
    }

    pub(super) fn rows(&self) -> usize {
        match self {
            Self::Numbers(parameter) => parameter.rows(),
            Self::Blocks(blocks) => blocks.rows(),
        }
    }

    /// Width of a row.
    pub(super) fn columns(&self) -> usize {
        match self {
            Self::Numbers(parameter) => parameter.columns(),
            Self::Blocks(blocks) => blocks.columns(),
        }
    }

    /// Copies row `row` to `out`.
    pub(super) fn row(&self, row: usize, out: &mut [f32]) {
        match self {
            Self::Numbers(parameter) => {
                let width = parameter.columns();
                out.copy_from_slice(&parameter.values()[row * width..(row + 1) * width]);
            }
            Self::Blocks(blocks) => blocks.unpack(row, out),
        }
    }

    /// Writes the products of the rows of `x` with all rows of the matrix, plus `keep` times the old
    /// values, to the columns from `from` on of rows of `width`.
    pub(super) fn multiply(
        &self,
        x: Matrix<'_>,
        out: &mut [f32],
        width: usize,
        from: usize,
        keep: f32,
    ) {
        match self {
            Self::Numbers(parameter) => {
                let target = Target::columns(out, width, from, parameter.rows());
                product::multiply(target, keep, x, parameter.matrix().transposed(), 1.0);
            }
            Self::Blocks(blocks) => blocks.multiply(x, out, width, from, keep),
        }
    }

    /// `out = keep * out + grad * matrix`.
    pub(super) fn multiply_back(&self, grad: Matrix<'_>, out: &mut [f32], keep: f32) {
        match self {
            Self::Numbers(parameter) => {
                let target = Target::new(out, parameter.columns());
                product::multiply(target, keep, grad, parameter.matrix(), 1.0);
            }
            Self::Blocks(blocks) => blocks.multiply_back(grad, out, keep),
        }
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
