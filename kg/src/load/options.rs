//! Options, progress and errors of loading.

use std::path::PathBuf;

use common::fs::FsError;
use serde::{Deserialize, Serialize};

use super::format::GraphFormat;
use crate::frozen::FreezeError;

/// Default memory for loading.
const MEMORY: usize = 1 << 30;

/// Options of loading.
#[derive(Clone, Copy, Debug)]
pub struct LoadOptions<'a> {
    /// The syntax of every file; if `None`, it is guessed from the name or the first line.
    pub format: Option<GraphFormat>,
    /// Accepts IRIs without checking them against RFC 3987: dumps contain IRIs with spaces and
    /// quotes.
    pub any_iri: bool,
    /// Number of invalid statements to skip; with 0 the first one is an error. RDF/XML and JSON cannot be read after an
    /// error, so there the first one is an error anyway.
    pub max_faults: usize,
    /// The base of relative IRIs in files that name none. If `None`, each file gets a base of its own, made from its
    /// name.
    pub base: Option<&'a str>,
    /// Memory in bytes for triples and terms while loading into a graph folder; the rest is sorted
    /// on disk.
    pub memory: usize,
    /// Names or IRIs of relations whose texts are labels, best first; they come before the known ones, such as
    /// `rdfs:label`.
    pub labels: &'a [String],
    /// Whether triples that OWL axioms state of classes and individuals are added.
    pub reasoning: bool,
    /// Number of parser threads; 0 means all cores. The result does not depend on it.
    pub threads: usize,
}

impl Default for LoadOptions<'_> {
    fn default() -> Self {
        Self {
            format: None,
            any_iri: false,
            max_faults: 0,
            base: None,
            memory: MEMORY,
            labels: &[],
            reasoning: true,
            threads: 0,
        }
    }
}

/// Invalid statements that were skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// How many.
    pub statements: usize,
    /// The first of them, in the order of the files and lines.
    pub first: Vec<SkippedStatement>,
}

/// An invalid statement, of which nothing was stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedStatement {
    /// The file, as given.
    pub path: String,
    /// Its first line, from 1.
    pub line: u64,
    /// Its last line.
    pub last_line: u64,
    /// What is wrong.
    pub message: String,
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
        "{}: unknown graph format; use one of .ttl .n3 .nt .nq .trig .rdf .owl .jsonld .obo .tsv .json (each also .gz, .bz2, .xz or .zst), lines of \
         `subject|relation|object` or `head<TAB>relation<TAB>tail`, or name it with --format (kqapro for KQA Pro's kb.json, oda for \
         ODA's subgraphs)",
        path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
    },
    /// The base of relative IRIs is no absolute IRI.
    #[error("--base {base}: not an absolute IRI, such as http://example.org/films/")]
    Base {
        /// What was given.
        base: String,
    },
    /// A relation that was named for labels does not occur.
    #[error(
        "--label {given}: no triple has this relation; write its IRI as in the files, such as http://schema.org/name"
    )]
    Label {
        /// What was given.
        given: String,
    },
    /// Loading was interrupted.
    #[error("loading was interrupted; nothing was written")]
    Stopped,
    /// The triples could not be frozen.
    #[error("{0}")]
    Freeze(#[from] FreezeError),
}
