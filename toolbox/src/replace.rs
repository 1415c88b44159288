//! Folders that take the place of others. A command may write over nothing, an empty folder, or what an earlier run of the same command wrote;
//! everything else is somebody's.

use std::io;
use std::path::Path;

/// Refuses a target that is neither absent nor an empty folder nor a folder in which `ours` finds the marks of an earlier run. Ask before the
/// work that would be lost, not after it.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] with what to do about it, without the path; [`io::ErrorKind::InvalidInput`] for a path without a name.
pub fn check(target: &Path, ours: impl FnOnce(&Path) -> bool) -> io::Result<()> {
    if target.file_name().is_none() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "this is no name for a folder to write; name a new one",
        ));
    }
    let replaceable = match std::fs::read_dir(target) {
        Ok(mut entries) => entries.next().is_none() || ours(target),
        // A broken link does not exist and yet is in the way.
        Err(_) => target.symlink_metadata().is_err(),
    };
    if replaceable {
        return Ok(());
    }
    let message =
        "this exists and is no folder that this command wrote; name a new one, or remove it first";
    Err(io::Error::new(io::ErrorKind::AlreadyExists, message))
}

/// Moves a finished folder to its place, which [`check`] allowed. What stood there goes to `aside`, a path on the same file system that the caller
/// removes afterwards.
///
/// # Errors
/// Those of the disk; what stood there is then back in its place.
pub fn put(fresh: &Path, target: &Path, aside: &Path) -> io::Result<()> {
    let replaces = target.exists();
    if replaces {
        std::fs::rename(target, aside)?;
    }
    std::fs::rename(fresh, target).inspect_err(|_| {
        if replaces {
            // Best effort: the first error is the one to report.
            let _ = std::fs::rename(aside, target);
        }
    })
}

/// Whether a folder has all of these files.
#[must_use]
pub fn has(folder: &Path, files: &[&str]) -> bool {
    files.iter().all(|file| folder.join(file).is_file())
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
}
