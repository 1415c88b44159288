//! The operations on NVIDIA GPUs.

use burn::backend::Scalar;
use burn::backend::ops::FloatTensorOps;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::tensor::FloatDType;
use burn_cubecl::CubeBackend;

use super::{ModelGradients, ModelOps};
use crate::kernels;

impl ModelOps for CubeBackend {
    fn project(x: FloatTensor<Self>, w: FloatTensor<Self>, kind: FloatDType) -> FloatTensor<Self> {
        let (x, w) = (Self::float_cast(x, kind), Self::float_cast(w, kind));
        kernels::product(x, Self::float_swap_dims(w, 0, 1))
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
