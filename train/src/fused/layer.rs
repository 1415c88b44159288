//! A decoder layer: forward and backward.

use std::sync::Arc;

use super::parameter::{GradientSums, Parameter};
use super::projection::{Projection, ProjectionState};
use crate::dropout::Dropout;
use crate::kernels::attention::{self, AttentionShape};
use crate::kernels::buffer::Buffer;
use crate::kernels::{norm, rows, swiglu};
use crate::llama::{Linear, Llama, Norm};

/// Constants of one forward pass.
pub(super) struct PassContext<'a> {
    pub(super) shape: Arc<AttentionShape>,
    pub(super) dropout: Option<Dropout>,
    /// Rows whose next token is predicted.
    pub(super) rows: &'a [u32],
    pub(super) epsilon: f32,
}

/// An RMS norm.
pub(super) struct NormPart(Parameter);

/// A normed input, and the values that the backward pass of the norm needs.
pub(super) struct Normed {
    pub(super) y: Buffer,
    inverse: Vec<f32>,
}

impl NormPart {
    pub(super) fn new(name: &str, norm: &Norm) -> Self {
        Self(Parameter::new(format!("{name}.weight"), &norm.weight))
    }

    pub(super) fn forward(&self, x: &[f32], epsilon: f32) -> Normed {
        let (y, inverse) = norm::forward(x, self.0.values(), epsilon);
        Normed { y, inverse }
    }

    /// Adds the gradient with respect to `x` to `dx`.
    pub(super) fn backward(
        &self,
        x: &[f32],
        normed: &Normed,
        grad: &[f32],
        dx: &mut [f32],
        sums: &mut GradientSums<'_>,
    ) {
        let dw = norm::backward(x, self.0.values(), &normed.inverse, grad, dx);
        sums.add(&self.0, |sum, _| rows::add(sum, &dw));
    }
}

/// The norm of the heads of q or k: `count` heads from head `first` on.
struct HeadNorm {
    norm: NormPart,
    first: usize,
    count: usize,
}

/// The input and the result of a [`HeadNorm`].
struct NormedHeads {
    x: Vec<f32>,
    normed: Normed,
}

/// The parameters of a layer.
pub(super) struct LayerParts {
    input_norm: NormPart,
    qkv: Projection,
    head_norms: Vec<HeadNorm>,
    o: Projection,
    post_norm: NormPart,
    gate_up: Projection,
    down: Projection,
    inner: usize,
    /// The last layer computes only the rows of predictions after its attention.
    is_last: bool,
}

/// The values that the backward pass of a layer needs.
pub(super) struct LayerState {
    x: Buffer,
    input: Normed,
    heads: Vec<NormedHeads>,
    qkv: Buffer,
    qkv_state: ProjectionState,
    attended: Buffer,
    lse: Vec<f32>,
    /// The rows of predictions of `attended`, in the last layer.
    chosen: Option<Buffer>,
    o_state: ProjectionState,
    middle: Buffer,
    post: Normed,
    gate_up: Buffer,
    gate_up_state: ProjectionState,
    gated: Buffer,
    down_state: ProjectionState,
}

impl LayerParts {
    pub(super) fn new(model: &Llama, index: usize, context: &PassContext<'_>) -> Self {
        let layer = &model.net.model.layers[index];
        let (attn, mlp) = (&layer.self_attn, &layer.mlp);
        let name = |part: &str| format!("model.layers.{index}.{part}");
        let project = |parts: &[(&Linear, &str)], place: usize| {
            let dropout = context.dropout.map(|dropout| (dropout, index * 4 + place));
            let parts: Vec<_> = parts
                .iter()
                .map(|(linear, part)| (*linear, name(part)))
                .collect();
            Projection::new(&parts, model.lora_scale, dropout, model.compute.precision())
        };
        let (heads, kv_heads) = (context.shape.heads, context.shape.kv_heads);
        let head_norm = |norm: &Option<Norm>, part: &str, first: usize, count: usize| {
            norm.as_ref().map(|norm| HeadNorm {
                norm: NormPart::new(&name(part), norm),
                first,
                count,
            })
        };
        let head_norms = [
            head_norm(&attn.q_norm, "self_attn.q_norm", 0, heads),
            head_norm(&attn.k_norm, "self_attn.k_norm", heads, kv_heads),
        ];
        Self {
            input_norm: NormPart::new(&name("input_layernorm"), &layer.input_layernorm),
            qkv: project(
                &[
                    (&attn.q_proj, "self_attn.q_proj"),
                    (&attn.k_proj, "self_attn.k_proj"),
                    (&attn.v_proj, "self_attn.v_proj"),
                ],
                0,
            ),
            head_norms: head_norms.into_iter().flatten().collect(),
            o: project(&[(&attn.o_proj, "self_attn.o_proj")], 1),
            post_norm: NormPart::new(
                &name("post_attention_layernorm"),
                &layer.post_attention_layernorm,
            ),
            gate_up: project(
                &[
                    (&mlp.gate_proj, "mlp.gate_proj"),
                    (&mlp.up_proj, "mlp.up_proj"),
                ],
                2,
            ),
            down: project(&[(&mlp.down_proj, "mlp.down_proj")], 3),
            inner: model.config.intermediate_size,
            is_last: index + 1 == model.net.model.layers.len(),
        }
    }

    /// Applies the layer to the residual stream.
    pub(super) fn forward(&self, x: Buffer, context: &PassContext<'_>) -> (Buffer, LayerState) {
        let hidden = self.hidden();
        let input = self.input_norm.forward(&x, context.epsilon);
        let (mut qkv, qkv_state) = self.qkv.forward(&input.y);
        let heads = self.norm_heads(&mut qkv, context);
        let (attended, lse) = attention::forward(&qkv, &context.shape);
        // After the last attention a row affects only its own prediction.
        let (mut middle, chosen) = if self.is_last {
            let width = context.shape.out_width();
            let chosen = rows::select(&attended, width, context.rows);
            (rows::select(&x, hidden, context.rows), Some(chosen))
        } else {
            (Buffer::of(&x), None)
        };
        let o_state = self
            .o
            .add(chosen.as_ref().unwrap_or(&attended), &mut middle);
        let post = self.post_norm.forward(&middle, context.epsilon);
        let (gate_up, gate_up_state) = self.gate_up.forward(&post.y);
        let gated = swiglu::forward(&gate_up, self.inner);
        let mut out = Buffer::of(&middle);
        let down_state = self.down.add(&gated, &mut out);
        let state = LayerState {
            x,
            input,
            heads,
            qkv,
            qkv_state,
            attended,
            lse,
            chosen,
            o_state,
            middle,
            post,
            gate_up,
            gate_up_state,
            gated,
            down_state,
        };
        (out, state)
    }

    fn hidden(&self) -> usize {
        self.o.width()
    }

    /// Applies the norms of the heads of q and k, if the family has them.
    fn norm_heads(&self, qkv: &mut [f32], context: &PassContext<'_>) -> Vec<NormedHeads> {
        let (width, d) = (context.shape.width(), context.shape.head_dim);
        let norms = self.head_norms.iter();
        norms
            .map(|part| {
                let (from, count) = (part.first * d, part.count * d);
                let x = rows::columns(qkv, width, from, count);
                let normed = part.norm.forward(&x, context.epsilon);
                rows::set_columns(qkv, width, from, count, &normed.y);
                NormedHeads { x, normed }
            })
            .collect()
    }

    /// Adds the gradients of the parameters to `sums` and returns the gradient of the layer's input.
    /// `grad` is the gradient of its result.
    pub(super) fn backward(
        &self,
        state: &LayerState,
        mut grad: Buffer,
        context: &PassContext<'_>,
        sums: &mut GradientSums<'_>,
    ) -> Buffer {
        let down = self
            .down
            .backward(&state.gated, &state.down_state, &grad, sums);
        let down = swiglu::backward(&state.gate_up, self.inner, &down);
        let post = self
            .gate_up
            .backward(&state.post.y, &state.gate_up_state, &down, sums);
        self.post_norm
            .backward(&state.middle, &state.post, &post, &mut grad, sums);
        let chosen = state.chosen.as_ref().unwrap_or(&state.attended);
        let mut above = self.o.backward(chosen, &state.o_state, &grad, sums);
        if self.is_last {
            let (hidden, width) = (self.hidden(), context.shape.out_width());
            let tokens = state.x.len() / hidden;
            above = rows::spread(&above, width, context.rows, tokens);
            grad = rows::spread(&grad, hidden, context.rows, tokens);
        }
        let mut qkv = attention::backward(
            &state.qkv,
            &context.shape,
            &state.attended,
            &state.lse,
            &above,
        );
        self.backward_heads(&mut qkv, &state.heads, context, sums);
        let input = self
            .qkv
            .backward(&state.input.y, &state.qkv_state, &qkv, sums);
        self.input_norm
            .backward(&state.x, &state.input, &input, &mut grad, sums);
        grad
    }

    /// Replaces the gradients of normed heads by those of the heads before their norms.
    fn backward_heads(
        &self,
        grad: &mut [f32],
        heads: &[NormedHeads],
        context: &PassContext<'_>,
        sums: &mut GradientSums<'_>,
    ) {
        let (width, d) = (context.shape.width(), context.shape.head_dim);
        for (part, heads) in self.head_norms.iter().zip(heads) {
            let (from, count) = (part.first * d, part.count * d);
            let above = rows::columns(grad, width, from, count);
            let mut below = vec![0.0; above.len()];
            part.norm
                .backward(&heads.x, &heads.normed, &above, &mut below, sums);
            rows::set_columns(grad, width, from, count, &below);
        }
    }
}
