//! The bytes of a frozen graph, in a mapped file or in memory.

use std::io;
use std::path::Path;

use common::fs::open_file;
use memmap2::{Mmap, MmapOptions};

use super::bus_error;

/// The bytes, always aligned for eight-byte numbers.
#[derive(Debug)]
pub(super) enum ImageBytes {
    /// A mapped file; only the pages that are read are in memory.
    Mapped(Mmap),
    /// Memory of this process.
    Owned(Vec<u64>),
}

impl Default for ImageBytes {
    fn default() -> Self {
        Self::Owned(Vec::new())
    }
}

impl ImageBytes {
    /// Maps a file for reading.
    pub(super) fn map(path: &Path) -> io::Result<Self> {
        let file = open_file(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(Self::default());
        }
        bus_error::explain();
        // SAFETY: the mapping is private and read-only. Its bytes are only read as `&[u8]` and cast
        // to plain numbers after a check of bounds and alignment, so any content is sound. This
        // program never changes a graph file: it writes a new one and renames it. If another
        // process changes the bytes meanwhile, the numbers are other numbers. If it cuts the file
        // short, reading beyond the end raises SIGBUS, which [`bus_error`] turns into an error.
        #[allow(unsafe_code)]
        let map = unsafe { MmapOptions::new().map(&file)? };
        Ok(Self::Mapped(map))
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(words) => bytemuck::cast_slice(words),
        }
    }
}
