//! Parameters and sums of gradients as slices.

use std::sync::Arc;

use burn::module::Param;
use burn::tensor::Tensor;

use crate::device::Precision;
use crate::flat::{Flat, tensor_of};
use crate::grads::NamedGrads;
use crate::kernels::blocks::BlockMatrix;
use crate::kernels::buffer;
use crate::kernels::mixed::multiply_in;
use crate::kernels::product::{Matrix, Target};
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

/// The numbers of a matrix.
enum Numbers {
    Parameter(Parameter),
    /// Blocks of a frozen base.
    Blocks(Arc<BlockMatrix>),
}

/// A matrix, and the precision of its products.
pub(super) struct Weight {
    numbers: Numbers,
    precision: Precision,
}

impl Weight {
    pub(super) fn new(name: String, matrix: &llama::Matrix, precision: Precision) -> Self {
        let numbers = match matrix {
            llama::Matrix::Numbers(param) => Numbers::Parameter(Parameter::new(name, param)),
            llama::Matrix::Blocks(frozen) => Numbers::Blocks(Arc::clone(&frozen.blocks)),
        };
        Self { numbers, precision }
    }

    pub(super) fn of(parameter: Parameter, precision: Precision) -> Self {
        let numbers = Numbers::Parameter(parameter);
        Self { numbers, precision }
    }

    /// The parameter, if it can be trained.
    pub(super) fn parameter(&self) -> Option<&Parameter> {
        match &self.numbers {
            Numbers::Parameter(parameter) => Some(parameter),
            Numbers::Blocks(_) => None,
        }
    }

    pub(super) fn rows(&self) -> usize {
        match &self.numbers {
            Numbers::Parameter(parameter) => parameter.rows(),
            Numbers::Blocks(blocks) => blocks.rows(),
        }
    }

    /// Width of a row.
    pub(super) fn columns(&self) -> usize {
        match &self.numbers {
            Numbers::Parameter(parameter) => parameter.columns(),
            Numbers::Blocks(blocks) => blocks.columns(),
        }
    }

    /// Copies row `row` to `out`.
    pub(super) fn row(&self, row: usize, out: &mut [f32]) {
        match &self.numbers {
            Numbers::Parameter(parameter) => {
                let width = parameter.columns();
                out.copy_from_slice(&parameter.values()[row * width..(row + 1) * width]);
            }
            Numbers::Blocks(blocks) => blocks.unpack(row, out),
        }
    }

    /// The products of the rows of `x` with all rows of the matrix, in the columns from `from` on of rows of `width`:
    /// replaces the old values, or is added to them.
    pub(super) fn multiply(
        &self,
        x: Matrix<'_>,
        (out, width, from): (&mut [f32], usize, usize),
        is_added: bool,
    ) {
        match &self.numbers {
            Numbers::Parameter(parameter) => {
                let target = Target::columns(out, width, from, parameter.rows());
                let matrix = parameter.matrix().transposed();
                multiply_in(self.precision, target, is_added, x, matrix);
            }
            Numbers::Blocks(blocks) => {
                blocks.multiply(self.precision, x, (out, width, from), is_added);
            }
        }
    }

    /// `grad * matrix`: replaces `out`, or is added to it.
    pub(super) fn multiply_back(&self, grad: Matrix<'_>, out: &mut [f32], is_added: bool) {
        match &self.numbers {
            Numbers::Parameter(parameter) => {
                let target = Target::new(out, parameter.columns());
                multiply_in(self.precision, target, is_added, grad, parameter.matrix());
            }
            Numbers::Blocks(blocks) => blocks.multiply_back(self.precision, grad, out, is_added),
        }
    }

    /// Adds `grad`'s transpose times `x`, the matrix's gradient, to `sums`, if the matrix is trained.
    pub(super) fn add_gradient(
        &self,
        grad: Matrix<'_>,
        x: Matrix<'_>,
        sums: &mut GradientSums<'_>,
    ) {
        if let Some(parameter) = self.parameter() {
            sums.add(parameter, |sum, keep| {
                let target = Target::new(sum, parameter.columns());
                let is_added = keep != 0.0;
                multiply_in(self.precision, target, is_added, grad.transposed(), x);
            });
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
                buffer::make_room(n);
                let mut sum = vec![0.0; n];
                add(&mut sum, 0.0);
                tensor_of(sum, [n])
            }
        };
        self.0.insert(parameter.name.clone(), sum);
    }
}
