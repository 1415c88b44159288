//! The operations on the CPU, in those of burn: the reference for the GPU's kernels.

use burn::backend::ops::FloatTensorOps;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Flex, Scalar, TensorMetadata};
use burn::tensor::{FloatDType, IndexingUpdateOp, Slice, TensorData};

use super::{ModelGradients, ModelOps};

const F32: FloatDType = FloatDType::F32;

/// Added to hidden scores. Finite, because not every backend handles infinity in exponentials.
const HIDDEN: f32 = -1e30;

impl ModelOps for Flex {
    fn causal_softmax(scores: FloatTensor<Self>, scale: f32, group: usize) -> FloatTensor<Self> {
        let (kind, dims) = (scores.dtype(), scores.shape().num_dims());
        let [rows, len] = [scores.shape()[dims - 2], scores.shape()[dims - 1]];
        let hidden = |i: usize| i % len > len - rows / group + i / len / group;
        let mask = (0..rows * len).map(|i| if hidden(i) { HIDDEN } else { 0.0 });
        let mut shape = vec![1; dims - 2];
        shape.extend([rows, len]);
        let data = TensorData::new(mask.collect(), shape);
        let mask = Self::float_from_data(data, &scores.device());
        let x = Self::float_mul_scalar(Self::float_cast(scores, F32), Scalar::from(scale));
        let x = Self::float_add(x, mask);
        let most = Self::float_max_dim(x.clone(), dims - 1);
        let e = Self::float_exp(Self::float_sub(x, most));
        let sum = Self::float_sum_dim(e.clone(), dims - 1);
        Self::float_cast(Self::float_div(e, sum), kind.into())
    }

    fn rms_norm(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        eps: f32,
        kind: FloatDType,
    ) -> FloatTensor<Self> {
        let x = Self::float_cast(x, F32);
        let y = Self::float_mul(x.clone(), inverse_rms(x, eps));
        Self::float_cast(Self::float_mul(y, weight), kind)
    }

    fn gated(x: FloatTensor<Self>) -> FloatTensor<Self> {
        let kind = x.dtype();
        let [gate, up] = halves(&Self::float_cast(x, F32));
        let open = sigmoid(gate.clone());
        let y = Self::float_mul(Self::float_mul(gate, open), up);
        Self::float_cast(y, kind.into())
    }

    fn rotate(
        x: FloatTensor<Self>,
        cos: FloatTensor<Self>,
        sin: FloatTensor<Self>,
        turned: usize,
        sign: f32,
    ) -> FloatTensor<Self> {
        let (kind, [rows, width], half) = (x.dtype(), x.shape().dims(), cos.shape()[1]);
        let part = |x: &FloatTensor<Self>, from: usize, to: usize| {
            let rows = Slice::from(0..rows);
            Self::float_slice(x.clone(), &[rows, Slice::from(from..to)])
        };
        let x = Self::float_cast(x, F32);
        let sin = Self::float_mul_scalar(sin, Scalar::from(sign));
        let mut out = Vec::new();
        for head in (0..turned).step_by(2 * half) {
            let low = part(&x, head, head + half);
            let high = part(&x, head + half, head + 2 * half);
            let product = |a: &FloatTensor<Self>, b: &FloatTensor<Self>| {
                Self::float_mul(a.clone(), b.clone())
            };
            out.push(Self::float_sub(product(&low, &cos), product(&high, &sin)));
            out.push(Self::float_add(product(&high, &cos), product(&low, &sin)));
        }
        if turned < width {
            out.push(part(&x, turned, width));
        }
        Self::float_cast(Self::float_cat(out, 1), kind.into())
    }

    fn cross_entropy(
        logits: FloatTensor<Self>,
        targets: IntTensor<Self>,
        scale: f32,
    ) -> FloatTensor<Self> {
        let x = Self::float_cast(logits, F32);
        let x = Self::float_sub(x.clone(), Self::float_max_dim(x, 1));
        let sum = Self::float_sum_dim(Self::float_exp(x.clone()), 1);
        let right = Self::float_gather(1, x, targets);
        let each = Self::float_sub(Self::float_log(sum), right);
        Self::float_mul_scalar(Self::float_sum_dim(each, 0), Scalar::from(scale))
    }
}

impl ModelGradients for Flex {
    fn causal_softmax_gradient(
        shares: FloatTensor<Self>,
        scale: f32,
        grad: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let (kind, dims) = (shares.dtype(), shares.shape().num_dims());
        let shares = Self::float_cast(shares, F32);
        let part = Self::float_mul(Self::float_cast(grad, F32), shares.clone());
        let sum = Self::float_sum_dim(part.clone(), dims - 1);
        let rest = Self::float_sub(part, Self::float_mul(shares, sum));
        Self::float_cast(
            Self::float_mul_scalar(rest, Scalar::from(scale)),
            kind.into(),
        )
    }

    fn rms_norm_gradient(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        eps: f32,
        grad: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let (kind, x) = (x.dtype(), Self::float_cast(x, F32));
        let inverse = inverse_rms(x.clone(), eps);
        let grad = Self::float_mul(Self::float_cast(grad, F32), weight);
        let normed = Self::float_mul(x, inverse.clone());
        let along = Self::float_mean_dim(Self::float_mul(grad.clone(), normed.clone()), 1);
        let rest = Self::float_sub(grad, Self::float_mul(normed, along));
        Self::float_cast(Self::float_mul(rest, inverse), kind.into())
    }

    fn gated_gradient(x: FloatTensor<Self>, grad: FloatTensor<Self>) -> FloatTensor<Self> {
        let kind = x.dtype();
        let [gate, up] = halves(&Self::float_cast(x, F32));
        let grad = Self::float_cast(grad, F32);
        let open = sigmoid(gate.clone());
        let silu = Self::float_mul(gate, open.clone());
        // The derivative of silu: open · (1 + gate · (1 - open)) = open + silu · (1 - open).
        let closed = Self::float_add_scalar(Self::float_neg(open.clone()), Scalar::from(1.0_f32));
        let slope = Self::float_add(open, Self::float_mul(silu.clone(), closed));
        let of_gate = Self::float_mul(Self::float_mul(grad.clone(), up), slope);
        let both = Self::float_cat(vec![of_gate, Self::float_mul(grad, silu)], 1);
        Self::float_cast(both, kind.into())
    }

    fn cross_entropy_gradient(
        logits: FloatTensor<Self>,
        targets: IntTensor<Self>,
        scale: f32,
    ) -> FloatTensor<Self> {
        let (kind, rows) = (logits.dtype(), logits.shape()[0]);
        let minus = TensorData::new(vec![-1.0_f32; rows], [rows, 1]);
        let minus = Self::float_from_data(minus, &logits.device());
        let x = Self::float_cast(logits, F32);
        let e = Self::float_exp(Self::float_sub(x.clone(), Self::float_max_dim(x, 1)));
        let shares = Self::float_div(e.clone(), Self::float_sum_dim(e, 1));
        let rest = Self::float_scatter(1, shares, targets, minus, IndexingUpdateOp::Add);
        Self::float_cast(
            Self::float_mul_scalar(rest, Scalar::from(scale)),
            kind.into(),
        )
    }
}

/// One over the root of the mean square of each row.
fn inverse_rms(x: FloatTensor<Flex>, eps: f32) -> FloatTensor<Flex> {
    let mean = Flex::float_mean_dim(Flex::float_mul(x.clone(), x), 1);
    Flex::float_recip(Flex::float_sqrt(Flex::float_add_scalar(
        mean,
        Scalar::from(eps),
    )))
}

fn sigmoid(x: FloatTensor<Flex>) -> FloatTensor<Flex> {
    let e = Flex::float_exp(Flex::float_neg(x));
    Flex::float_recip(Flex::float_add_scalar(e, Scalar::from(1.0_f32)))
}

/// The left and the right half of the columns.
fn halves(x: &FloatTensor<Flex>) -> [FloatTensor<Flex>; 2] {
    let [rows, width] = x.shape().dims();
    [0..width / 2, width / 2..width]
        .map(|columns| Flex::float_slice(x.clone(), &[Slice::from(0..rows), Slice::from(columns)]))
}
