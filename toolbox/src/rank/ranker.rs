//! The ranker trait and its inputs.

use common::cancel::{Cancel, Cancelled};
use serde::{Deserialize, Serialize};

/// The kind of value at the far end of a relation, as seen from the listed set. One far end is
/// taken as representative.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LeadsTo {
    /// Unknown.
    #[default]
    Unknown,
    /// A number.
    Number,
    /// A date or a part of one.
    Time,
    /// Any other literal.
    Text,
    /// A named node, with the names of its classes.
    Thing(Vec<String>),
    /// An unnamed node: a statement or CVT node. The relation that the question asks for may start
    /// there (rule R22).
    Statement,
}

/// A relation as rankers see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelationCandidate {
    /// The printed name.
    pub name: String,
    /// The label, if it differs from the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Whether the relation leaves the set (true) or enters it.
    pub out: bool,
    /// The kind of value at its far end.
    pub leads_to: LeadsTo,
}

impl RelationCandidate {
    /// Name and label as one text.
    #[must_use]
    pub fn text(&self) -> String {
        self.label.as_ref().map_or_else(
            || self.name.clone(),
            |label| format!("{} {label}", self.name),
        )
    }
}

/// The context of a ranking.
#[derive(Clone, Copy, Debug)]
pub struct RankingContext<'a> {
    /// The question without its entity mentions, so that names do not attract relations.
    pub question: &'a str,
    /// The relations followed from linked entities to the set, in order; empty if the set is an
    /// entity.
    pub path: &'a [RelationCandidate],
    /// Ends the ranking early.
    pub cancel: &'a Cancel,
}

/// Why there is no ranking.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RankError {
    /// A ranker cannot score, for example because its model fails.
    #[error("the ranker {ranker} failed: {message}")]
    Failed {
        /// The name of the ranker.
        ranker: String,
        /// The cause.
        message: String,
    },
    /// The question was cancelled, or ran past its deadline.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Scores candidates against a question.
pub trait Ranker: Send + Sync {
    /// The name in options and in `run.json`.
    fn name(&self) -> String;

    /// Scores texts (classes, entity names and anything else with only a text): one score per text
    /// between 0 and 1, higher is better. Lists have any length, so a ranker looks at `cancel`
    /// while it scores.
    ///
    /// # Errors
    /// [`RankError`] if the ranker fails or is cancelled.
    fn score(
        &self,
        question: &str,
        texts: &[String],
        cancel: &Cancel,
    ) -> Result<Vec<f32>, RankError>;

    /// Scores a list of relations of any length: one score per relation, higher is better.
    ///
    /// # Errors
    /// [`RankError`] if the ranker fails or is cancelled.
    fn score_relations(
        &self,
        asked: RankingContext<'_>,
        relations: &[RelationCandidate],
    ) -> Result<Vec<f32>, RankError> {
        let texts: Vec<String> = relations.iter().map(RelationCandidate::text).collect();
        let mut scores = self.score(asked.question, &texts, asked.cancel)?;
        discount_walked(&mut scores, asked, relations);
        Ok(scores)
    }

    /// The name of what [`score_programs`](Self::score_programs) scores with, if anything.
    fn scorer(&self) -> Option<String> {
        None
    }

    /// Scores whole programs, said in words, against a question: one log-probability per program, up to
    /// a constant. `None` if the ranker cannot.
    ///
    /// # Errors
    /// [`RankError`] if the ranker fails or is cancelled.
    fn score_programs(
        &self,
        _question: &str,
        _programs: &[&str],
        _cancel: &Cancel,
    ) -> Result<Option<Vec<f32>>, RankError> {
        Ok(None)
    }
}

/// Score factor of a relation on the path: programs rarely follow a relation twice.
const WALKED_DISCOUNT: f32 = 0.8;

/// Discounts relations that the path has already followed.
pub fn discount_walked(
    scores: &mut [f32],
    asked: RankingContext<'_>,
    relations: &[RelationCandidate],
) {
    for (score, relation) in scores.iter_mut().zip(relations) {
        if asked.path.iter().any(|walked| walked.name == relation.name) {
            *score *= WALKED_DISCOUNT;
        }
    }
}
