//! The computation of [`crate::llama`] on the CPU: logits, and the loss with its gradients, by the
//! kernels on plain slices. Every backward pass is written by hand, and gradients are added in
//! place, without burn's operations and its automatic differentiation.

mod layer;
mod parameter;
mod pass;
mod projection;

pub(crate) use pass::{each_logits, gradients, slice_rows};
