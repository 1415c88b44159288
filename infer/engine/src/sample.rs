//! Choosing one of the allowed tokens from logits, and what that choice says about the model.
use super::kernels::log_sum_exp;

/// How a token is chosen among those allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sampling {
    /// The most likely one; of equals the one with the lowest id.
    Greedy,
    /// Drawn with logits divided by `t`; the same seed draws the same tokens. `t` ≤ 0 is greedy.
    Temperature {
        /// Temperature.
        t: f32,
        /// Seed of the draws of one generation.
        seed: u64,
    },
}

/// One choice, for the trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// The token chosen (the end token where the text was ended).
    pub token: u32,
    /// Natural logarithm of its probability among the allowed tokens, at temperature 1.
    pub logprob: f32,
    /// Probability that the model, unmasked, gives to all allowed tokens together: near 0 where the constraint acts against the model.
    pub allowed_mass: f32,
    /// How many tokens were allowed.
    pub allowed: usize,
    /// How many tokens of the text stood before it.
    pub at: usize,
}

/// Draws; SplitMix64, enough for sampling and the same everywhere.
pub(crate) struct Sampler {
    sampling: Sampling,
    state: u64,
    picked: Vec<f32>,
}

impl Sampler {
    pub(crate) fn new(sampling: Sampling) -> Self {
        let state = match sampling {
            Sampling::Temperature { seed, .. } => seed,
            Sampling::Greedy => 0,
        };
        Self {
            sampling,
            state,
            picked: Vec::new(),
        }
    }

    /// Chooses the text's token `at` among `candidates` (not empty, each an index into `logits`). NaN counts as impossible, infinity as the largest number: whatever
    /// the logits are, one of the candidates comes back.
    pub(crate) fn choose(&mut self, at: usize, logits: &[f32], candidates: &[u32]) -> Decision {
        let clean = |v: f32| {
            if v.is_nan() {
                f32::NEG_INFINITY
            } else {
                v.min(f32::MAX)
            }
        };
        self.picked.clear();
        self.picked
            .extend(candidates.iter().map(|&id| clean(logits[id as usize])));
        let mut best = 0;
        for (i, &v) in self.picked.iter().enumerate() {
            if v > self.picked[best] || (v == self.picked[best] && candidates[i] < candidates[best])
            {
                best = i;
            }
        }
        let masked = log_sum_exp(&self.picked);
        let chosen = match self.sampling {
            Sampling::Temperature { t, .. } if t > 0.0 && masked.is_finite() => {
                self.draw(t, self.picked[best])
            }
            _ => best,
        };
        let (logprob, allowed_mass) = if masked.is_finite() {
            (
                self.picked[chosen] - masked,
                (masked - log_sum_exp(logits)).exp().min(1.0),
            )
        } else {
            // The model rules out every allowed token: any is as good as another.
            (-(candidates.len() as f32).ln(), 0.0)
        };
        Decision {
            token: candidates[chosen],
            logprob,
            allowed_mass,
            allowed: candidates.len(),
            at,
        }
    }

    fn draw(&mut self, t: f32, max: f32) -> usize {
        let weight = |v: f32| (f64::from(v - max) / f64::from(t)).exp();
        let total: f64 = self.picked.iter().map(|&v| weight(v)).sum();
        let mut left = self.uniform() * total;
        let mut last = 0;
        for (i, &v) in self.picked.iter().enumerate() {
            let w = weight(v);
            if w > 0.0 {
                last = i;
                if left < w {
                    break;
                }
                left -= w;
            }
        }
        last
    }

    /// Uniform in [0, 1).
    fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_those_of_the_softmax() {
        let logits = [1.0, 3.0, 2.0, f32::NEG_INFINITY];
        let d = Sampler::new(Sampling::Greedy).choose(0, &logits, &[0, 2]);
        let (e1, e2, e3) = (1f32.exp(), 2f32.exp(), 3f32.exp());
        assert_eq!((d.token, d.allowed), (2, 2));
        assert!((d.logprob - (e2 / (e1 + e2)).ln()).abs() < 1e-5);
        assert!((d.allowed_mass - (e1 + e2) / (e1 + e2 + e3)).abs() < 1e-5);
    }

    #[test]
    fn draws_follow_the_temperature() {
        let logits = [0.0, 1.0];
        let mut sampler = Sampler::new(Sampling::Temperature { t: 0.5, seed: 7 });
        let ones = (0..20_000)
            .filter(|_| sampler.choose(0, &logits, &[0, 1]).token == 1)
            .count() as f64
            / 20_000.0;
        assert!((ones - 1.0 / (1.0 + (-2f64).exp())).abs() < 0.01, "{ones}");
    }
}
