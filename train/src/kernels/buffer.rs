//! Memory of the values of a pass, used again by the next one.
//!
//! A pass over 2,048 tokens needs hundreds of buffers of some megabytes, again and again in the same sizes. From the
//! system, every page of them costs a fault, which took a third of the time of a pass.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

/// Numbers from which a buffer is kept for the next one; the allocator is good at small ones.
const LEAST: usize = 1 << 16;

/// Numbers in memory that was used before.
pub(crate) struct Buffer {
    memory: Vec<f32>,
    len: usize,
}

/// Memory that no buffer uses at the moment, and how much there is of it.
struct Pool {
    free: Vec<Vec<f32>>,
    /// Numbers of memory in `free`.
    freed: usize,
    /// Numbers of memory that buffers use.
    used: usize,
    /// Numbers of the gradients, which grow while the values of a pass are given back.
    beside: usize,
    /// The highest sum of both since [`keep`].
    peak: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool {
    free: Vec::new(),
    freed: 0,
    used: 0,
    beside: 0,
    peak: 0,
});

impl Pool {
    /// Free memory for at least `len` numbers and not much more.
    fn find(&mut self, len: usize) -> Option<Vec<f32>> {
        let fits = |size: usize| size >= len && size <= len + len / 8;
        let found = (self.free.iter().enumerate())
            .filter(|(_, memory)| fits(memory.len()))
            .min_by_key(|(_, memory)| memory.len())
            .map(|(at, _)| at)?;
        let memory = self.free.swap_remove(found);
        self.freed -= memory.len();
        Some(memory)
    }

    /// Takes memory for `len` numbers, so that used and free memory together are never more than what was used at once.
    /// Returns memory that is not needed any more, to be freed outside of the lock.
    fn take(&mut self, len: usize) -> (Option<Vec<f32>>, Vec<Vec<f32>>) {
        let found = self.find(len);
        self.used += found.as_ref().map_or(len, Vec::len);
        (found, self.within_peak())
    }

    /// Free memory that would make more than what was needed at once.
    fn within_peak(&mut self) -> Vec<Vec<f32>> {
        let needed = self.used + self.beside;
        self.peak = self.peak.max(needed);
        self.spare(self.peak - needed)
    }

    /// Free memory beyond `most` numbers.
    fn spare(&mut self, most: usize) -> Vec<Vec<f32>> {
        let mut spare = Vec::new();
        while self.freed > most
            && let Some(memory) = self.free.pop()
        {
            self.freed -= memory.len();
            spare.push(memory);
        }
        spare
    }

    fn give(&mut self, memory: Vec<f32>) {
        self.used -= memory.len();
        self.freed += memory.len();
        self.free.push(memory);
    }
}

fn pool<T>(f: impl FnOnce(&mut Pool) -> T) -> T {
    // What the pool holds is right at any time.
    f(&mut POOL.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Buffer {
    /// `len` numbers that are to be written before they are read: they are those of an earlier buffer.
    pub(crate) fn unset(len: usize) -> Self {
        let (found, spare) = if len < LEAST {
            (None, Vec::new())
        } else {
            pool(|pool| pool.take(len))
        };
        drop(spare);
        let memory = found.unwrap_or_else(|| vec![0.0; len]);
        Self { memory, len }
    }

    /// `len` zeros.
    pub(crate) fn zeros(len: usize) -> Self {
        let mut zeros = Self::unset(len);
        zeros.fill(0.0);
        zeros
    }

    /// A copy.
    pub(crate) fn of(numbers: &[f32]) -> Self {
        let mut copy = Self::unset(numbers.len());
        copy.copy_from_slice(numbers);
        copy
    }
}

/// Tells that a gradient of `len` numbers gets memory of its own.
pub(crate) fn make_room(len: usize) {
    let spare = pool(|pool| {
        pool.beside += len;
        pool.within_peak()
    });
    drop(spare);
}

/// The gradients are complete: frees memory that no buffer uses until at most `bytes` of it are left, and forgets how much
/// was needed at once.
pub(crate) fn keep(bytes: usize) {
    let spare = pool(|pool| {
        let spare = pool.spare(bytes / size_of::<f32>());
        (pool.beside, pool.peak) = (0, pool.used + pool.freed);
        spare
    });
    drop(spare);
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let memory = std::mem::take(&mut self.memory);
        if memory.len() >= LEAST {
            pool(|pool| pool.give(memory));
        }
    }
}

impl Deref for Buffer {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        &self.memory[..self.len]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.memory[..self.len]
    }
}
