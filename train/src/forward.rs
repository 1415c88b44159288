//! The computation of [`crate::llama`]: logits, loss, gradients. On the CPU that of
//! [`crate::fused`], on other devices burn's operations ([`crate::reference_ops`]).
//!
//! Hidden states have shape `[tokens, hidden]`: a batch is a concatenation of sequences, and only
//! attention needs their lengths.

use std::ops::Range;
use std::sync::Arc;

use burn::module::Module;
use burn::tensor::{Device, FloatDType, Int, Tensor, TensorData};
use gpu::ops::{self, PickedRows};

use crate::device::Compute;
use crate::dropout::Dropout;
use crate::flat::tensor_of;
use crate::fused;
use crate::grads::{self, NamedGrads};
use crate::kernels::attention::AttentionShape;
use crate::llama::{Attention, Linear, Llama, Norm, Packed};
use crate::reference_ops::{self, Padded};

/// Dropout of the elements of `x` at a position in the model.
fn dropped(dropout: Dropout, x: &Tensor<2>, place: usize) -> Tensor<2> {
    let shape = x.dims();
    let mask = dropout.mask(shape[0] * shape[1], place);
    x.clone()
        * Tensor::<2>::from_data(TensorData::new(mask.to_vec(), shape), &x.device()).cast(x.dtype())
}

/// The state that the layers of one forward pass share.
struct ForwardContext {
    attention: Padded,
    /// Rows whose next token is predicted.
    rows: PickedRows,
    dropout: Option<Dropout>,
}

impl Llama {
    /// The product with the vertically concatenated matrices `parts`. `dropout` applies to the
    /// input of LoRA corrections, at a position in the model.
    fn project(
        &self,
        x: &Tensor<2>,
        parts: &[&Linear],
        dropout: Option<(Dropout, usize)>,
    ) -> Tensor<2> {
        let kind = self.compute.precision().dtype();
        let product =
            |linear: &&Linear| ops::project(x.clone(), linear.weight.numbers(&x.device()), kind);
        let mut y = match parts {
            [one] => product(one),
            // Products with a concatenated copy would keep it for the backward pass.
            _ => Tensor::cat(parts.iter().map(product).collect(), 1),
        };
        // Either all parts have a bias or none has.
        let biases: Vec<Tensor<1>> = parts
            .iter()
            .filter_map(|linear| Some(linear.bias.as_ref()?.val()))
            .collect();
        if !biases.is_empty() {
            y = y + Tensor::cat(biases, 0).cast(kind).unsqueeze();
        }
        if parts.iter().all(|linear| linear.lora_a.is_none()) {
            return y;
        }
        let dropped =
            dropout.map_or_else(|| x.clone(), |(dropout, place)| dropped(dropout, x, place));
        let correction = |linear: &&Linear| match (&linear.lora_a, &linear.lora_b) {
            (Some(a), Some(b)) => {
                let low = ops::project(dropped.clone(), a.val(), kind);
                ops::project(low, b.val(), kind).mul_scalar(self.lora_scale)
            }
            _ => Tensor::zeros(
                [x.dims()[0], linear.weight.dims()[0]],
                (&x.device(), kind.into()),
            ),
        };
        y + Tensor::cat(parts.iter().map(correction).collect(), 1)
    }

    fn norm(&self, x: Tensor<2>, norm: &Norm) -> Tensor<2> {
        let eps = self.config.rms_norm_eps as f32;
        ops::rms_norm(x, norm.weight.val(), eps, self.compute.precision().dtype())
    }

    /// RMS norms of the heads of q and k, if the family has them.
    fn norm_heads(&self, qkv: Tensor<2>, attention: &Attention) -> Tensor<2> {
        let (Some(q_norm), Some(k_norm)) = (&attention.q_norm, &attention.k_norm) else {
            return qkv;
        };
        let ([tokens, width], d) = (qkv.dims(), self.config.head_dim);
        let (heads, kv_heads) = (
            self.config.num_attention_heads,
            self.config.num_key_value_heads,
        );
        let part = |from: usize, count: usize, norm: &Norm| {
            let x = qkv
                .clone()
                .narrow(1, from * d, count * d)
                .reshape([tokens * count, d]);
            self.norm(x, norm).reshape([tokens, count * d])
        };
        let values = (heads + kv_heads) * d;
        Tensor::cat(
            vec![
                part(0, heads, q_norm),
                part(heads, kv_heads, k_norm),
                qkv.clone().narrow(1, values, width - values),
            ],
            1,
        )
    }

    fn context(&self, batch: &Packed, seed: Option<u64>, device: &Device) -> ForwardContext {
        let shape = Arc::new(AttentionShape {
            heads: self.config.num_attention_heads,
            kv_heads: self.config.num_key_value_heads,
            head_dim: self.config.head_dim,
            segments: batch.segments.clone(),
            rope: Arc::clone(&self.rope),
        });
        let rows: Vec<Option<usize>> = batch.rows.iter().map(|row| Some(*row as usize)).collect();
        ForwardContext {
            attention: Padded::new(&shape, device),
            rows: PickedRows::new(&rows, batch.ids.len(), device),
            dropout: seed.and_then(|seed| Dropout::new(self.lora_dropout, seed)),
        }
    }

    /// Applies a layer to the residual stream. The last layer returns only the rows of predictions.
    fn layer(&self, index: usize, mut x: Tensor<2>, context: &ForwardContext) -> Tensor<2> {
        let layer = &self.net.model.layers[index];
        let (attn, mlp) = (&layer.self_attn, &layer.mlp);
        let at = |part: usize| context.dropout.map(|dropout| (dropout, index * 4 + part));
        let y = self.norm(x.clone(), &layer.input_layernorm);
        let y = self.norm_heads(
            self.project(&y, &[&attn.q_proj, &attn.k_proj, &attn.v_proj], at(0)),
            attn,
        );
        let mut y = context.attention.attend(&y);
        if index + 1 == self.net.model.layers.len() {
            // After the last attention a row affects only its own prediction.
            x = context.rows.of(x);
            y = context.rows.of(y);
        }
        x = x + self
            .project(&y, &[&attn.o_proj], at(1))
            .cast(FloatDType::F32);
        let y = self.norm(x.clone(), &layer.post_attention_layernorm);
        let y = ops::gated(self.project(&y, &[&mlp.gate_proj, &mlp.up_proj], at(2)));
        x + self
            .project(&y, &[&mlp.down_proj], at(3))
            .cast(FloatDType::F32)
    }

    /// Embeddings of tokens, `[tokens, hidden]`.
    fn embed(&self, ids: &[u32], device: &Device) -> Tensor<2> {
        let embedding = &self.net.model.embed_tokens;
        let base = embedding.weight.dims()[0];
        let rows = |of: &dyn Fn(usize) -> usize| {
            let rows: Vec<i64> = ids.iter().map(|id| of(*id as usize) as i64).collect();
            Tensor::<1, Int>::from_data(TensorData::new(rows, [ids.len()]), device)
        };
        let table = |rows: Tensor<1, Int>| {
            let all = embedding.weight.numbers(device);
            all.select(0, rows).cast(FloatDType::F32)
        };
        let Some(extra) = &embedding.extra else {
            return table(rows(&|id| id));
        };
        let is_new: Vec<f32> = ids
            .iter()
            .map(|id| f32::from(u8::from(*id as usize >= base)))
            .collect();
        let is_new = Tensor::<2>::from_data(TensorData::new(is_new, [ids.len(), 1]), device);
        let old = table(rows(&|id| if id < base { id } else { 0 }));
        let new = extra.val().select(0, rows(&|id| id.saturating_sub(base)));
        old * is_new.clone().neg().add_scalar(1.0) + new * is_new
    }

    /// Logits from the residual stream after the last layer.
    fn head(&self, x: Tensor<2>) -> Tensor<2> {
        let hidden = self.norm(x, &self.net.model.norm);
        let (weight, extra) = match &self.net.lm_head {
            Some(head) => (&head.weight, &self.net.lm_extra),
            None => (
                &self.net.model.embed_tokens.weight,
                &self.net.model.embed_tokens.extra,
            ),
        };
        let product = |weight: Tensor<2>| {
            ops::project(hidden.clone(), weight, self.compute.precision().dtype())
        };
        let logits = product(weight.numbers(&hidden.device()));
        match extra {
            Some(extra) => Tensor::cat(vec![logits, product(extra.val())], 1),
            None => logits,
        }
    }

    fn logits_with(&self, batch: &Packed, seed: Option<u64>, device: &Device) -> Tensor<2> {
        let context = self.context(batch, seed, device);
        let x = (0..self.net.model.layers.len())
            .fold(self.embed(&batch.ids, device), |x, index| {
                self.layer(index, x, &context)
            });
        self.head(x)
    }

    /// Calls `each` with slices of the batch's rows and their logits, `[rows, vocab]`.
    pub(crate) fn each_logits(
        &self,
        batch: &Packed,
        device: &Device,
        mut each: impl FnMut(Range<usize>, &mut [f32]),
    ) {
        match self.compute {
            Compute::Fused(_) => fused::each_logits(self, batch, each),
            Compute::Stock(_) => {
                let logits = self.logits_with(batch, None, device).cast(FloatDType::F32);
                let logits = logits.into_data().try_into_vec::<f32>();
                each(0..batch.rows.len(), &mut logits.unwrap_or_default());
            }
        }
    }

    /// Logits of the batch's rows: `[rows, vocab]`.
    #[cfg(test)]
    pub(crate) fn logits(&self, batch: &Packed, device: &Device) -> Tensor<2> {
        let mut all = Vec::new();
        self.each_logits(batch, device, |_, logits| all.extend_from_slice(logits));
        tensor_of(all, [batch.rows.len(), self.config.vocab_size])
    }

    /// `scale` times the summed cross-entropy of the batch's rows, as `[1]`. Adds its gradients to
    /// `into`. `seed` is for dropout.
    pub(crate) fn gradients(
        &self,
        batch: &Packed,
        scale: f32,
        seed: u64,
        device: &Device,
        into: &mut NamedGrads,
    ) -> Tensor<1> {
        if matches!(self.compute, Compute::Fused(_)) {
            let loss = fused::gradients(self, batch, scale, seed, false, into);
            return tensor_of(vec![loss], [1]);
        }
        let logits = self.logits_with(batch, Some(seed), device);
        let loss = reference_ops::cross_entropy_loss(logits, &batch.targets, scale);
        grads::collect(&self.net, &loss.backward(), into);
        loss.inner()
    }

    /// Like [`Llama::gradients`], but keeps only the inputs of layers and recomputes a layer before
    /// its backward pass. Costs one more forward pass and saves the activations of all layers but
    /// one.
    pub(crate) fn gradients_by_layer(
        &self,
        batch: &Packed,
        scale: f32,
        seed: u64,
        device: &Device,
        into: &mut NamedGrads,
    ) -> Tensor<1> {
        if matches!(self.compute, Compute::Fused(_)) {
            let loss = fused::gradients(self, batch, scale, seed, true, into);
            return tensor_of(vec![loss], [1]);
        }
        let inputs = self
            .without_gradients()
            .inputs(batch, seed, &device.clone().inner());
        let context = self.context(batch, Some(seed), device);
        let leaf = |x: Tensor<2>| Tensor::from_inner(x).require_grad();
        // The gradient of the sum of products with `above` is the gradient of the layer's input.
        let below = |x: &Tensor<2>, y: Tensor<2>, above: Tensor<2>, into: &mut NamedGrads| {
            let grads = (y * Tensor::from_inner(above)).sum().backward();
            grads::collect(&self.net, &grads, into);
            x.grad(&grads)
        };
        let mut inputs = inputs.into_iter().rev();
        let Some(x) = inputs.next().map(leaf) else {
            return self.gradients(batch, scale, seed, device, into);
        };
        let loss = reference_ops::cross_entropy_loss(self.head(x.clone()), &batch.targets, scale);
        let grads = loss.backward();
        grads::collect(&self.net, &grads, into);
        let mut above = x.grad(&grads);
        for (index, x) in inputs
            .enumerate()
            .map(|(i, x)| (self.net.model.layers.len() - 1 - i, leaf(x)))
        {
            above = above
                .and_then(|above| below(&x, self.layer(index, x.clone(), &context), above, into));
        }
        let x = self.embed(&batch.ids, device);
        if let Some(above) = above.filter(|_| x.is_tracked()) {
            below(&x.clone(), x, above, into);
        }
        loss.inner()
    }

    /// The inputs of all layers and of the output layer.
    fn inputs(&self, batch: &Packed, seed: u64, device: &Device) -> Vec<Tensor<2>> {
        let context = self.context(batch, Some(seed), device);
        let mut out = vec![self.embed(&batch.ids, device)];
        for index in 0..self.net.model.layers.len() {
            out.extend(out.last().cloned().map(|x| self.layer(index, x, &context)));
        }
        out
    }

    /// The same model without automatic differentiation.
    pub(crate) fn without_gradients(&self) -> Self {
        Self {
            net: self.net.valid(),
            ..self.clone()
        }
    }
}
