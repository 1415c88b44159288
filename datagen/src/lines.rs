//! The files of a staged output folder: JSON and JSON Lines.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use common::fs::{FsError, StagedFolder};
use serde::Serialize;

use crate::Error;

impl From<FsError> for Error {
    fn from(FsError { path, source }: FsError) -> Self {
        Self::Io { path, source }
    }
}

/// Writes a value as a pretty-printed JSON file of a staged folder.
///
/// # Errors
/// [`Error`] with the file that cannot be written.
pub fn write_json(folder: &StagedFolder, name: &str, value: &impl Serialize) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Error::file(&folder.path().join(name), error.to_string()))?;
    Ok(folder.file(name, format!("{text}\n").as_bytes())?)
}

/// A JSON Lines file being written.
pub struct JsonLines {
    file: BufWriter<File>,
    path: PathBuf,
    count: usize,
}

impl JsonLines {
    /// Creates the file `name` in a staged folder.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create(folder: &StagedFolder, name: &str) -> Result<Self, Error> {
        let path = folder.path().join(name);
        let file = File::create(&path).map_err(Error::io(&path))?;
        Ok(Self {
            file: BufWriter::new(file),
            path,
            count: 0,
        })
    }

    /// Writes a value as one line.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn push(&mut self, value: &impl Serialize) -> Result<(), Error> {
        serde_json::to_writer(&mut self.file, value)
            .map_err(|error| Error::io(&self.path)(error.into()))?;
        self.count += 1;
        self.file.write_all(b"\n").map_err(Error::io(&self.path))
    }

    /// Appends complete lines unchanged.
    pub(crate) fn push_raw(&mut self, lines: &[u8]) -> Result<(), Error> {
        self.count += memchr::memchr_iter(b'\n', lines).count();
        self.file.write_all(lines).map_err(Error::io(&self.path))
    }

    /// Flushes and syncs the file; returns the number of lines.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn finish(mut self) -> Result<usize, Error> {
        self.file
            .flush()
            .and_then(|()| self.file.get_ref().sync_all())
            .map_err(Error::io(&self.path))?;
        Ok(self.count)
    }
}
