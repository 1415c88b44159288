//! Where the hub's own programs keep models, and how a model in there is found by its name.
//!
//! ```text
//! ROOT/models--ORG--NAME/refs/main               the commit of a branch or tag
//! ROOT/models--ORG--NAME/snapshots/COMMIT/…      the files, as links to blobs or as copies
//! ROOT/models--ORG--NAME/blobs/DIGEST            the content, and DIGEST.incomplete
//! ```

use std::env::var_os;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use common::fs::names;

use super::is_plain;
use crate::ModelError;
use crate::files::{ADAPTER_CONFIG, CONFIG};

/// The shortest beginning of a commit that names it.
const SHORTEST: usize = 4;
/// The largest file in `refs`: a commit has 40 characters.
const REF_BYTES: u64 = 4096;

/// A variable that is set and not empty. A leading `~` stands for the home folder.
fn variable(name: &str) -> Option<PathBuf> {
    let value: OsString = var_os(name).filter(|value| !value.is_empty())?;
    let path = PathBuf::from(value);
    match path.strip_prefix("~") {
        Ok(rest) => Some(user()?.join(rest)),
        Err(_) => Some(path),
    }
}

/// The home folder of the user.
fn user() -> Option<PathBuf> {
    var_os("HOME")
        .filter(|home| !home.is_empty())
        .map(PathBuf::from)
        .or_else(std::env::home_dir)
}

/// The folder of the hub's programs: `HF_HOME`, or `huggingface` in the cache of the user.
pub(super) fn home() -> PathBuf {
    let cache =
        || variable("XDG_CACHE_HOME").unwrap_or_else(|| user().unwrap_or_default().join(".cache"));
    variable("HF_HOME").unwrap_or_else(|| cache().join("huggingface"))
}

/// The folder of the models: `HF_HUB_CACHE` or its old name, or `hub` in [`home`].
#[must_use]
pub fn root() -> PathBuf {
    variable("HF_HUB_CACHE")
        .or_else(|| variable("HUGGINGFACE_HUB_CACHE"))
        .unwrap_or_else(|| home().join("hub"))
}

/// The folder of a repository in the cache.
fn folder_of(repo: &str) -> PathBuf {
    root().join(format!("models--{}", repo.replace('/', "--")))
}

/// A name in the cache: `NAME`, `ORG/NAME`, or one of these with `@REVISION`. Returns its parts.
fn parse(text: &str) -> Option<(&str, Option<&str>)> {
    let (repo, revision) = match text.split_once('@') {
        Some((repo, revision)) => (repo, Some(revision)),
        None => (text, None),
    };
    let parts: Vec<&str> = repo.split('/').collect();
    let plain = (1..=2).contains(&parts.len()) && parts.iter().all(|part| is_plain(part));
    (plain && !repo.starts_with('.')).then_some((repo, revision))
}

/// The commits in `folder`, sorted.
fn commits(folder: &Path) -> Vec<String> {
    let snapshots = folder.join("snapshots");
    let mut found = names(&snapshots);
    found.retain(|name| snapshots.join(name).is_dir());
    found
}

/// The commit in `refs/NAME`; `None` without that file.
fn reference(folder: &Path, name: &str) -> Result<Option<String>, String> {
    if !name.split('/').all(is_plain) {
        return Ok(None);
    }
    let path = folder.join("refs").join(name);
    match fs::metadata(&path) {
        Ok(about) if about.is_file() && about.len() <= REF_BYTES => {}
        Ok(about) if about.is_file() => return Err(format!("{} is not a commit", path.display())),
        _ => return Ok(None),
    }
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    // Editors and `echo` leave white space.
    let commit = text.trim_start_matches('\u{feff}').trim();
    if !is_plain(commit) {
        return Err(format!("{} does not name a commit", path.display()));
    }
    Ok(Some(commit.to_owned()))
}

/// The snapshot of a revision in the folder of a repository: of a branch or tag in `refs`, of a
/// commit or of its beginning. Without a revision that of `refs/main`, or the only one if there is no
/// such file.
fn snapshot(folder: &Path, revision: Option<&str>) -> Result<PathBuf, String> {
    let (found, shown) = (commits(folder), folder.display());
    let at = |commit: &str| folder.join("snapshots").join(commit);
    if found.is_empty() {
        return Err(format!(
            "{shown} has no snapshot: nothing was downloaded completely"
        ));
    }
    let which = format!(
        "{shown} has {}; name one of them as ORG/NAME@COMMIT",
        found.join(", ")
    );
    let named = reference(folder, revision.unwrap_or("main"))?;
    if let Some(commit) = named {
        if found.contains(&commit) {
            return Ok(at(&commit));
        }
        let name = revision.unwrap_or("main");
        return Err(format!(
            "refs/{name} names {commit}, which is not there: {which}"
        ));
    }
    let Some(revision) = revision else {
        return match &found[..] {
            [only] => Ok(at(only)),
            _ => Err(format!("there is no refs/main: {which}")),
        };
    };
    let begins = |commit: &&String| commit.starts_with(revision);
    let mut alike = found
        .iter()
        .filter(begins)
        .filter(|_| revision.len() >= SHORTEST);
    match (alike.next(), alike.next()) {
        _ if found.iter().any(|commit| commit == revision) => Ok(at(revision)),
        (Some(one), None) => Ok(at(one)),
        (Some(_), Some(_)) => Err(format!("`{revision}` begins several commits: {which}")),
        (None, _) => Err(format!("there is no revision `{revision}`: {which}")),
    }
}

/// The snapshot of `repo` that the cache has; `None` if it does not have the repository.
pub(super) fn snapshot_of(
    repo: &str,
    revision: Option<&str>,
) -> Option<Result<PathBuf, ModelError>> {
    let folder = folder_of(repo);
    let found = folder.is_dir().then(|| snapshot(&folder, revision))?;
    Some(found.map_err(|message| ModelError::Cache(format!("{repo}: {message}"))))
}

/// The folder or file that `text` names: a path, or a model in the hub's cache as `ORG/NAME` or
/// `ORG/NAME@REVISION`, where a revision is a branch, a tag, or a commit or its beginning. The folder
/// of a repository in a cache (`models--ORG--NAME`) stands for its snapshot. Opens no connection.
///
/// # Errors
/// When there is no such folder or file, or its revision is not clear.
pub fn find(text: &str) -> Result<PathBuf, ModelError> {
    let path = Path::new(text);
    if path.exists() {
        return resolve(path);
    }
    let known = parse(text).and_then(|(repo, revision)| snapshot_of(repo, revision));
    known.unwrap_or_else(|| {
        Err(ModelError::Cache(format!(
            "there is no folder {text}, and the Hugging Face cache {} has no model of this name; \
             name a model folder, or download a model with `kgagent fetch ORG/NAME`",
            root().display()
        )))
    })
}

/// Like [`find`], for a path, which may not be text.
///
/// # Errors
/// As [`find`].
pub fn locate(path: &Path) -> Result<PathBuf, ModelError> {
    match path.to_str() {
        Some(name) => find(name),
        None => resolve(path),
    }
}

/// The snapshot of a folder `models--ORG--NAME`, or of its `snapshots`; any other path as it is.
///
/// # Errors
/// When the folder has no snapshot, or several and none of them is `main`.
pub fn resolve(path: &Path) -> Result<PathBuf, ModelError> {
    let is = |dir: &Path, name: &str| dir.join(name).exists();
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = match whole.parent() {
        Some(parent) if whole.ends_with("snapshots") && of_folder(parent).is_some() => parent,
        _ => &whole,
    };
    if !folder.join("snapshots").is_dir() || is(folder, CONFIG) || is(folder, ADAPTER_CONFIG) {
        return Ok(path.to_owned());
    }
    snapshot(folder, None).map_err(ModelError::Cache)
}

/// `ORG/NAME` of a folder `models--ORG--NAME`. An organisation's name has no two hyphens in a row.
fn of_folder(folder: &Path) -> Option<String> {
    let name = folder.file_name()?.to_str()?.strip_prefix("models--")?;
    Some(name.replacen("--", "/", 1)).filter(|name| !name.is_empty())
}

/// The repository and the commit of a snapshot folder in a cache.
#[must_use]
pub fn origin(path: &Path) -> Option<(String, String)> {
    let of = |path: PathBuf| {
        let plain = |part: Component<'_>| part.as_os_str().to_str().map(str::to_owned);
        let commit = path.components().next_back().and_then(plain)?;
        let snapshots = path
            .parent()
            .filter(|parent| parent.ends_with("snapshots"))?;
        Some((of_folder(snapshots.parent()?)?, commit))
    };
    let given = std::path::absolute(path).ok().and_then(of);
    given.or_else(|| fs::canonicalize(path).ok().and_then(of))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    const ONE: &str = "0123456789abcdef0123456789abcdef01234567";
    const TWO: &str = "0123ffff89abcdef0123456789abcdef01234567";

    /// A repository with these commits and references.
    fn repository(commits: &[&str], refs: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("models--some-org--a--model");
        fs::create_dir_all(folder.join("blobs")).unwrap();
        for commit in commits {
            let snapshot = folder.join("snapshots").join(commit);
            fs::create_dir_all(&snapshot).unwrap();
            fs::write(snapshot.join(CONFIG), "{}").unwrap();
        }
        for (name, commit) in refs {
            let path = folder.join("refs").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, commit).unwrap();
        }
        (dir, folder)
    }

    fn commit(folder: &Path, revision: Option<&str>) -> Result<String, String> {
        let found = snapshot(folder, revision)?;
        Ok(found.file_name().unwrap().to_str().unwrap().to_owned())
    }

    #[test]
    fn a_snapshot_is_found_by_branch_tag_and_commit() {
        let refs = [
            ("main", &format!("\u{feff}{ONE}\r\n")[..]),
            ("v1.0", TWO),
            ("refs/pr/3", TWO),
        ];
        let (_dir, folder) = repository(&[ONE, TWO], &refs);
        for (revision, expected) in [
            (None, ONE),
            (Some("main"), ONE),
            (Some("v1.0"), TWO),
            (Some("refs/pr/3"), TWO),
            (Some(TWO), TWO),
            (Some("0123ff"), TWO),
            (Some("01234567"), ONE),
        ] {
            assert_eq!(
                commit(&folder, revision),
                Ok(expected.to_owned()),
                "{revision:?}"
            );
        }
        for (revision, says) in [
            ("0123", "several commits"),
            ("012", "no revision"),
            ("v2", "no revision"),
            ("../refs/main", "no revision"),
        ] {
            let error = commit(&folder, Some(revision)).unwrap_err();
            assert!(error.contains(says) && error.contains(TWO), "{error}");
        }
    }

    #[test]
    fn without_a_reference_only_one_snapshot_is_clear() {
        let (_dir, folder) = repository(&[ONE], &[]);
        assert_eq!(commit(&folder, None), Ok(ONE.to_owned()));
        for (commits, main, says) in [
            (&[ONE, TWO][..], None, "no refs/main"),
            (&[ONE], Some(TWO), "which is not there"),
            (&[ONE], Some("../.."), "does not name a commit"),
            (&[ONE], Some(""), "does not name a commit"),
            (&[], None, "no snapshot"),
        ] {
            let refs: Vec<_> = main.map(|main| ("main", main)).into_iter().collect();
            let (_dir, folder) = repository(commits, &refs);
            let error = commit(&folder, None).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn folders_of_a_cache_stand_for_their_snapshot() {
        let (_dir, folder) = repository(&[ONE], &[("main", ONE)]);
        let snapshot = folder.join("snapshots").join(ONE);
        for path in [&folder, &folder.join("snapshots"), &snapshot] {
            assert_eq!(resolve(path).unwrap(), snapshot);
        }
        let name = "some-org/a--model".to_owned();
        assert_eq!(origin(&snapshot), Some((name, ONE.to_owned())));
        assert_eq!(origin(&folder), None);
        // Another folder that happens to have `snapshots`.
        fs::write(folder.join(CONFIG), "{}").unwrap();
        assert_eq!(resolve(&folder).unwrap(), folder);
    }

    #[test]
    fn names_are_parsed_and_paths_are_not_names() {
        assert_eq!(parse("gpt2"), Some(("gpt2", None)));
        assert_eq!(parse("a/b@refs/pr/1"), Some(("a/b", Some("refs/pr/1"))));
        for text in ["", "a/b/c", "/a", "./a", "../a", "a/", "a b", "a/..", "@x"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
