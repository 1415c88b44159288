//! Operations of a language model with their own gradients. burn builds them from smaller parts,
//! which are slow on a GPU. Its gradient of picked rows uses one thread for each column, and its sum
//! of a row one thread for each row. Each part also keeps its values for the backward pass.
//!
//! Norms, softmax and the loss are computed in f32. Their results have the format of the input, or
//! the one that is asked for.

#[cfg(feature = "cuda")]
mod cuda;
mod gradients;
mod reference;

use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Backend, Dispatch, Scalar, backend_extension};
use burn::tensor::{Device, FloatDType, Int, Tensor, TensorData};

pub use crate::adamw::AdamwStep;

/// The operations on a backend. Tensors are `[rows, width]` where nothing else is said. A gradient
/// is that of the operation's first argument.
#[backend_extension(Flex, Cube: cfg(feature = "cuda"), Autodiff)]
pub trait ModelOps: Backend {
    /// `x wᵀ` of `[rows, in]` and `[out, in]`, computed in `kind`.
    fn project(x: FloatTensor<Self>, w: FloatTensor<Self>, kind: FloatDType) -> FloatTensor<Self> {
        let (x, w) = (Self::float_cast(x, kind), Self::float_cast(w, kind));
        Self::float_matmul(x, Self::float_swap_dims(w, 0, 1))
    }

    /// Rows `there` of `x`. Row `i` of the gradient is row `back[i]` of the result's gradient,
    /// times `used[i]`.
    #[allow(unused_variables)]
    fn pick_rows(
        x: FloatTensor<Self>,
        there: IntTensor<Self>,
        back: IntTensor<Self>,
        used: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        Self::float_select(x, 0, there)
    }

    /// `x y` of `[n, m, a, b]` and `[n, 1, b, c]`: `m` matrices share one.
    fn shared_product(x: FloatTensor<Self>, y: FloatTensor<Self>) -> FloatTensor<Self> {
        Self::float_matmul(x, y)
    }

    /// `xᵀ y` of `[n, m, a, b]` and `[n, m, a, c]`, summed over `m`: `[n, 1, b, c]`.
    fn summed_product(x: FloatTensor<Self>, y: FloatTensor<Self>) -> FloatTensor<Self> {
        let product = Self::float_matmul(Self::float_swap_dims(x, 2, 3), y);
        Self::float_sum_dim(product, 1)
    }

    /// Softmax of `scale` times the scores over the last dimension of `[.., rows, len]`. The rows
    /// come in groups of `group`. The last group sees all values, each group one more than the group
    /// before it.
    fn causal_softmax(scores: FloatTensor<Self>, scale: f32, group: usize) -> FloatTensor<Self>;

    /// RMS norm by `weight` (f32, `[1, width]`), as `kind`.
    fn rms_norm(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        eps: f32,
        kind: FloatDType,
    ) -> FloatTensor<Self>;

    /// `silu(gate) * up` of `[rows, 2 * inner]`.
    fn gated(x: FloatTensor<Self>) -> FloatTensor<Self>;

    /// Rotates the first `turned` values of the rows in heads, half against half, by the angles
    /// whose cosines and sines (f32, `[rows, half]`) are given, or by their negatives if `sign` is
    /// -1.
    fn rotate(
        x: FloatTensor<Self>,
        cos: FloatTensor<Self>,
        sin: FloatTensor<Self>,
        turned: usize,
        sign: f32,
    ) -> FloatTensor<Self>;

    /// `scale` times the sum of the rows' cross-entropies against `targets` (`[rows, 1]`), `[1, 1]`.
    fn cross_entropy(
        logits: FloatTensor<Self>,
        targets: IntTensor<Self>,
        scale: f32,
    ) -> FloatTensor<Self>;

    /// The sum of the squares of `x` (`[n]`), `[1]`.
    fn square_sum(x: FloatTensor<Self>) -> FloatTensor<Self> {
        Self::float_sum(Self::float_mul(x.clone(), x))
    }

    /// A step of AdamW: the weights and both moments after it. All are `[n]` and in f32.
    fn adamw(
        old: FloatTensor<Self>,
        grad: FloatTensor<Self>,
        first: FloatTensor<Self>,
        second: FloatTensor<Self>,
        step: AdamwStep,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        let times = |x: FloatTensor<Self>, y: f32| Self::float_mul_scalar(x, Scalar::from(y));
        let grad = times(grad, step.factor);
        let square = Self::float_mul(grad.clone(), grad.clone());
        let moment = |before: FloatTensor<Self>, now: FloatTensor<Self>, beta: f32| {
            Self::float_add(times(before, beta), times(now, 1.0 - beta))
        };
        let first = moment(first, grad, step.beta1);
        let second = moment(second, square, step.beta2);
        let deviation = Self::float_sqrt(times(second.clone(), 1.0 / step.bias2));
        let deviation = Self::float_add_scalar(deviation, Scalar::from(step.epsilon));
        let change = Self::float_div(times(first.clone(), step.rate / step.bias1), deviation);
        let new = Self::float_sub(times(old, step.kept), change);
        (new, first, second)
    }
}

/// The gradients of the operations.
pub trait ModelGradients: ModelOps {
    /// The gradient of the softmax from its result.
    fn causal_softmax_gradient(
        shares: FloatTensor<Self>,
        scale: f32,
        grad: FloatTensor<Self>,
    ) -> FloatTensor<Self>;

    /// The gradient of the norm.
    fn rms_norm_gradient(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        eps: f32,
        grad: FloatTensor<Self>,
    ) -> FloatTensor<Self>;

    /// The gradient of [`gated`](Self::gated).
    fn gated_gradient(x: FloatTensor<Self>, grad: FloatTensor<Self>) -> FloatTensor<Self>;

    /// The gradient of the loss.
    fn cross_entropy_gradient(
        logits: FloatTensor<Self>,
        targets: IntTensor<Self>,
        scale: f32,
    ) -> FloatTensor<Self>;
}

/// `x wᵀ` of `[rows, in]` and `[out, in]`, computed in `kind`.
pub fn project(x: Tensor<2>, w: Tensor<2>, kind: FloatDType) -> Tensor<2> {
    Tensor::from_dispatch(Dispatch::project(
        x.into_dispatch(),
        w.into_dispatch(),
        kind,
    ))
}

/// Softmax of `scale` times the scores over the last dimension of `[.., rows, len]`. The rows
/// come in groups of `group`. The last group sees all values, each group one more than the group
/// before it.
pub fn causal_softmax<const D: usize>(scores: Tensor<D>, scale: f32, group: usize) -> Tensor<D> {
    Tensor::from_dispatch(Dispatch::causal_softmax(
        scores.into_dispatch(),
        scale,
        group,
    ))
}

/// `x y` of `[n, m, a, b]` and `[n, 1, b, c]`: `m` matrices share one.
pub fn shared_product(x: Tensor<4>, y: Tensor<4>) -> Tensor<4> {
    Tensor::from_dispatch(Dispatch::shared_product(
        x.into_dispatch(),
        y.into_dispatch(),
    ))
}

/// `silu(gate) * up` of `[rows, 2 * inner]`.
pub fn gated(x: Tensor<2>) -> Tensor<2> {
    Tensor::from_dispatch(Dispatch::gated(x.into_dispatch()))
}

/// Rotates the first `turned` values of the rows in heads, half against half, by the angles whose
/// cosines and sines (f32, `[rows, half]`) are given.
pub fn rotate(x: Tensor<2>, cos: Tensor<2>, sin: Tensor<2>, turned: usize) -> Tensor<2> {
    let (cos, sin) = (cos.into_dispatch(), sin.into_dispatch());
    Tensor::from_dispatch(Dispatch::rotate(x.into_dispatch(), cos, sin, turned, 1.0))
}

/// RMS norm of `[rows, width]` by the weight `[width]`, as `kind`.
pub fn rms_norm(x: Tensor<2>, weight: Tensor<1>, eps: f32, kind: FloatDType) -> Tensor<2> {
    let weight = weight.cast(FloatDType::F32).unsqueeze::<2>();
    Tensor::from_dispatch(Dispatch::rms_norm(
        x.into_dispatch(),
        weight.into_dispatch(),
        eps,
        kind,
    ))
}

/// `scale` times the summed cross-entropy of the rows of `logits` against `targets`, as `[1]`.
pub fn cross_entropy(logits: Tensor<2>, targets: Tensor<1, Int>, scale: f32) -> Tensor<1> {
    let targets = targets.unsqueeze_dim::<2>(1);
    let loss = Dispatch::cross_entropy(logits.into_dispatch(), targets.into_dispatch(), scale);
    Tensor::<2>::from_dispatch(loss).reshape([1])
}

/// The sum of the squares of `x`, as `[1]`.
pub fn square_sum(x: Tensor<1>) -> Tensor<1> {
    Tensor::from_dispatch(Dispatch::square_sum(x.into_dispatch()))
}

/// A step of AdamW: the weights and both moments after it. All are in f32.
pub fn adamw(
    old: Tensor<1>,
    grad: Tensor<1>,
    [first, second]: [Tensor<1>; 2],
    step: AdamwStep,
) -> (Tensor<1>, [Tensor<1>; 2]) {
    let (new, first, second) = Dispatch::adamw(
        old.into_dispatch(),
        grad.into_dispatch(),
        first.into_dispatch(),
        second.into_dispatch(),
        step,
    );
    let tensor = Tensor::from_dispatch;
    (tensor(new), [tensor(first), tensor(second)])
}

/// Some rows of a tensor in any order, none of them twice.
#[derive(Clone, Debug)]
pub struct PickedRows {
    /// The picked rows.
    there: Tensor<1, Int>,
    /// Where each row of the tensor went; 0 if nowhere.
    back: Tensor<1, Int>,
    /// 1 if a row is picked and 0 if not, `[rows, 1]`.
    used: Tensor<2>,
}

impl PickedRows {
    /// Picks `rows` of a tensor of `count` rows. `None` stands for a row whose content does not
    /// matter; its gradient has to be zero.
    pub fn new(rows: &[Option<usize>], count: usize, device: &Device) -> Self {
        let (mut back, mut used) = (vec![0_i64; count], vec![0.0_f32; count]);
        for (place, row) in rows.iter().enumerate() {
            if let Some(row) = row {
                back[*row] = place as i64;
                used[*row] = 1.0;
            }
        }
        let there: Vec<i64> = rows.iter().map(|row| row.unwrap_or(0) as i64).collect();
        let indices = |list: Vec<i64>| {
            let n = list.len();
            Tensor::from_data(TensorData::new(list, [n]), device)
        };
        Self {
            there: indices(there),
            back: indices(back),
            used: Tensor::from_data(TensorData::new(used, [count, 1]), device),
        }
    }

    /// The rows of `x`.
    pub fn of(&self, x: Tensor<2>) -> Tensor<2> {
        Tensor::from_dispatch(Dispatch::pick_rows(
            x.into_dispatch(),
            self.there.clone().into_dispatch(),
            self.back.clone().into_dispatch(),
            self.used.clone().into_dispatch(),
        ))
    }
}
