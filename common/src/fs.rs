//! Files and folders that appear whole or not at all: written under a temporary name next to their
//! place, synced, then renamed. A command may write over nothing, an empty folder, or what an
//! earlier run of the same command wrote.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile, TempDir};

/// A file or folder could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct FsError {
    /// The file or folder.
    pub path: PathBuf,
    /// What the system reported.
    pub source: io::Error,
}

impl FsError {
    /// Adds the path to an error of the system; for `map_err`.
    pub fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self { path, source }
    }
}

/// Refuses a target that is not absent, not an empty folder and not a folder in which `ours`
/// recognises the output of an earlier run. Call it before the work starts, so that no work is lost.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] with what to do about it, without the path;
/// [`io::ErrorKind::InvalidInput`] for a path without a name.
pub fn check(target: &Path, ours: impl FnOnce(&Path) -> bool) -> io::Result<()> {
    if target.file_name().is_none() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "this path does not name a folder; name a new one",
        ));
    }
    let replaceable = match fs::read_dir(target) {
        Ok(mut entries) => entries.next().is_none() || ours(target),
        // A broken link does not exist, and yet it is in the way.
        Err(_) => target.symlink_metadata().is_err(),
    };
    if replaceable {
        return Ok(());
    }
    let message =
        "this exists and this command did not write it; name a new folder, or remove it first";
    Err(io::Error::new(io::ErrorKind::AlreadyExists, message))
}

/// [`check`] for a command whose output is recognised by `files`: an earlier output has all of them.
///
/// # Errors
/// Those of [`check`], with the path.
pub fn check_target(target: &Path, files: &[&str]) -> Result<(), FsError> {
    check(target, |folder| has(folder, files)).map_err(FsError::at(target))
}

/// Whether a folder has all of these files.
#[must_use]
pub fn has(folder: &Path, files: &[&str]) -> bool {
    files.iter().all(|file| folder.join(file).is_file())
}

/// Moves a finished folder to its place, which [`check`] allowed. What stood there goes to `aside`,
/// a path on the same file system that the caller removes afterwards.
///
/// # Errors
/// Those of the disk; what stood at `target` is then back in its place.
pub fn put(fresh: &Path, target: &Path, aside: &Path) -> io::Result<()> {
    let replaces = target.exists();
    if replaces {
        fs::rename(target, aside)?;
    }
    fs::rename(fresh, target).inspect_err(|_| {
        if replaces {
            // Best effort: the first error is the one to report.
            let _ = fs::rename(aside, target);
        }
    })
}

/// A temporary file in `dir` with the mode of any new file. By default a temporary file is readable
/// by its owner only and stays so when it is renamed: a service that runs as another user could not
/// read what an administrator wrote.
///
/// # Errors
/// When nothing can be written in `dir`.
pub fn temporary(dir: &Path) -> io::Result<NamedTempFile> {
    let mut file = Builder::new();
    file.prefix(".partial-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The umask is applied when the file is created, as for every file.
        file.permissions(fs::Permissions::from_mode(0o666));
    }
    file.tempfile_in(dir)
}

/// A folder being written. If it is dropped without [`StagedFolder::commit`], it leaves nothing
/// behind.
pub struct StagedFolder {
    temp: TempDir,
    target: PathBuf,
}

impl StagedFolder {
    /// Starts writing the folder `target`, in a temporary sibling of it.
    ///
    /// # Errors
    /// When the parent folder cannot be created or written.
    pub fn new(target: &Path) -> Result<Self, FsError> {
        Self::within(&parent_of(target), target)
    }

    /// Starts writing the folder `target` inside `place`, a folder on the same file system that the
    /// caller removes some day: that also removes what a killed process leaves behind.
    ///
    /// # Errors
    /// When `place` cannot be created or written.
    pub fn within(place: &Path, target: &Path) -> Result<Self, FsError> {
        fs::create_dir_all(place).map_err(FsError::at(place))?;
        let temp = Builder::new()
            .prefix(".partial-")
            .tempdir_in(place)
            .map_err(FsError::at(place))?;
        Ok(Self {
            temp,
            target: target.to_path_buf(),
        })
    }

    /// Where to write.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.temp.path()
    }

    /// Writes one file and syncs it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn file(&self, name: &str, bytes: &[u8]) -> Result<(), FsError> {
        let path = self.temp.path().join(name);
        let write = || {
            let mut file = File::create(&path)?;
            file.write_all(bytes)?;
            file.sync_all()
        };
        write().map_err(FsError::at(&path))
    }

    /// Moves the folder to its place and replaces what stands there. A command that was given the
    /// name of a folder asks [`check_target`] first.
    ///
    /// # Errors
    /// When the target cannot be replaced; it is then as it was.
    pub fn commit(self) -> Result<(), FsError> {
        sync_dir(self.temp.path());
        let parent = parent_of(&self.target);
        let old = Builder::new()
            .prefix(".replaced-")
            .tempdir_in(&parent)
            .map_err(FsError::at(&parent))?;
        put(self.temp.path(), &self.target, &old.path().join("old"))
            .map_err(FsError::at(&self.target))?;
        let _ = self.temp.keep();
        sync_dir(&parent);
        Ok(())
    }
}

/// Writes one file so that a reader sees the old bytes or the new ones, never a part.
///
/// # Errors
/// When the folder is missing or cannot be written.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), FsError> {
    let parent = parent_of(path);
    let write = || {
        let mut temp = temporary(&parent)?;
        temp.write_all(bytes)?;
        temp.as_file().sync_all()?;
        temp.persist(path).map_err(|error| error.error)
    };
    write().map_err(FsError::at(path))?;
    sync_dir(&parent);
    Ok(())
}

/// The folder in which `path` lies; the current one for a bare name.
#[must_use]
pub fn parent_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Syncs the entries of a folder. Best effort: some file systems refuse, and the rename is then as
/// durable as they make it.
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
    fn only_what_an_earlier_run_wrote_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("out");
        let ours = |folder: &Path| has(folder, &["a", "b"]);
        check(&target, ours).unwrap();
        std::fs::create_dir(&target).unwrap();
        check(&target, ours).unwrap();
        std::fs::write(target.join("a"), "").unwrap();
        assert_eq!(
            check(&target, ours).unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        std::fs::write(target.join("b"), "").unwrap();
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
    fn a_dropped_folder_leaves_nothing_and_a_committed_one_replaces() {
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
}
