//! SHA-256 digests, which identify files, datasets and templates.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use common::hex::hex;
use sha2::{Digest, Sha256};

use crate::ModelError;

/// Digest of the concatenation of `parts`, in hexadecimal.
#[must_use]
pub fn sha256_hex<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    hex(&sha256(parts))
}

/// Digest of the concatenation of `parts`, as bytes.
#[must_use]
pub fn sha256<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    hash.finalize().into()
}

/// Digest of a file in hexadecimal. Reads one block at a time.
///
/// # Errors
/// When the file cannot be read.
pub fn sha256_file(path: &Path) -> Result<String, ModelError> {
    let mut file = File::open(path).map_err(ModelError::io(path))?;
    let (mut hash, mut block) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut block).map_err(ModelError::io(path))? {
            0 => return Ok(hex(&hash.finalize())),
            n => hash.update(&block[..n]),
        }
    }
}
