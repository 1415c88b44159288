//! Files written beside their place and moved there, so that a reader sees the old bytes or the new ones.

use std::io;
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

/// Begins a file in `dir` that will be moved to its place there, with the mode that any new file gets. A temporary file is otherwise its
/// owner's alone to read, and stays so wherever it is moved: who runs a service would not see what an administrator has written.
///
/// # Errors
/// When nothing can be written in `dir`.
pub fn begin(dir: &Path) -> io::Result<NamedTempFile> {
    let mut file = Builder::new();
    file.prefix(".partial-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // What the umask forbids is taken off when the file is made, as for every file.
        file.permissions(std::fs::Permissions::from_mode(0o666));
    }
    file.tempfile_in(dir)
}
