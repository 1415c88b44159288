//! The files that a graph was loaded from.

use std::fs::File;
use std::io::{BufReader, copy};
use std::path::Path;

use common::fs::FsError;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::options::LoadError;
use crate::hex::hex;

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
}

impl GraphSource {
    /// Hashes a file.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn of(path: &Path) -> Result<Self, LoadError> {
        let io = |source| LoadError::from(FsError::at(path)(source));
        let file = File::open(path).map_err(io)?;
        let mut hasher = Sha256::new();
        let mut file = BufReader::with_capacity(BUFFER, file);
        let bytes = copy(&mut file, &mut hasher).map_err(io)?;
        Ok(Self {
            path: path.display().to_string(),
            bytes,
            sha256: hex(&hasher.finalize()),
        })
    }
}
