//! Held-out examples: loss, tokens predicted first, and calls that are right from their first token to their end.

use burn::tensor::Device;

use crate::batch::{self, Example};
use crate::kernels::cross_entropy::{hits, loss_and_grad};
use crate::llama::Llama;
use crate::progress::Validation;

/// Score examples in their order, about `micro_tokens` tokens at a time.
pub(crate) fn score(model: &Llama, examples: &[Example], micro_tokens: usize, step: usize, device: &Device) -> Validation {
    let (model, device) = (&model.without_gradients(), &device.clone().inner());
    let vocab = model.config().vocab_size;
    let mut out = Validation { step, loss: 0.0, accuracy: 0.0, tokens: 0, tools: Default::default() };
    let mut right = 0;
    let mut from = 0;
    while from < examples.len() {
        let (mut to, mut size) = (from, 0);
        while to < examples.len() && (to == from || size + examples[to].len() <= micro_tokens) {
            size += examples[to].len();
            to += 1;
        }
        let batch = batch::pack(examples, &(from..to).collect::<Vec<_>>());
        let mut logits = model.logits(&batch, device).into_data().try_to_vec::<f32>().unwrap_or_default();
        let first = hits(&logits, &batch.targets, vocab);
        right += first.iter().filter(|hit| **hit).count();
        out.tokens += first.len();
        let mut rest = first.as_slice();
        for (tool, length) in examples[from..to].iter().flat_map(Example::calls) {
            let (call, after) = rest.split_at((*length).min(rest.len()));
            rest = after;
            let score = out.tools.entry(tool.clone()).or_default();
            score.calls += 1;
            score.exact += usize::from(call.iter().all(|hit| *hit));
        }
        out.loss += f64::from(loss_and_grad(&mut logits, &batch.targets, vocab, 1.0));
        from = to;
    }
    out.loss /= out.tokens as f64;
    out.accuracy = right as f64 / out.tokens as f64;
    out
}
