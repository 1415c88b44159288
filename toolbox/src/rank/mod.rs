//! Ranking of relations and classes by relevance to a question: the trait behind tool S1 (rules
//! A.5), and its lexical implementation, which needs no model. Sentence encoders implement the
//! trait in `infer`.

mod lexical;
mod name;
mod shuffled;
mod text;

use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

pub use kg::words;
pub use lexical::LexicalRanker;
pub use shuffled::ShuffledRanker;
pub use text::{content, is_stop, stem};

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
pub struct Candidate {
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

impl Candidate {
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
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// The question without its entity mentions, so that names do not attract relations.
    pub question: &'a str,
    /// The relations followed from linked entities to the set, in order; empty if the set is an
    /// entity.
    pub path: &'a [Candidate],
}

/// Scores candidates against a question.
pub trait Ranker: Send + Sync {
    /// The name in options and in `run.json`.
    fn name(&self) -> String;

    /// Scores texts (classes, entity names and anything else with only a text): one score per text
    /// between 0 and 1, higher is better.
    ///
    /// # Errors
    /// [`RankError`] if the ranker fails.
    fn score(&self, question: &str, texts: &[String]) -> Vec<f32>;

    /// Scores a list of relations of any length: one score per relation, higher is better.
    ///
    /// # Errors
    /// [`RankError`] if the ranker fails.
    fn score_relations(&self, asked: Asked<'_>, relations: &[Candidate]) -> Vec<f32> {
        let texts: Vec<String> = relations.iter().map(Candidate::text).collect();
        let mut scores = self.score(asked.question, &texts);
        discount_walked(&mut scores, asked, relations);
        scores
    }

    /// What went wrong since the ranker was made, if anything did: a score cannot say it, so
    /// whoever uses a ranker asks at the end.
    fn failure(&self) -> Option<String> {
        None
    }
}

/// The lexical ranker. One instance serves the whole process, so all questions share its name
/// cache.
#[must_use]
pub fn lexical() -> Arc<dyn Ranker> {
    static SHARED: LazyLock<Arc<LexicalRanker>> = LazyLock::new(Arc::default);
    Arc::clone(&*SHARED) as Arc<dyn Ranker>
}

/// Looks up a ranker that needs no files: `lexical` or `shuffled`.
#[must_use]
pub fn by_name(name: &str) -> Option<Arc<dyn Ranker>> {
    match name {
        "lexical" => Some(lexical()),
        "shuffled" => Some(Arc::new(ShuffledRanker)),
        _ => None,
    }
}

/// Score factor of a relation on the path: programs rarely follow a relation twice.
const WALKED_DISCOUNT: f32 = 0.8;

/// Discounts relations that the path has already followed.
pub fn discount_walked(scores: &mut [f32], asked: Asked<'_>, relations: &[Candidate]) {
    for (score, relation) in scores.iter_mut().zip(relations) {
        if asked.path.iter().any(|walked| walked.name == relation.name) {
            *score *= WALKED_DISCOUNT;
        }
    }
}

/// Indices of `scores` from best to worst; ties keep the order of `names`.
#[must_use]
pub fn best_first(scores: &[f32], names: &[String]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| {
        scores[b]
            .total_cmp(&scores[a])
            .then_with(|| names[a].cmp(&names[b]))
    });
    order
}
