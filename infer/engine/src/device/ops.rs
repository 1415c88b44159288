//! Operations that candle-nn fuses, which saves a GPU four of five kernel launches. Without the
//! feature `nn` they are composed of candle's own operations, so that default builds do without the
//! crate; that is enough to test the device path on the CPU.
//!
//! `rms_norm(x, weight, eps)` and `softmax(x)` work on the last dimension; `rotate(x, cos, sin)`
//! rotates `[rows, heads, dim]`, half against half, by `[rows, dim / 2]`.

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
