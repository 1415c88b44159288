//! Scoring held-out examples: loss, accuracy, exact calls and the abstention threshold.

use burn::tensor::Device;

use crate::batch::{self, Example};
use crate::kernels::cross_entropy::{hits, loss_and_grad};
use crate::llama::Llama;
use crate::progress::Validation;

/// One in this many held-out turns may be above the threshold. More would lose right answers; with
/// fewer, turns that the model gets wrong would set the threshold.
const TURNS_PER_FAILURE: usize = 50;
/// Fewest turns for a reliable threshold.
const MIN_TURNS: usize = 100;
/// Lowest threshold, for models that are always certain.
const MIN_THRESHOLD: f64 = 0.1;

/// The abstention threshold ([`Validation::abstention_threshold`]) from the highest missing
/// probability (one minus the probability of the right token) in each turn.
fn abstention_threshold(mut missing: Vec<f32>) -> Option<f64> {
    missing.sort_by(|a, b| b.total_cmp(a));
    let threshold = missing
        .get(missing.len() / TURNS_PER_FAILURE)
        .filter(|_| missing.len() >= MIN_TURNS)?;
    // Rounded up to four decimals, so that a value close to one becomes one.
    Some(((f64::from(*threshold) * 1e4).ceil() / 1e4).clamp(MIN_THRESHOLD, 1.0))
}

/// Scores examples in order, about `micro_tokens` tokens at a time.
pub(crate) fn score(
    model: &Llama,
    examples: &[Example],
    micro_tokens: usize,
    step: usize,
    device: &Device,
) -> Validation {
    let (model, device) = (&model.without_gradients(), &device.clone().inner());
    let vocab = model.config.vocab_size;
    let mut out = Validation {
        step,
        loss: 0.0,
        accuracy: 0.0,
        tokens: 0,
        tools: Default::default(),
        abstention_threshold: None,
    };
    let (mut right, mut missing) = (0, Vec::new());
    let mut from = 0;
    while from < examples.len() {
        let (mut to, mut size) = (from, 0);
        while to < examples.len() && (to == from || size + examples[to].len() <= micro_tokens) {
            size += examples[to].len();
            to += 1;
        }
        let batch = batch::pack(examples, &(from..to).collect::<Vec<_>>());
        let (mut first, mut missing_by_token) = (Vec::new(), Vec::new());
        model.each_logits(&batch, device, |slice, logits| {
            let targets = &batch.targets[slice];
            first.extend(hits(logits, targets, vocab));
            out.loss += f64::from(loss_and_grad(logits, targets, vocab, 1.0));
            // The gradient at the target is its probability minus one.
            let rows = logits.chunks_exact(vocab).zip(targets);
            missing_by_token.extend(rows.map(|(row, target)| -row[*target as usize]));
        });
        right += first.iter().filter(|hit| **hit).count();
        out.tokens += first.len();
        let mut begin = 0;
        for (tool, length) in examples[from..to].iter().flat_map(Example::calls) {
            let turn = begin..(begin + length).min(first.len());
            begin = turn.end;
            let call = &first[turn.clone()];
            missing.push(
                missing_by_token[turn]
                    .iter()
                    .copied()
                    .fold(0.0_f32, f32::max),
            );
            let score = out.tools.entry(tool.clone()).or_default();
            score.calls += 1;
            score.exact += usize::from(call.iter().all(|hit| *hit));
        }
        from = to;
    }
    out.loss /= out.tokens as f64;
    out.accuracy = right as f64 / out.tokens as f64;
    out.abstention_threshold = abstention_threshold(missing);
    out
}

#[cfg(test)]
mod tests {
    use super::abstention_threshold;

    #[test]
    fn all_but_one_in_fifty_turns_are_below_the_threshold() {
        assert_eq!(abstention_threshold(vec![1.0; 99]), None, "too few turns");
        assert_eq!(abstention_threshold(vec![0.0; 100]), Some(0.1));
        // Two of a hundred are wrong: the third sets the threshold.
        let third = |missing: f32| {
            abstention_threshold([vec![0.1; 97], vec![1.0, missing, 0.9999]].concat())
        };
        assert_eq!(third(0.75), Some(0.75));
        assert_eq!(third(0.25), Some(0.25));
        assert_eq!(
            abstention_threshold(vec![0.999_99; 200]),
            Some(1.0),
            "a model that knows nothing never abstains"
        );
    }
}
