//! The label index as a value.

use std::fmt;
use std::path::Path;

use tantivy::{IndexReader, ReloadPolicy};

use super::fields::{IndexFields, SegmentColumns};
use super::open::{guarded, open_folder};
use super::types::SearchError;

/// An index of the names of a graph's nodes.
pub struct LabelIndex {
    pub(super) reader: IndexReader,
    pub(super) segments: Vec<SegmentColumns>,
    pub(super) fields: IndexFields,
}

impl fmt::Debug for LabelIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LabelIndex")
            .field("names", &self.len())
            .finish()
    }
}

impl LabelIndex {
    /// Opens the index that [`LabelIndex::build`] wrote for the graph with this content hash.
    /// Writes nothing and takes no lock, so the folder may be read-only.
    ///
    /// # Errors
    /// [`SearchError::Stale`] for an index of another version or graph, [`SearchError::Io`] for
    /// unreadable files.
    pub fn open(dir: &Path, content_hash: &str) -> Result<Self, SearchError> {
        Self::of(&open_folder(dir, content_hash)?)
    }

    pub(crate) fn of(index: &tantivy::Index) -> Result<Self, SearchError> {
        guarded(|| {
            let fields = IndexFields::of(&index.schema())?;
            let reader = index
                .reader_builder()
                .reload_policy(ReloadPolicy::Manual)
                .num_warming_threads(0)
                .try_into()?;
            let segments = SegmentColumns::all(&reader)?;
            Ok(Self {
                reader,
                segments,
                fields,
            })
        })
    }

    /// Number of names.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.reader.searcher().num_docs()
    }

    /// Whether no node has a name.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
