//! Temporary data between two stages of freezing, in memory or on disk.

use std::io::{self, Seek, Write};
use std::path::Path;

use tempfile::SpooledTempFile;

/// Size of the write buffer.
const BUFFER: usize = 1 << 16;

/// Reads temporary data.
pub(crate) type SpoolReader = SpooledTempFile;

/// Writes temporary data to memory or to an unnamed file.
#[derive(Debug)]
pub(crate) struct Spool(io::BufWriter<SpooledTempFile>);

impl Spool {
    /// A file in the folder `work`; memory without it.
    pub(crate) fn new(work: Option<&Path>) -> Self {
        let file = match work {
            None => SpooledTempFile::new(usize::MAX),
            Some(dir) => SpooledTempFile::new_in(0, dir),
        };
        Self(io::BufWriter::with_capacity(BUFFER, file))
    }

    /// Reads the data from the start.
    pub(crate) fn reader(self) -> io::Result<SpoolReader> {
        let mut file = self
            .0
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok(file)
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
