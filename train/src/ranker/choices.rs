//! Files of questions with candidates: one JSON object a line.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use common::input;
use model::ModelError;
use serde::Deserialize;

use crate::TrainError;

/// A candidate of a question.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ChoiceCandidate {
    /// The candidate in words.
    pub text: String,
    /// The score that its words have without the ranker; higher is better.
    #[serde(default)]
    pub score: f32,
    /// Whether it gives the right answer.
    pub right: bool,
    /// The logit of a larger ranker.
    #[serde(default)]
    pub teacher: Option<f32>,
}

/// A question with its candidates.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ProgramChoice {
    /// Its identity.
    #[serde(default)]
    pub id: String,
    /// The question.
    pub question: String,
    /// The set of questions that it belongs to.
    #[serde(default)]
    pub set: String,
    /// The candidates.
    pub candidates: Vec<ChoiceCandidate>,
}

impl ProgramChoice {
    /// Whether a step can learn from it: some candidates are right and some wrong, or there are at
    /// least two and all have a teacher's logit.
    pub(crate) fn teaches(&self, distils: bool) -> bool {
        let right = self.candidates.iter().filter(|one| one.right).count();
        let rest = self.candidates.len() - right;
        let taught = distils && self.candidates.iter().all(|one| one.teacher.is_some());
        (right > 0 && rest > 0) || (taught && self.candidates.len() > 1)
    }
}

/// The error of a line.
fn line_error(path: &Path, line: usize, message: impl Into<String>) -> TrainError {
    TrainError::Model(ModelError::Line {
        path: path.to_path_buf(),
        line,
        message: message.into(),
    })
}

/// A choice from a line of JSON, checked.
///
/// # Errors
/// When the line is not a choice or a number in it is not finite.
pub(crate) fn parse(text: &str, path: &Path, line: usize) -> Result<ProgramChoice, TrainError> {
    let choice: ProgramChoice = serde_json::from_str(input::without_mark(text))
        .map_err(|error| line_error(path, line, error.to_string()))?;
    let finite =
        |one: &ChoiceCandidate| one.score.is_finite() && one.teacher.is_none_or(f32::is_finite);
    match choice.candidates.iter().position(|one| !finite(one)) {
        Some(at) => {
            let message = format!("`score` or `teacher` of candidate {} is not finite", at + 1);
            Err(line_error(path, line, message))
        }
        None => Ok(choice),
    }
}

/// Calls `each` with the number and the text of every line that is not empty.
///
/// # Errors
/// When the file cannot be read, and those of `each`.
pub(crate) fn each_line(
    path: &Path,
    mut each: impl FnMut(usize, String) -> Result<(), TrainError>,
) -> Result<(), TrainError> {
    let reader = input::open(path).map_err(ModelError::io(path))?;
    for (index, line) in reader.lines().enumerate() {
        let line = line.map_err(|error| line_error(path, index + 1, error.to_string()))?;
        if !line.trim().is_empty() {
            each(index + 1, line)?;
        }
    }
    Ok(())
}

/// Reads the choices of all files, in order.
///
/// # Errors
/// Names the file that cannot be read, or the file and line that is wrong.
pub(crate) fn read(paths: &[PathBuf]) -> Result<Vec<ProgramChoice>, TrainError> {
    let mut all = Vec::new();
    for path in paths {
        let before = all.len();
        each_line(path, |line, text| {
            all.push(parse(&text, path, line)?);
            Ok(())
        })?;
        if all.len() == before {
            let message = format!("{} has no questions", path.display());
            return Err(TrainError::Data(message));
        }
    }
    Ok(all)
}

/// A digest of everything that training reads from choices.
pub(crate) fn digest(choices: &[ProgramChoice]) -> String {
    let parts = choices.iter().flat_map(|choice| {
        let candidates = choice.candidates.iter().flat_map(|one| {
            let numbers = format!("\n{} {} {:?}\n", one.score, one.right, one.teacher);
            [one.text.as_bytes().to_vec(), numbers.into_bytes()]
        });
        let head = [choice.question.as_bytes().to_vec(), b"\0".to_vec()];
        head.into_iter().chain(candidates).collect::<Vec<_>>()
    });
    let parts: Vec<Vec<u8>> = parts.collect();
    model::digest::sha256_hex(parts.iter().map(Vec::as_slice))
}
