//! The base of an adapter: how the adapter names it, and how it is found again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use super::AdapterConfig;
use crate::digest::{sha256_file, sha256_hex};
use crate::files::{ADAPTER_CONFIG, CONFIG, INDEX, WEIGHTS};
use crate::json::read_json;
use crate::weights::shards;
use crate::{KgAgentInfo, ModelError, hub};

/// How an adapter names its base.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BaseName {
    /// ORG/NAME of a model in the hub's cache, otherwise an absolute path.
    pub name: String,
    /// The commit, if the model is in the hub's cache.
    pub revision: Option<String>,
}

impl BaseName {
    /// The name of the model in `path`.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        Self::within(path, |name, commit| hub::cached(name, Some(commit))?.ok())
    }

    /// The name of the model in `path`, with the cache that `cached` looks into.
    fn within(path: &Path, cached: impl Fn(&str, &str) -> Option<PathBuf>) -> Self {
        let whole = fs::canonicalize(path).or_else(|_| std::path::absolute(path));
        let whole = whole.unwrap_or_else(|_| path.to_owned());
        // A snapshot in another cache, or in a copy of it, is not found by its name.
        if let Some((name, commit)) = hub::origin(path)
            && let Some(found) = cached(&name, &commit)
            && fs::canonicalize(found).is_ok_and(|found| found == whole)
        {
            let revision = Some(commit);
            return Self { name, revision };
        }
        Self {
            name: whole.display().to_string(),
            revision: None,
        }
    }
}

/// A file as it was when it was read: its path, length and time.
type FileState = (PathBuf, u64, Option<SystemTime>);

/// The digests that this process has computed: hashing all weights takes long.
static DIGESTS: Mutex<BTreeMap<Vec<FileState>, String>> = Mutex::new(BTreeMap::new());

/// The digest of a model's configuration and weights, by which an adapter knows its base after a
/// move. Files that have not changed are read once by a process.
///
/// # Errors
/// When a file cannot be read.
pub fn digest(folder: &Path) -> Result<String, ModelError> {
    let mut files = BTreeSet::from([CONFIG.to_owned()]);
    if folder.join(WEIGHTS).exists() {
        files.insert(WEIGHTS.to_owned());
    } else {
        let index = folder.join(INDEX);
        files.extend(shards(&index, &read_json(&index)?)?);
    }
    let state = |file: String| {
        let path = std::path::absolute(folder.join(file)).map_err(ModelError::io(folder))?;
        let about = fs::metadata(&path).map_err(ModelError::io(&path))?;
        Ok((path, about.len(), about.modified().ok()))
    };
    let files: Vec<FileState> = files
        .into_iter()
        .map(state)
        .collect::<Result<_, ModelError>>()?;
    let known = || DIGESTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(digest) = known().get(&files) {
        return Ok(digest.clone());
    }
    let digests: Vec<String> = files
        .iter()
        .map(|(path, ..)| sha256_file(path))
        .collect::<Result<_, _>>()?;
    let digest = sha256_hex(digests.iter().map(String::as_bytes));
    known().insert(files, digest.clone());
    Ok(digest)
}

/// The folder of an adapter's base: the path in the adapter, also relative to the adapter, or the
/// repository in the hub's cache. After both were moved together, the base is at the same place as
/// seen from the adapter; it is then recognised by its digest.
///
/// # Errors
/// When there is no such folder.
pub(crate) fn base_folder(
    adapter: &Path,
    config: &AdapterConfig,
    info: &KgAgentInfo,
) -> Result<PathBuf, ModelError> {
    let base = &config.base;
    let settings = adapter.join(ADAPTER_CONFIG);
    if base.is_empty() {
        let message = "`base_model_name_or_path` is missing: it names the model that was adapted";
        return Err(ModelError::json(&settings, message));
    }
    let parent = adapter.parent().unwrap_or(adapter);
    for path in [PathBuf::from(base), parent.join(base)] {
        let found = hub::resolve(&path)?;
        if found.join(CONFIG).is_file() {
            return Ok(found);
        }
    }
    if let Some(found) = hub::cached(base, config.revision.as_deref()) {
        return found;
    }
    let mut other = None;
    for path in moved(adapter, base) {
        match &info.base_digest {
            Some(expected) if digest(&path).is_ok_and(|found| found == *expected) => {
                return Ok(path);
            }
            _ => other = Some(path),
        }
    }
    let other = other.map_or_else(String::new, |path| {
        format!(" ({} is not known to be the same model)", path.display())
    });
    let fetch = match base.split('/').collect::<Vec<_>>()[..] {
        [org, name] if !org.is_empty() && !name.is_empty() => {
            format!("`kgagent fetch {base}` downloads it, or ")
        }
        _ => String::new(),
    };
    Err(ModelError::Cache(format!(
        "{} is an adapter for `{base}`, which is neither a model folder nor in the Hugging Face \
         cache{other}; {fetch}write the path of the base into `base_model_name_or_path` of {}",
        adapter.display(),
        settings.display()
    )))
}

/// The model folders at which the end of the path `base` leads from a folder around the adapter.
fn moved(adapter: &Path, base: &str) -> Vec<PathBuf> {
    let whole = std::path::absolute(adapter).unwrap_or_else(|_| adapter.to_owned());
    let parts: Vec<Component<'_>> = Path::new(base)
        .components()
        .filter(|part| matches!(part, Component::Normal(_)))
        .collect();
    let ends = (0..parts.len()).map(|from| parts[from..].iter().collect::<PathBuf>());
    let mut found = Vec::new();
    for end in ends {
        let around = whole.ancestors().skip(1).map(|folder| folder.join(&end));
        found.extend(around.filter(|path| path.join(CONFIG).is_file()));
    }
    found
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn config(base: &str) -> AdapterConfig {
        AdapterConfig {
            base: base.to_owned(),
            revision: None,
            rank: 4,
            alpha: 8.0,
            rslora: false,
            dropout: 0.0,
            targets: Vec::new(),
        }
    }

    fn model(folder: &Path, weights: &str) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join(CONFIG), "{}").unwrap();
        fs::write(folder.join(WEIGHTS), weights).unwrap();
    }

    #[test]
    fn a_moved_adapter_finds_its_own_base_only() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        model(&at("old/models/base"), "one");
        fs::create_dir_all(at("old/runs/adapter")).unwrap();
        let name = BaseName::of(&at("old/models/base"));
        assert!(Path::new(&name.name).is_absolute() && name.revision.is_none());
        let info = KgAgentInfo {
            base_digest: Some(digest(&at("old/models/base")).unwrap()),
            ..KgAgentInfo::default()
        };
        let find = |adapter: &Path, info: &KgAgentInfo| {
            base_folder(adapter, &config(&name.name), info).map_err(|error| error.to_string())
        };
        let found = find(&at("old/runs/adapter"), &info).unwrap();
        assert_eq!(found, PathBuf::from(&name.name));
        // The adapter alone, then both together.
        fs::create_dir_all(at("elsewhere")).unwrap();
        fs::rename(at("old/runs/adapter"), at("elsewhere/adapter")).unwrap();
        assert_eq!(find(&at("elsewhere/adapter"), &info).unwrap(), found);
        fs::rename(at("elsewhere/adapter"), at("old/runs/adapter")).unwrap();
        fs::rename(at("old"), at("new")).unwrap();
        let found = find(&at("new/runs/adapter"), &info).unwrap();
        assert_eq!(found, at("new/models/base"));
        // Another model at this place, and an adapter that does not say what its base is.
        let error = find(&at("new/runs/adapter"), &KgAgentInfo::default()).unwrap_err();
        assert!(
            error.contains("is not known to be the same model"),
            "{error}"
        );
        model(&at("new/models/base"), "another");
        let error = find(&at("new/runs/adapter"), &info).unwrap_err();
        assert!(
            error.contains("is not known to be the same model"),
            "{error}"
        );
        assert!(error.contains("base_model_name_or_path"), "{error}");
    }

    #[test]
    fn a_base_of_the_hub_is_named_by_its_repository() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("models--org--name");
        let snapshots =
            ["aaaa1111", "bbbb2222"].map(|commit| folder.join("snapshots").join(commit));
        snapshots.iter().for_each(|snapshot| model(snapshot, "one"));
        // The commit of the main branch is recorded too: the branch may move on.
        fs::create_dir_all(folder.join("refs")).unwrap();
        fs::write(folder.join("refs/main"), "aaaa1111\n").unwrap();
        let cached = |_: &str, commit: &str| Some(folder.join("snapshots").join(commit));
        for snapshot in &snapshots {
            let named = BaseName::within(snapshot, cached);
            assert_eq!(named.name, "org/name");
            let commit = named.revision.unwrap();
            assert!(snapshot.ends_with(&commit), "{commit}");
        }
        // A snapshot that is not in the configured cache, or another folder there.
        let other = |_: &str, _: &str| Some(snapshots[1].clone());
        for named in [
            BaseName::of(&snapshots[0]),
            BaseName::within(&snapshots[0], other),
        ] {
            let whole = fs::canonicalize(&snapshots[0]).unwrap();
            assert_eq!(named.name, whole.display().to_string());
            assert_eq!(named.revision, None);
        }
        let error = base_folder(
            dir.path(),
            &config("org/elsewhere"),
            &KgAgentInfo::default(),
        );
        let error = error.unwrap_err().to_string();
        assert!(error.contains("`kgagent fetch org/elsewhere`"), "{error}");
    }
}
