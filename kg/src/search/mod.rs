//! Label search: from a surface form to the nodes that bear it (specification E6, E22).
//!
//! One tantivy index per graph, over every name of every node: labels in all languages, aliases, and what an IRI's own text says where there
//! is no label. It is memory-mapped from the graph folder, so that opening it does not depend on its size; a graph without a folder gets the
//! same index in memory.
//!
//! ```text
//! exact       the name, letter for letter
//! normalised  the same without case, diacritics, punctuation; then with or without an article, in the singular, without "(1997 film)"
//! fuzzy       at most two edits away, one in a short name
//! partial     shares words or most character trigrams
//! ```
//!
//! A later kind is looked at only where the earlier ones found nothing. Within one, better matches come first, then better connected nodes,
//! then lower ids.

mod build;
mod directory;
mod query;
mod text;

use std::fmt;
use std::path::{Path, PathBuf};

use tantivy::{IndexReader, ReloadPolicy};

pub use text::{letters, normal_letters, normalise, singular};

use crate::Kg;
use crate::term::NodeId;

/// How a candidate's name matches a mention, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// Letter for letter.
    Exact,
    /// In normal form, or in a weaker form of it.
    Normalised,
    /// With a few edits.
    Fuzzy,
    /// In some words or most trigrams.
    Partial,
}

/// What a name is of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NameKind {
    /// A label.
    Label,
    /// An alias.
    Alias,
    /// A name without what distinguishes it from others: `Titanic` of `Titanic (1997 film)`.
    Short,
}

/// What a node is in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Something that questions are about.
    Entity,
    /// A class of entities.
    Class,
    /// A relation and nothing else.
    Relation,
}

/// A node that a mention may mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The node.
    pub node: NodeId,
    /// The name that matched.
    pub label: String,
    /// How well it matches, in `(0, 1]`; comparable within a kind of match only.
    pub score: f32,
    /// How it matches.
    pub how: How,
    /// What the name is.
    pub kind: NameKind,
    /// Triples that leave or enter the node: how well known it is.
    pub degree: u64,
}

/// Why an index cannot be built, opened or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// A file cannot be read or written.
    #[error("label index {}: {why}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// What went wrong.
        why: String,
    },
    /// Written by another version of this program, or for another graph.
    #[error("label index {}: {why}; load the sources again", path.display())]
    Stale {
        /// The folder.
        path: PathBuf,
        /// What does not fit.
        why: String,
    },
    /// The index is damaged, or does not fit into memory.
    #[error("the label index cannot be read: {0}")]
    Damaged(String),
}

impl From<tantivy::TantivyError> for SearchError {
    fn from(error: tantivy::TantivyError) -> Self {
        Self::Damaged(error.to_string())
    }
}

/// The names of a graph's nodes.
pub struct LabelIndex {
    reader: IndexReader,
    segments: Vec<query::Segment>,
    fields: build::Fields,
}

impl fmt::Debug for LabelIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LabelIndex")
            .field("names", &self.len())
            .finish()
    }
}

/// The names of a node in normal form, weaker ones too.
pub fn normal_names(kg: &dyn Kg, node: NodeId) -> std::collections::BTreeSet<String> {
    let names = build::names_of(kg, node).into_keys();
    names
        .flat_map(|name| text::variants(&name).into_iter().chain([name]))
        .collect()
}

/// Whether a normal form is few enough edits from that of a name to be taken for it.
pub fn nearly(text: &str, name: &str) -> bool {
    let allowed = edits_of(name);
    let length = || text.chars().count().abs_diff(name.chars().count());
    allowed > 0
        && length() <= allowed
        && text::fewest_edits(text, name) <= allowed
        && text::edits(text, name) <= allowed
}

/// Edits by which a text may differ from a normal form and still be taken for it.
pub fn edits_of(name: &str) -> usize {
    usize::from(text::allowed_edits(name.chars().count()))
}

impl LabelIndex {
    /// Builds the index of a graph in memory.
    ///
    /// # Errors
    /// [`SearchError::Damaged`] when memory runs out.
    pub fn in_memory(kg: &dyn Kg) -> Result<Self, SearchError> {
        let index = build::write(kg, Box::new(tantivy::directory::RamDirectory::create()))?;
        Self::of(&index)
    }

    /// Builds the index of a graph in a folder, which must be absent or empty. Equal graphs give equal bytes.
    ///
    /// # Errors
    /// [`SearchError`] when the folder cannot be written.
    pub fn build(kg: &dyn Kg, dir: &Path) -> Result<(), SearchError> {
        build::write_folder(kg, dir)
    }

    /// Opens the index that [`LabelIndex::build`] wrote for the graph with this content hash. Nothing is written and no lock is taken: the
    /// folder may be read-only.
    ///
    /// # Errors
    /// [`SearchError::Stale`] for an index of another version or graph, otherwise what cannot be read.
    pub fn open(dir: &Path, content_hash: &str) -> Result<Self, SearchError> {
        Self::of(&build::open_folder(dir, content_hash)?)
    }

    fn of(index: &tantivy::Index) -> Result<Self, SearchError> {
        build::guarded(|| {
            let fields = build::Fields::of(&index.schema())?;
            let reader = index
                .reader_builder()
                .reload_policy(ReloadPolicy::Manual)
                .num_warming_threads(0)
                .try_into()?;
            let segments = query::Segment::all(&reader, &fields)?;
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
