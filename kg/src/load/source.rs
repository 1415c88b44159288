//! The files that a graph was loaded from.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use common::fs::FsError;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::options::LoadError;

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
        let mut file = File::open(path).map_err(io)?;
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 1 << 16];
        let mut bytes = 0;
        loop {
            let read = file.read(&mut buffer).map_err(io)?;
            if read == 0 {
                break;
            }
            hasher.update(&buffer[..read]);
            bytes += read as u64;
        }
        let sha256 = hasher
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Ok(Self {
            path: path.display().to_string(),
            bytes,
            sha256,
        })
    }
}
