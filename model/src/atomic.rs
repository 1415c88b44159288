//! Files and folders that appear whole or not at all: written beside their place under a temporary name, synced, renamed.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use toolbox::replace;

use crate::ModelError;

/// A folder being written. Dropped without [`StagedFolder::commit`], it leaves nothing behind.
pub struct StagedFolder {
    temp: tempfile::TempDir,
    target: PathBuf,
}

impl StagedFolder {
    /// Start writing the folder `target`, in a sibling of it.
    ///
    /// # Errors
    /// When the parent folder cannot be created or written.
    pub fn new(target: &Path) -> Result<Self, ModelError> {
        Self::within(&parent_of(target), target)
    }

    /// Start writing the folder `target` inside `place`, a folder of the same file system that the caller removes one day: what a process killed
    /// in the middle leaves behind is then gone too.
    ///
    /// # Errors
    /// When `place` cannot be created or written.
    pub fn within(place: &Path, target: &Path) -> Result<Self, ModelError> {
        fs::create_dir_all(place).map_err(ModelError::io(place))?;
        let temp = tempfile::Builder::new()
            .prefix(".partial-")
            .tempdir_in(place)
            .map_err(ModelError::io(place))?;
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

    /// Write one file and sync it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn file(&self, name: &str, bytes: &[u8]) -> Result<(), ModelError> {
        write_synced(&self.temp.path().join(name), bytes)
    }

    /// Move the folder to its place. What stands there is replaced, so whoever was given the name of a folder asks [`check_target`] first.
    ///
    /// # Errors
    /// When the target cannot be replaced; it is then as it was.
    pub fn commit(self) -> Result<(), ModelError> {
        sync_dir(self.temp.path());
        let parent = parent_of(&self.target);
        let old = tempfile::Builder::new()
            .prefix(".replaced-")
            .tempdir_in(&parent)
            .map_err(ModelError::io(&parent))?;
        replace::put(self.temp.path(), &self.target, &old.path().join("old"))
            .map_err(ModelError::io(&self.target))?;
        let _ = self.temp.keep();
        sync_dir(&parent);
        Ok(())
    }
}

/// Refuses a target that is neither absent nor empty nor a folder with all of these files, by which those of one command are known.
///
/// # Errors
/// When it may not be replaced.
pub fn check_target(target: &Path, files: &[&str]) -> Result<(), ModelError> {
    replace::check(target, |folder| replace::has(folder, files)).map_err(ModelError::io(target))
}

/// Write one file so that a reader sees the old bytes or the new ones, never a part.
///
/// # Errors
/// When the folder is missing or cannot be written.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), ModelError> {
    let parent = parent_of(path);
    let mut temp = toolbox::beside::begin(&parent).map_err(ModelError::io(path))?;
    temp.write_all(bytes).map_err(ModelError::io(path))?;
    temp.as_file().sync_all().map_err(ModelError::io(path))?;
    temp.persist(path).map_err(|error| ModelError::Io {
        path: path.to_path_buf(),
        source: error.error,
    })?;
    sync_dir(&parent);
    Ok(())
}

fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), ModelError> {
    let mut file = File::create(path).map_err(ModelError::io(path))?;
    file.write_all(bytes).map_err(ModelError::io(path))?;
    file.sync_all().map_err(ModelError::io(path))
}

fn parent_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Best effort: some file systems refuse to sync a folder, and the rename is then as durable as they make it.
fn sync_dir(path: &Path) {
    if let Ok(dir) = File::open(path) {
        let _ = dir.sync_all();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

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
