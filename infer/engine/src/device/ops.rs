//! Operations that burn has not in this form. Norms, softmax and rotation are computed in f32.

use burn::tensor::{FloatDType, Tensor, activation};

/// RMS norm over the last dimension.
pub(super) fn rms_norm<const D: usize>(x: Tensor<D>, weight: &Tensor<1>, eps: f64) -> Tensor<D> {
    let kind = x.dtype();
    let x = x.cast(FloatDType::F32);
    let inverse = x.clone().square().mean_dim(D - 1).add_scalar(eps as f32);
    (x * inverse.sqrt().recip() * weight.clone().cast(FloatDType::F32).unsqueeze()).cast(kind)
}

/// Softmax over the last dimension.
pub(super) fn softmax<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    let kind = x.dtype();
    activation::softmax(x.cast(FloatDType::F32), D - 1).cast(kind)
}

/// Rotates `[rows, heads, dim]`, half against half, by the cosines and sines `[rows, 1, dim / 2]`.
pub(super) fn rotate(x: Tensor<3>, (cos, sin): &(Tensor<3>, Tensor<3>)) -> Tensor<3> {
    let (kind, half) = (x.dtype(), x.dims()[2] / 2);
    let x = x.cast(FloatDType::F32);
    let (low, high) = (x.clone().narrow(2, 0, half), x.narrow(2, half, half));
    let first = low.clone() * cos.clone() - high.clone() * sin.clone();
    Tensor::cat(vec![first, high * cos.clone() + low * sin.clone()], 2).cast(kind)
}
