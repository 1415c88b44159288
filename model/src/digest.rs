//! SHA-256 as hexadecimal text: what says that two files, datasets or templates are the same.

use sha2::{Digest, Sha256};

/// Digest of the concatenation of `parts`.
#[must_use]
pub fn sha256_hex<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    sha256(parts).iter().map(|byte| format!("{byte:02x}")).collect()
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
