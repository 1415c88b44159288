//! Checkpoints: whole or absent, and checked by digest before they are believed.

use std::fs;
use std::path::{Path, PathBuf};

use model::atomic::StagedFolder;
use model::digest::sha256_hex;
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
    /// Digest of the weights.
    pub(crate) weights: String,
    /// Digest of the optimizer's state.
    pub(crate) optimizer: String,
    /// `metrics.jsonl` up to this step.
    pub(crate) metrics: String,
}

/// Format written by this version.
pub(crate) const VERSION: u32 = 1;

const WEIGHTS: &str = "weights.safetensors";
const OPTIMIZER: &str = "optimizer.safetensors";

/// Write `dir/checkpoint-STEP` and remove all but the newest `keep`.
pub(crate) fn save(dir: &Path, mut state: State, weights: &Weights, optimizer: &Weights, keep: usize) -> Result<PathBuf, TrainError> {
    let path = dir.join(format!("checkpoint-{}", state.step));
    let (weights, optimizer) = (weights.to_bytes()?, optimizer.to_bytes()?);
    state.weights = sha256_hex([weights.as_slice()]);
    state.optimizer = sha256_hex([optimizer.as_slice()]);
    let staged = StagedFolder::new(&path)?;
    staged.file(WEIGHTS, &weights)?;
    staged.file(OPTIMIZER, &optimizer)?;
    staged.file("state.json", &serde_json::to_vec_pretty(&state).unwrap_or_default())?;
    staged.commit()?;
    for (_, old) in list(dir).into_iter().skip(keep) {
        // A checkpoint that cannot be removed costs space, not correctness.
        let _ = fs::remove_dir_all(old);
    }
    Ok(path)
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

/// Read one checkpoint.
pub(crate) fn load(path: &Path) -> Result<(State, Weights, Weights), TrainError> {
    let file = path.join("state.json");
    let text = fs::read(&file).map_err(|source| ModelError::Io { path: file.clone(), source })?;
    let wrong = |message: String| TrainError::Model(ModelError::Json { path: file.clone(), message });
    let state: State = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
    if state.version != VERSION {
        return Err(wrong(format!("version {}, this program writes {VERSION}", state.version)));
    }
    let read = |name: &str, digest: &str| -> Result<Weights, TrainError> {
        let path = path.join(name);
        let bytes = fs::read(&path).map_err(|source| ModelError::Io { path: path.clone(), source })?;
        if sha256_hex([bytes.as_slice()]) != digest {
            return Err(ModelError::Weights { path, message: "its digest is not the one in state.json".to_owned() }.into());
        }
        Ok(Weights::read(&path)?)
    };
    let weights = read(WEIGHTS, &state.weights)?;
    let optimizer = read(OPTIMIZER, &state.optimizer)?;
    Ok((state, weights, optimizer))
}
