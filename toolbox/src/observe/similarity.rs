//! Similarity of triples to a question, from their relation and far end (ODA algorithm 1; the paper
//! uses the cosine of embeddings).

use std::sync::{Arc, LazyLock, RwLock};

use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

use common::cancel::Cancel;

use crate::rank::{RankError, Ranker, is_stop, stem, words};
use kg::Kg;
use kg::term::{NodeId, RelId};

/// Scores triples by relation and far end.
pub trait Similarity: Send + Sync {
    /// One score per pair of relation and far end, higher is better.
    ///
    /// # Errors
    /// Returns the error of the underlying ranker.
    fn scores(
        &self,
        kg: &dyn Kg,
        question: &str,
        pairs: &[(RelId, NodeId)],
        cancel: &Cancel,
    ) -> Result<Vec<f32>, RankError>;
}

/// Similarity by a [`Ranker`], for example a sentence encoder: the question against `relation
/// label`.
pub struct ByRanker(pub Arc<dyn Ranker>);

impl Similarity for ByRanker {
    fn scores(
        &self,
        kg: &dyn Kg,
        question: &str,
        pairs: &[(RelId, NodeId)],
        cancel: &Cancel,
    ) -> Result<Vec<f32>, RankError> {
        let mut relations: FxHashMap<RelId, String> = FxHashMap::default();
        let mut texts: Vec<String> = Vec::with_capacity(pairs.len());
        for (at, &(relation, far)) in pairs.iter().enumerate() {
            cancel.check_item(at)?;
            let relation = relations
                .entry(relation)
                .or_insert_with(|| relation_text(kg, relation));
            texts.push(
                kg.label(far)
                    .map_or_else(|| relation.clone(), |label| format!("{relation} {label}")),
            );
        }
        self.0.score(question, &texts, cancel)
    }
}

/// The similarity that matches a ranker: stems for the lexical ranker, else the ranker itself.
#[must_use]
pub fn similarity_of(ranker: &Arc<dyn Ranker>) -> Arc<dyn Similarity> {
    if ranker.name() == "lexical" {
        Arc::new(StemSimilarity)
    } else {
        Arc::new(ByRanker(Arc::clone(ranker)))
    }
}

/// The text of a relation: its name and, if different, its label.
fn relation_text(kg: &dyn Kg, relation: RelId) -> String {
    let name = kg.name(relation.node());
    match kg.label(relation.node()) {
        Some(label) if label != name => format!("{name} {label}"),
        _ => name,
    }
}

/// The stems of a text as sorted hashes without duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Stems(Box<[u32]>);

impl Stems {
    /// The stems of the content words.
    fn of(text: &str) -> Self {
        let mut stems: Vec<u32> = words(text)
            .iter()
            .filter(|word| !is_stop(word))
            .map(|word| hashed(&stem(word)))
            .collect();
        stems.sort_unstable();
        stems.dedup();
        Self(stems.into())
    }

    /// Cosine of the question's stems and the combined stems of relation and far end, each stem
    /// counting once.
    fn cosine(&self, relation: &Self, far: &Self) -> f32 {
        let (mut both, mut met) = (relation.0.len(), 0);
        for stem in &relation.0 {
            met += usize::from(self.0.binary_search(stem).is_ok());
        }
        for stem in &far.0 {
            if relation.0.binary_search(stem).is_err() {
                both += 1;
                met += usize::from(self.0.binary_search(stem).is_ok());
            }
        }
        if met == 0 {
            0.0
        } else {
            met as f32 / ((self.0.len() * both) as f32).sqrt()
        }
    }
}

fn hashed(stem: &str) -> u32 {
    let mut hasher = FxHasher::default();
    stem.hash(&mut hasher);
    (hasher.finish() >> 32) as u32
}

/// Capacity of the label cache: some tens of megabytes.
const LABEL_CACHE: usize = 1 << 20;

/// Similarity as the cosine of stem sets, without trained weights. The stems of labels are cached
/// for the whole process.
pub struct StemSimilarity;

type Known = RwLock<FxHashMap<(u64, NodeId), Arc<Stems>>>;
static KNOWN: LazyLock<Known> = LazyLock::new(Known::default);

impl Similarity for StemSimilarity {
    fn scores(
        &self,
        kg: &dyn Kg,
        question: &str,
        pairs: &[(RelId, NodeId)],
        cancel: &Cancel,
    ) -> Result<Vec<f32>, RankError> {
        let question = Stems::of(question);
        let mut hasher = FxHasher::default();
        kg.content_hash().hash(&mut hasher);
        let graph = hasher.finish();
        let mut relations: FxHashMap<RelId, Stems> = FxHashMap::default();
        let mut fresh: Vec<(NodeId, Arc<Stems>)> = Vec::new();
        let scores: Result<Vec<f32>, RankError> = {
            let known = KNOWN
                .read()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            pairs
                .iter()
                .enumerate()
                .map(|(at, &(relation, far))| {
                    cancel.check_item(at)?;
                    let relation = relations
                        .entry(relation)
                        .or_insert_with(|| Stems::of(&relation_text(kg, relation)));
                    if let Some(far) = known.get(&(graph, far)) {
                        return Ok(question.cosine(relation, far));
                    }
                    let stems = Arc::new(Stems::of(&kg.label(far).unwrap_or_default()));
                    let score = question.cosine(relation, &stems);
                    fresh.push((far, stems));
                    Ok(score)
                })
                .collect()
        };
        if !fresh.is_empty() {
            let mut known = KNOWN
                .write()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            let free = LABEL_CACHE.saturating_sub(known.len());
            known.extend(
                fresh
                    .into_iter()
                    .take(free)
                    .map(|(node, stems)| ((graph, node), stems)),
            );
        }
        scores
    }
}
