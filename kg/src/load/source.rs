//! The files that a graph was loaded from.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use common::fs::{FsError, open_file};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::options::LoadError;
use common::hex::hex;

/// Bytes per read.
const BUFFER: usize = 1 << 16;

/// A file that a graph was loaded from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphSource {
    /// The path as given when it was loaded.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 of its bytes, hex.
    pub sha256: String,
    /// The base of its relative IRIs, if it has such IRIs and names no base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

impl GraphSource {
    /// Hashes a file.
    ///
    /// # Errors
    /// If it is not a file, or cannot be read.
    pub fn of(path: &Path) -> Result<Self, LoadError> {
        let mut file = open_file(path).map_err(FsError::at(path))?;
        Self::copy(path, &mut file, &mut io::sink(), &AtomicBool::new(false))
    }

    /// Copies a reader to `out` and hashes it. Ends soon after `stop` becomes true.
    fn copy(
        path: &Path,
        from: &mut dyn Read,
        out: &mut dyn Write,
        stop: &AtomicBool,
    ) -> Result<Self, LoadError> {
        let mut hasher = Sha256::new();
        let mut from = BufReader::with_capacity(BUFFER, from);
        let mut bytes = 0;
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(LoadError::Stopped);
            }
            let part = io::BufRead::fill_buf(&mut from).map_err(FsError::at(path))?;
            let count = part.len();
            if count == 0 {
                break;
            }
            hasher.update(part);
            out.write_all(part).map_err(FsError::at(path))?;
            io::BufRead::consume(&mut from, count);
            bytes += count as u64;
        }
        Ok(Self {
            path: path.display().to_string(),
            bytes,
            sha256: hex(&hasher.finalize()),
            base: None,
        })
    }
}

/// An input that is hashed and can be read from its start.
pub(super) struct LoadInput {
    pub source: GraphSource,
    /// What a pipe gave.
    copy: Option<File>,
}

impl LoadInput {
    /// Hashes a file or a pipe. A pipe can be read only once, so it is copied to an unnamed file,
    /// in the folder `work` if there is one.
    pub(super) fn of(
        path: &Path,
        work: Option<&Path>,
        stop: &AtomicBool,
    ) -> Result<Self, LoadError> {
        let io = |source| LoadError::from(FsError::at(path)(source));
        if !is_pipe(path).map_err(io)? {
            let mut file = open_file(path).map_err(io)?;
            let source = GraphSource::copy(path, &mut file, &mut io::sink(), stop)?;
            return Ok(Self { source, copy: None });
        }
        let mut copy = match work {
            Some(work) => tempfile::tempfile_in(work),
            None => tempfile::tempfile(),
        }
        .map_err(io)?;
        let mut pipe = File::open(path).map_err(io)?;
        let source = GraphSource::copy(path, &mut pipe, &mut copy, stop)?;
        copy.rewind().map_err(io)?;
        let copy = Some(copy);
        Ok(Self { source, copy })
    }

    /// Whether this was a pipe, whose name says nothing.
    pub(super) fn is_pipe(&self) -> bool {
        self.copy.is_some()
    }

    /// Opens the input, given with its path, at its start.
    pub(super) fn open(&self, path: &Path) -> io::Result<File> {
        let Some(copy) = &self.copy else {
            return open_file(path);
        };
        let mut copy = copy.try_clone()?;
        copy.rewind()?;
        Ok(copy)
    }
}

fn is_pipe(path: &Path) -> io::Result<bool> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        Ok(std::fs::metadata(path)?.file_type().is_fifo())
    }
    #[cfg(not(unix))]
    {
        std::fs::metadata(path).map(|_| false)
    }
}
