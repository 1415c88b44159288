//! Fetching a model from the Hugging Face hub into its standard cache. The only module of this
//! crate that opens a connection.

use std::path::{Path, PathBuf};
use std::{fs, io};

use hf_hub::Cache;
use hf_hub::api::Progress;
use hf_hub::api::sync::{ApiBuilder, ApiError, ApiRepo};
use serde_json::Value;

use crate::ModelError;
use crate::digest::sha256_file;
use crate::json::read_json;

/// Files other than the weights that this program reads, and whether they are required.
const FILES: [(&str, bool); 6] = [
    ("config.json", true),
    ("tokenizer.json", true),
    ("tokenizer_config.json", false),
    ("generation_config.json", false),
    ("README.md", false),
    ("kgagent.json", false),
];

/// Attempts to download a file over a failing connection. Each continues where the last one
/// stopped.
const ATTEMPTS: usize = 5;

/// Progress of a download.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetching<'a> {
    /// Name of the file in the repository.
    pub file: &'a str,
    /// Bytes downloaded, including those of an earlier, interrupted fetch.
    pub done: u64,
    /// Bytes of the whole file.
    pub size: u64,
}

/// Fetches from the hub (`HF_ENDPOINT`) the files of `repo` (`ORG/NAME`) that this program reads.
/// Stores them in the cache (`HF_HOME`) and returns their folder. Skips cached files and continues
/// interrupted downloads. Calls `progress` after every block.
///
/// # Errors
/// When the name is not a repository name, the repository lacks a file, the download fails, or a
/// file does not match its digest.
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
        let value = read_json(&get(index)?)?;
        let shards = value
            .get("weight_map")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(|map| map.values())
            .filter_map(Value::as_str);
        let mut names: Vec<&str> = shards.collect();
        names.sort_unstable();
        names.dedup();
        // The name becomes a path in the cache.
        if let Some(name) = names.iter().find(|name| !is_plain(name)) {
            return Err(failed(format!(
                "{index} names the file `{name}`, which cannot belong to a model"
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

/// Checks the name of a repository.
///
/// # Errors
/// [`ModelError::Hub`] if it is not of the form ORG/NAME.
pub fn check_name(repo: &str) -> Result<(), ModelError> {
    match repo.split_once('/') {
        Some((org, name)) if is_plain(org) && is_plain(name) => Ok(()),
        _ => Err(ModelError::Hub {
            repo: repo.to_owned(),
            message: "not of the form ORG/NAME".to_owned(),
        }),
    }
}

/// Whether `part` consists of letters, digits and `-_.`, without `..`.
fn is_plain(part: &str) -> bool {
    !part.is_empty()
        && !part.contains("..")
        && part
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// Returns one file from the cache or the hub.
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
    let (mut size, mut attempts) = (None, 0);
    let path = loop {
        attempts += 1;
        let reporter = DownloadProgress {
            file,
            done: 0,
            size: &mut size,
            progress,
        };
        match api.download_with_progress(file, reporter) {
            Ok(path) => break path,
            // The connection failed: hf-hub keeps the downloaded part and requests the rest.
            Err(ApiError::IoError(_)) if attempts < ATTEMPTS => {}
            // The part is complete but not renamed, so that there is no rest to request; or it is
            // too long and belongs to another file.
            Err(error) => match size.map(|size| drop_full_parts(&blobs, size)) {
                Some(Ok(true)) if attempts < ATTEMPTS => {}
                Some(Err(error)) => return Err(error.to_string()),
                _ => return Err(error.to_string()),
            },
        }
    };
    check(&path)?;
    Ok(path)
}

/// Removes downloaded parts of at least `size` bytes and returns whether there were any.
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

/// Large files are cached under their SHA-256. Removes a file with another digest.
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
        "the downloaded file has the digest {found} instead of {name}; it was removed, fetch it again"
    ))
}

/// Converts hf-hub's progress to [`Fetching`].
struct DownloadProgress<'a> {
    file: &'a str,
    done: u64,
    size: &'a mut Option<u64>,
    progress: &'a mut dyn FnMut(Fetching<'_>),
}

impl Progress for DownloadProgress<'_> {
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

/// The folder of `repo` (`ORG/NAME`) in the standard cache (`HF_HOME`), if it is there. Does not
/// open a connection.
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
    fn invalid_repository_names_are_rejected_without_a_connection() {
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
