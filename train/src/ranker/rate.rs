//! Writes the logits of a ranker into choices, for distillation.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use common::fs::{FsError, write_with};
use common::input;
use model::ModelError;
use serde_json::Value;

use super::choices::{self, ProgramChoice};
use super::config;
use super::measure;
use super::start::{self, Started};
use crate::{Precision, TrainError};

/// Questions that are in memory at once.
const BATCH: usize = 256;

/// What [`rate`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rated {
    /// Questions.
    pub questions: usize,
    /// Their candidates.
    pub candidates: usize,
}

/// Writes the choices of `files` to `out`, each candidate with the logit of the ranker in `folder`
/// as its `teacher`. Everything else in the lines stays. Calls `done` with the number of questions
/// after each batch.
///
/// # Errors
/// When the folder or a line is invalid, a file cannot be written, or `stop` is set; `out` is then
/// as before.
pub fn rate(
    folder: &Path,
    files: &[PathBuf],
    out: &Path,
    precision: Option<Precision>,
    done: &mut dyn FnMut(usize),
    stop: &AtomicBool,
) -> Result<Rated, TrainError> {
    let mut ranker = start::open(folder, None, 0)?;
    if precision.unwrap_or_else(config::usual_precision) == Precision::Bf16 {
        ranker.net.use_bf16();
    }
    // Every line is checked before the work.
    for path in files {
        choices::each_line(path, |line, text| {
            choices::parse(&text, path, line).map(|_| ())
        })?;
    }
    let mut failed = Ok(Rated::default());
    let written: Result<(), FsError> = write_with(out, |to| {
        failed = rate_all(&ranker, files, to, done, stop);
        match &failed {
            Ok(_) => Ok(()),
            Err(error) => Err(std::io::Error::other(error.to_string())),
        }
    });
    let rated = failed?;
    written?;
    Ok(rated)
}

fn rate_all(
    ranker: &Started,
    files: &[PathBuf],
    to: &mut dyn Write,
    done: &mut dyn FnMut(usize),
    stop: &AtomicBool,
) -> Result<Rated, TrainError> {
    let mut rated = Rated::default();
    let mut batch: Vec<(ProgramChoice, Value)> = Vec::new();
    for path in files {
        choices::each_line(path, |line, text| {
            let choice = choices::parse(&text, path, line)?;
            let value = serde_json::from_str(input::without_mark(&text)).unwrap_or_default();
            batch.push((choice, value));
            if batch.len() >= BATCH {
                rated = flush(ranker, &mut batch, to, rated, stop)?;
                done(rated.questions);
            }
            Ok(())
        })?;
    }
    flush(ranker, &mut batch, to, rated, stop)
}

fn flush(
    ranker: &Started,
    batch: &mut Vec<(ProgramChoice, Value)>,
    to: &mut dyn Write,
    mut rated: Rated,
    stop: &AtomicBool,
) -> Result<Rated, TrainError> {
    let questions: Vec<&ProgramChoice> = batch.iter().map(|(choice, _)| choice).collect();
    let logits = measure::logits(&ranker.net, &ranker.pairs, &questions, stop, &mut |_| {})?;
    let Some(logits) = logits else {
        let message = "interrupted; nothing was written".to_owned();
        return Err(TrainError::Data(message));
    };
    for ((_, value), logits) in batch.iter_mut().zip(&logits) {
        let candidates = value["candidates"].as_array_mut().into_iter().flatten();
        for (candidate, logit) in candidates.zip(logits) {
            candidate["teacher"] = serde_json::json!(logit);
            rated.candidates += 1;
        }
        rated.questions += 1;
        writeln!(to, "{value}").map_err(ModelError::io(Path::new("the output")))?;
    }
    batch.clear();
    Ok(rated)
}
