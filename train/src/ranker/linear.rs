//! Linear layers, forward and backward on one thread, in f32 or with bfloat16 products.

use super::shape::{Affine, LayerSlots};
use crate::kernels::lanes::{Lanes as _, map, simd};
use crate::kernels::product::{Matrix, Target, multiply_here};
use crate::kernels::tiles::{self, Onto, Tiles};

/// A weight matrix `[outputs, inputs]` in tiles.
#[derive(Clone, Default)]
pub(crate) struct PackedWeight {
    forward: Tiles,
    backward: Tiles,
}

impl PackedWeight {
    /// Packs the matrix again.
    fn set(&mut self, weight: &[f32], inputs: usize) {
        self.forward.right_columns(weight, inputs);
        self.backward.right_rows(weight, inputs);
    }
}

/// The packed matrices of a layer.
#[derive(Clone, Default)]
pub(crate) struct PackedLayer {
    pub(crate) qkv: PackedWeight,
    pub(crate) mix: PackedWeight,
    pub(crate) up: PackedWeight,
    pub(crate) down: PackedWeight,
}

impl PackedLayer {
    /// Its matrices, with their places and their numbers of inputs, for packing them on any thread.
    pub(crate) fn parts<'a>(
        &'a mut self,
        at: &'a LayerSlots,
        hidden: usize,
        inner: usize,
    ) -> [(&'a mut PackedWeight, &'a Affine, usize); 4] {
        [
            (&mut self.qkv, &at.qkv, hidden),
            (&mut self.mix, &at.mix, hidden),
            (&mut self.up, &at.up, hidden),
            (&mut self.down, &at.down, inner),
        ]
    }
}

/// Packs the matrix at `at` of the parameters.
pub(crate) fn pack((to, at, inputs): (&mut PackedWeight, &Affine, usize), dense: &[f32]) {
    to.set(&dense[at.weight.clone()], inputs);
}

/// Work memory for packing the other factors.
#[derive(Default)]
pub(crate) struct Factors {
    left: Tiles,
    right: Tiles,
}

/// A linear layer of a net.
#[derive(Clone, Copy)]
pub(crate) struct Linear<'a> {
    /// `[outputs, inputs]`.
    pub(crate) weight: &'a [f32],
    pub(crate) bias: &'a [f32],
    /// With bfloat16 products.
    pub(crate) packed: Option<&'a PackedWeight>,
}

impl Linear<'_> {
    fn outputs(&self) -> usize {
        self.bias.len()
    }

    fn inputs(&self) -> usize {
        self.weight.len() / self.bias.len()
    }

    /// `out = x * weight^T + bias`.
    pub(crate) fn forward(&self, x: &[f32], out: &mut [f32], factors: &mut Factors) {
        let (inputs, outputs) = (self.inputs(), self.outputs());
        if let Some(packed) = self.packed {
            factors.left.left_rows(x, inputs);
            let bias = Onto::Bias(self.bias);
            tiles::multiply(&factors.left, &packed.forward, bias, out);
            return;
        }
        multiply_here(
            Target::new(out, outputs),
            0.0,
            Matrix::new(x, inputs),
            Matrix::new(self.weight, inputs).transposed(),
        );
        simd!(l => {
            for row in out.chunks_exact_mut(outputs) {
                map(l, row, [self.bias], #[inline(always)] |y, [bias]| l.add(y, bias));
            }
        });
    }

    /// The gradient with respect to `x`: replaces `dx`, or is added to it.
    pub(crate) fn backward_input(
        &self,
        grad: &[f32],
        is_added: bool,
        dx: &mut [f32],
        factors: &mut Factors,
    ) {
        let (inputs, outputs) = (self.inputs(), self.outputs());
        if let Some(packed) = self.packed {
            factors.left.left_rows(grad, outputs);
            let onto = if is_added { Onto::Add } else { Onto::Replace };
            tiles::multiply(&factors.left, &packed.backward, onto, dx);
            return;
        }
        multiply_here(
            Target::new(dx, inputs),
            if is_added { 1.0 } else { 0.0 },
            Matrix::new(grad, outputs),
            Matrix::new(self.weight, inputs),
        );
    }

    /// The gradients with respect to weight and bias, written to their places in `dense`.
    pub(crate) fn backward_weight(
        &self,
        grad: &[f32],
        x: &[f32],
        at: &Affine,
        dense: &mut [f32],
        factors: &mut Factors,
    ) {
        let (inputs, outputs) = (self.inputs(), self.outputs());
        let weight = &mut dense[at.weight.clone()];
        if self.packed.is_some() {
            factors.left.left_columns(grad, outputs);
            factors.right.right_rows(x, inputs);
            tiles::multiply(&factors.left, &factors.right, Onto::Replace, weight);
        } else {
            multiply_here(
                Target::new(weight, inputs),
                0.0,
                Matrix::new(grad, outputs).transposed(),
                Matrix::new(x, inputs),
            );
        }
        let sums = &mut dense[at.bias.clone()];
        sums.fill(0.0);
        simd!(l => {
            for row in grad.chunks_exact(outputs) {
                map(l, sums, [row], #[inline(always)] |sum, [x]| l.add(sum, x));
            }
        });
    }
}
