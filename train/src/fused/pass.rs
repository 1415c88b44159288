//! Forward passes with and without gradients.

use std::ops::Range;
use std::sync::Arc;

use super::layer::{LayerParts, LayerState, NormPart, PassContext};
use super::parameter::{GradientSums, Parameter, Weight};
use crate::dropout::Dropout;
use crate::grads::NamedGrads;
use crate::kernels::attention::AttentionShape;
use crate::kernels::buffer::Buffer;
use crate::kernels::product::Matrix;
use crate::kernels::{cross_entropy, rows};
use crate::llama::{Llama, Packed};

/// What is kept of a layer for its backward pass.
enum Kept {
    /// Everything.
    State(Box<LayerState>),
    /// Its input, from which the rest is computed again.
    Input(Buffer),
}

fn context<'a>(model: &Llama, batch: &'a Packed, seed: Option<u64>) -> PassContext<'a> {
    let config = &model.config;
    PassContext {
        shape: Arc::new(AttentionShape {
            heads: config.num_attention_heads,
            kv_heads: config.num_key_value_heads,
            head_dim: config.head_dim,
            segments: batch.segments.clone(),
            rope: Arc::clone(&model.rope),
        }),
        dropout: seed.and_then(|seed| Dropout::new(model.lora_dropout, seed)),
        rows: &batch.rows,
        epsilon: config.rms_norm_eps as f32,
    }
}

/// The embedding: a table, and rows of tokens that the base lacks.
struct EmbeddingParts {
    table: Weight,
    extra: Option<Weight>,
}

impl EmbeddingParts {
    fn new(model: &Llama) -> Self {
        let embedding = &model.net.model.embed_tokens;
        let name = |field: &str| format!("model.embed_tokens.{field}");
        let extra = embedding.extra.as_ref();
        let precision = model.compute.precision();
        Self {
            table: Weight::new(name("weight"), &embedding.weight, precision),
            extra: extra.map(|extra| Weight::of(Parameter::new(name("extra"), extra), precision)),
        }
    }

    /// The rows of tokens.
    fn forward(&self, ids: &[u32]) -> Buffer {
        let (base, width) = (self.table.rows(), self.table.columns());
        let mut out = Buffer::unset(ids.len() * width);
        for (id, out) in ids.iter().zip(out.chunks_exact_mut(width)) {
            let id = *id as usize;
            match &self.extra {
                Some(extra) if id >= base => extra.row(id - base, out),
                _ => self.table.row(id, out),
            }
        }
        out
    }

    fn backward(&self, ids: &[u32], grad: &[f32], sums: &mut GradientSums<'_>) {
        let (base, width) = (self.table.rows(), self.table.columns());
        let ids = || ids.iter().map(|id| *id as usize);
        if let Some(table) = self.table.parameter() {
            sums.add(table, |sum, _| {
                rows::add_at(sum, grad, width, ids().map(|id| (id < base).then_some(id)));
            });
        }
        if let Some(extra) = self.extra.as_ref().and_then(Weight::parameter) {
            sums.add(extra, |sum, _| {
                rows::add_at(sum, grad, width, ids().map(|id| id.checked_sub(base)));
            });
        }
    }
}

/// The last norm and the output layer.
struct HeadParts {
    norm: NormPart,
    /// The output layer's matrices: its own or the embedding's.
    tables: Vec<Weight>,
}

impl HeadParts {
    fn new(model: &Llama) -> Self {
        let net = &model.net;
        let embedding = EmbeddingParts::new(model);
        let precision = model.compute.precision();
        let mut tables = match &net.lm_head {
            Some(head) => vec![Weight::new(
                "lm_head.weight".to_owned(),
                &head.weight,
                precision,
            )],
            None => std::iter::once(embedding.table)
                .chain(embedding.extra)
                .collect(),
        };
        if net.lm_head.is_some() {
            let extra = net.lm_extra.as_ref();
            let rows = |extra| Parameter::new("lm_extra".to_owned(), extra);
            tables.extend(extra.map(|extra| Weight::of(rows(extra), precision)));
        }
        Self {
            norm: NormPart::new("model.norm", &net.model.norm),
            tables,
        }
    }

    fn vocab(&self) -> usize {
        self.tables.iter().map(Weight::rows).sum()
    }

    /// Calls `each` with slices of the rows and their logits, from the normed hidden states of all
    /// rows. Only the logits of one slice are in memory.
    fn slices(&self, normed: &[f32], mut each: impl FnMut(Range<usize>, &mut [f32])) {
        let (vocab, width) = (self.vocab(), self.tables[0].columns());
        let rows = normed.len() / width;
        let most = slice_rows(vocab).min(rows);
        let mut logits = Buffer::unset(most * vocab);
        for first in (0..rows).step_by(most.max(1)) {
            let slice = first..(first + most).min(rows);
            let logits = &mut logits[..slice.len() * vocab];
            let normed = &normed[slice.start * width..slice.end * width];
            let mut from = 0;
            for table in &self.tables {
                table.multiply(Matrix::new(normed, width), (logits, vocab, from), false);
                from += table.rows();
            }
            each(slice, logits);
        }
    }

    /// `scale` times the summed cross-entropy, and the gradient of the residual stream after the last
    /// layer.
    fn loss(
        &self,
        x: &[f32],
        epsilon: f32,
        (targets, scale): (&[u32], f32),
        sums: &mut GradientSums<'_>,
    ) -> (f32, Buffer) {
        let normed = self.norm.forward(x, epsilon);
        let (vocab, width) = (self.vocab(), self.tables[0].columns());
        let mut hidden = Buffer::unset(x.len());
        let mut loss = 0.0;
        self.slices(&normed.y, |slice, logits| {
            let targets = &targets[slice.clone()];
            loss += cross_entropy::loss_and_grad(logits, targets, vocab, scale);
            let part = slice.start * width..slice.end * width;
            let mut from = 0;
            for table in &self.tables {
                let grad = Matrix::new(logits, vocab).columns(from, table.rows());
                table.multiply_back(grad, &mut hidden[part.clone()], from > 0);
                let normed = Matrix::new(&normed.y[part.clone()], width);
                table.add_gradient(grad, normed, sums);
                from += table.rows();
            }
        });
        let mut dx = Buffer::zeros(x.len());
        self.norm.backward(x, &normed, &hidden, &mut dx, sums);
        (loss, dx)
    }
}

/// Logits that are in memory at a time. Below this number a batch is one slice; the rows of a model
/// with a large vocabulary are cut, because their logits would take more memory than its weights.
const LOGITS: usize = 1 << 24;

/// Rows whose logits are in memory at a time.
pub(crate) fn slice_rows(vocab: usize) -> usize {
    (LOGITS / vocab.max(1)).max(1)
}

/// Calls `each` with slices of the batch's rows and their logits, `[rows, vocab]`.
pub(crate) fn each_logits(
    model: &Llama,
    batch: &Packed,
    each: impl FnMut(Range<usize>, &mut [f32]),
) {
    let context = context(model, batch, None);
    let mut x = EmbeddingParts::new(model).forward(&batch.ids);
    for index in 0..model.net.model.layers.len() {
        x = LayerParts::new(model, index, &context)
            .forward(x, &context)
            .0;
    }
    let head = HeadParts::new(model);
    let normed = head.norm.forward(&x, context.epsilon);
    head.slices(&normed.y, each);
}

/// `scale` times the summed cross-entropy of the batch's rows; adds its gradients to `into`.
/// `seed` is for dropout. With `recompute` only the inputs of layers are kept, and a layer is
/// computed again before its backward pass.
pub(crate) fn gradients(
    model: &Llama,
    batch: &Packed,
    scale: f32,
    seed: u64,
    recompute: bool,
    into: &mut NamedGrads,
) -> f32 {
    let context = context(model, batch, Some(seed));
    let sums = &mut GradientSums(into);
    let embedding = EmbeddingParts::new(model);
    let layers: Vec<LayerParts> = (0..model.net.model.layers.len())
        .map(|index| LayerParts::new(model, index, &context))
        .collect();
    let mut kept = Vec::new();
    let mut x = embedding.forward(&batch.ids);
    for layer in &layers {
        let input = recompute.then(|| Buffer::of(&x));
        let (out, state) = layer.forward(x, &context);
        kept.push(input.map_or_else(|| Kept::State(Box::new(state)), Kept::Input));
        x = out;
    }
    let head = HeadParts::new(model);
    let (loss, mut grad) = head.loss(&x, context.epsilon, (&batch.targets, scale), sums);
    drop(x);
    for (layer, kept) in layers.iter().zip(kept).rev() {
        let state = match kept {
            Kept::State(state) => *state,
            Kept::Input(x) => layer.forward(x, &context).1,
        };
        grad = layer.backward(&state, grad, &context, sums);
    }
    embedding.backward(&batch.ids, &grad, sums);
    loss
}
