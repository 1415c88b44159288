//! Where the bytes of a frozen graph lie: in a mapped file, or in a buffer of this process.

use std::fs::File;
use std::io;
use std::path::Path;

use memmap2::{Mmap, MmapOptions};

/// The bytes, aligned for eight-byte numbers either way.
#[derive(Debug)]
pub(super) enum ImageBytes {
    /// A file, of which only what is touched is in memory.
    Mapped(Mmap),
    /// Whole words.
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
        // SAFETY: the mapping is private and read-only, and its bytes are only ever read as `&[u8]` and cast to plain numbers after a
        // check of bounds and alignment, so any content is sound. What is left is another process that changes or shortens the file while
        // it is mapped: this program never does, it writes a graph beside the old one and renames, and the folder belongs to the user.
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
