//! The operations of the model: on the CPU backend the kernels of [`crate::kernels`] as burn
//! operations with hand-written backward passes, on other devices the same mathematics in burn's
//! operations ([`crate::reference_ops`]).

use std::sync::Arc;

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, NodeGuard, Ops, OpsKind};
use burn::backend::ops::FloatTensorOps;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::{Device, Tensor, TensorData};

use crate::device::{Compute, Precision};
use crate::kernels::attention::AttentionShape;
use crate::kernels::{attention, cross_entropy, norm, swiglu};
use crate::reference_ops::{self, Padded};

/// Attention over one packed batch.
pub(crate) enum PackedAttention {
    /// With the fused kernel.
    Fused(Arc<AttentionShape>),
    /// With products over padded blocks.
    Stock(Precision, Box<Padded>),
}

type Plain = FloatTensor<Flex>;

/// Operations with a hand-written backward pass.
#[backend_extension(Flex, Autodiff)]
pub(crate) trait FusedOps: Backend {
    /// `x * w^T` of `[rows, in]` and `[out, in]`.
    fn fused_linear(x: FloatTensor<Self>, w: FloatTensor<Self>) -> FloatTensor<Self>;
    /// RMS norm of `[rows, width]` by `[width]`.
    fn fused_norm(x: FloatTensor<Self>, w: FloatTensor<Self>, eps: f32) -> FloatTensor<Self>;
    /// Rotary, causal, grouped attention over packed segments.
    fn fused_attention(x: FloatTensor<Self>, shape: Arc<AttentionShape>) -> FloatTensor<Self>;
    /// `silu(gate) * up` of `[rows, 2 * inner]`.
    fn fused_swiglu(x: FloatTensor<Self>) -> FloatTensor<Self>;
    /// `scale` times the summed cross-entropy of `[rows, vocab]`.
    fn fused_cross_entropy(
        logits: FloatTensor<Self>,
        targets: Arc<Vec<u32>>,
        scale: f32,
    ) -> FloatTensor<Self>;
}

/// The elements of a contiguous tensor. With the kernels all tensors are f32, so the type always
/// matches.
fn slice(tensor: &Plain) -> &[f32] {
    tensor.as_slice::<f32>().unwrap_or_default()
}

/// The tensor in contiguous memory.
fn contiguous(tensor: Plain) -> Plain {
    if tensor.is_contiguous() {
        tensor
    } else {
        tensor.to_contiguous()
    }
}

fn rows_of(tensor: &Plain) -> [usize; 2] {
    let shape = tensor.layout().shape();
    [shape[0], shape[1]]
}

fn tensor_of(data: Vec<f32>, shape: &[usize]) -> Plain {
    Flex::float_from_data(
        TensorData::new(data, shape.to_vec()),
        &<Flex as burn::backend::BackendTypes>::Device::default(),
    )
}

fn norm_forward(x: &Plain, w: &Plain, eps: f32) -> (Plain, Vec<f32>) {
    let (y, inverse) = norm::forward(slice(x), slice(w), eps);
    (tensor_of(y, &rows_of(x)), inverse)
}

fn attention_forward(x: &Plain, shape: &AttentionShape) -> (Plain, Vec<f32>) {
    let (out, lse) = attention::forward(slice(x), shape);
    (tensor_of(out, &[rows_of(x)[0], shape.out_width()]), lse)
}

fn swiglu_forward(x: &Plain) -> Plain {
    let [rows, width] = rows_of(x);
    tensor_of(swiglu::forward(slice(x), width / 2), &[rows, width / 2])
}

/// The loss and the gradient with respect to the logits. The gradient reuses the memory of the
/// logits unless it is shared.
fn cross_entropy_forward(logits: Plain, targets: &[u32], scale: f32) -> (Plain, Plain) {
    let vocab = rows_of(&logits)[1];
    let mut logits = contiguous(logits);
    let loss = cross_entropy::loss_and_grad(logits.storage_mut::<f32>(), targets, vocab, scale);
    (tensor_of(vec![loss], &[1]), logits)
}

impl FusedOps for Flex {
    fn fused_linear(x: Plain, w: Plain) -> Plain {
        Flex::float_matmul(x, Flex::float_transpose(w))
    }
    fn fused_norm(x: Plain, w: Plain, eps: f32) -> Plain {
        norm_forward(&contiguous(x), &contiguous(w), eps).0
    }
    fn fused_attention(x: Plain, shape: Arc<AttentionShape>) -> Plain {
        attention_forward(&contiguous(x), &shape).0
    }
    fn fused_swiglu(x: Plain) -> Plain {
        swiglu_forward(&contiguous(x))
    }
    fn fused_cross_entropy(logits: Plain, targets: Arc<Vec<u32>>, scale: f32) -> Plain {
        cross_entropy_forward(logits, &targets, scale).0
    }
}

#[derive(Debug)]
struct LinearBackward;

impl Backward<Flex, 2> for LinearBackward {
    type State = (Option<Plain>, Option<Plain>);
    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let grad = grads.consume::<Flex>(&ops.node);
        let (x, w) = ops.state;
        let [x_node, w_node] = ops.parents;
        if let (Some(node), Some(w)) = (x_node, w) {
            grads.register::<Flex>(node.id, Flex::float_matmul(grad.clone(), w));
        }
        if let (Some(node), Some(x)) = (w_node, x) {
            grads.register::<Flex>(node.id, Flex::float_matmul(Flex::float_transpose(grad), x));
        }
    }
}

#[derive(Debug)]
struct NormBackward;

impl Backward<Flex, 2> for NormBackward {
    type State = (Plain, Plain, Arc<Vec<f32>>);
    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let grad = contiguous(grads.consume::<Flex>(&ops.node));
        let (x, w, inverse) = ops.state;
        let (dx, dw) = norm::backward(slice(&x), slice(&w), &inverse, slice(&grad));
        let [x_node, w_node] = ops.parents;
        if let Some(node) = x_node {
            grads.register::<Flex>(node.id, tensor_of(dx, &rows_of(&x)));
        }
        if let Some(node) = w_node {
            let width = dw.len();
            grads.register::<Flex>(node.id, tensor_of(dw, &[width]));
        }
    }
}

#[derive(Debug)]
struct AttentionBackward;

impl Backward<Flex, 1> for AttentionBackward {
    type State = (Plain, Plain, Arc<Vec<f32>>, Arc<AttentionShape>);
    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let grad = contiguous(grads.consume::<Flex>(&ops.node));
        let (x, out, lse, shape) = ops.state;
        let [node] = ops.parents;
        if let Some(node) = node {
            let dx = attention::backward(slice(&x), &shape, slice(&out), &lse, slice(&grad));
            grads.register::<Flex>(node.id, tensor_of(dx, &rows_of(&x)));
        }
    }
}

#[derive(Debug)]
struct SwigluBackward;

impl Backward<Flex, 1> for SwigluBackward {
    type State = Plain;
    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let grad = contiguous(grads.consume::<Flex>(&ops.node));
        let x = ops.state;
        let [node] = ops.parents;
        if let Some(node) = node {
            let shape = rows_of(&x);
            grads.register::<Flex>(
                node.id,
                tensor_of(
                    swiglu::backward(slice(&x), shape[1] / 2, slice(&grad)),
                    &shape,
                ),
            );
        }
    }
}

#[derive(Debug)]
struct CrossEntropyBackward;

impl Backward<Flex, 1> for CrossEntropyBackward {
    type State = Plain;
    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let outer = contiguous(grads.consume::<Flex>(&ops.node));
        let [node] = ops.parents;
        if let Some(node) = node {
            let factor = slice(&outer).first().copied().unwrap_or(1.0);
            let grad = ops.state;
            let grad = if factor.to_bits() == 1.0_f32.to_bits() {
                grad
            } else {
                Flex::float_mul_scalar(grad, factor.into())
            };
            grads.register::<Flex>(node.id, grad);
        }
    }
}

/// The result of an operation, with its backward pass if an input is tracked.
fn recorded<C: CheckpointStrategy, B: Backward<Flex, N>, const N: usize>(
    backward: B,
    inputs: [NodeGuard; N],
    state: B::State,
    result: Plain,
) -> FloatTensor<Autodiff<Flex, C>> {
    match backward.prepare::<C>(inputs).compute_bound().stateful() {
        OpsKind::Tracked(prep) => prep.finish(state, result),
        OpsKind::UnTracked(prep) => prep.finish(result),
    }
}

impl<C: CheckpointStrategy> FusedOps for Autodiff<Flex, C> {
    fn fused_linear(x: FloatTensor<Self>, w: FloatTensor<Self>) -> FloatTensor<Self> {
        let (x_tracked, w_tracked) = (x.is_tracked(), w.is_tracked());
        let nodes = [x.node(), w.node()];
        let (x, w) = (x.into_primitive(), w.into_primitive());
        let state = (w_tracked.then(|| x.clone()), x_tracked.then(|| w.clone()));
        recorded::<C, _, 2>(LinearBackward, nodes, state, Flex::fused_linear(x, w))
    }

    fn fused_norm(x: FloatTensor<Self>, w: FloatTensor<Self>, eps: f32) -> FloatTensor<Self> {
        let nodes = [x.node(), w.node()];
        let (x, w) = (
            contiguous(x.into_primitive()),
            contiguous(w.into_primitive()),
        );
        let (y, inverse) = norm_forward(&x, &w, eps);
        recorded::<C, _, 2>(NormBackward, nodes, (x, w, Arc::new(inverse)), y)
    }

    fn fused_attention(x: FloatTensor<Self>, shape: Arc<AttentionShape>) -> FloatTensor<Self> {
        let nodes = [x.node()];
        let x = contiguous(x.into_primitive());
        let (out, lse) = attention_forward(&x, &shape);
        let state = (x, out.clone(), Arc::new(lse), shape);
        recorded::<C, _, 1>(AttentionBackward, nodes, state, out)
    }

    fn fused_swiglu(x: FloatTensor<Self>) -> FloatTensor<Self> {
        let nodes = [x.node()];
        let x = contiguous(x.into_primitive());
        let y = swiglu_forward(&x);
        recorded::<C, _, 1>(SwigluBackward, nodes, x, y)
    }

    fn fused_cross_entropy(
        logits: FloatTensor<Self>,
        targets: Arc<Vec<u32>>,
        scale: f32,
    ) -> FloatTensor<Self> {
        let nodes = [logits.node()];
        let (loss, grad) = cross_entropy_forward(logits.into_primitive(), &targets, scale);
        recorded::<C, _, 1>(CrossEntropyBackward, nodes, grad, loss)
    }
}

/// `x * w^T` of `[rows, in]` and `[out, in]`.
pub(crate) fn linear(compute: Compute, x: Tensor<2>, w: Tensor<2>) -> Tensor<2> {
    match compute {
        Compute::Fused => {
            Tensor::from_dispatch(Dispatch::fused_linear(x.into_dispatch(), w.into_dispatch()))
        }
        Compute::Stock(precision) => reference_ops::linear(precision, x, w),
    }
}

/// RMS norm of `[rows, width]` by `[width]`.
pub(crate) fn rms_norm(compute: Compute, x: Tensor<2>, w: Tensor<1>, eps: f32) -> Tensor<2> {
    match compute {
        Compute::Fused => Tensor::from_dispatch(Dispatch::fused_norm(
            x.into_dispatch(),
            w.into_dispatch(),
            eps,
        )),
        Compute::Stock(precision) => reference_ops::rms_norm(precision, x, w, eps),
    }
}

/// `silu(gate) * up` of `[rows, 2 * inner]`.
pub(crate) fn gated(compute: Compute, x: Tensor<2>) -> Tensor<2> {
    match compute {
        Compute::Fused => Tensor::from_dispatch(Dispatch::fused_swiglu(x.into_dispatch())),
        Compute::Stock(_) => reference_ops::gated(&x),
    }
}

/// `scale` times the summed cross-entropy of `[rows, vocab]` against `targets`, as `[1]`.
pub(crate) fn cross_entropy_loss(
    compute: Compute,
    logits: Tensor<2>,
    targets: &Arc<Vec<u32>>,
    scale: f32,
) -> Tensor<1> {
    match compute {
        Compute::Fused => Tensor::from_dispatch(Dispatch::fused_cross_entropy(
            logits.into_dispatch(),
            Arc::clone(targets),
            scale,
        )),
        Compute::Stock(_) => reference_ops::cross_entropy_loss(logits, targets, scale),
    }
}

impl PackedAttention {
    /// Prepares the attention of all layers of one forward pass.
    pub(crate) fn new(compute: Compute, shape: Arc<AttentionShape>, device: &Device) -> Self {
        match compute {
            Compute::Fused => Self::Fused(shape),
            Compute::Stock(precision) => {
                Self::Stock(precision, Box::new(Padded::new(&shape, device)))
            }
        }
    }

    /// `[tokens, (heads + 2 kv) * d]` to `[tokens, heads * d]`.
    pub(crate) fn apply(&self, x: Tensor<2>) -> Tensor<2> {
        match self {
            Self::Fused(shape) => Tensor::from_dispatch(Dispatch::fused_attention(
                x.into_dispatch(),
                Arc::clone(shape),
            )),
            Self::Stock(precision, padded) => padded.attend(*precision, &x),
        }
    }
}
