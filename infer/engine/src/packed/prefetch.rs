//! The panel after the one at hand, fetched into the cache meanwhile: each tile asks for its share, step by step, so that memory is as busy as the
//! multipliers are.
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

use super::Chunk;

/// Tiles above which a panel's work takes so long that the processor's own guesses bring the next in time.
const FETCHED_TILES: usize = 8;

/// One tile's share.
#[derive(Clone, Copy)]
pub(super) struct Ahead<'a> {
    next: &'a [Chunk],
    begin: usize,
    shift: u32,
}

impl<'a> Ahead<'a> {
    /// For tile `tile` of `tiles`; the largest power of two of them does it all.
    pub(super) fn new(next: &'a [Chunk], tile: usize, tiles: usize) -> Self {
        let next = if tiles > FETCHED_TILES { &[] } else { next };
        let shift = tiles.ilog2();
        Self {
            next,
            begin: (tile % (1 << shift)) * next.len(),
            shift,
        }
    }

    /// To be called with every `at` of the panel at hand. A hint, which reads nothing and may name any address.
    #[target_feature(enable = "sse")]
    #[inline]
    pub(super) fn fetch(&self, at: usize) {
        _mm_prefetch::<_MM_HINT_T0>(
            self.next
                .as_ptr()
                .wrapping_add((self.begin + at) >> self.shift)
                .cast(),
        );
    }

    /// The same for a whole block of `chunks` chunks, the `block`-th of the panel; a cache line has two.
    #[target_feature(enable = "sse")]
    #[inline]
    pub(super) fn block(&self, block: usize, chunks: usize) {
        if !self.next.is_empty() {
            (0..chunks)
                .step_by(2 << self.shift)
                .for_each(|c| self.fetch(block * chunks + c));
        }
    }
}
