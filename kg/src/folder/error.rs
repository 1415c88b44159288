//! Errors of graph folders.

use std::path::PathBuf;

use common::fs::FsError;

use crate::frozen::{Damage, VERSION};
use crate::load::LoadError;
use crate::search::SearchError;

/// A graph folder could not be written or opened.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// I/O error.
    #[error(transparent)]
    Io(#[from] FsError),
    /// The target exists and is not a graph folder.
    #[error("{} exists and is not a graph folder; name a new one, or remove it first", path.display())]
    Occupied {
        /// The target.
        path: PathBuf,
    },
    /// The input has no triples, and the target is a graph.
    #[error("the input has no triples, so the graph in {} stays; remove it first if you want an empty graph", path.display())]
    Empty {
        /// The target.
        path: PathBuf,
    },
    /// The path has no file name, such as `.` or `/`.
    #[error("{} cannot be a graph folder; name a new one", path.display())]
    Unnamed {
        /// The path.
        path: PathBuf,
    },
    /// The manifest is missing or was not written by this program.
    #[error("{} is not a graph folder ({why}); `kg load` writes one", path.display())]
    NotAGraph {
        /// The folder.
        path: PathBuf,
        /// What is missing or wrong.
        why: String,
    },
    /// The folder has another format version.
    #[error("{} has graph format version {found}, this program reads version {VERSION}; load its sources again", path.display())]
    Version {
        /// The folder.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The manifest describes another graph.
    #[error("{}: the graph's content hash is {found}, the manifest says {expected}; the folder was changed or damaged", path.display())]
    Hash {
        /// The folder.
        path: PathBuf,
        /// The manifest's hash.
        expected: String,
        /// The graph's hash.
        found: String,
    },
    /// The graph file has another version, is truncated or was changed.
    #[error("{}: {damage}", path.display())]
    Damage {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        damage: Damage,
    },
    /// A file does not match its hash in the manifest, or the manifest does not match its own hash.
    #[error("{} was changed or damaged: it does not match its hash in the manifest; load the sources again", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The graph is intact, but the folder has no hashes to check the rest.
    #[error(
        "{}: the graph is whole, but it was loaded by a version that kept no hashes of manifest and label index, so these cannot be checked; \
         load the sources again",
        path.display()
    )]
    NoHashes {
        /// The folder.
        path: PathBuf,
    },
    /// The folder has no graph of this name.
    #[error("{} has no named graph `{given}`; {}", path.display(), if known.is_empty() { "it has only the default graph".to_owned() } else { format!("it has {}", known.join(", ")) })]
    NoSuchGraph {
        /// The folder.
        path: PathBuf,
        /// The requested name.
        given: String,
        /// The available names.
        known: Vec<String>,
    },
    /// A setting in the manifest is invalid.
    #[error("{}: settings: {why}", path.display())]
    Settings {
        /// The manifest.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The label index cannot be written or opened.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// The source files cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
}
