//! Fetching a model from the Hugging Face hub into its standard cache ([`cache`]). The only module of
//! this crate that opens a connection.

mod cache;

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;
use std::{fs, io};

use common::fs::parent_of;
use hf_hub::api::sync::{Api, ApiBuilder, ApiRepo};
use hf_hub::{Cache, CacheRepo};
use ureq::config::RedirectAuthHeaders;

use crate::digest::sha256_file;
use crate::guard::guarded;
use crate::json::read_json;
use crate::weights::shards;
use crate::{ModelError, files, limits};

pub use cache::{find, locate, origin, resolve, root as folder};

/// Attempts to download a file over a failing connection. Each continues where the last one
/// stopped.
const ATTEMPTS: usize = 5;

/// How long the hub may take to answer a request.
const ANSWER: Duration = Duration::from_secs(60);

/// Bytes read at once.
const BLOCK: usize = 1 << 16;

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

/// A repository on the hub, and the folder of its newest commit in the cache.
struct Repository {
    api: Api,
    model: ApiRepo,
    cache: CacheRepo,
    commit: String,
}

/// Fetches from the hub (`HF_ENDPOINT`) the files of `repo` (`ORG/NAME`) that this program reads: a
/// model, or an adapter. Stores them in the cache (`HF_HUB_CACHE`, `HF_HOME`) and returns their
/// folder. Skips cached files and continues interrupted downloads. Calls `progress` after every
/// block.
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
    let cache = Cache::new(cache::root());
    let mut builder = ApiBuilder::from_cache(cache.clone())
        .with_progress(false)
        .with_token(token());
    if let Ok(endpoint) = std::env::var("HF_ENDPOINT") {
        builder = builder.with_endpoint(endpoint);
    }
    let api = builder.build().map_err(|error| failed(error.to_string()))?;
    let model = api.model(repo.to_owned());
    let listed = api.model(repo.to_owned());
    let info = answered(move || listed.info().map_err(|error| error.to_string()))
        .map_err(|error| failed(format!("its list of files: {error}")))?;
    check_told("commit", &info.sha).map_err(failed)?;
    let has = |file: &str| {
        info.siblings
            .iter()
            .any(|sibling| sibling.rfilename == file)
    };
    let repository = Repository {
        api,
        model,
        cache: cache.model(repo.to_owned()),
        commit: info.sha.clone(),
    };
    let mut get = |file: &str| match has(file) {
        true => repository
            .get(file, progress)
            .map_err(|message| failed(format!("{file}: {message}"))),
        false => Err(failed(format!("it has no {file}"))),
    };
    let is_adapter = has(files::ADAPTER_CONFIG) && !has(files::CONFIG);
    let list = if is_adapter {
        files::ADAPTER
    } else {
        files::MODEL
    };
    for file in list {
        if file.required || has(file.name) {
            get(file.name)?;
        }
    }
    if !is_adapter {
        fetch_weights(&has, &mut get)?;
    }
    let done = repository.cache.create_ref(&repository.commit);
    done.map_err(|error| failed(error.to_string()))?;
    Ok(repository.cache.pointer_path(&repository.commit))
}

/// Fetches the weights of a model: one file, or the files in its index.
fn fetch_weights(
    has: &dyn Fn(&str) -> bool,
    get: &mut dyn FnMut(&str) -> Result<PathBuf, ModelError>,
) -> Result<(), ModelError> {
    if !has(files::INDEX) {
        return get(files::WEIGHTS).map(drop);
    }
    let index = get(files::INDEX)?;
    let names = shards(&index, &read_json(&index)?)?;
    names.iter().try_for_each(|name| get(name).map(drop))
}

/// The user's token for the hub.
fn token() -> Option<String> {
    let text = fs::read_to_string(cache::home().join("token")).ok()?;
    Some(text.trim().to_owned()).filter(|token| !token.is_empty())
}

/// Checks a digest or commit from the hub before it becomes part of a path.
fn check_told(what: &str, told: &str) -> Result<(), String> {
    if told.starts_with('.') || !is_plain(told) {
        return Err(format!(
            "the hub sent `{}` as the {what}, which is not valid",
            told.chars().take(80).collect::<String>()
        ));
    }
    Ok(())
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

/// What a request of hf-hub gives, which waits for ever. A thread that still waits when the time is
/// over ends with the process.
fn answered<T: Send + 'static>(
    ask: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let unreadable = |panic| format!("the hub's answer cannot be read: {panic}");
        // Nobody receives it if the time is over.
        let _ = sender.send(guarded(ask).map_err(unreadable));
    });
    let answer = receiver.recv_timeout(ANSWER);
    answer.map_err(|_| format!("the hub gives no answer within {ANSWER:?}"))??
}

impl Repository {
    /// Returns one file from the cache or the hub. hf-hub would put what the hub answers into paths,
    /// so it only asks here; the names are checked before anything is written.
    fn get(&self, file: &str, progress: &mut dyn FnMut(Fetching<'_>)) -> Result<PathBuf, String> {
        let folder = self.cache.pointer_path(&self.commit);
        let path = folder.join(file);
        if path.exists() {
            return Ok(path);
        }
        let url = self.model.url(file);
        let (asked, of) = (self.api.clone(), url.clone());
        let told = answered(move || asked.metadata(&of).map_err(|error| error.to_string()))?;
        let (digest, commit) = (told.etag(), told.commit_hash());
        check_told("digest", digest)?;
        check_told("commit", commit)?;
        if commit != self.commit {
            return Err("the repository has changed meanwhile; fetch it again".to_owned());
        }
        let most = if file.ends_with(".safetensors") {
            limits::WEIGHT_BYTES
        } else {
            limits::TOKENIZER_BYTES
        };
        let size = told.size() as u64;
        if size > most {
            return Err(format!("it has {size} bytes, the limit is {most}"));
        }
        let io = |error: io::Error| error.to_string();
        let blob = self.cache.blob_path(digest);
        fs::create_dir_all(parent_of(&blob)).map_err(io)?;
        download(&url, &blob, size, &mut |done| {
            progress(Fetching { file, done, size });
        })?;
        fs::create_dir_all(&folder).map_err(io)?;
        link(&blob, &path).map_err(io)?;
        check(&path)?;
        Ok(path)
    }
}

/// Downloads a file of `size` bytes to `blob`, unless it is there. The part of an earlier attempt
/// is in `BLOB.part`; the rest is requested, at most [`ATTEMPTS`] times.
fn download(
    url: &str,
    blob: &Path,
    size: u64,
    progress: &mut dyn FnMut(u64),
) -> Result<(), String> {
    if blob.is_file() {
        return Ok(());
    }
    let io = |error: io::Error| error.to_string();
    let part = blob.with_extension("part");
    let mut options = File::options();
    let mut out = options.append(true).create(true).open(&part).map_err(io)?;
    if out.try_lock().is_err() {
        return Err("another fetch is downloading it; wait for that".to_owned());
    }
    if out.metadata().map_err(io)?.len() > size {
        // The partial file belongs to another file.
        out.set_len(0).map_err(io)?;
    }
    let mut attempts = 0;
    loop {
        let done = out.metadata().map_err(io)?.len();
        progress(done);
        if done == size {
            break;
        }
        attempts += 1;
        match append(url, &mut out, done, size, progress) {
            Err(Broken { why, .. }) if attempts == ATTEMPTS => return Err(why),
            Err(Broken { why, again: false }) => return Err(why),
            // A reply may end early without an error.
            Ok(()) if attempts == ATTEMPTS && out.metadata().map_err(io)?.len() != size => {
                return Err(format!(
                    "the hub sends less than the {size} bytes that it named"
                ));
            }
            _ => {}
        }
    }
    out.sync_all().map_err(io)?;
    fs::rename(&part, blob).map_err(io)
}

/// Why a request failed, and whether another may succeed.
struct Broken {
    why: String,
    again: bool,
}

/// Requests the bytes from `done` to `size` and appends what comes.
fn append(
    url: &str,
    out: &mut File,
    mut done: u64,
    size: u64,
    progress: &mut dyn FnMut(u64),
) -> Result<(), Broken> {
    let broken = |again| move |why: String| Broken { why, again };
    let agent = ureq::Agent::config_builder()
        .redirect_auth_headers(RedirectAuthHeaders::SameHost)
        .timeout_connect(Some(ANSWER))
        .timeout_recv_response(Some(ANSWER))
        .build();
    let mut request = ureq::Agent::from(agent)
        .get(url)
        .header("range", format!("bytes={done}-"))
        .header("accept-encoding", "identity");
    if let Some(token) = token() {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let answer = request.call().map_err(|error| {
        let again = !matches!(error, ureq::Error::StatusCode(_));
        broken(again)(error.to_string())
    })?;
    let io = |error: io::Error| Broken {
        why: error.to_string(),
        again: true,
    };
    if done > 0 && answer.status().as_u16() != 206 {
        // The hub sends the whole file again.
        out.set_len(0).map_err(io)?;
        done = 0;
    }
    // Stop reading if the hub sends more than it announced, so that it cannot fill the disk.
    let mut body = answer.into_body().into_reader().take(size - done + 1);
    let mut buffer = vec![0; BLOCK];
    loop {
        let read = body.read(&mut buffer).map_err(io)?;
        if read == 0 {
            return Ok(());
        }
        done += read as u64;
        if done > size {
            let why = format!("the hub sends more than the {size} bytes that it named");
            return Err(broken(false)(why));
        }
        out.write_all(&buffer[..read]).map_err(io)?;
        progress(done);
    }
}

/// Links `path` in a snapshot to `blob`; both are in the cache of one repository.
fn link(blob: &Path, path: &Path) -> io::Result<()> {
    if path.symlink_metadata().is_ok() {
        // A link to a file that was removed as corrupt.
        fs::remove_file(path)?;
    }
    #[cfg(unix)]
    {
        let name = blob.file_name().unwrap_or_default();
        std::os::unix::fs::symlink(Path::new("../../blobs").join(name), path)
    }
    #[cfg(not(unix))]
    fs::copy(blob, path).map(drop)
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

/// The folder of `repo` (`ORG/NAME`) in the standard cache, if it is there: of a revision, or of the
/// main branch. Does not open a connection.
#[must_use]
pub fn cached(repo: &str, revision: Option<&str>) -> Option<Result<PathBuf, ModelError>> {
    let named = check_name(repo).is_ok();
    named.then(|| cache::snapshot_of(repo, revision))?
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
