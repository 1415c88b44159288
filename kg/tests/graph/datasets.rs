//! The development sets, if they are next to the checkout.

use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Their folder; prints a note if it is missing.
pub(crate) fn datasets() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/datasets");
    let found = root.is_dir().then_some(root);
    if found.is_none() {
        let _ = writeln!(std::io::stderr(), "skipped: ../shared/datasets is not here");
    }
    found
}

/// A compressed JSON file.
pub(crate) fn json(path: &Path) -> serde_json::Value {
    serde_json::from_reader(flate2::read::MultiGzDecoder::new(
        std::fs::File::open(path).unwrap(),
    ))
    .unwrap()
}
