//! Ranking relations and classes by relevance to a question: the trait behind tool S1 (spec A.5), and its lexical implementation, which
//! needs no weights. Sentence encoders implement it in `infer`.

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

/// What a relation leads to, seen from the set it is listed for: one far end stands for all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LeadsTo {
    /// Nothing is known.
    #[default]
    Unknown,
    /// A number.
    Number,
    /// A date or a part of one.
    Time,
    /// Any other literal.
    Text,
    /// A node with a name, and the names of its classes.
    Thing(Vec<String>),
    /// A node without a name: a statement or CVT node, behind which the relation that is asked for may lie (rule R22).
    Statement,
}

/// A relation as a ranker sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The printed name.
    pub name: String,
    /// The label, where there is one that says more than the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Whether it leaves the set; else it enters it.
    pub out: bool,
    /// What it leads to.
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

/// What relations are ranked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// The question with its entity mentions taken out, so that names do not attract relations.
    pub question: &'a str,
    /// Relations walked from linked entities to the set at hand, in order; none where the set is an entity itself.
    pub path: &'a [Candidate],
}

/// Scores candidates against a question.
pub trait Ranker: Send + Sync {
    /// What it is called in options and in `run.json`.
    fn name(&self) -> String;

    /// One score a text, higher is better, in `[0, 1]`: classes, names of entities, anything that has only its text.
    fn score(&self, question: &str, texts: &[String]) -> Vec<f32>;

    /// One score a relation, higher is better. A list of any length is scored whole.
    fn score_relations(&self, asked: Asked<'_>, relations: &[Candidate]) -> Vec<f32> {
        let texts: Vec<String> = relations.iter().map(Candidate::text).collect();
        let mut scores = self.score(asked.question, &texts);
        discount_walked(&mut scores, asked, relations);
        scores
    }

    /// What went wrong since the ranker was made, if anything did: a score cannot say it, so whoever uses a ranker asks at the end.
    fn failure(&self) -> Option<String> {
        None
    }
}

/// The lexical ranker, one for the whole process: what it has worked out about names serves every question.
#[must_use]
pub fn lexical() -> Arc<dyn Ranker> {
    static SHARED: LazyLock<Arc<LexicalRanker>> = LazyLock::new(Arc::default);
    Arc::clone(&*SHARED) as Arc<dyn Ranker>
}

/// The ranker of a name that needs nothing but its name: `lexical`, `shuffled`.
#[must_use]
pub fn by_name(name: &str) -> Option<Arc<dyn Ranker>> {
    match name {
        "lexical" => Some(lexical()),
        "shuffled" => Some(Arc::new(ShuffledRanker)),
        _ => None,
    }
}

/// Score factor of a relation that the program has already walked: a program rarely walks one twice.
const WALKED_DISCOUNT: f32 = 0.8;

/// Puts relations that have been walked behind equals.
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
