//! Products with the matrices of a layer, with their biases and LoRA corrections.

use super::parameter::{GradientSums, Parameter, Weight};
use crate::device::Precision;
use crate::dropout::Dropout;
use crate::kernels::buffer::Buffer;
use crate::kernels::mixed::multiply_in;
use crate::kernels::product::{Matrix, Target};
use crate::kernels::rows;
use crate::llama::Linear;

/// A matrix `[out, in]` of a layer.
struct Part {
    weight: Weight,
    bias: Option<Parameter>,
    /// LoRA's `a`, `[rank, in]`, and `b`, `[out, rank]`.
    factors: Option<(Parameter, Parameter)>,
}

/// The product of rows with the vertically concatenated matrices of `parts`.
pub(super) struct Projection {
    parts: Vec<Part>,
    lora_scale: f32,
    /// Dropout of the input of LoRA corrections, at a position in the model.
    dropout: Option<(Dropout, usize)>,
    precision: Precision,
}

/// The values that the backward pass needs in addition to the input.
#[derive(Default)]
pub(super) struct ProjectionState {
    /// The input of LoRA corrections, if it has dropout.
    dropped: Option<Buffer>,
    /// Its products with `a`, times LoRA's scale, for every part with factors.
    low: Vec<Buffer>,
}

impl Projection {
    /// The matrices with their names.
    pub(super) fn new(
        parts: &[(&Linear, String)],
        lora_scale: f32,
        dropout: Option<(Dropout, usize)>,
        precision: Precision,
    ) -> Self {
        let part = |(linear, name): &(&Linear, String)| {
            let named = |field: &str| format!("{name}.{field}");
            let bias = linear.bias.as_ref();
            let (a, b) = (linear.lora_a.as_ref(), linear.lora_b.as_ref());
            Part {
                weight: Weight::new(named("weight"), &linear.weight, precision),
                bias: bias.map(|bias| Parameter::new(named("bias"), bias)),
                factors: a.zip(b).map(|(a, b)| {
                    (
                        Parameter::new(named("lora_a"), a),
                        Parameter::new(named("lora_b"), b),
                    )
                }),
            }
        };
        Self {
            parts: parts.iter().map(part).collect(),
            lora_scale,
            dropout,
            precision,
        }
    }

    /// Width of a row of the result.
    pub(super) fn width(&self) -> usize {
        self.parts.iter().map(|part| part.weight.rows()).sum()
    }

    fn has_factors(&self) -> bool {
        self.parts.iter().any(|part| part.factors.is_some())
    }

    /// The product with `x`.
    pub(super) fn forward(&self, x: &[f32]) -> (Buffer, ProjectionState) {
        let rows = x.len() / self.parts[0].weight.columns();
        let mut out = Buffer::unset(rows * self.width());
        let state = self.write(x, &mut out, false);
        (out, state)
    }

    /// Adds the product with `x` to `out`.
    pub(super) fn add(&self, x: &[f32], out: &mut [f32]) -> ProjectionState {
        self.write(x, out, true)
    }

    /// The product: replaces `out`, or is added to it.
    fn write(&self, x: &[f32], out: &mut [f32], is_added: bool) -> ProjectionState {
        let (width, input) = (self.width(), self.parts[0].weight.columns());
        let mut state = ProjectionState::default();
        if let Some((dropout, place)) = self.dropout.filter(|_| self.has_factors()) {
            let mut dropped = dropout.mask(x.len(), place);
            rows::multiply(&mut dropped, x);
            state.dropped = Some(dropped);
        }
        let mut from = 0;
        for part in &self.parts {
            let count = part.weight.rows();
            part.weight
                .multiply(Matrix::new(x, input), (out, width, from), is_added);
            if let Some(bias) = &part.bias {
                rows::add_bias(out, width, from, bias.values());
            }
            if let Some((a, b)) = &part.factors {
                let dropped = Matrix::new(state.dropped.as_deref().unwrap_or(x), input);
                let rank = a.rows();
                let mut low = Buffer::unset(x.len() / input * rank);
                let a = a.matrix().transposed();
                let precision = self.precision;
                multiply_in(precision, Target::new(&mut low, rank), false, dropped, a);
                rows::scale(&mut low, self.lora_scale);
                let target = Target::columns(out, width, from, count);
                let b = b.matrix().transposed();
                multiply_in(precision, target, true, Matrix::new(&low, rank), b);
                state.low.push(low);
            }
            from += count;
        }
        state
    }

    /// Adds the gradients of the parameters to `sums` and returns the gradient of the input.
    /// `grads` is the gradient of the result.
    pub(super) fn backward(
        &self,
        x: &[f32],
        state: &ProjectionState,
        grads: &[f32],
        sums: &mut GradientSums<'_>,
    ) -> Buffer {
        let (width, input) = (self.width(), self.parts[0].weight.columns());
        let inputs = Matrix::new(x, input);
        let whole = Matrix::new(grads, width);
        let mut dx = Buffer::unset(x.len());
        let mut from = 0;
        for part in &self.parts {
            let count = part.weight.rows();
            let grad = whole.columns(from, count);
            part.weight.multiply_back(grad, &mut dx, from > 0);
            part.weight.add_gradient(grad, inputs, sums);
            if let Some(bias) = &part.bias {
                // The first sum is zero.
                sums.add(bias, |sum, _| {
                    rows::add_column_sums(sum, grads, width, from);
                });
            }
            from += count;
        }
        self.backward_factors(x, state, whole, &mut dx, sums);
        dx
    }

    /// The part of [`Projection::backward`] of LoRA's corrections.
    fn backward_factors(
        &self,
        x: &[f32],
        state: &ProjectionState,
        grads: Matrix<'_>,
        dx: &mut [f32],
        sums: &mut GradientSums<'_>,
    ) {
        if !self.has_factors() {
            return;
        }
        let input = self.parts[0].weight.columns();
        let dropped = Matrix::new(state.dropped.as_deref().unwrap_or(x), input);
        let mut masked = self.dropout.map(|_| Buffer::zeros(x.len()));
        let precision = self.precision;
        let mut from = 0;
        let mut lows = state.low.iter();
        for part in &self.parts {
            let count = part.weight.rows();
            let grad = grads.columns(from, count);
            from += count;
            let Some((a, b)) = &part.factors else {
                continue;
            };
            let (rank, low) = (a.rows(), lows.next().map_or(&[][..], |low| low));
            let mut dlow = Buffer::unset(low.len());
            let target = Target::new(&mut dlow, rank);
            multiply_in(precision, target, false, grad, b.matrix());
            rows::scale(&mut dlow, self.lora_scale);
            sums.add(b, |sum, keep| {
                let (target, low) = (Target::new(sum, rank), Matrix::new(low, rank));
                multiply_in(precision, target, keep != 0.0, grad.transposed(), low);
            });
            let dlow = Matrix::new(&dlow, rank);
            sums.add(a, |sum, keep| {
                let target = Target::new(sum, input);
                multiply_in(precision, target, keep != 0.0, dlow.transposed(), dropped);
            });
            let target = Target::new(masked.as_deref_mut().unwrap_or(dx), input);
            multiply_in(precision, target, true, dlow, a.matrix());
        }
        if let (Some((dropout, place)), Some(mut masked)) = (self.dropout, masked) {
            rows::multiply(&mut masked, &dropout.mask(x.len(), place));
            rows::add(dx, &masked);
        }
    }
}
