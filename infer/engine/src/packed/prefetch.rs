//! Prefetching of the next panel during a product: each tile requests its share step by step, so
//! that memory and multipliers work at the same time.

use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

use super::Chunk;

/// Tiles above which a panel takes long enough for the hardware prefetcher to fetch the next one.
const FETCHED_TILES: usize = 8;

/// The share of one tile.
#[derive(Clone, Copy)]
pub(super) struct Prefetch<'a> {
    next: &'a [Chunk],
    begin: usize,
    shift: u32,
}

impl<'a> Prefetch<'a> {
    /// The share of tile `tile` of `tiles`; the largest power of two of the tiles divides the
    /// panel.
    pub(super) fn new(next: &'a [Chunk], tile: usize, tiles: usize) -> Self {
        let next = if tiles > FETCHED_TILES { &[] } else { next };
        let shift = tiles.ilog2();
        Self {
            next,
            begin: (tile % (1 << shift)) * next.len(),
            shift,
        }
    }

    /// Called with every `at` of the current panel. A hint: it reads nothing, and any address is
    /// allowed.
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

    /// The same for block number `block` of the panel, of `chunks` chunks; a cache line holds two.
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
