//! Bytes on their way from one stage of freezing to the next, in memory or on disk.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Bytes on the way from one stage to the next: in memory, or in a file without a name.
#[derive(Debug)]
pub(crate) enum Spool {
    Memory(Vec<u8>),
    File(io::BufWriter<File>),
}

impl Spool {
    /// A file in a folder; memory without one.
    pub(crate) fn new(work: Option<&Path>) -> io::Result<Self> {
        Ok(match work {
            None => Self::Memory(Vec::new()),
            Some(dir) => Self::File(io::BufWriter::with_capacity(
                1 << 18,
                tempfile::tempfile_in(dir)?,
            )),
        })
    }

    /// Reads from the beginning what was written.
    pub(crate) fn reader(self) -> io::Result<SpoolReader> {
        Ok(match self {
            Self::Memory(bytes) => SpoolReader::Memory(io::Cursor::new(bytes)),
            Self::File(file) => {
                let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.seek(SeekFrom::Start(0))?;
                SpoolReader::File(file)
            }
        })
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Memory(out) => out.write(bytes),
            Self::File(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::File(out) => out.flush(),
        }
    }
}

/// A [`Spool`] read back.
#[derive(Debug)]
pub(crate) enum SpoolReader {
    Memory(io::Cursor<Vec<u8>>),
    File(File),
}

impl SpoolReader {
    /// Back to the beginning.
    pub(crate) fn rewind(&mut self) -> io::Result<()> {
        match self {
            Self::Memory(bytes) => bytes.rewind(),
            Self::File(file) => file.rewind(),
        }
    }
}

impl Read for SpoolReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Memory(bytes) => bytes.read(buffer),
            Self::File(file) => file.read(buffer),
        }
    }
}
