//! SHA-256 as hexadecimal text: what says that two files, datasets or templates are the same.

use sha2::{Digest, Sha256};

/// Digest of the concatenation of `parts`.
#[must_use]
pub fn sha256_hex<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
