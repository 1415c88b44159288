//! Learns translation tables from pairs of a question and the names of its query's relations
//! (IBM model 1, Brown et al. 1993).

use std::fmt::Write as _;

use rustc_hash::FxHashMap;

use super::marks::question_stems;
use super::table::{HEADER, SCALE, Translation};
use super::vocabulary::relation_stems;

/// Passes of expectation maximisation.
const PASSES: usize = 6;
/// Smaller probabilities are not stored.
const LEAST: f64 = 2e-3;
/// Added to the count of each word given, so that words seen once prove little.
const SMOOTHING: f64 = 2.0;
/// Words in fewer questions are left out.
const OCCURRENCES: usize = 2;
/// The word that explains what nothing else explains.
const NULL: &str = "";

/// A question without the names of its entities, and the printed names or labels of the relations
/// of its query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordPair {
    /// The question.
    pub question: String,
    /// The relations.
    pub relations: Vec<String>,
}

/// Learns both tables and returns their text form (see [`super::WordTables::parse`]). The order of
/// the wordings does not matter.
#[must_use]
pub fn learn(wordings: &[WordPair]) -> String {
    let mut pairs: Vec<(Vec<String>, Vec<String>)> = wordings
        .iter()
        .map(|wording| {
            let mut relation: Vec<String> = wording
                .relations
                .iter()
                .flat_map(|name| relation_stems(name))
                .collect();
            relation.sort_unstable();
            relation.dedup();
            (question_stems(&wording.question), relation)
        })
        .filter(|(question, relation)| !question.is_empty() && !relation.is_empty())
        .collect();
    // Sums of floats depend on their order.
    pairs.sort_unstable();
    let mut seen: FxHashMap<String, usize> = FxHashMap::default();
    for (question, _) in &pairs {
        for word in question {
            *seen.entry(word.clone()).or_default() += 1;
        }
    }
    for (question, _) in &mut pairs {
        question.retain(|word| seen.get(word).is_some_and(|&count| count >= OCCURRENCES));
    }
    let turned: Vec<_> = pairs.iter().map(|(q, r)| (r.clone(), q.clone())).collect();
    print(translations(&turned), translations(&pairs))
}

/// P(target | source) for every pair of words that occurs, by expectation maximisation.
fn translations(pairs: &[(Vec<String>, Vec<String>)]) -> Vec<Translation> {
    let mut slots: FxHashMap<(&str, &str), usize> = FxHashMap::default();
    let mut names: Vec<(&str, &str)> = Vec::new();
    // For each target word of each pair, the slots of its possible sources.
    let mut choices: Vec<Vec<usize>> = Vec::new();
    for (source, target) in pairs {
        for word in target {
            let sources = source.iter().map(String::as_str).chain([NULL]);
            let row = sources.map(|given| {
                *slots.entry((given, word)).or_insert_with(|| {
                    names.push((given, word));
                    names.len() - 1
                })
            });
            choices.push(row.collect());
        }
    }
    let mut probability = vec![1.0_f64; names.len()];
    for _ in 0..PASSES {
        let mut count = vec![0.0; names.len()];
        for row in &choices {
            let sum: f64 = row.iter().map(|&slot| probability[slot]).sum();
            for &slot in row {
                count[slot] += probability[slot] / sum.max(f64::MIN_POSITIVE);
            }
        }
        let mut total: FxHashMap<&str, f64> = FxHashMap::default();
        for (name, count) in names.iter().zip(&count) {
            *total.entry(name.0).or_default() += count;
        }
        for ((name, count), probability) in names.iter().zip(&count).zip(&mut probability) {
            *probability = count / (total.get(name.0).copied().unwrap_or_default() + SMOOTHING);
        }
    }
    names
        .iter()
        .zip(probability)
        .filter(|((given, _), probability)| *given != NULL && *probability >= LEAST)
        .map(|((given, word), probability)| {
            ((*given).to_owned(), (*word).to_owned(), probability as f32)
        })
        .collect()
}

/// The text form of two tables, in which [`super::WordTables::parse`] reads them. Lines and pairs are
/// sorted.
pub(super) fn print(to_question: Vec<Translation>, to_relation: Vec<Translation>) -> String {
    let mut text = format!("{HEADER}\n");
    for (kind, mut pairs) in [('q', to_question), ('r', to_relation)] {
        pairs.sort_by(|a, b| {
            (a.0.cmp(&b.0))
                .then(b.2.total_cmp(&a.2))
                .then_with(|| a.1.cmp(&b.1))
        });
        for row in pairs.chunk_by(|a, b| a.0 == b.0) {
            let _ = write!(text, "{kind}\t{}", row[0].0);
            for (_, wanted, probability) in row {
                let stored = (-probability.ln() * SCALE).round().clamp(0.0, 255.0);
                let _ = write!(text, "\t{wanted}\t{}", stored as u8);
            }
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::explain::WordTables;

    fn pair(question: &str, relations: &[&str]) -> WordPair {
        WordPair {
            question: question.to_owned(),
            relations: relations.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    /// Questions about films; `helmed` is said of directors only.
    fn pairs() -> Vec<WordPair> {
        vec![
            pair("who helmed the picture", &["film.film.directed_by"]),
            pair("which people helmed pictures", &["film.film.directed_by"]),
            pair("what was helmed by her", &["film.film.directed_by"]),
            pair("tell me who helmed it", &["film.film.directed_by"]),
            pair("who penned the picture", &["film.film.written_by"]),
            pair("which people penned pictures", &["film.film.written_by"]),
            pair("what was penned by her", &["film.film.written_by"]),
            pair("when was the picture shown", &["film.film.release_date"]),
            pair(
                "when did they show the picture",
                &["film.film.release_date"],
            ),
        ]
    }

    #[test]
    fn words_are_learned_from_questions() {
        let tables = WordTables::parse(&learn(&pairs())).unwrap();
        let (asked, other) = (
            tables.question_given("direct", "helm"),
            tables.question_given("writ", "helm"),
        );
        assert!(asked > 0.2 && other < 0.1 * asked, "{asked} {other}");
        let (meant, other) = (
            tables.relation_given("helm", "direct"),
            tables.relation_given("helm", "writ"),
        );
        assert!(meant > 0.2 && other < 0.1 * meant, "{meant} {other}");
        assert!(tables.known("helm") >= meant);
        // A question word says something about what is asked for.
        let when = |relation| tables.question_given(relation, "#when");
        assert!(when("releas") > 0.1 && when("direct") <= 0.0);
    }

    #[test]
    fn the_order_of_questions_and_relations_does_not_matter() {
        let mut pairs = pairs();
        pairs.push(pair(
            "who helmed and penned it",
            &["a.directed_by", "b.written_by"],
        ));
        let text = learn(&pairs);
        pairs.last_mut().unwrap().relations.reverse();
        for turn in 0..pairs.len() {
            pairs.rotate_left(1);
            assert_eq!(learn(&pairs), text, "turned by {turn}");
        }
        pairs.reverse();
        assert_eq!(learn(&pairs), text);
    }

    #[test]
    fn words_of_one_question_and_pairs_without_words_teach_nothing() {
        let mut pairs = pairs();
        let text = learn(&pairs);
        assert!(!text.contains("zeppelin"));
        pairs.push(pair("who is it", &[]));
        pairs.push(pair("", &["film.film.directed_by"]));
        assert_eq!(learn(&pairs), text);
        pairs.push(pair("zeppelin pictures", &["film.film.genre"]));
        assert!(!learn(&pairs).contains("zeppelin"), "said once");
        pairs.push(pair("pictures of a zeppelin", &["film.film.genre"]));
        assert!(learn(&pairs).contains("zeppelin"), "said twice");
        assert!(WordTables::parse(&learn(&[])).unwrap().is_empty());
    }
}
