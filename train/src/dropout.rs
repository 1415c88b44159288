//! Dropout of the input of LoRA corrections.

use common::rng::Rng;

use crate::kernels::buffer::Buffer;

/// Dropout of one forward pass. Masks depend only on the seed and the position in the model, so
/// that a resumed run and a recomputed layer use the same ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dropout {
    /// Share of the elements that become zero.
    pub(crate) share: f32,
    pub(crate) seed: u64,
}

impl Dropout {
    /// Dropout of this share of the elements. A share of zero gives `None`.
    pub(crate) fn new(share: f32, seed: u64) -> Option<Self> {
        (share > 0.0).then_some(Self { share, seed })
    }

    /// The factors of `count` elements at a position in the model: zero, or what preserves the
    /// mean.
    pub(crate) fn mask(self, count: usize, place: usize) -> Buffer {
        let mut rng = Rng::new(self.seed ^ (place as u64 + 1).wrapping_mul(0x9e6c_63d0_876a_46ad));
        let kept = 1.0 / (1.0 - self.share);
        let mut mask = Buffer::unset(count);
        for factor in mask.iter_mut() {
            *factor = if rng.uniform() < self.share {
                0.0
            } else {
                kept
            };
        }
        mask
    }
}
