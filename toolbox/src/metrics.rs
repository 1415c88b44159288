//! Scores of answers (spec A.6 with its repairs), per question and averaged.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Scores of one question or, averaged, of many; all in `[0, 1]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Expected share of hits when one predicted answer is drawn at random: `|predicted ∩ gold| / |predicted|`.
    pub hits_at_1: f64,
    /// Whether any predicted answer is gold.
    pub hits_any: f64,
    /// Harmonic mean of precision and recall.
    pub f1: f64,
    /// `|predicted ∩ gold| / |predicted|`.
    pub precision: f64,
    /// `|predicted ∩ gold| / |gold|`.
    pub recall: f64,
    /// Whether the two sets are equal.
    pub exact: f64,
    /// ToG's lenient match under its own name: some predicted label contains, or is contained in, some gold label (no empty ones).
    pub em_tog: f64,
}

/// Scores a prediction against gold answers; both are sets of comparable texts. An empty gold set is met by an empty prediction only.
#[must_use]
pub fn score(predicted: &BTreeSet<String>, gold: &BTreeSet<String>) -> Scores {
    if gold.is_empty() {
        let one = f64::from(u8::from(predicted.is_empty()));
        return Scores { hits_at_1: one, hits_any: one, f1: one, precision: one, recall: one, exact: one, em_tog: one };
    }
    if predicted.is_empty() {
        return Scores::default();
    }
    let common = predicted.intersection(gold).count() as f64;
    let (precision, recall) = (common / predicted.len() as f64, common / gold.len() as f64);
    Scores {
        hits_at_1: precision,
        hits_any: f64::from(u8::from(common > 0.0)),
        f1: if common > 0.0 { 2.0 * precision * recall / (precision + recall) } else { 0.0 },
        precision,
        recall,
        exact: f64::from(u8::from(predicted == gold)),
        em_tog: f64::from(u8::from(tog_match(predicted, gold))),
    }
}

fn tog_match(predicted: &BTreeSet<String>, gold: &BTreeSet<String>) -> bool {
    let fold = |text: &String| text.to_lowercase().replace(' ', "");
    let gold: Vec<String> = gold.iter().map(fold).filter(|text| !text.is_empty()).collect();
    predicted
        .iter()
        .map(fold)
        .filter(|text| !text.is_empty())
        .any(|p| gold.iter().any(|g| p.contains(g.as_str()) || g.contains(p.as_str())))
}

/// One evaluated question, as far as the averages need it.
#[derive(Clone, Debug)]
pub struct Scored {
    /// Its scores.
    pub scores: Scores,
    /// Whether an answer was given.
    pub answered: bool,
    /// Calls made.
    pub calls: usize,
    /// Calls that did not parse or could not be executed.
    pub invalid_calls: usize,
    /// Tokens read and written by the model.
    pub tokens: usize,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Whether the calls are those of the gold program; `None` where there is no gold program to compare with.
    pub program: Option<bool>,
    /// Groups it belongs to: dimension (`hops`, `type`, `level`, `shape`) and value.
    pub groups: Vec<(String, String)>,
}

/// What `metrics.json` holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Questions.
    pub n: usize,
    /// Mean scores.
    #[serde(flatten)]
    pub scores: Scores,
    /// The same by group: dimension, value, metrics.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by: BTreeMap<String, BTreeMap<String, Metrics>>,
    /// Share of questions whose calls are those of the gold program, among those that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<f64>,
    /// Questions with an answer.
    pub answered: usize,
    /// Questions without one.
    pub abstained: usize,
    /// Calls made.
    pub calls: usize,
    /// Calls that did not parse or could not be executed.
    pub invalid_calls: usize,
    /// Tokens read and written by the model.
    pub tokens: usize,
    /// Wall-clock seconds summed over questions.
    pub seconds: f64,
}

impl Metrics {
    /// Averages over questions, in total and by group.
    #[must_use]
    pub fn of(questions: &[Scored]) -> Self {
        let mut metrics = Self::flat(questions.iter());
        let mut groups: BTreeMap<&str, BTreeMap<&str, Vec<&Scored>>> = BTreeMap::new();
        for question in questions {
            for (dimension, value) in &question.groups {
                groups.entry(dimension).or_default().entry(value).or_default().push(question);
            }
        }
        for (dimension, values) in groups {
            let by = metrics.by.entry(dimension.to_owned()).or_default();
            for (value, members) in values {
                by.insert(value.to_owned(), Self::flat(members.into_iter()));
            }
        }
        metrics
    }

    fn flat<'q>(questions: impl Iterator<Item = &'q Scored>) -> Self {
        let mut metrics = Self::default();
        let mut sum = Scores::default();
        let (mut programs, mut same) = (0_usize, 0_usize);
        for question in questions {
            programs += usize::from(question.program.is_some());
            same += usize::from(question.program == Some(true));
            metrics.n += 1;
            metrics.answered += usize::from(question.answered);
            metrics.calls += question.calls;
            metrics.invalid_calls += question.invalid_calls;
            metrics.tokens += question.tokens;
            metrics.seconds += question.seconds;
            for (total, one) in sum.fields_mut().into_iter().zip(question.scores.fields()) {
                *total += one;
            }
        }
        metrics.program = (programs > 0).then(|| same as f64 / programs as f64);
        metrics.abstained = metrics.n - metrics.answered;
        if metrics.n > 0 {
            for total in sum.fields_mut() {
                *total /= metrics.n as f64;
            }
        }
        metrics.scores = sum;
        metrics
    }
}

impl Scores {
    fn fields(&self) -> [f64; 7] {
        [self.hits_at_1, self.hits_any, self.f1, self.precision, self.recall, self.exact, self.em_tog]
    }

    fn fields_mut(&mut self) -> [&mut f64; 7] {
        [&mut self.hits_at_1, &mut self.hits_any, &mut self.f1, &mut self.precision, &mut self.recall, &mut self.exact, &mut self.em_tog]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(items: &[&str]) -> BTreeSet<String> {
        items.iter().map(|&item| item.to_owned()).collect()
    }

    #[test]
    fn hand_worked_scores() {
        let s = score(&set(&["a", "b"]), &set(&["b", "c", "d"]));
        assert_eq!((s.hits_at_1, s.hits_any, s.exact), (0.5, 1.0, 0.0));
        assert!((s.f1 - 0.4).abs() < 1e-12);
        assert_eq!(score(&set(&["a"]), &set(&["a"])).exact, 1.0);
        assert_eq!(score(&set(&[]), &set(&["a"])), Scores::default());
    }

    #[test]
    fn empty_gold_is_met_by_an_empty_prediction_only() {
        assert_eq!(score(&set(&[]), &set(&[])).f1, 1.0);
        assert_eq!(score(&set(&["a"]), &set(&[])).f1, 0.0);
    }

    #[test]
    fn empty_text_matches_nothing_even_leniently() {
        assert_eq!(score(&set(&[""]), &set(&["paris"])).em_tog, 0.0);
        assert_eq!(score(&set(&["Paris "]), &set(&["paris, france"])).em_tog, 1.0);
    }

    #[test]
    fn means_by_group() {
        let one = |exact: f64, hops: &str| Scored {
            scores: Scores { exact, ..Scores::default() },
            answered: exact > 0.0,
            calls: 2,
            invalid_calls: 0,
            tokens: 3,
            seconds: 0.5,
            program: (hops == "2").then_some(exact > 0.0),
            groups: vec![("hops".to_owned(), hops.to_owned())],
        };
        let metrics = Metrics::of(&[one(1.0, "1"), one(0.0, "2"), one(1.0, "2")]);
        assert_eq!((metrics.n, metrics.answered, metrics.abstained, metrics.calls), (3, 2, 1, 6));
        assert_eq!(metrics.by["hops"]["2"].scores.exact, 0.5);
        assert_eq!((metrics.program, metrics.by["hops"]["1"].program), (Some(0.5), None));
    }
}
