//! A small random number generator (SplitMix64). It is our own code, because shuffles, samples and
//! fresh weights must not change when a library changes its algorithm.

/// A SplitMix64 generator. The seed determines the whole sequence.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    #[expect(
        clippy::should_implement_trait,
        reason = "an endless sequence is no iterator here"
    )]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `[0, 1)`, with 24 random bits.
    pub fn uniform(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1_u32 << 24) as f32
    }

    /// Uniform in `[0, 1)`, with 53 random bits.
    pub fn uniform_f64(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Standard normal (Box-Muller).
    pub fn normal(&mut self) -> f32 {
        let (u, v) = (1.0 - f64::from(self.uniform()), f64::from(self.uniform()));
        ((-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()) as f32
    }

    /// A number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        // The high half of the product is uniform enough for samples of this size.
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// True with this probability.
    pub fn chance(&mut self, share: f64) -> bool {
        self.uniform_f64() < share
    }

    /// One of the items; `None` if there are no items.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }

    /// Shuffles the items in place (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, (self.next() % (i as u64 + 1)) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published first outputs of SplitMix64 for seed 1234567.
    #[test]
    fn the_sequence_matches_the_published_one() {
        let mut rng = Rng::new(1_234_567);
        let first = [rng.next(), rng.next(), rng.next()];
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }
}
