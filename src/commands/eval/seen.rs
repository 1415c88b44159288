//! How much of the evaluated questions the model has read in training (`wordings.txt`).

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use common::wordings::{FILE, Overlap, Wording, Wordings};
use model::{files, hub};
use serde_json::{Value, json};

/// What we know about the questions that a model was trained on.
#[derive(Clone)]
pub(super) enum TrainingQuestions {
    /// Nothing was trained: gold programs, or an agent without a model.
    None,
    /// A server, a file, or a model without `wordings.txt`.
    Unknown,
    /// Their wordings.
    Known(Arc<Wordings>),
}

impl TrainingQuestions {
    /// The training questions of a local model.
    pub(super) fn of_model(path: &Path) -> Result<Self> {
        let path = hub::locate(path)?;
        let wordings = Wordings::of_folder(files::folder_of(&path))?;
        Ok(wordings.map_or(Self::Unknown, |wordings| Self::Known(Arc::new(wordings))))
    }

    /// How much of the questions the model has read.
    pub(super) fn seen(&self, asked: &[Wording]) -> Option<Seen> {
        match self {
            Self::None => None,
            Self::Unknown => Some(Seen(None)),
            Self::Known(wordings) => Some(Seen(Some((wordings.overlap(asked), wordings.len())))),
        }
    }
}

/// How much of the questions the model has read, and the number of training wordings; `None` if
/// that is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen(Option<(Overlap, usize)>);

impl Seen {
    /// The section `seen` of metrics.json; null if unknown.
    pub(super) fn object(&self) -> Value {
        let Some((overlap, wordings)) = self.0 else {
            return Value::Null;
        };
        json!({
            "words": share(overlap.words_seen, overlap.words),
            "in_one_question": share(overlap.in_one, overlap.questions),
            "wording": share(overlap.whole, overlap.questions),
            "training_wordings": wordings,
        })
    }

    /// One sentence for the terminal and the report.
    pub(super) fn sentence(&self) -> String {
        let Some((overlap, wordings)) = self.0 else {
            return format!("read in training: unknown, the model has no {FILE}");
        };
        format!(
            "read in training ({wordings} wordings): {:.3} of the content words; {:.3} of the questions \
             have all their content words in one training question; {:.3} are worded as a training \
             question, but for names and numbers",
            share(overlap.words_seen, overlap.words),
            share(overlap.in_one, overlap.questions),
            share(overlap.whole, overlap.questions),
        )
    }
}

fn share(part: usize, all: usize) -> f64 {
    part as f64 / all.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_words_and_of_questions_and_unknown_is_null() {
        let wording = |words: &[u64], whole| Wording {
            words: words.to_vec(),
            whole,
        };
        let mut trained = Wordings::default();
        trained.add(wording(&[1, 2], 1));
        let asked = [wording(&[1, 2], 1), wording(&[1, 3], 2)];
        let seen = |training: TrainingQuestions| training.seen(&asked);
        assert_eq!(seen(TrainingQuestions::None), None);
        let unknown = seen(TrainingQuestions::Unknown);
        assert_eq!(unknown.map(|seen| seen.object()), Some(Value::Null));
        let known = seen(TrainingQuestions::Known(Arc::new(trained)));
        assert_eq!(
            known.map(|seen| seen.object()),
            Some(json!({
                "words": 0.75, "in_one_question": 0.5, "wording": 0.5, "training_wordings": 1,
            }))
        );
        let sentences: Vec<String> = unknown.iter().chain(&known).map(Seen::sentence).collect();
        assert!(sentences[0].contains("unknown"), "{}", sentences[0]);
        assert!(
            sentences[1].contains("0.750 of the content words"),
            "{}",
            sentences[1]
        );
    }
}
