//! Checkpoints: written atomically, and verified by digest before use.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use common::fs::{StagedFolder, names};
use model::digest::sha256_file;
use model::{ModelError, Weights};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{TrainError, tensorboard};

/// The content of `state.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CheckpointState {
    /// Format version of the folder.
    pub(crate) version: u32,
    /// The build that wrote it; empty in those of earlier builds.
    #[serde(default)]
    pub(crate) program: String,
    /// Completed optimizer steps. Together with the seed this determines the position in the data.
    pub(crate) step: usize,
    /// Seconds trained so far.
    pub(crate) seconds: f64,
    /// The run's configuration, without options that may change on resuming.
    pub(crate) config: Value,
    /// Digest of the tokenised data.
    pub(crate) data: String,
    /// `metrics.jsonl` up to this step.
    pub(crate) metrics: String,
}

/// Format version of this program.
pub(crate) const VERSION: u32 = 3;

const WEIGHTS: &str = "weights.safetensors";
const OPTIMIZER: &str = "optimizer.safetensors";
const STATE: &str = "state.json";
/// Digests of the other files, in the format of `sha256sum`.
const SUMS: &str = "SHA256SUMS";

/// Writes `dir/checkpoint-STEP` and removes all but the newest `keep`. Calls `optimizer` after
/// writing the weights, so that only one of them is copied at a time.
pub(crate) fn save(
    dir: &Path,
    state: &CheckpointState,
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
        // A failure only wastes disk space.
        let _ = fs::remove_dir_all(old);
    }
    Ok(path)
}

/// The lock of a folder of checkpoints, held by the process of the run.
const LOCK: &str = "lock";

/// Whether a run creates this name in a folder of checkpoints: checkpoints, damaged checkpoints,
/// leftovers of killed processes, TensorBoard events or the lock.
fn is_ours(name: &str) -> bool {
    let step = ["checkpoint-", "damaged-"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix));
    step.is_some_and(|step| step.parse::<usize>().is_ok())
        || name.starts_with(".partial-")
        || [tensorboard::FOLDER, LOCK].contains(&name)
}

/// Locks the folder of a run's checkpoints for this process, and creates it if necessary.
///
/// # Errors
/// When another run uses the folder, or when it contains foreign files: a run removes the folder at
/// its end.
pub(crate) fn claim(dir: &Path) -> Result<File, TrainError> {
    let io = |source| TrainError::Model(ModelError::io(dir)(source));
    if let Some(name) = names(dir).iter().find(|name| !is_ours(name)) {
        let message = format!(
            "{} contains `{name}`, which is not from a training run; move it away, or name another output",
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

/// Empties a claimed folder without a checkpoint.
///
/// # Errors
/// When it has a checkpoint, or a file cannot be removed.
pub(crate) fn clear(dir: &Path) -> Result<(), TrainError> {
    if let Some((step, _)) = list(dir).first() {
        return Err(TrainError::Config(format!(
            "{} holds an unfinished run of {step} steps; `--resume auto` continues it, another \
             --out leaves it alone, and removing the folder starts over",
            dir.display()
        )));
    }
    for name in names(dir).iter().filter(|name| *name != LOCK) {
        let path = dir.join(name);
        fs::remove_dir_all(&path).map_err(ModelError::io(&path))?;
    }
    Ok(())
}

/// Removes the folder of a finished run, unless it contains foreign files.
pub(crate) fn remove(dir: &Path, lock: File) {
    drop(lock);
    if names(dir).iter().all(|name| is_ours(name)) {
        // The model is complete; a failure only wastes disk space.
        let _ = fs::remove_dir_all(dir);
    }
}

/// Checkpoints in `dir`, newest first.
pub(crate) fn list(dir: &Path) -> Vec<(usize, PathBuf)> {
    let checkpoint = |name: &String| {
        let step = name.strip_prefix("checkpoint-")?.parse().ok()?;
        Some((step, dir.join(name)))
    };
    let mut all: Vec<(usize, PathBuf)> = names(dir).iter().filter_map(checkpoint).collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    all
}

/// Removes the leftovers of processes killed during a save.
pub(crate) fn sweep(dir: &Path) {
    for name in names(dir)
        .iter()
        .filter(|name| name.starts_with(".partial-"))
    {
        let _ = fs::remove_dir_all(dir.join(name));
    }
}

/// Reads and verifies a checkpoint.
///
/// # Errors
/// When a file is missing, damaged or from another version.
pub(crate) fn load(path: &Path) -> Result<(CheckpointState, Weights, Weights), TrainError> {
    let sums = path.join(SUMS);
    let text = fs::read_to_string(&sums).map_err(ModelError::io(&sums))?;
    for name in [WEIGHTS, OPTIMIZER, STATE] {
        let file = path.join(name);
        let found = sha256_file(&file)?;
        if !text
            .lines()
            .any(|line| line.split_once("  ") == Some((found.as_str(), name)))
        {
            let message = format!("its digest does not match {SUMS}");
            return Err(ModelError::weights(&file, message).into());
        }
    }
    let file = path.join(STATE);
    let wrong = |message: String| TrainError::Model(ModelError::json(&file, message));
    let text = fs::read(&file).map_err(ModelError::io(&file))?;
    let state: CheckpointState =
        serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
    if state.version != VERSION {
        return Err(wrong(format!(
            "version {}, but this program supports {VERSION}",
            state.version
        )));
    }
    Ok((
        state,
        Weights::read(&path.join(WEIGHTS))?,
        Weights::read(&path.join(OPTIMIZER))?,
    ))
}

/// What two runs differ in; `None` if they are the same.
pub(crate) fn difference(a: &CheckpointState, b: &CheckpointState) -> Option<String> {
    if a.data != b.data {
        return Some("other data".to_owned());
    }
    let key = differing_key(&a.config, &b.config)?;
    Some(format!("another `{key}`"))
}

/// The first key (with dots) whose value differs between two configurations.
fn differing_key(a: &Value, b: &Value) -> Option<String> {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => a.keys().chain(b.keys()).find_map(|key| {
            let inner = differing_key(
                a.get(key).unwrap_or(&Value::Null),
                b.get(key).unwrap_or(&Value::Null),
            )?;
            Some(if inner.is_empty() {
                key.clone()
            } else {
                format!("{key}.{inner}")
            })
        }),
        (a, b) => (a != b).then(String::new),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_run_and_no_foreign_files() {
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
        let refused = clear(&place).unwrap_err().to_string();
        assert!(
            refused.contains("`--resume auto` continues it"),
            "{refused}"
        );
        assert!(place.join("checkpoint-3").exists());
        fs::remove_dir(place.join("checkpoint-3")).unwrap();
        fs::create_dir(place.join("damaged-3")).unwrap();
        clear(&place).unwrap();
        assert!(!place.join("damaged-3").exists());
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
