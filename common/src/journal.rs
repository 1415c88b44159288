//! An append-only journal of completed work, so that a killed run can resume: one record per piece
//! of work, in any order. Each record is written at once and carries a checksum.

use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use flate2::Crc;

use crate::fs::{FsError, parent_of};

/// The start of every journal, followed by the program and the fingerprint of the work. A change of
/// the layout changes the number.
const MAGIC: &str = "kgagent journal 2 ";

/// The start of the journals of every layout.
const ANY_MAGIC: &str = "kgagent journal ";

/// The program of records that do not depend on a build, such as the replies of a server.
pub const ANY_PROGRAM: &str = "any";

/// Bytes before a payload: piece (8), length (4) and checksum (4).
const HEAD: usize = 16;

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// I/O error.
    #[error(transparent)]
    Io(#[from] FsError),
    /// Another run has locked it.
    #[error("{}: another run is writing here; wait for it, or name another output", path.display())]
    Busy {
        /// The journal.
        path: PathBuf,
    },
    /// The file is not a journal, so it is not replaced.
    #[error("{}: this is not a file of kgagent's unfinished work; move it away, or name another output", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Another build wrote it. Two builds may give different results for the same work, so their
    /// records are never mixed.
    #[error(
        "{}: another build of kgagent began this work, and its results may differ from those of this \
         one; finish it with that build, or remove the file to begin anew",
        path.display()
    )]
    OtherBuild {
        /// The journal.
        path: PathBuf,
    },
    /// A record is damaged.
    #[error("{}: the record of piece {piece} is damaged; remove the file and run again", path.display())]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// The number of the piece of work.
        piece: u64,
    },
}

/// The position of the record of one piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    /// The number of the piece of work.
    pub piece: u64,
    at: u64,
    length: u32,
}

/// A journal, open for appending and reading by any number of threads, and locked against other
/// processes.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    file: File,
    end: u64,
}

impl Journal {
    /// Opens the journal of the work with this `fingerprint` (one line) and returns the records in
    /// it. `program` (one word) identifies the build that does the work, or is [`ANY_PROGRAM`]. A
    /// journal of different work is emptied, one of another build is refused; the first truncated
    /// or damaged record ends the journal.
    ///
    /// # Errors
    /// [`JournalError::Io`], [`JournalError::Busy`], [`JournalError::OtherBuild`], and
    /// [`JournalError::Foreign`] for a file that is not a journal.
    pub fn open(
        path: &Path,
        program: &str,
        fingerprint: &str,
    ) -> Result<(Self, Vec<JournalEntry>), JournalError> {
        let io = |error| FsError::at(path)(error);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => {
                return Err(JournalError::Busy {
                    path: path.to_owned(),
                });
            }
            Err(std::fs::TryLockError::Error(source)) => return Err(io(source).into()),
        }
        let ours = format!("{MAGIC}{program} ");
        let mut starts = |text: &str| starts_with(&mut file, text).map_err(io);
        // A process that was killed while it wrote the first line leaves a part of it.
        if !starts(&ours)? {
            let path = path.to_owned();
            return Err(match starts(ANY_MAGIC)? {
                true => JournalError::OtherBuild { path },
                false => JournalError::Foreign { path },
            });
        }
        let head = format!("{ours}{fingerprint}\n");
        let size = file.metadata().map_err(io)?.len();
        let whole = size >= head.len() as u64;
        let (entries, end) = if whole && starts_with(&mut file, &head).map_err(io)? {
            scan(&mut file, head.len() as u64).map_err(io)?
        } else {
            (Vec::new(), 0)
        };
        file.set_len(end).map_err(io)?;
        file.seek(SeekFrom::Start(end)).map_err(io)?;
        let end = if end == 0 {
            file.write_all(head.as_bytes()).map_err(io)?;
            head.len() as u64
        } else {
            end
        };
        Ok((
            Self {
                path: path.to_owned(),
                inner: Mutex::new(Inner { file, end }),
            },
            entries,
        ))
    }

    /// Opens the journal of the unfinished output `out`: `OUT.partial`. Creates its parent folder.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn of_output(
        out: &Path,
        program: &str,
        fingerprint: &str,
    ) -> Result<(Self, Vec<JournalEntry>), JournalError> {
        let path = out.with_added_extension("partial");
        let parent = parent_of(&path);
        fs::create_dir_all(&parent).map_err(FsError::at(&parent))?;
        Self::open(&path, program, fingerprint)
    }

    /// Removes the file of finished work.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn remove(self) -> Result<(), JournalError> {
        drop(self.inner);
        Ok(fs::remove_file(&self.path).map_err(FsError::at(&self.path))?)
    }

    /// Appends the record of a piece of work. When this returns, killing the process does not lose
    /// it.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn append(&self, piece: u64, payload: &[u8]) -> Result<JournalEntry, JournalError> {
        let io = |error| FsError::at(&self.path)(error);
        let length = u32::try_from(payload.len())
            .map_err(|_| io(std::io::Error::other("a record of more than 4 GiB")))?;
        let mut record = Vec::with_capacity(HEAD + payload.len());
        record.extend_from_slice(&piece.to_le_bytes());
        record.extend_from_slice(&length.to_le_bytes());
        record.extend_from_slice(&checksum(piece, payload).to_le_bytes());
        record.extend_from_slice(payload);
        let mut inner = self.lock();
        let at = inner.end + HEAD as u64;
        let end = inner.end;
        inner
            .file
            .seek(SeekFrom::Start(end))
            .and_then(|_| inner.file.write_all(&record))
            .map_err(io)?;
        inner.end += record.len() as u64;
        Ok(JournalEntry { piece, at, length })
    }

    /// Reads a record.
    ///
    /// # Errors
    /// [`JournalError::Io`], [`JournalError::Damaged`].
    pub fn read(&self, entry: &JournalEntry) -> Result<Vec<u8>, JournalError> {
        let io = |error| FsError::at(&self.path)(error);
        let mut bytes = vec![0; HEAD + entry.length as usize];
        let mut inner = self.lock();
        inner
            .file
            .seek(SeekFrom::Start(entry.at - HEAD as u64))
            .and_then(|_| inner.file.read_exact(&mut bytes))
            .map_err(io)?;
        drop(inner);
        let stored = u32::from_le_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]);
        bytes.drain(..HEAD);
        if checksum(entry.piece, &bytes) != stored {
            return Err(JournalError::Damaged {
                path: self.path.clone(),
                piece: entry.piece,
            });
        }
        Ok(bytes)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A writer that panicked leaves at worst a partial record, which the next reader drops.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn checksum(piece: u64, payload: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(&piece.to_le_bytes());
    crc.update(payload);
    crc.sum()
}

/// Whether a file starts with `head`, or is the beginning of it.
fn starts_with(file: &mut File, head: &str) -> std::io::Result<bool> {
    let mut found = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    Read::take(&mut *file, head.len() as u64).read_to_end(&mut found)?;
    Ok(head.as_bytes().starts_with(&found))
}

/// The intact records after the first line, and the end of the last one.
fn scan(file: &mut File, begin: u64) -> std::io::Result<(Vec<JournalEntry>, u64)> {
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(begin))?;
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let (mut entries, mut end) = (Vec::new(), begin);
    let mut payload = Vec::new();
    loop {
        let mut head = [0; HEAD];
        if size - end < HEAD as u64 {
            break;
        }
        reader.read_exact(&mut head)?;
        let [a, b, c, d, e, f, g, h, l0, l1, l2, l3, s0, s1, s2, s3] = head;
        let piece = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        let length = u32::from_le_bytes([l0, l1, l2, l3]);
        let at = end + HEAD as u64;
        if size - at < u64::from(length) {
            break;
        }
        payload.resize(length as usize, 0);
        reader.read_exact(&mut payload)?;
        if checksum(piece, &payload) != u32::from_le_bytes([s0, s1, s2, s3]) {
            break;
        }
        entries.push(JournalEntry { piece, at, length });
        end = at + u64::from(length);
    }
    Ok((entries, end))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn pieces(entries: &[JournalEntry]) -> Vec<u64> {
        entries.iter().map(|entry| entry.piece).collect()
    }

    #[test]
    fn complete_records_survive_and_truncated_ones_are_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let (journal, entries) = Journal::open(&path, "p", "work a").unwrap();
        assert!(entries.is_empty());
        for piece in [3, 1, 2] {
            let entry = journal
                .append(piece, format!("piece {piece}").as_bytes())
                .unwrap();
            assert_eq!(
                journal.read(&entry).unwrap(),
                format!("piece {piece}").into_bytes()
            );
        }
        let busy = Journal::open(&path, "p", "work a").unwrap_err().to_string();
        assert!(busy.contains("another run"), "{busy}");
        drop(journal);

        let whole = std::fs::read(&path).unwrap();
        // Wherever a kill cuts the file, the records before the cut survive and more can be
        // appended.
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let (journal, entries) = Journal::open(&path, "p", "work a").unwrap();
            let last = journal.append(9, b"more").unwrap();
            assert_eq!(journal.read(&last).unwrap(), b"more");
            drop(journal);
            let (_, again) = Journal::open(&path, "p", "work a").unwrap();
            assert_eq!(pieces(&again), [pieces(&entries), vec![9]].concat());
        }
    }

    #[test]
    fn damage_truncates_the_journal_and_different_work_empties_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let (journal, _) = Journal::open(&path, "p", "a").unwrap();
        journal.append(0, b"first").unwrap();
        let second = journal.append(1, b"second").unwrap();
        let at = usize::try_from(second.at).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[at] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(matches!(
            journal.read(&second),
            Err(JournalError::Damaged { piece: 1, .. })
        ));
        drop(journal);
        assert_eq!(pieces(&Journal::open(&path, "p", "a").unwrap().1), [0]);
        assert!(Journal::open(&path, "p", "b").unwrap().1.is_empty());
        assert!(
            Journal::open(&path, "p", "a").unwrap().1.is_empty(),
            "records of different work are removed"
        );
    }

    #[test]
    fn the_records_of_another_build_are_refused_and_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let refused = |program: &str, work: &str| {
            let before = std::fs::read(&path).unwrap();
            let error = Journal::open(&path, program, work).unwrap_err();
            assert!(matches!(error, JournalError::OtherBuild { .. }), "{error}");
            assert_eq!(std::fs::read(&path).unwrap(), before);
        };
        let (journal, _) = Journal::open(&path, "build1", "a").unwrap();
        journal.append(7, b"answer").unwrap();
        drop(journal);
        // Neither a build of the same name with more letters, nor one with fewer.
        for program in ["build2", "build", "build12", ANY_PROGRAM] {
            refused(program, "a");
        }
        refused("build2", "b");
        assert_eq!(pieces(&Journal::open(&path, "build1", "a").unwrap().1), [7]);
        // Journals of earlier layouts name no build.
        std::fs::write(&path, "kgagent journal 1 a\n").unwrap();
        refused("build1", "a");
        std::fs::write(&path, "my thesis").unwrap();
        let foreign = Journal::open(&path, "build1", "a").unwrap_err();
        assert!(matches!(foreign, JournalError::Foreign { .. }), "{foreign}");
    }
}
