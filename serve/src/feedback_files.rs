//! The files of feedback: one line of JSON for each verdict, appended whole.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

/// The two files of feedback. Questions with a right answer can be read as a question set (format
/// `jsonl`); those of which only a wrong answer is known are kept apart.
pub(crate) struct FeedbackFiles {
    right: Mutex<File>,
    wrong: Mutex<File>,
}

impl FeedbackFiles {
    /// Opens `path`, and `NAME.wrong.jsonl` next to it, for appending.
    ///
    /// # Errors
    /// If a file cannot be opened.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            right: Mutex::new(opened(path)?),
            wrong: Mutex::new(opened(&wrong_path(path))?),
        })
    }

    /// Appends a line of JSON, whole or not at all.
    ///
    /// # Errors
    /// If the disk is full.
    pub(crate) fn append(&self, line: &Value, is_gold: bool) -> io::Result<()> {
        let file = if is_gold { &self.right } else { &self.wrong };
        let mut bytes = line.to_string().into_bytes();
        bytes.push(b'\n');
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        let before = file.metadata()?.len();
        let written = file.write_all(&bytes);
        if written.is_err() {
            // A full disk leaves no half line behind.
            file.set_len(before)?;
        }
        written
    }
}

/// `feedback.wrong.jsonl` for `feedback.jsonl`.
fn wrong_path(path: &Path) -> PathBuf {
    path.with_extension("wrong.jsonl")
}

/// Opens a file for appending. A last line that a crash cut short is ended, so that the next one is
/// whole.
fn opened(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let mut file = options.read(true).append(true).create(true).open(path)?;
    let mut last = [b'\n'];
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    if last != [b'\n'] {
        file.write_all(b"\n")?;
    }
    Ok(file)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_that_was_cut_short_stays_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("feedback.jsonl");
        std::fs::write(&path, "{\"a\":1}\n{\"b\"").unwrap();
        let files = FeedbackFiles::open(&path).unwrap();
        files.append(&json!({ "c": 3 }), true).unwrap();
        files.append(&json!({ "d": 4 }), false).unwrap();
        let text = |path: &Path| std::fs::read_to_string(path).unwrap();
        assert_eq!(text(&path), "{\"a\":1}\n{\"b\"\n{\"c\":3}\n");
        assert_eq!(text(&wrong_path(&path)), "{\"d\":4}\n");
    }
}
