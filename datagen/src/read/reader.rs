//! The interface of a reader.

use std::path::{Path, PathBuf};

use kg::Kg;

use super::description::SourceFormat;
use super::file;
use super::sample::{Likeness, Sample};
use crate::question::GoldQuestion;
use crate::{Error, limits};

/// Receives questions one by one.
pub type Each<'e> = dyn FnMut(GoldQuestion) -> Result<(), Error> + 'e;

/// What to read.
#[derive(Clone, Copy)]
pub struct ReadRequest<'a> {
    /// One file.
    pub path: &'a Path,
    /// The graph for the names of plain-text sets and for templates.
    pub kg: Option<&'a dyn Kg>,
    /// One of the format's options (`FORMAT:OPTION=PATH`).
    pub option: Option<&'a str>,
}

/// Reads one format.
pub trait QuestionReader: Send + Sync {
    /// The format.
    fn format(&self) -> &'static SourceFormat;
    /// How likely a file with this beginning is in the format.
    fn likeness(&self, sample: &Sample) -> Likeness;
    /// The files at a path: the file itself, or the files of the set's folder in its published
    /// layout.
    ///
    /// # Errors
    /// If the folder cannot be read or does not contain any.
    fn files(&self, path: &Path) -> Result<Vec<PathBuf>, Error> {
        file::of_set(path, self.format())
    }
    /// Passes the questions of a file to `each`, in order. With a graph, names of plain-text sets
    /// become the graph's own terms.
    ///
    /// # Errors
    /// If the file cannot be read or is in another format, or any error from `each`. A single bad
    /// record is not an error: it becomes a question that will be refused.
    fn read(&self, from: &ReadRequest<'_>, each: &mut Each<'_>) -> Result<(), Error>;
}

/// Options of readers that generate questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Maximum questions per template. All rows are used with one wording before the next wording
    /// starts.
    pub per_template: usize,
    /// Seed for the selection.
    pub seed: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            per_template: limits::PER_TEMPLATE,
            seed: 0,
        }
    }
}
