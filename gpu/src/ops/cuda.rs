//! The operations on NVIDIA GPUs.

use burn::backend::ops::FloatTensorOps;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Scalar, TensorMetadata};
use burn::tensor::FloatDType;
use burn_cubecl::CubeBackend;

use super::{AdamwStep, ModelGradients, ModelOps};
use crate::kernels;

impl ModelOps for CubeBackend {
    fn project(x: FloatTensor<Self>, w: FloatTensor<Self>, kind: FloatDType) -> FloatTensor<Self> {
        let (x, w) = (Self::float_cast(x, kind), Self::float_cast(w, kind));
        kernels::product(x, Self::float_swap_dims(w, 0, 1))
    }

    fn shared_product(x: FloatTensor<Self>, y: FloatTensor<Self>) -> FloatTensor<Self> {
        let ([n, m, a, b], [_, _, _, c]) = (x.shape().dims(), y.shape().dims());
        let x = Self::float_reshape(x, [n, m * a, b].into());
        let y = Self::float_reshape(y, [n, b, c].into());
        Self::float_reshape(kernels::product(x, y), [n, m, a, c].into())
    }

    fn summed_product(x: FloatTensor<Self>, y: FloatTensor<Self>) -> FloatTensor<Self> {
        let ([n, m, a, b], [_, _, _, c]) = (x.shape().dims(), y.shape().dims());
        let x = Self::float_reshape(x, [n * m, a, b].into());
        let y = Self::float_reshape(y, [n * m, a, c].into());
        // Every matrix has a product of its own: there are more blocks than multiprocessors.
        let product = kernels::product(Self::float_swap_dims(x, 1, 2), y);
        Self::float_sum_dim(Self::float_reshape(product, [n, m, b, c].into()), 1)
    }

    fn causal_softmax(scores: FloatTensor<Self>, scale: f32, group: usize) -> FloatTensor<Self> {
        kernels::causal_softmax(scores, scale, group)
    }

    fn rms_norm(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        eps: f32,
        kind: FloatDType,
    ) -> FloatTensor<Self> {
        kernels::rms_norm(x, weight, eps, kind.into())
    }

    fn gated(x: FloatTensor<Self>) -> FloatTensor<Self> {
        kernels::gated(x)
    }

    fn rotate(
        x: FloatTensor<Self>,
        cos: FloatTensor<Self>,
        sin: FloatTensor<Self>,
        turned: usize,
        sign: f32,
    ) -> FloatTensor<Self> {
        kernels::rotate(x, cos, sin, turned, sign)
    }

    fn cross_entropy(
        logits: FloatTensor<Self>,
        targets: IntTensor<Self>,
        scale: f32,
    ) -> FloatTensor<Self> {
        let sum = Self::float_sum_dim(kernels::surprise(logits, targets), 0);
        Self::float_mul_scalar(sum, Scalar::from(scale))
    }

    fn square_sum(x: FloatTensor<Self>) -> FloatTensor<Self> {
        Self::float_sum(kernels::square_sums(x))
    }

    fn adamw(
        old: FloatTensor<Self>,
        grad: FloatTensor<Self>,
        first: FloatTensor<Self>,
        second: FloatTensor<Self>,
        step: AdamwStep,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        kernels::adamw(old, grad, [first, second], step)
    }
}

impl ModelGradients for CubeBackend {
    fn causal_softmax_gradient(
        shares: FloatTensor<Self>,
        scale: f32,
        grad: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        kernels::causal_softmax_gradient(shares, scale, grad)
    }

    fn rms_norm_gradient(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        eps: f32,
        grad: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        kernels::rms_norm_gradient(x, weight, eps, grad)
    }

    fn gated_gradient(x: FloatTensor<Self>, grad: FloatTensor<Self>) -> FloatTensor<Self> {
        kernels::gated_gradient(x, grad)
    }

    fn cross_entropy_gradient(
        logits: FloatTensor<Self>,
        targets: IntTensor<Self>,
        scale: f32,
    ) -> FloatTensor<Self> {
        kernels::surprise_gradient(logits, targets, scale)
    }
}
