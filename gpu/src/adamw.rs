//! The numbers that a step of AdamW takes: rates, decay and corrections.

/// Constants of a step of AdamW (Loshchilov and Hutter 2019).
#[derive(Clone, Copy, Debug)]
pub struct AdamwStep {
    /// What is kept of the first moment, the mean of the gradients.
    pub beta1: f32,
    /// What is kept of the second moment, the mean of their squares.
    pub beta2: f32,
    /// `1 - beta1^t` at step `t`.
    pub bias1: f32,
    /// `1 - beta2^t` at step `t`.
    pub bias2: f32,
    /// Added to the root of the second moment.
    pub epsilon: f32,
    /// Learning rate.
    pub rate: f32,
    /// The share of the weights that decay leaves.
    pub kept: f32,
    /// Factor of the gradient.
    pub factor: f32,
}
