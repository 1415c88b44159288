//! Files of questions, compressed or not. A file is read whole if the format is a single JSON value,
//! otherwise line by line. Also finds the files of a folder.

use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use common::input;

use super::description::SourceFormat;
use crate::{Error, limits};

/// Opens a file: decompressed, in UTF-8, without a byte order mark.
pub(super) fn open(path: &Path) -> Result<Box<dyn BufRead>, Error> {
    if path.is_dir() {
        return Err(Error::file(
            path,
            "this is a folder; this format is read from a file",
        ));
    }
    input::open(path).map_err(Error::io(path))
}

/// The text of a file.
pub(super) fn text(path: &Path) -> Result<String, Error> {
    let mut bytes = Vec::new();
    open(path)?
        .take(limits::FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(Error::io(path))?;
    if bytes.len() as u64 > limits::FILE_BYTES {
        return Err(Error::file(
            path,
            format!(
                "more than {} bytes; split the file, or give it as JSON Lines",
                limits::FILE_BYTES
            ),
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count()
            + 1;
        Error::line(path, line, "not UTF-8 text")
    })
}

/// The non-blank lines with their numbers from 1.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(i, line)| (i + 1, line))
        .filter(|(_, line)| !line.trim().is_empty())
}

/// Passes a file's non-blank lines to `each` with their numbers from 1, one at a time, so files may
/// have any size.
pub(crate) fn each_line(
    path: &Path,
    each: &mut dyn FnMut(usize, &str) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut reader = open(path)?;
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        let read = reader
            .by_ref()
            .take(limits::LINE_BYTES + 1)
            .read_until(b'\n', &mut bytes)
            .map_err(Error::io(path))?;
        if read == 0 {
            break;
        }
        if read as u64 > limits::LINE_BYTES {
            return Err(Error::line(
                path,
                number,
                format!("a line of more than {} bytes", limits::LINE_BYTES),
            ));
        }
        let line =
            std::str::from_utf8(&bytes).map_err(|_| Error::line(path, number, "not UTF-8 text"))?;
        let line = input::without_mark(line);
        if !line.trim().is_empty() {
            each(number, line.trim_end_matches(['\n', '\r']))?;
        }
    }
    Ok(())
}

/// The file with this name, or the same compressed.
pub(super) fn plain_or_packed(folder: &Path, name: &str) -> Option<PathBuf> {
    std::iter::once("")
        .chain(input::COMPRESSED)
        .map(|extension| folder.join(format!("{name}{extension}")))
        .find(|path| path.is_file())
}

/// The name of a file without folder and extensions.
pub(super) fn stem(path: &Path) -> String {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let name = input::plain_name(&name);
    name.rsplit_once('.')
        .map_or(name, |(stem, _)| stem)
        .to_owned()
}

/// The entries of a folder, sorted.
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let io = Error::io(folder);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(&io)? {
        found.push(entry.map_err(&io)?.path());
    }
    found.sort();
    Ok(found)
}

/// Folders in which a published set keeps its files.
const DATA_FOLDERS: [&str; 3] = ["data", "dataset", "questions"];

/// The files at a path: the file itself, or the files of a folder (or its `data`, `dataset` or
/// `questions`) whose names the format accepts.
pub(super) fn of_set(path: &Path, format: &SourceFormat) -> Result<Vec<PathBuf>, Error> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let inner = DATA_FOLDERS.map(|name| path.join(name));
    for folder in std::iter::once(path)
        .chain(inner.iter().map(PathBuf::as_path))
        .filter(|folder| folder.is_dir())
    {
        let mut found: Vec<PathBuf> = Vec::new();
        for entry in entries(folder)? {
            let name = entry
                .file_name()
                .map(|name| name.to_string_lossy().to_ascii_lowercase())
                .unwrap_or_default();
            let plain = input::plain_name(&name);
            // The same file as it is and compressed counts once.
            let twice = found
                .iter()
                .rev()
                .take(input::COMPRESSED.len())
                .any(|last| {
                    let last = last.file_name().unwrap_or_default().to_string_lossy();
                    input::plain_name(&last).eq_ignore_ascii_case(plain)
                });
            if entry.is_file() && (format.is_one)(plain) && !twice {
                found.push(entry);
            }
        }
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Err(Error::file(
        path,
        format!(
            "this folder has no {} (or {}); give the file itself",
            format.files,
            input::COMPRESSED.join(", ")
        ),
    ))
}
