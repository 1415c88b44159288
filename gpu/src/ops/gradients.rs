//! The operations with automatic differentiation.

use std::fmt::Debug;

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, binary, unary};
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Autodiff, TensorMetadata};
use burn::tensor::FloatDType;

use super::{ModelGradients, ModelOps};

impl<B: ModelGradients, C: CheckpointStrategy> ModelOps for Autodiff<B, C> {
    fn project(x: FloatTensor<Self>, w: FloatTensor<Self>, kind: FloatDType) -> FloatTensor<Self> {
        #[derive(Debug)]
        struct Project;
        impl<B: ModelGradients> Backward<B, 2> for Project {
            /// Input and weights in the format of the product, this format and those that they had.
            type State = (FloatTensor<B>, FloatTensor<B>, [FloatDType; 3]);

            fn backward(
                self,
                ops: Ops<Self::State, 2>,
                grads: &mut Gradients,
                _: &mut Checkpointer,
            ) {
                let (x, w, [kind, of_x, of_w]) = ops.state;
                let turned = |x: FloatTensor<B>| B::float_swap_dims(x, 0, 1);
                binary::<B, _, _>(
                    ops.parents,
                    ops.node,
                    grads,
                    |grad| B::float_cast(B::project(grad, turned(w), kind), of_x),
                    |grad| B::float_cast(B::project(turned(grad), turned(x), kind), of_w),
                );
            }
        }
        let kinds = [kind, x.dtype().into(), w.dtype().into()];
        let prepared = Project.prepare::<C>([x.node(), w.node()]).compute_bound();
        let x = B::float_cast(x.into_primitive(), kind);
        let w = B::float_cast(w.into_primitive(), kind);
        let y = B::project(x.clone(), w.clone(), kind);
        match prepared.stateful() {
            OpsKind::Tracked(tracked) => tracked.finish((x, w, kinds), y),
            OpsKind::UnTracked(untracked) => untracked.finish(y),
        }
    }

    fn pick_rows(
        x: FloatTensor<Self>,
        there: IntTensor<Self>,
        back: IntTensor<Self>,
        used: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        #[derive(Debug)]
        struct PickRows;
        impl<B: ModelGradients> Backward<B, 1> for PickRows {
            type State = (IntTensor<B>, FloatTensor<B>);

            fn backward(
                self,
                ops: Ops<Self::State, 1>,
                grads: &mut Gradients,
                _: &mut Checkpointer,
            ) {
                let (back, used) = ops.state;
                unary::<B, _>(ops.parents, ops.node, grads, |grad| {
                    let used = B::float_cast(used, grad.dtype().into());
                    B::float_mul(B::float_select(grad, 0, back), used)
                });
            }
        }
        let prepared = PickRows.prepare::<C>([x.node()]).compute_bound();
        let used = used.into_primitive();
        let y = B::pick_rows(x.into_primitive(), there, back.clone(), used.clone());
        match prepared.stateful() {
            OpsKind::Tracked(tracked) => tracked.finish((back, used), y),
            OpsKind::UnTracked(untracked) => untracked.finish(y),
        }
    }

    fn shared_product(x: FloatTensor<Self>, y: FloatTensor<Self>) -> FloatTensor<Self> {
        #[derive(Debug)]
        struct SharedProduct;
        impl<B: ModelGradients> Backward<B, 2> for SharedProduct {
            type State = (FloatTensor<B>, FloatTensor<B>);

            fn backward(
                self,
                ops: Ops<Self::State, 2>,
                grads: &mut Gradients,
                _: &mut Checkpointer,
            ) {
                let (x, y) = ops.state;
                binary::<B, _, _>(
                    ops.parents,
                    ops.node,
                    grads,
                    |grad| B::shared_product(grad, B::float_swap_dims(y, 2, 3)),
                    |grad| B::summed_product(x, grad),
                );
            }
        }
        let prepared = SharedProduct
            .prepare::<C>([x.node(), y.node()])
            .compute_bound();
        let (x, y) = (x.into_primitive(), y.into_primitive());
        let product = B::shared_product(x.clone(), y.clone());
        match prepared.stateful() {
            OpsKind::Tracked(tracked) => tracked.finish((x, y), product),
            OpsKind::UnTracked(untracked) => untracked.finish(product),
        }
    }

    fn causal_softmax(scores: FloatTensor<Self>, scale: f32, group: usize) -> FloatTensor<Self> {
        #[derive(Debug)]
        struct CausalSoftmax;
        impl<B: ModelGradients> Backward<B, 1> for CausalSoftmax {
            type State = (FloatTensor<B>, f32);

            fn backward(
                self,
                ops: Ops<Self::State, 1>,
                grads: &mut Gradients,
                _: &mut Checkpointer,
            ) {
                let (shares, scale) = ops.state;
                unary::<B, _>(ops.parents, ops.node, grads, |grad| {
                    B::causal_softmax_gradient(shares, scale, grad)
                });
            }
        }
        let prepared = CausalSoftmax.prepare::<C>([scores.node()]).compute_bound();
        let shares = B::causal_softmax(scores.into_primitive(), scale, group);
        match prepared.stateful() {
            OpsKind::Tracked(tracked) => tracked.finish((shares.clone(), scale), shares),
            OpsKind::UnTracked(untracked) => untracked.finish(shares),
        }
    }

    fn rms_norm(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        eps: f32,
        kind: FloatDType,
    ) -> FloatTensor<Self> {
        #[derive(Debug)]
        struct RmsNorm;
        impl<B: ModelGradients> Backward<B, 2> for RmsNorm {
            type State = (FloatTensor<B>, FloatTensor<B>, f32);

            fn backward(
                self,
                ops: Ops<Self::State, 2>,
                grads: &mut Gradients,
                _: &mut Checkpointer,
            ) {
                let (x, weight, eps) = ops.state;
                let again = (x.clone(), weight.clone());
                binary::<B, _, _>(
                    ops.parents,
                    ops.node,
                    grads,
                    |grad| B::rms_norm_gradient(x, weight, eps, grad),
                    |grad| {
                        let (x, weight) = again;
                        let f32 = FloatDType::F32;
                        let ones = B::float_ones(weight.shape(), &weight.device(), f32);
                        let normed = B::rms_norm(x, ones, eps, f32);
                        B::float_sum_dim(B::float_mul(B::float_cast(grad, f32), normed), 0)
                    },
                );
            }
        }
        let prepared = RmsNorm
            .prepare::<C>([x.node(), weight.node()])
            .compute_bound();
        let (x, weight) = (x.into_primitive(), weight.into_primitive());
        let y = B::rms_norm(x.clone(), weight.clone(), eps, kind);
        match prepared.stateful() {
            OpsKind::Tracked(tracked) => tracked.finish((x, weight, eps), y),
            OpsKind::UnTracked(untracked) => untracked.finish(y),
        }
    }

    fn gated(x: FloatTensor<Self>) -> FloatTensor<Self> {
        #[derive(Debug)]
        struct Gated;
        impl<B: ModelGradients> Backward<B, 1> for Gated {
            type State = FloatTensor<B>;

            fn backward(
                self,
                ops: Ops<Self::State, 1>,
                grads: &mut Gradients,
                _: &mut Checkpointer,
            ) {
                let x = ops.state;
                unary::<B, _>(ops.parents, ops.node, grads, |grad| {
                    B::gated_gradient(x, grad)
                });
            }
        }
        let prepared = Gated.prepare::<C>([x.node()]).compute_bound();
        let x = x.into_primitive();
        let y = B::gated(x.clone());
        match prepared.stateful() {
            OpsKind::Tracked(tracked) => tracked.finish(x, y),
            OpsKind::UnTracked(untracked) => untracked.finish(y),
        }
    }

    fn rotate(
        x: FloatTensor<Self>,
        cos: FloatTensor<Self>,
        sin: FloatTensor<Self>,
        turned: usize,
        sign: f32,
    ) -> FloatTensor<Self> {
        #[derive(Debug)]
        struct Rotate;
        impl<B: ModelGradients> Backward<B, 1> for Rotate {
            type State = (FloatTensor<B>, FloatTensor<B>, usize, f32);

            fn backward(
                self,
                ops: Ops<Self::State, 1>,
                grads: &mut Gradients,
                _: &mut Checkpointer,
            ) {
                let (cos, sin, turned, sign) = ops.state;
                unary::<B, _>(ops.parents, ops.node, grads, |grad| {
                    B::rotate(grad, cos, sin, turned, -sign)
                });
            }
        }
        let prepared = Rotate.prepare::<C>([x.node()]).compute_bound();
        let (cos, sin) = (cos.into_primitive(), sin.into_primitive());
        let y = B::rotate(x.into_primitive(), cos.clone(), sin.clone(), turned, sign);
        match prepared.stateful() {
            OpsKind::Tracked(tracked) => tracked.finish((cos, sin, turned, sign), y),
            OpsKind::UnTracked(untracked) => untracked.finish(y),
        }
    }

    fn cross_entropy(
        logits: FloatTensor<Self>,
        targets: IntTensor<Self>,
        scale: f32,
    ) -> FloatTensor<Self> {
        #[derive(Debug)]
        struct CrossEntropy;
        impl<B: ModelGradients> Backward<B, 1> for CrossEntropy {
            type State = (FloatTensor<B>, IntTensor<B>, f32);

            fn backward(
                self,
                ops: Ops<Self::State, 1>,
                grads: &mut Gradients,
                _: &mut Checkpointer,
            ) {
                let (logits, targets, scale) = ops.state;
                unary::<B, _>(ops.parents, ops.node, grads, |grad| {
                    let kind = logits.dtype().into();
                    let own = B::cross_entropy_gradient(logits, targets, scale);
                    B::float_mul(own, B::float_cast(grad, kind))
                });
            }
        }
        let prepared = CrossEntropy.prepare::<C>([logits.node()]).compute_bound();
        let logits = logits.into_primitive();
        let loss = B::cross_entropy(logits.clone(), targets.clone(), scale);
        match prepared.stateful() {
            OpsKind::Tracked(tracked) => tracked.finish((logits, targets, scale), loss),
            OpsKind::UnTracked(untracked) => untracked.finish(loss),
        }
    }
}
