//! Chooses one of the allowed tokens from the logits, and measures how sure the model is.

use crate::kernels::log_sum_exp;

/// One choice, for the trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// The token chosen; the end token if the text ended here.
    pub token: u32,
    /// Natural logarithm of its probability among the allowed tokens.
    pub logprob: f32,
    /// Probability that the unmasked model gives to all allowed tokens together; near 0 if the
    /// constraint works against the model.
    pub allowed_mass: f32,
    /// Number of allowed tokens.
    pub allowed: usize,
    /// Number of tokens before it in the text.
    pub at: usize,
}

/// Chooses the most likely of `candidates` (not empty, each an index into `logits`) as token `at`
/// of the text; of equals the one with the lowest id. NaN counts as impossible and infinity as the
/// largest number, so that a candidate is returned for any logits.
pub(crate) fn choose(at: usize, logits: &[f32], candidates: &[u32]) -> Decision {
    let clean = |v: f32| {
        if v.is_nan() {
            f32::NEG_INFINITY
        } else {
            v.min(f32::MAX)
        }
    };
    let picked: Vec<f32> = candidates
        .iter()
        .map(|&id| clean(logits[id as usize]))
        .collect();
    let mut best = 0;
    for (i, &v) in picked.iter().enumerate() {
        if v > picked[best] || (v == picked[best] && candidates[i] < candidates[best]) {
            best = i;
        }
    }
    let masked = log_sum_exp(&picked);
    let (logprob, allowed_mass) = if masked.is_finite() {
        (
            picked[best] - masked,
            (masked - log_sum_exp(logits)).exp().min(1.0),
        )
    } else {
        // The model rules out every allowed token, so all are equally likely.
        (-(candidates.len() as f32).ln(), 0.0)
    };
    Decision {
        token: candidates[best],
        logprob,
        allowed_mass,
        allowed: candidates.len(),
        at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_those_of_the_softmax() {
        let logits = [1.0, 3.0, 2.0, f32::NEG_INFINITY];
        let d = choose(0, &logits, &[0, 2]);
        let (e1, e2, e3) = (1f32.exp(), 2f32.exp(), 3f32.exp());
        assert_eq!((d.token, d.allowed), (2, 2));
        assert!((d.logprob - (e2 / (e1 + e2)).ln()).abs() < 1e-5);
        assert!((d.allowed_mass - (e1 + e2) / (e1 + e2 + e3)).abs() < 1e-5);
    }
}
