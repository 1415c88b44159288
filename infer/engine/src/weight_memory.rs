//! Memory for weights: matrices lie one behind the other in large areas, for which the system is asked for huge pages.
//!
//! Every token decoded reads all weights once, and the processor fetches ahead only within a page: on one thread that is a tenth to a fifth faster in pages
//! of 2 MiB than in those of 4 KiB (`docs/results.md`). Single matrices of a small model are smaller than such a page, hence the areas.
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use bytes::BytesMut;

/// Bytes of an area; what nobody writes to takes no memory. Larger matrices have an area of their own.
const AREA: usize = 64 << 20;
/// What every piece begins at a multiple of: a cache line.
const LINE: usize = 64;

/// Bytes of a matrix from which on one row is multiplied with one panel after the other: so large a matrix comes from memory, which is read fastest in
/// the order in which it lies. Smaller ones may still be in a cache, where several panels abreast keep more multiply-adds going.
pub(crate) const STREAMED: usize = 1 << 20;

/// Hands out memory.
#[derive(Default)]
pub(crate) struct Arena {
    rest: BytesMut,
}

impl Arena {
    /// Room for `count` items, all zero.
    pub(crate) fn take<T: Pod>(&mut self, count: usize) -> Room<T> {
        let bytes = count * size_of::<T>();
        if self.rest.len() < bytes + LINE {
            self.rest = area(AREA.max(bytes + LINE));
        }
        let skipped = self.rest.as_ptr().align_offset(LINE);
        drop(self.rest.split_to(skipped));
        Room {
            bytes: self.rest.split_to(bytes),
            items: PhantomData,
        }
    }
}

/// Zeros that nothing has been written to yet, so that the first writing can take huge pages.
fn area(bytes: usize) -> BytesMut {
    let mut area = BytesMut::zeroed(bytes);
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let skipped = area.as_ptr().align_offset(PAGE);
        let whole = area.len().saturating_sub(skipped) / PAGE * PAGE;
        if let Some(pages) = area.get_mut(skipped..skipped + whole) {
            // SAFETY: the advice concerns memory that is this function's own, and changes neither its content nor what may be done with it.
            // Where the system does not take it, pages stay small.
            #[allow(
                unsafe_code,
                reason = "there is no safe way to advise about memory that was allocated elsewhere"
            )]
            let _ = unsafe {
                rustix::mm::madvise(
                    pages.as_mut_ptr().cast(),
                    pages.len(),
                    rustix::mm::Advice::LinuxHugepage,
                )
            };
        }
    }
    area
}

/// A matrix's piece of an area.
pub(crate) struct Room<T> {
    bytes: BytesMut,
    items: PhantomData<T>,
}

impl<T: Pod> Deref for Room<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        bytemuck::cast_slice(&self.bytes)
    }
}

impl<T: Pod> DerefMut for Room<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_zero_aligned_and_apart() {
        let mut arena = Arena::default();
        let mut pieces: Vec<Room<u32>> = [3, 0, 1000, AREA / 4 + 5, 17, AREA / 4 - 20, 1]
            .map(|count| arena.take(count))
            .into();
        drop(arena);
        for (i, piece) in pieces.iter_mut().enumerate() {
            assert!(piece.as_ptr().align_offset(LINE) == 0 && piece.iter().all(|v| *v == 0));
            piece.fill(i as u32);
        }
        assert_eq!(
            pieces.iter().map(|piece| piece.len()).collect::<Vec<_>>(),
            [3, 0, 1000, AREA / 4 + 5, 17, AREA / 4 - 20, 1]
        );
        assert!(
            pieces
                .iter()
                .enumerate()
                .all(|(i, piece)| piece.iter().all(|v| *v == i as u32))
        );
    }
}
