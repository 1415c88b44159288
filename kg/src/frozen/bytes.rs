//! The bytes of a frozen graph, in a mapped file or in memory.

use std::fs::File;
use std::io;
use std::path::Path;

use memmap2::{Mmap, MmapOptions};

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
        let file = File::open(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(Self::default());
        }
        // SAFETY: the mapping is private and read-only. Its bytes are only read as `&[u8]` and cast
        // to plain numbers after a check of bounds and alignment, so any content is sound. The
        // remaining risk is another process that changes or truncates the file while it is mapped.
        // This program never does: it writes a new graph next to the old one and renames it. The
        // folder belongs to the user.
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
