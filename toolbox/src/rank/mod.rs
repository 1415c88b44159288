//! Ranking of relations and classes by relevance to a question: the trait behind tool S1 (rules
//! A.5), and its lexical implementation, whose 15 weights are constants in the code, fitted on the
//! data sets of `docs/results.md`. Sentence encoders implement the trait in `infer`.

mod lexical;
mod name;
mod ranker;
mod shuffled;
mod text;

use std::sync::{Arc, LazyLock};

pub use kg::words;
pub use lexical::LexicalRanker;
pub use ranker::{LeadsTo, RankError, Ranker, RankingContext, RelationCandidate, discount_walked};
pub use shuffled::ShuffledRanker;
pub use text::{content, is_stop, stem};
pub(crate) use text::{dice, word_grams};

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
