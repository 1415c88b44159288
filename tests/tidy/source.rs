//! The source tree as the checks see it: files, their product code, their modules.

use std::fs;
use std::path::{Path, PathBuf};

/// Every library crate and where its sources are.
pub(crate) const CRATES: [(&str, &str); 10] = [
    ("common", "common"),
    ("kg", "kg"),
    ("toolbox", "toolbox"),
    ("datagen", "datagen"),
    ("model", "model"),
    ("gpu", "gpu"),
    ("train", "train"),
    ("engine", "infer/engine"),
    ("infer", "infer"),
    ("serve", "serve"),
];

/// A Rust file.
pub(crate) struct SourceFile {
    /// Relative to the root of the repository.
    pub(crate) path: PathBuf,
    /// Everything in it.
    pub(crate) text: String,
}

impl SourceFile {
    /// The product code: the file without the test module at its end.
    pub(crate) fn product(&self) -> &str {
        let tests = self.text.match_indices("#[cfg(test)]").find(|(at, _)| {
            self.text[*at..]
                .lines()
                .skip(1)
                .find(|line| !line.starts_with("#["))
                .is_some_and(|line| line.starts_with("mod ") && !line.ends_with(';'))
        });
        tests.map_or(&self.text, |(at, _)| &self.text[..at])
    }

    /// Lines of product code with their numbers, without comments.
    pub(crate) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.product().lines().enumerate();
        lines
            .map(|(at, line)| (at + 1, line))
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file below a folder of the repository, sorted. Fails if there is no such file.
pub(crate) fn files(folder: &str) -> Vec<SourceFile> {
    fn walk(dir: &Path, out: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                walk(&path, out);
            } else if path.extension().is_some_and(|e| e == "rs") {
                out.push(path);
            }
        }
    }
    let mut paths = Vec::new();
    walk(&root().join(folder), &mut paths);
    paths.sort();
    assert!(!paths.is_empty(), "no sources in {folder}");
    let read = |path: PathBuf| SourceFile {
        text: fs::read_to_string(&path).unwrap(),
        path: path.strip_prefix(root()).unwrap().to_owned(),
    };
    paths.into_iter().map(read).collect()
}

/// The product files of all crates and of the binary. Unit tests in files of their own are no product.
pub(crate) fn product() -> Vec<SourceFile> {
    let folders = CRATES.iter().map(|(_, folder)| format!("{folder}/src"));
    let all = folders.chain(["src".to_owned()]).flat_map(|f| files(&f));
    all.filter(|file| !file.path.iter().any(|part| part == "tests"))
        .collect()
}

/// Fails with every line of product code for which `bad` is true.
pub(crate) fn no_line(what: &str, bad: impl Fn(&Path, &str) -> bool) {
    let mut found = Vec::new();
    for file in product() {
        let lines = file.code().filter(|(_, line)| bad(&file.path, line));
        found.extend(
            lines.map(|(at, line)| format!("{}:{at}: {}", file.path.display(), line.trim())),
        );
    }
    assert!(found.is_empty(), "{what}:\n{}", found.join("\n"));
}
