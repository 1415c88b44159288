//! Opening the index of a graph folder.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use serde::{Deserialize, Serialize};
use tantivy::Index;
use tantivy::directory::MmapDirectory;

use super::directory::ReadOnlyDirectory;
use super::fields::tokenizers;
use super::types::SearchError;

/// Version of the index. It changes with the indexed fields and the normal form.
pub(crate) const VERSION: u32 = 1;

/// Data about the index, stored in the payload of tantivy's commit.
#[derive(Serialize, Deserialize)]
pub(crate) struct IndexPayload {
    pub version: u32,
    pub content_hash: String,
    /// Size of each file, so that truncation is detected without reading it.
    pub files: BTreeMap<String, u64>,
}

pub(super) fn open_folder(dir: &Path, content_hash: &str) -> Result<Index, SearchError> {
    let stale = |why: String| SearchError::Stale {
        path: dir.to_owned(),
        why,
    };
    let io = |why: String| SearchError::Io {
        path: dir.to_owned(),
        why,
    };
    let directory = MmapDirectory::open(dir).map_err(|error| io(error.to_string()))?;
    let mut index = guarded(|| Ok(Index::open(ReadOnlyDirectory(directory))?))
        .map_err(|error| stale(error.to_string()))?;
    let payload = guarded(|| Ok(index.load_metas()?.payload))?
        .ok_or_else(|| stale("it does not say which graph it belongs to".to_owned()))?;
    let payload: IndexPayload =
        serde_json::from_str(&payload).map_err(|error| stale(error.to_string()))?;
    if payload.version != VERSION {
        return Err(stale(format!(
            "it has version {}, this program reads version {VERSION}",
            payload.version
        )));
    }
    if payload.content_hash != content_hash {
        return Err(stale("it belongs to another graph".to_owned()));
    }
    for (name, &bytes) in &payload.files {
        let found = fs::metadata(dir.join(name))
            .map_err(|error| io(format!("{name}: {error}")))?
            .len();
        if found != bytes {
            return Err(io(format!(
                "{name} has {found} bytes instead of {bytes}; load the sources again"
            )));
        }
    }
    index.set_tokenizers(tokenizers()?);
    Ok(index)
}

/// Runs code that opens or reads the index. tantivy trusts its files and may panic on damaged ones;
/// that must not end the process.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, SearchError>) -> Result<T, SearchError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(SearchError::Damaged(
            "its files are damaged; load the sources again".to_owned(),
        ))
    })
}
