//! Checkpoints: whole or absent, and checked by digest before they are believed.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use common::fs::StagedFolder;
use model::digest::sha256_file;
use model::{ModelError, Weights};
use serde::{Deserialize, Serialize};

use crate::TrainError;

/// `state.json` of a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// Format of this folder.
    pub(crate) version: u32,
    /// Optimizer steps done. With the seed it is the whole data cursor: the plan of every epoch follows from both.
    pub(crate) step: usize,
    /// Seconds trained so far.
    pub(crate) seconds: f64,
    /// The run's configuration, without what may change between runs.
    pub(crate) config: serde_json::Value,
    /// Digest of the tokenised data.
    pub(crate) data: String,
    /// `metrics.jsonl` up to this step.
    pub(crate) metrics: String,
}

/// Format written by this version.
pub(crate) const VERSION: u32 = 3;

const WEIGHTS: &str = "weights.safetensors";
const OPTIMIZER: &str = "optimizer.safetensors";
const STATE: &str = "state.json";
/// Digests of the other files, as `sha256sum` writes and checks them.
const SUMS: &str = "SHA256SUMS";

/// Write `dir/checkpoint-STEP` and remove all but the newest `keep`. `optimizer` is asked for when the weights are on disk, so that only one of
/// both is held twice at a time.
pub(crate) fn save(
    dir: &Path,
    state: &State,
    weights: impl FnOnce() -> Weights,
    optimizer: impl FnOnce() -> Weights,
    keep: usize,
) -> Result<PathBuf, TrainError> {
    let path = dir.join(format!("checkpoint-{}", state.step));
    let staged = StagedFolder::new(&path)?;
    weights().write_into(&staged, WEIGHTS)?;
    optimizer().write_into(&staged, OPTIMIZER)?;
    staged.file(STATE, &serde_json::to_vec_pretty(state).unwrap_or_default())?;
    let mut sums = String::new();
    for name in [OPTIMIZER, STATE, WEIGHTS] {
        sums += &format!("{}  {name}\n", sha256_file(&staged.path().join(name))?);
    }
    staged.file(SUMS, sums.as_bytes())?;
    staged.commit()?;
    for (_, old) in list(dir).into_iter().skip(keep) {
        // A checkpoint that cannot be removed costs space, not correctness.
        let _ = fs::remove_dir_all(old);
    }
    Ok(path)
}

/// Held by the run that works in a folder of checkpoints for as long as it lives.
const LOCK: &str = "lock";

/// What runs leave in a folder of checkpoints: whole ones, damaged ones that were passed over, what processes killed while writing left, TensorBoard's
/// events, and the lock.
fn is_ours(name: &str) -> bool {
    ["checkpoint-", "damaged-", ".partial-", ".replaced-"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
        || [crate::trainer::EVENTS, LOCK].contains(&name)
}

/// Names in `dir`, sorted; none where there is no such folder.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    names
}

/// Takes the folder of a run's checkpoints for this process, and makes it where there is none.
///
/// # Errors
/// When another run works in it, or when it holds what no run wrote: a run removes the folder in the end.
pub(crate) fn claim(dir: &Path) -> Result<File, TrainError> {
    let io = |source| {
        TrainError::Model(ModelError::Io {
            path: dir.to_owned(),
            source,
        })
    };
    if let Some(name) = names(dir).iter().find(|name| !is_ours(name)) {
        let message = format!(
            "{} holds `{name}`, which no training run wrote; move it away, or name another output",
            dir.display()
        );
        return Err(TrainError::Config(message));
    }
    fs::create_dir_all(dir).map_err(io)?;
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(dir.join(LOCK))
        .map_err(io)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(TrainError::Config(format!(
            "another run is training in {}; wait for it, or name another output",
            dir.display()
        ))),
        Err(TryLockError::Error(source)) => Err(io(source)),
    }
}

/// Removes what earlier runs left in a folder that this process has claimed; whether there was a checkpoint.
///
/// # Errors
/// Those of the disk.
pub(crate) fn clear(dir: &Path) -> Result<bool, TrainError> {
    let had = !list(dir).is_empty();
    for name in names(dir).iter().filter(|name| *name != LOCK) {
        let path = dir.join(name);
        fs::remove_dir_all(&path).map_err(|source| ModelError::Io { path, source })?;
    }
    Ok(had)
}

/// Removes the folder of a finished run, unless somebody has put something into it meanwhile.
pub(crate) fn remove(dir: &Path, lock: File) {
    drop(lock);
    if names(dir).iter().all(|name| is_ours(name)) {
        // The model is in its place; what is left of the run only costs space.
        let _ = fs::remove_dir_all(dir);
    }
}

/// Checkpoints in `dir`, newest first.
pub(crate) fn list(dir: &Path) -> Vec<(usize, PathBuf)> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut all: Vec<(usize, PathBuf)> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let step = name.to_str()?.strip_prefix("checkpoint-")?.parse().ok()?;
            Some((step, entry.path()))
        })
        .collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    all
}

/// Removes what processes that were killed while saving left in `dir`.
pub(crate) fn sweep(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.starts_with(".partial-"))
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Read one checkpoint.
pub(crate) fn load(path: &Path) -> Result<(State, Weights, Weights), TrainError> {
    let sums = path.join(SUMS);
    let text = fs::read_to_string(&sums).map_err(|source| ModelError::Io {
        path: sums.clone(),
        source,
    })?;
    for name in [WEIGHTS, OPTIMIZER, STATE] {
        let file = path.join(name);
        let found = sha256_file(&file)?;
        if !text
            .lines()
            .any(|line| line.split_once("  ") == Some((found.as_str(), name)))
        {
            return Err(ModelError::Weights {
                path: file,
                message: format!("its digest is not the one in {SUMS}"),
            }
            .into());
        }
    }
    let file = path.join(STATE);
    let wrong = |message: String| {
        TrainError::Model(ModelError::Json {
            path: file.clone(),
            message,
        })
    };
    let text = fs::read(&file).map_err(|source| ModelError::Io {
        path: file.clone(),
        source,
    })?;
    let state: State = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
    if state.version != VERSION {
        return Err(wrong(format!(
            "version {}, this program writes {VERSION}",
            state.version
        )));
    }
    Ok((
        state,
        Weights::read(&path.join(WEIGHTS))?,
        Weights::read(&path.join(OPTIMIZER))?,
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_run_and_nothing_of_anybody_else() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("m.partial");
        let lock = claim(&place).unwrap();
        assert!(
            claim(&place)
                .unwrap_err()
                .to_string()
                .contains("another run is training in")
        );
        fs::create_dir(place.join("checkpoint-3")).unwrap();
        assert!(clear(&place).unwrap() && !clear(&place).unwrap());
        fs::write(place.join("notes.txt"), "kept").unwrap();
        remove(&place, lock);
        assert!(
            claim(&place)
                .unwrap_err()
                .to_string()
                .contains("`notes.txt`")
        );
        fs::remove_file(place.join("notes.txt")).unwrap();
        remove(&place, claim(&place).unwrap());
        assert!(!place.exists());
    }
}
