//! The files of feedback: one line of JSON for each verdict, appended whole.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

/// Maximum bytes of a file: some ten thousand verdicts. More is not read by people, and what nobody
/// reads should not be trained on.
const FILE_BYTES: u64 = 16 << 20;

/// The two files of feedback. Questions with a right answer can be read as a question set (format
/// `jsonl`); those of which only a wrong answer is known are kept apart.
pub(crate) struct FeedbackFiles {
    path: PathBuf,
    kept: Mutex<Kept>,
}

/// What became of a verdict.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Appended {
    Written,
    /// The same was said before.
    Known,
    /// The file has reached its largest size.
    Full,
}

/// What is in the files.
struct Kept {
    right: File,
    wrong: File,
    /// A hash of every verdict.
    known: HashSet<u64>,
    random: RandomState,
}

impl Kept {
    fn open(path: &Path) -> io::Result<Self> {
        let mut kept = Self {
            right: opened(path)?,
            wrong: opened(&wrong_path(path))?,
            known: HashSet::new(),
            random: RandomState::new(),
        };
        for path in [path, &wrong_path(path)] {
            kept.read(path)?;
        }
        Ok(kept)
    }

    /// Reads the verdicts of a file. Nothing is appended to one that is too large, so it is not read.
    fn read(&mut self, path: &Path) -> io::Result<()> {
        let file = File::open(path)?;
        let about = file.metadata()?;
        if !about.is_file() || about.len() >= FILE_BYTES {
            return Ok(());
        }
        for line in BufReader::new(file.take(FILE_BYTES)).split(b'\n') {
            // People may have written other lines into it.
            if let Ok(line) = serde_json::from_slice(&line?) {
                let hash = self.hash(&line);
                self.known.insert(hash);
            }
        }
        Ok(())
    }

    /// A hash of what a verdict says. Every answer has an id of its own, also that to the same
    /// question.
    fn hash(&self, line: &Value) -> u64 {
        let mut said = line.clone();
        if let Some(fields) = said.as_object_mut() {
            fields.shift_remove("id");
        }
        self.random.hash_one(said.to_string())
    }
}

impl FeedbackFiles {
    /// Opens `path`, and `NAME.wrong.jsonl` next to it, for appending.
    ///
    /// # Errors
    /// If a file cannot be opened or read.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            kept: Mutex::new(Kept::open(path)?),
        })
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the files again, because somebody may have moved them away.
    ///
    /// # Errors
    /// If a file cannot be opened or read; then the earlier ones stay.
    pub(crate) fn reopen(&self) -> io::Result<()> {
        let kept = Kept::open(&self.path)?;
        *self.kept() = kept;
        Ok(())
    }

    /// Appends a line of JSON, whole or not at all, unless it says what another one says.
    ///
    /// # Errors
    /// If the disk is full.
    pub(crate) fn append(&self, line: &Value, is_gold: bool) -> io::Result<Appended> {
        let mut bytes = line.to_string().into_bytes();
        bytes.push(b'\n');
        let mut kept = self.kept();
        let hash = kept.hash(line);
        if kept.known.contains(&hash) {
            return Ok(Appended::Known);
        }
        let file = if is_gold {
            &mut kept.right
        } else {
            &mut kept.wrong
        };
        let before = file.metadata()?.len();
        if before + bytes.len() as u64 > FILE_BYTES {
            return Ok(Appended::Full);
        }
        if let Err(error) = file.write_all(&bytes) {
            // A full disk leaves no half line behind.
            file.set_len(before)?;
            return Err(error);
        }
        kept.known.insert(hash);
        Ok(Appended::Written)
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

    #[test]
    fn a_verdict_is_kept_once_and_a_file_has_a_largest_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("feedback.jsonl");
        let said =
            |id: u32, verdict: &str| json!({ "id": id, "question": "q", "verdict": verdict });
        let files = FeedbackFiles::open(&path).unwrap();
        let append = |files: &FeedbackFiles, id, verdict| {
            let gold = verdict == "right";
            files.append(&said(id, verdict), gold).unwrap()
        };
        assert_eq!(append(&files, 1, "right"), Appended::Written);
        assert_eq!(append(&files, 2, "right"), Appended::Known);
        assert_eq!(append(&files, 3, "wrong"), Appended::Written);
        // Another process knows what is in the files.
        let files = FeedbackFiles::open(&path).unwrap();
        assert_eq!(append(&files, 4, "right"), Appended::Known);
        assert_eq!(append(&files, 5, "wrong"), Appended::Known);
        let length = || std::fs::metadata(&path).unwrap().len();
        let one = length();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(FILE_BYTES - 10).unwrap();
        assert_eq!(
            files.append(&json!({ "more": 1 }), true).unwrap(),
            Appended::Full
        );
        assert_eq!(length(), FILE_BYTES - 10);
        // Its operator moves it away.
        std::fs::rename(&path, folder.path().join("old.jsonl")).unwrap();
        files.reopen().unwrap();
        assert_eq!(append(&files, 6, "right"), Appended::Written);
        assert_eq!(length(), one);
    }
}
