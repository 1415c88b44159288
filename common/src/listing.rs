//! What a command may replace: a folder in which every file is on the list that an earlier run left
//! there, or a file with the first bytes of the command's own files. It never replaces one of its
//! inputs.
//!
//! [`StagedFolder`](crate::fs::StagedFolder) writes the list and looks at it before it replaces a
//! folder; [`fs::check`](crate::fs::check) looks at it before the work starts.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The list in a folder: one path per line, relative to the folder, in order.
pub const LIST: &str = ".kgagent-files";

/// Upper bound of a list, so that another file of this name does not fill the memory.
const LIST_BYTES: u64 = 1 << 28;

/// Writes the list of `folder`.
pub(crate) fn write(folder: &Path) -> io::Result<()> {
    let mut names = files(folder, folder)?;
    names.insert(LIST.to_owned());
    let text: String = names.iter().map(|name| format!("{name}\n")).collect();
    fs::write(folder.join(LIST), text)
}

/// Rejects a file, and a folder that contains a file that its list does not name. A missing or
/// empty folder is fine.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] with the file and advice, and errors of reading the folder.
pub(crate) fn check(folder: &Path) -> io::Result<()> {
    if folder.symlink_metadata().is_err() {
        return Ok(());
    }
    let found = files(folder, folder)?;
    let mut text = String::new();
    if let Ok(list) = File::open(folder.join(LIST)) {
        list.take(LIST_BYTES).read_to_string(&mut text)?;
    }
    let listed: BTreeSet<&str> = text.lines().collect();
    let Some(foreign) = found.iter().find(|name| !listed.contains(name.as_str())) else {
        return Ok(());
    };
    let message = if text.is_empty() {
        format!("this has no list of the files that kgagent wrote ({LIST})")
    } else {
        format!("this has a file that kgagent did not write: {foreign}")
    };
    let advice = "name a new folder, or move away what you want to keep and remove this one";
    Err(io::Error::new(
        io::ErrorKind::AlreadyExists,
        format!("{message}; {advice}"),
    ))
}

/// The files below `folder`, relative to `root`, with `/` between names.
fn files(folder: &Path, root: &Path) -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            names.extend(files(&entry.path(), root)?);
            continue;
        }
        let path = entry.path();
        let parts = path.strip_prefix(root).unwrap_or(&path).iter();
        let parts: Vec<_> = parts.map(|part| part.to_string_lossy()).collect();
        names.insert(parts.join("/"));
    }
    Ok(names)
}

/// Rejects an existing file that does not begin with `opening`, the first bytes of the command's
/// own files. Without `opening` it rejects every existing file. Empty files are fine.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] with advice, and errors of reading the file.
pub fn check_file(path: &Path, opening: Option<&str>) -> io::Result<()> {
    let wrong = |message: &str| Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
    let advice = "this exists and this command did not write it; name a new file, or remove it";
    match path.symlink_metadata() {
        Err(_) => return Ok(()),
        Ok(data) if data.is_file() => {}
        // A pipe or a device, such as /dev/stdout.
        Ok(_) if !path.is_dir() && path.exists() => return Ok(()),
        Ok(_) => return wrong("this is not a file; name a new one"),
    }
    let most = opening.map_or(1, str::len) as u64;
    let mut start = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut start)?;
    match opening {
        _ if start.is_empty() => Ok(()),
        Some(opening) if start == opening.as_bytes() => Ok(()),
        Some(_) => wrong(advice),
        None => wrong("this exists; name a new file, or remove it"),
    }
}

/// Rejects an output that is one of the inputs of the same command, or a folder that holds one.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] with the input and advice.
pub fn check_inputs<'a>(out: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> io::Result<()> {
    let Ok(whole) = out.canonicalize() else {
        return Ok(());
    };
    let holds = |input: &&Path| {
        let input: Option<PathBuf> = input.canonicalize().ok();
        input.is_some_and(|input| input.starts_with(&whole))
    };
    let Some(input) = inputs.into_iter().find(holds) else {
        return Ok(());
    };
    let message = format!(
        "this would replace {}, which the same command reads; name another output",
        input.display()
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::fs::StagedFolder;

    fn out(dir: &Path) -> PathBuf {
        let out = dir.join("out");
        let staged = StagedFolder::new(&out).unwrap();
        fs::create_dir(staged.path().join("part")).unwrap();
        staged.file("a", b"1").unwrap();
        staged.file("part/b", b"2").unwrap();
        staged.commit().unwrap();
        out
    }

    #[test]
    fn a_folder_with_a_file_of_another_hand_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        for foreign in ["notes.txt", "part/notes.txt", "part/a"] {
            let out = out(dir.path());
            check(&out).unwrap();
            fs::write(out.join(foreign), "years of work").unwrap();
            assert!(check(&out).unwrap_err().to_string().contains(foreign));
            // A file that appears while the command works is found before the folder is moved.
            let staged = StagedFolder::new(&out).unwrap();
            assert!(staged.commit().unwrap_err().to_string().contains(foreign));
            assert_eq!(fs::read(out.join(foreign)).unwrap(), b"years of work");
            fs::remove_file(out.join(foreign)).unwrap();
        }
        let out = out(dir.path());
        fs::remove_file(out.join("a")).unwrap();
        check(&out).unwrap();
        fs::remove_file(out.join(LIST)).unwrap();
        assert!(check(&out).unwrap_err().to_string().contains(LIST));
        let file = dir.path().join("file");
        fs::write(&file, "years of work").unwrap();
        assert!(StagedFolder::new(&file).unwrap().commit().is_err());
        assert_eq!(fs::read(&file).unwrap(), b"years of work");
    }

    #[test]
    fn only_files_with_our_opening_are_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("near.nt");
        check_file(&path, None).unwrap();
        fs::write(&path, "").unwrap();
        check_file(&path, None).unwrap();
        fs::write(&path, "ours 1\nmore").unwrap();
        check_file(&path, Some("ours 1")).unwrap();
        assert!(check_file(&path, Some("ours 2")).is_err());
        assert!(check_file(&path, None).is_err());
        assert!(check_file(dir.path(), None).is_err());
    }

    #[test]
    fn inputs_are_never_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let out = out(dir.path());
        let inside = out.join("part").join("b");
        for input in [&inside, &out, &dir.path().join("out/../out/a")] {
            let error = check_inputs(&out, [input.as_path()]).unwrap_err();
            assert!(error.to_string().contains("the same command reads"));
        }
        check_inputs(&out, [dir.path()]).unwrap();
        check_inputs(&dir.path().join("new"), [out.as_path()]).unwrap();
    }
}
