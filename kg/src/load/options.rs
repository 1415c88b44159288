//! Options, progress and errors of loading.

use std::path::PathBuf;

use common::fs::FsError;

use super::format::GraphFormat;
use crate::frozen::FreezeError;

/// Default memory for loading.
const MEMORY: usize = 1 << 30;

/// Options of loading.
#[derive(Clone, Copy, Debug)]
pub struct LoadOptions {
    /// The syntax of every file; if `None`, it is guessed from the name or the first line.
    pub format: Option<GraphFormat>,
    /// Accepts IRIs without checking them against RFC 3987: dumps contain IRIs with spaces and
    /// quotes.
    pub any_iri: bool,
    /// Number of invalid statements to skip; with 0 the first one is an error.
    pub max_faults: usize,
    /// Memory in bytes for triples and terms while loading into a graph folder; the rest is sorted
    /// on disk.
    pub memory: usize,
    /// Number of parser threads; 0 means all cores. The result does not depend on it.
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

/// Progress of loading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadProgress {
    /// Number of triples read so far.
    Read(u64),
    /// All triples are read; sorting and writing starts.
    Sort,
}

/// A graph could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// I/O error.
    #[error(transparent)]
    Io(#[from] FsError),
    /// A statement is invalid.
    #[error("{}:{line}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The error and, if possible, the correct form.
        message: String,
    },
    /// Neither the file name nor the first line determines the format.
    #[error(
        "{}: unknown graph format; use one of .ttl .nt .nq .trig .rdf .jsonld .tsv .json (each also .gz), lines of \
         `subject|relation|object` or `head<TAB>relation<TAB>tail`, or name it with --format (kqapro for KQA Pro's kb.json, oda for \
         ODA's subgraphs)",
        path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
    },
    /// Loading was interrupted.
    #[error("loading was interrupted; nothing was written")]
    Stopped,
    /// The triples could not be frozen.
    #[error("{0}")]
    Freeze(#[from] FreezeError),
}
