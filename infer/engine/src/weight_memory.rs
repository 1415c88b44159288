//! Memory for weights: matrices are allocated back to back in large areas backed by huge pages.
//!
//! Each decoded token reads all weights once, and the processor prefetches only within a page. On
//! one thread, pages of 2 MiB are 10 to 20 % faster than pages of 4 KiB (`docs/results.md`).
//! Matrices of small models are smaller than a huge page, so several share an area.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use bytes::BytesMut;

/// Bytes of an area; untouched pages take no memory. A larger matrix gets a separate area.
const AREA: usize = 64 << 20;
/// Alignment of every slice: a cache line.
const LINE: usize = 64;

/// Bytes of a matrix from which a single row is multiplied with one panel at a time. Such a matrix
/// is read from memory, and sequential reads are fastest. A smaller one may be in a cache; several
/// panels at a time then keep more multiply-adds in flight.
pub(crate) const STREAMED: usize = 1 << 20;

/// Allocates memory for weights.
#[derive(Default)]
pub(crate) struct WeightArena {
    rest: BytesMut,
}

impl WeightArena {
    /// A slice of `count` zeros.
    pub(crate) fn take<T: Pod>(&mut self, count: usize) -> WeightSlice<T> {
        let bytes = count * size_of::<T>();
        if self.rest.len() < bytes + LINE {
            self.rest = area(AREA.max(bytes + LINE));
        }
        let skipped = self.rest.as_ptr().align_offset(LINE);
        drop(self.rest.split_to(skipped));
        WeightSlice {
            bytes: self.rest.split_to(bytes),
            items: PhantomData,
        }
    }
}

/// Zeroed memory that has not been touched yet, so that the first write can map huge pages.
fn area(bytes: usize) -> BytesMut {
    let mut area = BytesMut::zeroed(bytes);
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let skipped = area.as_ptr().align_offset(PAGE);
        let whole = area.len().saturating_sub(skipped) / PAGE * PAGE;
        if let Some(pages) = area.get_mut(skipped..skipped + whole) {
            // SAFETY: the memory belongs to this function, and the advice changes neither its
            // content nor how it may be used. If the system ignores it, pages stay small.
            #[allow(
                unsafe_code,
                reason = "madvise has no safe interface for memory allocated elsewhere"
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

/// A slice of an area.
pub(crate) struct WeightSlice<T> {
    bytes: BytesMut,
    items: PhantomData<T>,
}

impl<T: Pod> Deref for WeightSlice<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        bytemuck::cast_slice(&self.bytes)
    }
}

impl<T: Pod> DerefMut for WeightSlice<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_zeroed_aligned_and_disjoint() {
        let mut arena = WeightArena::default();
        let mut slices: Vec<WeightSlice<u32>> = [3, 0, 1000, AREA / 4 + 5, 17, AREA / 4 - 20, 1]
            .map(|count| arena.take(count))
            .into();
        drop(arena);
        for (i, slice) in slices.iter_mut().enumerate() {
            assert!(slice.as_ptr().align_offset(LINE) == 0 && slice.iter().all(|v| *v == 0));
            slice.fill(i as u32);
        }
        assert_eq!(
            slices.iter().map(|slice| slice.len()).collect::<Vec<_>>(),
            [3, 0, 1000, AREA / 4 + 5, 17, AREA / 4 - 20, 1]
        );
        assert!(
            slices
                .iter()
                .enumerate()
                .all(|(i, slice)| slice.iter().all(|v| *v == i as u32))
        );
    }
}
