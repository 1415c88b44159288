//! The base of relative IRIs in files that name none: `http://NAME.example.org/`, with the name of the file.
//!
//! Equal relative IRIs of two files are two nodes, as if the files were two documents on the web. The folder of a file
//! does not matter, so that a graph does not change when its files are moved. Only files of one load with equal names
//! get the name of their folder, too, or of their content if they differ only in their compression. What a pipe gives is named by its content. The host has the name, because then no
//! relative IRI (`#a`, `a`, `../a`, `/a`) of one file is one of another.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use common::input::plain_name;
use oxigraph::io::{RdfFormat, RdfParser};

use super::options::LoadError;
use super::source::LoadInput;

/// Characters of a content hash in a name.
const HASH: usize = 12;

/// The base of each file.
pub(super) fn of_files(
    files: &[PathBuf],
    inputs: &[LoadInput],
    given: Option<&str>,
) -> Result<Vec<String>, LoadError> {
    if let Some(base) = given {
        return match RdfParser::from_format(RdfFormat::Turtle).with_base_iri(base) {
            Ok(_) => Ok(vec![base.to_owned(); files.len()]),
            Err(_) => Err(LoadError::Base {
                base: base.to_owned(),
            }),
        };
    }
    let hash = |input: &LoadInput| input.source.sha256.chars().take(HASH).collect::<String>();
    let mut places: Vec<Vec<String>> = files
        .iter()
        .zip(inputs)
        .map(|(path, input)| {
            if input.is_pipe() {
                vec![format!("input-{}", hash(input))]
            } else {
                names(path)
            }
        })
        .collect();
    tell_apart(&mut places, |i| hash(&inputs[i]));
    let mut depths = vec![1; files.len()];
    loop {
        let mut same: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (i, place) in places.iter().enumerate() {
            same.entry(place[..depths[i]].join("~"))
                .or_default()
                .push(i);
        }
        let mut grown = false;
        for files in same.values() {
            let differ = files.iter().any(|&i| places[i] != places[files[0]]);
            for &i in files.iter().filter(|_| differ) {
                grown |= depths[i] < places[i].len();
                depths[i] = (depths[i] + 1).min(places[i].len());
            }
        }
        if !grown {
            let base =
                |i: usize| format!("http://{}.example.org/", places[i][..depths[i]].join("~"));
            return Ok((0..files.len()).map(base).collect());
        }
    }
}

/// Puts the hash of the content behind the name where files of different content have the same place: `g.ttl` and
/// `g.ttl.gz` in one folder.
fn tell_apart(places: &mut [Vec<String>], hash: impl Fn(usize) -> String) {
    let mut same: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
    for (i, place) in places.iter().enumerate() {
        same.entry(place.clone()).or_default().push(i);
    }
    for files in same.into_values() {
        if files.iter().any(|&i| hash(i) != hash(files[0])) {
            for i in files {
                places[i].insert(1, hash(i));
            }
        }
    }
}

/// The name of a file, and of its folders from the inside out, as parts of a host.
fn names(path: &Path) -> Vec<String> {
    let folder = path.parent().map(|folder| {
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
    });
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut names = vec![part(plain_name(&name))];
    let folder = folder.unwrap_or_default();
    names.extend(
        folder
            .components()
            .rev()
            .filter_map(|component| match component {
                Component::Normal(name) => Some(part(&name.to_string_lossy())),
                _ => None,
            }),
    );
    names
}

/// A name as a part of a host. Parts are joined by `~`, which none of them has.
fn part(name: &str) -> String {
    let mut out = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    if out.is_empty() {
        "file".to_owned()
    } else {
        out
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    fn bases(names: &[&str]) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let files: Vec<PathBuf> = names.iter().map(|name| dir.path().join(name)).collect();
        for file in &files {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, file.extension().unwrap().as_encoded_bytes()).unwrap();
        }
        let inputs: Vec<LoadInput> = files
            .iter()
            .map(|file| LoadInput::of(file, None, &AtomicBool::new(false)).unwrap())
            .collect();
        of_files(&files, &inputs, None).unwrap()
    }

    #[test]
    fn files_are_told_apart_by_their_names_and_then_their_folders() {
        let one = ["http://films.ttl.example.org/"];
        assert_eq!(bases(&["films.ttl"]), one);
        assert_eq!(bases(&["deep/er/films.ttl.bz2"]), one);
        assert_eq!(
            bases(&["My Films (2).ttl"]),
            ["http://My%20Films%20%282%29.ttl.example.org/"]
        );
        assert_eq!(
            bases(&["a/g.ttl", "b/g.ttl", "b/h.ttl"]),
            [
                "http://g.ttl~a.example.org/",
                "http://g.ttl~b.example.org/",
                "http://h.ttl.example.org/"
            ]
        );
        assert_eq!(
            bases(&["a/x/g.ttl", "b/x/g.ttl", "a/x/g.ttl"]),
            [
                "http://g.ttl~x~a.example.org/",
                "http://g.ttl~x~b.example.org/",
                "http://g.ttl~x~a.example.org/"
            ]
        );
        // The same place and another content.
        let packed = bases(&["g.ttl", "g.ttl.gz", "b/g.ttl"]);
        assert!(packed[0].starts_with("http://g.ttl~"), "{packed:?}");
        assert!(packed[1].starts_with("http://g.ttl~"), "{packed:?}");
        assert_ne!(packed[0], packed[1]);
        assert_eq!(packed[2], "http://g.ttl~b.example.org/");
    }
}
