//! Operations that candle-nn has a kernel for, which spares a GPU four of five launches. Without it (no feature `nn`) they are made of candle's own: for a
//! look at the device's path on the CPU that is enough, and everybody's build is spared a crate.
//!
//! `rms_norm(x, weight, eps)` and `softmax(x)` are of the last dimension; `rotate(x, cos, sin)` turns `[rows, heads, dim]`, half against half, by `[rows, dim / 2]`.
#[cfg(feature = "nn")]
pub(super) use fused::{rms_norm, rotate, softmax};
#[cfg(not(feature = "nn"))]
pub(super) use plain::{rms_norm, rotate, softmax};

#[cfg(feature = "nn")]
mod fused {
    use candle_core::{Result, Tensor};

    pub(in super::super) fn rms_norm(x: &Tensor, weight: &Tensor, eps: f64) -> Result<Tensor> {
        candle_nn::ops::rms_norm(x, weight, eps as f32)
    }

    pub(in super::super) fn softmax(x: &Tensor) -> Result<Tensor> {
        candle_nn::ops::softmax_last_dim(x)
    }

    pub(in super::super) fn rotate(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
        candle_nn::rotary_emb::rope_thd(&x.unsqueeze(0)?, cos, sin)?.squeeze(0)
    }
}

#[cfg(not(feature = "nn"))]
mod plain {
    use candle_core::{D, DType, Result, Tensor};

    pub(in super::super) fn rms_norm(x: &Tensor, weight: &Tensor, eps: f64) -> Result<Tensor> {
        let wide = x.to_dtype(DType::F32)?;
        let inverse = (wide.sqr()?.mean_keepdim(D::Minus1)? + eps)?
            .sqrt()?
            .recip()?;
        wide.broadcast_mul(&inverse)?
            .broadcast_mul(&weight.to_dtype(DType::F32)?)?
            .to_dtype(x.dtype())
    }

    pub(in super::super) fn softmax(x: &Tensor) -> Result<Tensor> {
        let wide = x.to_dtype(DType::F32)?;
        let weights = wide.broadcast_sub(&wide.max_keepdim(D::Minus1)?)?.exp()?;
        weights
            .broadcast_div(&weights.sum_keepdim(D::Minus1)?)?
            .to_dtype(x.dtype())
    }

    pub(in super::super) fn rotate(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
        let half = x.dim(D::Minus1)? / 2;
        let (low, high) = (
            x.narrow(D::Minus1, 0, half)?,
            x.narrow(D::Minus1, half, half)?,
        );
        let (cos, sin) = (cos.unsqueeze(1)?, sin.unsqueeze(1)?);
        let first = (low.broadcast_mul(&cos)? - high.broadcast_mul(&sin)?)?;
        Tensor::cat(
            &[
                first,
                (high.broadcast_mul(&cos)? + low.broadcast_mul(&sin)?)?,
            ],
            D::Minus1,
        )
    }
}
