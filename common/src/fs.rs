//! Files and folders that are replaced atomically: a reader sees the old version or the new one.
//!
//! Everything is written under a temporary name next to its target. Then every file is synced, the
//! folder is synced, the result is renamed to the target, and the parent folder is synced. A
//! command may write to a path where nothing exists, into an empty folder, or over the output of an
//! earlier run of the same command to which nothing was added (see [`listing`]).

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::{Builder, TempDir};

use crate::listing;

mod file;

pub use file::{StagedFile, write_file, write_with};

/// The prefix of everything unfinished.
const PARTIAL: &str = ".partial-";

/// The lock file in the work folder of a [`StagedFolder`].
const LOCK: &str = "lock";

/// Characters of a target's name in the name of unfinished work.
const NAME_CHARS: usize = 48;

/// A file or folder could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct FsError {
    /// The file or folder.
    pub path: PathBuf,
    /// The error of the operating system.
    pub source: io::Error,
}

impl FsError {
    /// Adds the path to an I/O error; for `map_err`.
    pub fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self { path, source }
    }
}

/// Rejects a target that a command must not replace: it exists, is not an empty folder, and either
/// `ours` does not recognise it as the output of an earlier run or files were added to it since.
/// Call it before the work starts, so that no work is lost.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] with advice, without the path; [`io::ErrorKind::InvalidInput`]
/// for a path without a file name.
pub fn check(target: &Path, ours: impl FnOnce(&Path) -> bool) -> io::Result<()> {
    if target.file_name().is_none() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "this path does not name a folder; name a new one",
        ));
    }
    let replaceable = match fs::read_dir(target) {
        Ok(mut entries) => entries.next().is_none() || ours(target),
        // A broken link does not "exist", but it blocks the name.
        Err(_) => target.symlink_metadata().is_err(),
    };
    if replaceable {
        return listing::check(target);
    }
    let message =
        "this exists and this command did not write it; name a new one, or remove it first";
    Err(io::Error::new(io::ErrorKind::AlreadyExists, message))
}

/// [`check`] for a command whose output always contains `files`.
///
/// # Errors
/// Those of [`check`], with the path.
pub fn check_target(target: &Path, files: &[&str]) -> Result<(), FsError> {
    check(target, |folder| has(folder, files)).map_err(FsError::at(target))
}

/// Opens a regular file. Reading a pipe could block forever, and a device may have no end.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for anything but a file, and those of [`File::open`].
pub fn open_file(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "this is not a file; name a file",
        ));
    }
    File::open(path)
}

/// Whether a folder contains all of these files.
#[must_use]
pub fn has(folder: &Path, files: &[&str]) -> bool {
    files.iter().all(|file| folder.join(file).is_file())
}

/// The sorted names of what is in a folder, as lossy UTF-8; empty if it cannot be read.
#[must_use]
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    names
}

/// Moves the finished folder `fresh` to its target, which [`check`] allowed. An old folder at the
/// target ends up in `fresh` or in `aside`, on the same file system; the caller removes both.
///
/// # Errors
/// I/O errors; the old folder is then restored.
fn put(fresh: &Path, target: &Path, aside: &Path) -> io::Result<()> {
    let replaces = target.exists();
    if replaces {
        if exchange(fresh, target).is_ok() {
            return Ok(());
        }
        // This file system cannot exchange names: for a moment there is nothing at the target.
        fs::rename(target, aside)?;
    }
    fs::rename(fresh, target).inspect_err(|_| {
        if replaces {
            // Best effort: the first error is the one to report.
            let _ = fs::rename(aside, target);
        }
    })
}

/// Exchanges two names at once, so that no reader finds nothing.
#[cfg(target_os = "linux")]
fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A folder being written. If it is dropped without [`StagedFolder::commit`], nothing is left.
///
/// The work folder is `.partial-NAME-RANDOM`. It contains a lock that the system releases when the
/// process ends. The next run with the same target removes work folders whose lock is free.
pub struct StagedFolder {
    work: TempDir,
    /// Held until the work folder is removed; `None` on a file system without locks.
    _lock: Option<File>,
    fresh: PathBuf,
    target: PathBuf,
}

impl StagedFolder {
    /// Starts writing the folder `target`, in a work folder next to it.
    ///
    /// # Errors
    /// If the parent folder cannot be created or written.
    pub fn new(target: &Path) -> Result<Self, FsError> {
        Self::within(&parent_of(target), target)
    }

    /// Starts writing the folder `target`, in a work folder inside `place`, which must be on the
    /// same file system.
    ///
    /// # Errors
    /// If `place` cannot be created or written.
    pub fn within(place: &Path, target: &Path) -> Result<Self, FsError> {
        let prefix = prefix_of(target);
        fs::create_dir_all(place).map_err(FsError::at(place))?;
        sweep(place, &prefix);
        loop {
            let work = Builder::new()
                .prefix(&prefix)
                .tempdir_in(place)
                .map_err(FsError::at(place))?;
            // Without a lock a work folder that is not empty is never swept; that costs space, not
            // correctness.
            let lock = lock(work.path()).ok();
            let fresh = work.path().join("new");
            match fs::create_dir(&fresh) {
                // Another process has swept it before it was locked.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                made => made.map_err(FsError::at(&fresh))?,
            }
            return Ok(Self {
                work,
                _lock: lock,
                fresh,
                target: target.to_path_buf(),
            });
        }
    }

    /// The folder to fill.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.fresh
    }

    /// A folder for temporary files, removed with the work folder.
    #[must_use]
    pub fn scratch(&self) -> &Path {
        self.work.path()
    }

    /// Writes one file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn file(&self, name: &str, bytes: &[u8]) -> Result<(), FsError> {
        let path = self.fresh.join(name);
        fs::write(&path, bytes).map_err(FsError::at(&path))
    }

    /// Lists and syncs every file and moves the folder to its target, replacing what is there. A
    /// command that was given the name of the folder calls [`check_target`] first.
    ///
    /// # Errors
    /// If a file cannot be synced, or the target cannot be replaced or has files that its list does
    /// not name; the target is then unchanged.
    pub fn commit(self) -> Result<(), FsError> {
        listing::check(&self.target).map_err(FsError::at(&self.target))?;
        listing::write(&self.fresh).map_err(FsError::at(&self.fresh))?;
        sync_tree(&self.fresh)?;
        put(&self.fresh, &self.target, &self.work.path().join("old"))
            .map_err(FsError::at(&self.target))?;
        sync_dir(&parent_of(&self.target));
        Ok(())
    }
}

impl Drop for StagedFolder {
    fn drop(&mut self) {
        clear(self.work.path());
    }
}

/// Removes everything in a work folder but its lock, so that a process that is killed meanwhile leaves
/// a folder that is swept.
fn clear(work: &Path) {
    for entry in fs::read_dir(work).into_iter().flatten().flatten() {
        let path = entry.path();
        // Best effort, as in `sweep`.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let _ = fs::remove_dir_all(path);
        } else if entry.file_name() != LOCK {
            let _ = fs::remove_file(path);
        }
    }
}

/// Creates and takes the lock of a work folder.
fn lock(work: &Path) -> io::Result<File> {
    let path = work.join(LOCK);
    let file = File::create_new(&path)?;
    file.lock()?;
    // Another process that sweeps may have held it first, and removed it.
    fs::metadata(path)?;
    Ok(file)
}

/// How the names of unfinished work on a target begin. Long names are cut, so that a random ending fits.
fn prefix_of(target: &Path) -> String {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().take(NAME_CHARS).collect();
    format!("{PARTIAL}{name}-")
}

/// Removes the work folders and files of killed processes: those whose lock nobody holds.
fn sweep(place: &Path, prefix: &str) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(prefix) {
            continue;
        }
        let path = entry.path();
        let unlocked =
            |path: &Path| File::open(path).and_then(|file| Ok(file.try_lock().map(|()| file)?));
        // Best effort: a leftover costs space only. The lock is held until the leftover is removed.
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let _ = unlocked(&path).and_then(|_lock| fs::remove_file(&path));
        } else if let Ok(_lock) = unlocked(&path.join(LOCK)) {
            clear(&path);
            let _ = fs::remove_dir_all(&path);
        } else {
            // One without a lock yet, or any more, is empty.
            let _ = fs::remove_dir(&path);
        }
    }
}

/// The folder of `path`; the current folder for a bare name.
#[must_use]
pub fn parent_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Syncs all files and folders below `folder`, and the folder.
fn sync_tree(folder: &Path) -> Result<(), FsError> {
    for entry in fs::read_dir(folder).map_err(FsError::at(folder))? {
        let entry = entry.map_err(FsError::at(folder))?;
        let (path, kind) = (entry.path(), entry.file_type());
        let kind = kind.map_err(FsError::at(&path))?;
        if kind.is_dir() {
            sync_tree(&path)?;
        } else if kind.is_file() {
            File::open(&path)
                .and_then(|file| file.sync_all())
                .map_err(FsError::at(&path))?;
        }
    }
    sync_dir(folder);
    Ok(())
}

/// Syncs the entries of a folder. Best effort: some file systems refuse, and then the rename is
/// only as durable as they make it.
pub fn sync_dir(path: &Path) {
    if let Ok(dir) = File::open(path) {
        let _ = dir.sync_all();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_output_of_an_earlier_run_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("out");
        let ours = |folder: &Path| has(folder, &["a", "b"]);
        check(&target, ours).unwrap();
        std::fs::create_dir(&target).unwrap();
        check(&target, ours).unwrap();
        std::fs::write(target.join("a"), "").unwrap();
        let exists = io::ErrorKind::AlreadyExists;
        assert_eq!(check(&target, ours).unwrap_err().kind(), exists);
        std::fs::write(target.join("b"), "").unwrap();
        assert_eq!(check(&target, ours).unwrap_err().kind(), exists);
        std::fs::write(target.join(listing::LIST), "a\nb\n.kgagent-files\n").unwrap();
        check(&target, ours).unwrap();
        assert_eq!(
            check(&target.join("a"), |_| true).unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        assert_eq!(
            check(Path::new("."), |_| true).unwrap_err().kind(),
            io::ErrorKind::InvalidInput
        );
    }

    #[test]
    fn dropping_leaves_nothing_and_committing_replaces() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("out");
        let staged = StagedFolder::new(&target).unwrap();
        staged.file("a", b"1").unwrap();
        drop(staged);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        for text in ["1", "2"] {
            let staged = StagedFolder::new(&target).unwrap();
            staged.file(text, text.as_bytes()).unwrap();
            staged.commit().unwrap();
        }
        assert!(!target.join("1").exists() && target.join("2").exists());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_reader_finds_a_folder_at_every_moment() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("out");
        let write = || {
            let staged = StagedFolder::new(&target).unwrap();
            staged.file("a", b"1").unwrap();
            staged.commit().unwrap();
        };
        write();
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut missing = 0;
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    missing += u32::from(!target.join("a").exists());
                }
                missing
            });
            (0..200).for_each(|_| write());
            done.store(true, std::sync::atomic::Ordering::Relaxed);
            assert_eq!(reader.join().unwrap(), 0);
        });
    }

    /// Only a work folder that was swept meanwhile is made once more.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_that_cannot_be_made_is_an_error() {
        // The longest path without its end: room for the work folder, none for a folder in it.
        const LONGEST: usize = 4095;
        let dir = tempfile::tempdir().unwrap();
        let mut place = dir.path().to_path_buf();
        let random = 6;
        let room = LONGEST - 1 - prefix_of(Path::new("x")).len() - random;
        while place.as_os_str().len() < room {
            let rest = room - place.as_os_str().len();
            let name = if rest > 201 { 100 } else { rest - 1 };
            place.push("d".repeat(name));
        }
        let (done, made) = std::sync::mpsc::channel();
        std::thread::spawn(move || done.send(StagedFolder::new(&place.join("x")).err()));
        let error = made.recv_timeout(std::time::Duration::from_secs(20));
        let error = error.unwrap().unwrap();
        assert_eq!(error.source.kind(), io::ErrorKind::InvalidFilename);
    }

    #[test]
    fn unlocked_work_folders_are_swept() {
        let dir = tempfile::tempdir().unwrap();
        let work = |name: &str| dir.path().join(name);
        for name in [
            ".partial-out-killed",
            ".partial-out-alive",
            ".partial-other-killed",
        ] {
            fs::create_dir(work(name)).unwrap();
            fs::write(work(name).join(LOCK), "").unwrap();
        }
        let held = File::open(work(".partial-out-alive").join(LOCK)).unwrap();
        held.lock().unwrap();
        StagedFolder::new(&work("out")).unwrap().commit().unwrap();
        // Files likewise.
        fs::write(work(".partial-out-file"), "half").unwrap();
        fs::write(work(".partial-out-busy"), "half").unwrap();
        let busy = File::open(work(".partial-out-busy")).unwrap();
        busy.lock().unwrap();
        write_file(&work("out-file"), b"1").unwrap();
        StagedFolder::new(&work("out")).unwrap().commit().unwrap();
        let kept = [
            ".partial-other-killed",
            ".partial-out-alive",
            ".partial-out-busy",
        ];
        let left = [&kept[..], &["out", "out-file"]].concat();
        assert_eq!(names(dir.path()), left);
        assert!(names(&dir.path().join("missing")).is_empty());
    }
}
