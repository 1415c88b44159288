//! Ranking relations and classes by relevance to a question: the trait behind tool S1 and its lexical implementation, which needs no weights.

use rustc_hash::FxHashMap;

/// Scores candidates against a question.
pub trait Ranker: Send + Sync {
    /// One score a candidate, higher is better, in `[0, 1]`.
    ///
    /// `question` is the text with its entity mentions taken out, so that names do not attract relations.
    fn score(&self, question: &str, candidates: &[String]) -> Vec<f32>;
}

/// Character-trigram cosine plus the share of the candidate's words that the question has (compared by stem).
///
/// The candidate is read as words: `people.person.place_of_birth` and `birthPlace` are split at separators and case changes, and the last
/// segment counts more than the domain before it.
#[derive(Clone, Copy, Debug, Default)]
pub struct LexicalRanker;

impl Ranker for LexicalRanker {
    fn score(&self, question: &str, candidates: &[String]) -> Vec<f32> {
        let words = words(question);
        let grams = trigrams(&words.join(" "));
        let stems: Vec<String> = words.iter().map(|word| stem(word)).collect();
        candidates.iter().map(|candidate| score(&grams, &stems, candidate)).collect()
    }
}

fn score(question: &FxHashMap<[u8; 3], f32>, stems: &[String], candidate: &str) -> f32 {
    let last = candidate.rsplit(['.', '/', '#', ':']).next().unwrap_or(candidate);
    let (tail, whole) = (words(last), words(candidate));
    let overlap = |words: &[String]| {
        let found = words.iter().filter(|word| stems.contains(&stem(word))).count();
        if words.is_empty() { 0.0 } else { found as f32 / words.len() as f32 }
    };
    let similar = |words: &[String]| cosine(question, &trigrams(&words.join(" ")));
    0.4 * similar(&tail) + 0.2 * similar(&whole) + 0.3 * overlap(&tail) + 0.1 * overlap(&whole)
}

/// Lower-case words; separators are everything but letters and digits, and changes from lower to upper case.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut lower = false;
    for c in text.chars() {
        if c.is_alphanumeric() {
            if c.is_uppercase() && lower && !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            lower = c.is_lowercase();
            word.extend(c.to_lowercase());
        } else {
            lower = false;
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// A crude English stem: enough to bring `directed`, `director` and `directs` together.
#[must_use]
pub fn stem(word: &str) -> String {
    const ENDINGS: [&str; 11] = ["ations", "ation", "ings", "ing", "ors", "ers", "or", "er", "ed", "es", "s"];
    for ending in ENDINGS {
        if let Some(base) = word.strip_suffix(ending)
            && base.chars().count() >= 3
        {
            return base.trim_end_matches('e').to_owned();
        }
    }
    word.trim_end_matches('e').to_owned()
}

fn trigrams(text: &str) -> FxHashMap<[u8; 3], f32> {
    let padded = format!("  {text} ");
    let mut counts = FxHashMap::default();
    for gram in padded.as_bytes().windows(3) {
        *counts.entry([gram[0], gram[1], gram[2]]).or_insert(0.0) += 1.0;
    }
    counts
}

fn cosine(a: &FxHashMap<[u8; 3], f32>, b: &FxHashMap<[u8; 3], f32>) -> f32 {
    // Sums of small whole numbers are exact in f32, so the order of the map does not matter.
    let dot: f32 = b.iter().map(|(gram, count)| count * a.get(gram).copied().unwrap_or(0.0)).sum();
    let norm = |m: &FxHashMap<[u8; 3], f32>| m.values().map(|count| count * count).sum::<f32>().sqrt();
    let product = norm(a) * norm(b);
    if product > 0.0 { dot / product } else { 0.0 }
}

/// Indices of `scores` from best to worst; ties keep the order of `names`.
#[must_use]
pub fn best_first(scores: &[f32], names: &[String]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then_with(|| names[a].cmp(&names[b])));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_split_at_separators_and_case() {
        assert_eq!(words("people.person.place_of_birth"), ["people", "person", "place", "of", "birth"]);
        assert_eq!(words("birthPlace"), ["birth", "place"]);
    }

    #[test]
    fn the_named_relation_comes_first() {
        let names = ["film.film.genre", "film.film.directed_by", "film.film.written_by"].map(str::to_owned);
        let scores = LexicalRanker.score("who is the director of it", &names);
        assert_eq!(names[best_first(&scores, &names)[0]], "film.film.directed_by");
        let scores = LexicalRanker.score("who wrote it", &names);
        assert_eq!(scores.len(), 3);
    }
}
