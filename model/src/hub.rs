//! Fetching a model from the Hugging Face hub into its standard cache: the only module of this crate that opens a connection.

use std::path::{Path, PathBuf};
use std::{fs, io};

use hf_hub::Cache;
use hf_hub::api::Progress;
use hf_hub::api::sync::{ApiBuilder, ApiError, ApiRepo};
use serde_json::Value;

use crate::ModelError;
use crate::digest::sha256_file;

/// Files besides the weights that this program reads, and whether it can do without them.
const FILES: [(&str, bool); 6] = [
    ("config.json", true),
    ("tokenizer.json", true),
    ("tokenizer_config.json", false),
    ("generation_config.json", false),
    ("README.md", false),
    ("kgagent.json", false),
];

/// Times that a file whose connection breaks is gone on with before the fetch fails.
const TRIES: usize = 5;

/// How far a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetching<'a> {
    /// Its name in the repository.
    pub file: &'a str,
    /// Bytes that are there, those of an earlier, interrupted fetch included.
    pub done: u64,
    /// Bytes of the whole file.
    pub size: u64,
}

/// Fetch the files of `repo` (`ORG/NAME`) this program reads into the cache (`HF_HOME`), from the hub (`HF_ENDPOINT`); returns their folder
/// there. Files that are in the cache are not fetched again, and one that was interrupted is gone on with. `progress` hears of every block.
///
/// # Errors
/// When the name is no repository name, the repository lacks a file, the hub does not deliver, or what it delivers has another digest than it
/// says.
pub fn fetch(repo: &str, progress: &mut dyn FnMut(Fetching<'_>)) -> Result<PathBuf, ModelError> {
    let failed = |message: String| ModelError::Hub {
        repo: repo.to_owned(),
        message,
    };
    check_name(repo)?;
    let api = ApiBuilder::from_env()
        .with_progress(false)
        .build()
        .map_err(|error| failed(error.to_string()))?
        .model(repo.to_owned());
    let info = api
        .info()
        .map_err(|error| failed(format!("its list of files: {error}")))?;
    let has = |file: &str| {
        info.siblings
            .iter()
            .any(|sibling| sibling.rfilename == file)
    };
    let mut get = |file: &str| match has(file) {
        true => {
            get(&api, repo, file, progress).map_err(|message| failed(format!("{file}: {message}")))
        }
        false => Err(failed(format!("it has no {file}"))),
    };
    let mut config = None;
    for (file, needed) in FILES {
        if needed || has(file) {
            let path = get(file)?;
            config.get_or_insert(path);
        }
    }
    let index = "model.safetensors.index.json";
    if has(index) {
        let value = crate::folder::read_json(&get(index)?)?;
        let shards = value
            .get("weight_map")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(|map| map.values())
            .filter_map(Value::as_str);
        let mut names: Vec<&str> = shards.collect();
        names.sort_unstable();
        names.dedup();
        // A name becomes a path in the cache.
        if let Some(name) = names.iter().find(|name| !is_plain(name)) {
            return Err(failed(format!(
                "{index} names the file `{name}`, which is no file of a model"
            )));
        }
        for name in names {
            get(name)?;
        }
    } else {
        get("model.safetensors")?;
    }
    let folder = config.as_deref().and_then(Path::parent).map(PathBuf::from);
    folder.ok_or_else(|| failed("the cache gave a file without a folder".to_owned()))
}

/// Whether a text can be the name of a repository.
///
/// # Errors
/// [`ModelError::Hub`] where it is not of the form ORG/NAME.
pub fn check_name(repo: &str) -> Result<(), ModelError> {
    match repo.split_once('/') {
        Some((org, name)) if is_plain(org) && is_plain(name) => Ok(()),
        _ => Err(ModelError::Hub {
            repo: repo.to_owned(),
            message: "not of the form ORG/NAME".to_owned(),
        }),
    }
}

/// Letters, digits and `-_.`, and no way up.
fn is_plain(part: &str) -> bool {
    !part.is_empty()
        && !part.contains("..")
        && part
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// One file, from the cache or from the hub.
fn get(
    api: &ApiRepo,
    repo: &str,
    file: &str,
    progress: &mut dyn FnMut(Fetching<'_>),
) -> Result<PathBuf, String> {
    let cache = Cache::from_env().model(repo.to_owned());
    if let Some(path) = cache.get(file) {
        return Ok(path);
    }
    let blobs = cache.blob_path("");
    let (mut size, mut tries) = (None, 0);
    let path = loop {
        tries += 1;
        let watch = Watch {
            file,
            done: 0,
            size: &mut size,
            progress,
        };
        match api.download_with_progress(file, watch) {
            Ok(path) => break path,
            // A connection that broke: what has come stays, and hf-hub asks for the rest.
            Err(ApiError::IoError(_)) if tries < TRIES => {}
            // All has come and its end was not noted: there is no rest to ask for. A part that is too long is not of this file.
            Err(error) => match size.map(|size| drop_full_parts(&blobs, size)) {
                Some(Ok(true)) if tries < TRIES => {}
                Some(Err(error)) => return Err(error.to_string()),
                _ => return Err(error.to_string()),
            },
        }
    };
    check(&path)?;
    Ok(path)
}

/// Removes parts of files that are not shorter than `size`; whether there were any.
fn drop_full_parts(blobs: &Path, size: u64) -> io::Result<bool> {
    let mut any = false;
    for entry in fs::read_dir(blobs)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "part") && fs::metadata(&path)?.len() >= size {
            fs::remove_file(path)?;
            any = true;
        }
    }
    Ok(any)
}

/// Large files are kept under their SHA-256: what has another one was cut or mixed up on its way and is removed.
fn check(path: &Path) -> Result<(), String> {
    let blob = fs::canonicalize(path).map_err(|error| error.to_string())?;
    let name = blob
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    if name.len() != 64 || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(());
    }
    let found = sha256_file(&blob).map_err(|error| error.to_string())?;
    if found.eq_ignore_ascii_case(name) {
        return Ok(());
    }
    fs::remove_file(path)
        .and_then(|()| fs::remove_file(&blob))
        .map_err(|error| error.to_string())?;
    Err(format!(
        "what came has the digest {found}, and the hub says {name}; it is removed, fetch it again"
    ))
}

/// hf-hub's progress as ours.
struct Watch<'a> {
    file: &'a str,
    done: u64,
    size: &'a mut Option<u64>,
    progress: &'a mut dyn FnMut(Fetching<'_>),
}

impl Progress for Watch<'_> {
    fn init(&mut self, size: usize, _: &str) {
        (self.done, *self.size) = (0, Some(size as u64));
    }
    fn update(&mut self, size: usize) {
        self.done += size as u64;
        (self.progress)(Fetching {
            file: self.file,
            done: self.done,
            size: self.size.unwrap_or(0),
        });
    }
    fn finish(&mut self) {}
}

/// The folder of `repo` (`ORG/NAME`) in the standard cache (`HF_HOME`), if it has been fetched. Opens no connection.
#[must_use]
pub fn cached(repo: &str) -> Option<PathBuf> {
    let named = repo
        .split_once('/')
        .is_some_and(|(org, name)| !org.is_empty() && !name.is_empty() && !name.contains('/'));
    let config = named.then(|| Cache::from_env().model(repo.to_owned()).get("config.json"))??;
    config.parent().map(PathBuf::from)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    #[test]
    fn names_that_are_no_repository_are_refused_before_any_connection() {
        for name in ["", "a", "a/", "../x", "a/b/c", "a/..", "a b/c"] {
            assert!(
                super::fetch(name, &mut |_| ())
                    .unwrap_err()
                    .to_string()
                    .contains("ORG/NAME"),
                "{name}"
            );
        }
    }
}
