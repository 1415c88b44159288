//! Temporary data between two stages of freezing, in memory or on disk.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Writes temporary data to memory or to an unnamed file.
#[derive(Debug)]
pub(crate) enum Spool {
    Memory(Vec<u8>),
    File(io::BufWriter<File>),
}

impl Spool {
    /// A file in the folder `work`; memory without it.
    pub(crate) fn new(work: Option<&Path>) -> io::Result<Self> {
        Ok(match work {
            None => Self::Memory(Vec::new()),
            Some(dir) => Self::File(io::BufWriter::with_capacity(
                1 << 18,
                tempfile::tempfile_in(dir)?,
            )),
        })
    }

    /// Reads the data from the start.
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

/// Reads the data of a [`Spool`].
#[derive(Debug)]
pub(crate) enum SpoolReader {
    Memory(io::Cursor<Vec<u8>>),
    File(File),
}

impl SpoolReader {
    /// Returns to the start.
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
