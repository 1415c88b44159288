//! Options, progress and errors of loading.

use std::path::PathBuf;

use common::fs::FsError;

use super::format::GraphFormat;
use crate::frozen::FreezeError;

/// Memory for loading where nobody says otherwise.
const MEMORY: usize = 1 << 30;

/// How to read graph files.
#[derive(Clone, Copy, Debug)]
pub struct LoadOptions {
    /// The syntax of every file, instead of guessing from names and first lines.
    pub format: Option<GraphFormat>,
    /// Takes IRIs as they stand instead of checking them against RFC 3987: dumps hold spaces and quotes in them.
    pub any_iri: bool,
    /// Faulty statements that are passed over before loading fails; 0 makes the first one an error.
    pub max_faults: usize,
    /// Bytes of memory for triples and terms on the way into a graph folder; what does not fit is sorted on disk.
    pub memory: usize,
    /// Threads that parse; 0 takes all cores. The graph does not depend on it.
    pub threads: usize,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            format: None,
            any_iri: false,
            max_faults: 0,
            memory: MEMORY,
            threads: 0,
        }
    }
}

/// What loading is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadProgress {
    /// So many triples have been read.
    Read(u64),
    /// All are read; they are being sorted and written.
    Sort,
}

/// Why a graph could not be loaded. Every message names the file.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be opened or read.
    #[error(transparent)]
    Io(#[from] FsError),
    /// A statement does not parse.
    #[error("{}:{line}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong there and what would be right.
        message: String,
    },
    /// Neither the name nor the first line tells the format.
    #[error(
        "{}: unknown graph format; use one of .ttl .nt .nq .trig .rdf .jsonld .tsv .json (each also .gz), lines of \
         `subject|relation|object` or `head<TAB>relation<TAB>tail`, or say it with --format (kqapro for KQA Pro's kb.json, oda for \
         ODA's subgraphs)",
        path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
    },
    /// Loading was told to stop.
    #[error("loading was interrupted; nothing was written")]
    Stopped,
    /// The triples could not be brought into order.
    #[error("after the files were read: {0}")]
    Freeze(#[from] FreezeError),
}
