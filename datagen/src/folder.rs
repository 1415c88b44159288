//! Folders that appear whole or not at all, and the files of lines in them.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::Error;

/// A folder being written beside its place; dropped without [`Folder::commit`], it leaves nothing behind.
pub(crate) struct Folder {
    temp: PathBuf,
    target: PathBuf,
    done: bool,
}

impl Folder {
    /// Begins a folder that will become `target`. `marks` are the files by which a folder that may be replaced is known.
    pub(crate) fn new(target: &Path, marks: &[&str]) -> Result<Self, Error> {
        check_replaceable(target, marks)?;
        Self::at(
            sibling(target, &format!("partial-{}", std::process::id())),
            target,
        )
    }

    /// The path of a file in it, while it is written.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.temp.join(name)
    }

    /// Begins a folder at `temp` that will become `target`; what lies at `temp` is removed.
    pub(crate) fn at(temp: PathBuf, target: &Path) -> Result<Self, Error> {
        if temp.exists() {
            fs::remove_dir_all(&temp).map_err(Error::io(&temp))?;
        }
        fs::create_dir_all(&temp).map_err(Error::io(&temp))?;
        Ok(Self {
            temp,
            target: target.to_owned(),
            done: false,
        })
    }

    pub(crate) fn lines(&self, name: &str) -> Result<Lines, Error> {
        let path = self.temp.join(name);
        let file = File::create(&path).map_err(Error::io(&path))?;
        Ok(Lines {
            file: BufWriter::new(file),
            path,
            count: 0,
        })
    }

    pub(crate) fn json(&self, name: &str, value: &impl Serialize) -> Result<(), Error> {
        let path = self.temp.join(name);
        let text = serde_json::to_string_pretty(value)
            .map_err(|error| Error::file(&path, error.to_string()))?;
        self.text(name, &format!("{text}\n"))
    }

    pub(crate) fn text(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.temp.join(name);
        let mut file = File::create(&path).map_err(Error::io(&path))?;
        file.write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(Error::io(&path))
    }

    pub(crate) fn commit(mut self) -> Result<(), Error> {
        sync(&self.temp)?;
        let aside = self.temp.with_extension("replaced");
        common::fs::put(&self.temp, &self.target, &aside).map_err(Error::io(&self.target))?;
        self.done = true;
        if let Some(parent) = self
            .target
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
        {
            sync(parent)?;
        }
        if aside.exists() {
            fs::remove_dir_all(&aside).map_err(Error::io(&aside))?;
        }
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.done {
            // Nothing can be done about a leftover here, and its name says what it is.
            let _ = fs::remove_dir_all(&self.temp);
        }
    }
}

/// `NAME.SUFFIX` beside a path.
pub(crate) fn sibling(target: &Path, suffix: &str) -> PathBuf {
    let name = target.file_name().map_or_else(
        || "data".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    );
    target.with_file_name(format!("{name}.{suffix}"))
}

/// Refuses a target that is neither absent, empty nor a folder with all the files in `marks`: one that an earlier run wrote.
pub(crate) fn check_replaceable(target: &Path, marks: &[&str]) -> Result<(), Error> {
    common::fs::check(target, |folder| common::fs::has(folder, marks))
        .map_err(|error| Error::file(target, error.to_string()))
}

/// Makes a folder's entries durable.
fn sync(folder: &Path) -> Result<(), Error> {
    File::open(folder)
        .and_then(|file| file.sync_all())
        .map_err(Error::io(folder))
}

/// A file of JSON Lines.
pub(crate) struct Lines {
    file: BufWriter<File>,
    path: PathBuf,
    count: usize,
}

impl Lines {
    pub(crate) fn line(&mut self, value: &impl Serialize) -> Result<(), Error> {
        serde_json::to_writer(&mut self.file, value)
            .map_err(|error| Error::io(&self.path)(error.into()))?;
        self.count += 1;
        self.file.write_all(b"\n").map_err(Error::io(&self.path))
    }

    /// Writes whole lines as they are.
    pub(crate) fn raw(&mut self, lines: &[u8]) -> Result<(), Error> {
        self.count += memchr::memchr_iter(b'\n', lines).count();
        self.file.write_all(lines).map_err(Error::io(&self.path))
    }

    /// Flushes and syncs; the number of lines.
    pub(crate) fn finish(mut self) -> Result<usize, Error> {
        self.file
            .flush()
            .and_then(|()| self.file.get_ref().sync_all())
            .map_err(Error::io(&self.path))?;
        Ok(self.count)
    }
}
