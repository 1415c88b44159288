//! Why a graph folder cannot be written or opened.

use std::path::PathBuf;

use common::fs::FsError;

use crate::frozen::{Damage, VERSION};
use crate::load::LoadError;
use crate::search::SearchError;

/// Why a graph folder could not be written or opened.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] FsError),
    /// Something else lies where the folder should go.
    #[error("{} exists and is no graph folder; remove it or choose another name", path.display())]
    Occupied {
        /// The path asked for.
        path: PathBuf,
    },
    /// The path has no name of its own, such as `.` or `/`.
    #[error("{} cannot be a graph folder; give it a name of its own", path.display())]
    Unnamed {
        /// The path asked for.
        path: PathBuf,
    },
    /// There is no manifest, or it is not one of ours.
    #[error("{} is no graph folder ({why}); `kg load` writes one", path.display())]
    NotAGraph {
        /// The folder.
        path: PathBuf,
        /// What is missing or wrong.
        why: String,
    },
    /// Written by another version.
    #[error("{} has graph format version {found}, this program reads version {VERSION}; load its sources again", path.display())]
    Version {
        /// The folder.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The graph is not the one the manifest describes.
    #[error("{}: the graph's content hash is {found}, the manifest says {expected}; the folder was changed or damaged", path.display())]
    Hash {
        /// The folder.
        path: PathBuf,
        /// The manifest's hash.
        expected: String,
        /// The graph's hash.
        found: String,
    },
    /// The graph file is of another version, cut off or changed.
    #[error("{}: {damage}", path.display())]
    Damage {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        damage: Damage,
    },
    /// A file is not the one that the manifest describes, or the manifest itself is not as it was written.
    #[error("{} was changed or damaged: it is not what the manifest has the hash of; load the sources again", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The graph is whole; the rest has nothing to be checked by.
    #[error(
        "{}: the graph is whole, but it was loaded by a version that kept no hashes of manifest and label index, so these cannot be checked; \
         load the sources again",
        path.display()
    )]
    NoHashes {
        /// The folder.
        path: PathBuf,
    },
    /// No graph of that name is in the folder.
    #[error("{} has no graph `{given}`; {}", path.display(), if known.is_empty() { "it has no named graphs".to_owned() } else { format!("it has {}", known.join(", ")) })]
    NoSuchGraph {
        /// The folder.
        path: PathBuf,
        /// The name asked for.
        given: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// A setting of the manifest makes no sense.
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
    /// The files to load cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
}
