//! One file that appears whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use super::{FsError, parent_of, prefix_of, sweep, sync_dir};

/// Buffer size of [`write_with`].
const BUFFER: usize = 1 << 18;

/// Writes one file so that a reader sees the old bytes or the new ones, never a part.
///
/// # Errors
/// If the folder is missing or cannot be written.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), FsError> {
    write_with(path, |out| out.write_all(bytes))
}

/// [`write_file`] for content that `write` streams; returns the result of `write`.
///
/// # Errors
/// If the folder is missing or cannot be written, and those of `write`.
pub fn write_with<T>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<T>,
) -> Result<T, FsError> {
    let (staged, result) = StagedFile::new(path, write)?;
    staged.commit()?;
    Ok(result)
}

/// A file that is written and synced under a temporary name. If it is dropped without
/// [`StagedFile::commit`], nothing is left.
pub struct StagedFile {
    temp: NamedTempFile,
    target: PathBuf,
}

impl StagedFile {
    /// Writes the content of the file `target` next to it; returns the result of `write`, too.
    ///
    /// # Errors
    /// If the folder is missing or cannot be written, and those of `write`.
    pub fn new<T>(
        target: &Path,
        write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<T>,
    ) -> Result<(Self, T), FsError> {
        let (parent, prefix) = (parent_of(target), prefix_of(target));
        let staged = || {
            sweep(&parent, &prefix);
            let temp = staged_file(&parent, &prefix)?;
            let mut out = BufWriter::with_capacity(BUFFER, temp.as_file());
            let result = write(&mut out)?;
            out.flush()?;
            drop(out);
            temp.as_file().sync_all()?;
            Ok((temp, result))
        };
        let (temp, result) = staged().map_err(FsError::at(target))?;
        let target = target.to_path_buf();
        Ok((Self { temp, target }, result))
    }

    /// Gives the file its name, replacing what is there.
    ///
    /// # Errors
    /// If it cannot be renamed.
    pub fn commit(self) -> Result<(), FsError> {
        self.temp
            .persist(&self.target)
            .map_err(|error| FsError::at(&self.target)(error.error))?;
        sync_dir(&parent_of(&self.target));
        Ok(())
    }
}

/// A temporary file next to its target, locked. Another process that sweeps may remove it before it
/// is locked; then the next one is taken.
fn staged_file(parent: &Path, prefix: &str) -> io::Result<NamedTempFile> {
    loop {
        let missing = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => {
                let message = format!("there is no folder {}", parent.display());
                io::Error::new(error.kind(), message)
            }
            _ => error,
        };
        let temp = (temporary(prefix).tempfile_in(parent)).map_err(missing)?;
        // Without locks nothing is swept.
        if temp.as_file().lock().is_err() || temp.path().exists() {
            return Ok(temp);
        }
    }
}

/// A builder of temporary files with the mode of any new file. The default mode allows only the
/// owner to read the file, also after the rename; a service of another user could not read it.
fn temporary(prefix: &str) -> Builder<'_, 'static> {
    let mut builder = Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The umask applies when the file is created.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_folder_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let error = write_file(&dir.path().join("no/file"), b"").unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("there is no folder") && !error.contains("partial"),
            "{error}"
        );
    }

    #[test]
    fn a_failed_write_keeps_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        write_file(&path, b"old").unwrap();
        let failed = write_with(&path, |out| {
            out.write_all(b"half")?;
            Err::<(), _>(io::Error::other("no more"))
        });
        assert!(failed.unwrap_err().to_string().ends_with("file: no more"));
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
