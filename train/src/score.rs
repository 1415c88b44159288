//! Held-out examples: loss, tokens predicted first, and calls that are right from their first token to their end.

use burn::tensor::Device;

use crate::batch::{self, Example};
use crate::kernels::cross_entropy::{hits, loss_and_grad};
use crate::llama::Llama;
use crate::progress::Validation;

/// One held-out turn of so many may be doubted: with more right answers are lost, with fewer those decide that the model gets wrong.
const FAILING: usize = 50;
/// Turns below which a share of them says nothing.
const ENOUGH: usize = 100;
/// A model that is always sure is still asked whether it would rather write something else.
const LEAST: f64 = 0.1;

/// The doubt that all but a few turns stay below, of the worst token of each; to be read as [`Validation::doubt`].
fn passing(mut worst: Vec<f32>) -> Option<f64> {
    worst.sort_by(|a, b| b.total_cmp(a));
    let doubt = worst
        .get(worst.len() / FAILING)
        .filter(|_| worst.len() >= ENOUGH)?;
    // Up to the next of ten thousand parts, so that nearly one is one.
    Some(((f64::from(*doubt) * 1e4).ceil() / 1e4).clamp(LEAST, 1.0))
}

/// Score examples in their order, about `micro_tokens` tokens at a time.
pub(crate) fn score(
    model: &Llama,
    examples: &[Example],
    micro_tokens: usize,
    step: usize,
    device: &Device,
) -> Validation {
    let (model, device) = (&model.without_gradients(), &device.clone().inner());
    let vocab = model.config().vocab_size;
    let mut out = Validation {
        step,
        loss: 0.0,
        accuracy: 0.0,
        tokens: 0,
        tools: Default::default(),
        doubt: None,
    };
    let (mut right, mut worst) = (0, Vec::new());
    let mut from = 0;
    while from < examples.len() {
        let (mut to, mut size) = (from, 0);
        while to < examples.len() && (to == from || size + examples[to].len() <= micro_tokens) {
            size += examples[to].len();
            to += 1;
        }
        let batch = batch::pack(examples, &(from..to).collect::<Vec<_>>());
        let mut logits = model
            .logits(&batch, device)
            .into_data()
            .try_to_vec::<f32>()
            .unwrap_or_default();
        let first = hits(&logits, &batch.targets, vocab);
        right += first.iter().filter(|hit| **hit).count();
        out.tokens += first.len();
        out.loss += f64::from(loss_and_grad(&mut logits, &batch.targets, vocab, 1.0));
        // What the loss's slope at the target is: its probability less one.
        let doubts: Vec<f32> = logits
            .chunks_exact(vocab)
            .zip(batch.targets.iter())
            .map(|(row, target)| -row[*target as usize])
            .collect();
        let mut begin = 0;
        for (tool, length) in examples[from..to].iter().flat_map(Example::calls) {
            let turn = begin..(begin + length).min(first.len());
            begin = turn.end;
            let call = &first[turn.clone()];
            worst.push(doubts[turn].iter().copied().fold(0.0, f32::max));
            let score = out.tools.entry(tool.clone()).or_default();
            score.calls += 1;
            score.exact += usize::from(call.iter().all(|hit| *hit));
        }
        from = to;
    }
    out.loss /= out.tokens as f64;
    out.accuracy = right as f64 / out.tokens as f64;
    out.doubt = passing(worst);
    out
}

#[cfg(test)]
mod tests {
    use super::passing;

    #[test]
    fn doubt_lets_all_but_one_in_fifty_pass() {
        assert_eq!(passing(vec![1.0; 99]), None, "too few to say");
        assert_eq!(passing(vec![0.0; 100]), Some(0.1));
        // Two of a hundred are wrong: the third decides.
        let third = |doubt: f32| passing([vec![0.1; 97], vec![1.0, doubt, 0.9999]].concat());
        assert_eq!(third(0.75), Some(0.75));
        assert_eq!(third(0.25), Some(0.25));
        assert_eq!(
            passing(vec![0.999_99; 200]),
            Some(1.0),
            "a model that knows nothing is not asked"
        );
    }
}
