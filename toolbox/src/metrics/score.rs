//! The scores of one question.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::answers::Answers;
use super::reading::{Equated, ids_of};
use super::rows;
use super::text::{fold_tog, kqa_equal, normalise};

/// Samples for the sampled Hits@1 (KG-Agent, appendix A.2).
const SAMPLES: u32 = 100;
/// Added to denominators by Triad's scorer to avoid division by zero.
const TRIAD_EPSILON: f64 = 1e-5;

macro_rules! scores {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Scores of one question or averages over many. All are in `[0, 1]`, except RoG's F1,
        /// which can exceed 1 by its definition.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub struct Scores {
            $($(#[$doc])* #[serde(default)] pub $name: f64,)*
        }

        /// Names of the scores, in the order of [`Scores::values`].
        pub const SCORES: [&str; [$(stringify!($name)),*].len()] = [$(stringify!($name)),*];

        impl Scores {
            /// The scores in the order of [`SCORES`].
            #[must_use]
            pub fn values(&self) -> [f64; SCORES.len()] {
                [$(self.$name),*]
            }

            /// Scores from their values.
            #[must_use]
            pub fn from_values(values: [f64; SCORES.len()]) -> Self {
                let [$($name),*] = values;
                Self { $($name),* }
            }
        }
    };
}

scores! {
    /// Expected share of hits for one randomly sampled predicted answer:
    /// `|predicted ∩ gold| / |predicted|`.
    hits_at_1,
    /// The same from 100 samples, as measured in the KG-Agent paper; the question's answers
    /// determine the samples.
    hits_at_1_sampled,
    /// Whether any predicted answer is gold.
    hits_any,
    /// Harmonic mean of precision and recall.
    f1,
    /// `|predicted ∩ gold| / |predicted|`.
    precision,
    /// `|predicted ∩ gold| / |gold|`.
    recall,
    /// Whether the two sets are equal.
    exact,
    /// `f1` by label, where an alias of a gold answer counts as that answer.
    f1_alias,
    /// `exact` by label, where an alias of a gold answer counts as that answer.
    exact_alias,
    /// Hits@1 by label, ignoring case and spaces (ODA's headline score).
    em_strict,
    /// The same, also counting aliases.
    em_alias,
    /// ToG's lenient match: some predicted label contains a gold label or is contained in one
    /// (empty labels excluded).
    em_tog,
    /// Hits@1 by label after the normalisation of open-domain question answering, also counting
    /// aliases.
    odqa_em,
    /// KQA Pro's equality of values, for all members.
    kqa_accuracy,
    /// WebQSP's F1: 1 for an empty gold set.
    webqsp_f1,
    /// Triad's precision: rounded, with 1e-5 in the denominator; 0 for an empty gold set.
    triad_precision,
    /// Triad's recall.
    triad_recall,
    /// Triad's F1.
    triad_f1,
    /// RoG's "Hits@1": some gold label occurs in the joined text of all predictions.
    rog_hit,
    /// RoG's accuracy: the share of gold labels that occur in the joined text of all predictions.
    rog_accuracy,
    /// RoG's F1 over such occurrences.
    rog_f1,
    /// `exact`, and the rows in the gold query's order if it has one.
    exact_order,
    /// Spider's execution accuracy.
    spider_execution,
    /// The F1 of the TEXT2SPARQL challenge.
    text2sparql_f1,
    /// `exact` on exact terms: text, datatype and language.
    exact_strict,
    /// `f1` on exact terms.
    f1_strict,
}

/// Scores a prediction against gold answers. In this project's own definitions only an empty
/// prediction matches an empty gold set; the published scorers keep their own behaviour.
#[must_use]
pub fn score(predicted: &Answers, gold: &Answers) -> Scores {
    let equated = Equated::of(&predicted.readings, &gold.readings);
    let mut scores = own(predicted, gold, &equated);
    let common = predicted.ids.intersection(&gold.ids).count() as f64;
    scores.webqsp_f1 = if gold.ids.is_empty() {
        1.0
    } else {
        scores.f1_strict
    };
    let over = |n: usize| rounded(common / (n as f64 + TRIAD_EPSILON), 4);
    (scores.triad_precision, scores.triad_recall) =
        (over(predicted.ids.len()), over(gold.ids.len()));
    let (p, r) = (scores.triad_precision, scores.triad_recall);
    scores.triad_f1 = rounded(p * r * 2.0 / (p + r + TRIAD_EPSILON), 3);
    rog(&mut scores, &predicted.labels, &gold.labels);
    scores.exact_order = scores.exact * truth(rows::in_order(&equated, &gold.ranks));
    scores.spider_execution = truth(rows::spider_execution(predicted, gold));
    scores.text2sparql_f1 = rows::text2sparql_f1(predicted, gold);
    scores
}

/// This project's own definitions.
fn own(predicted: &Answers, gold: &Answers, equated: &Equated) -> Scores {
    let none = |answers: &Answers| answers.ids.is_empty() && answers.labels.is_empty();
    if none(gold) || none(predicted) {
        let one = f64::from(u8::from(none(gold) && none(predicted)));
        return Scores::from_values([one; SCORES.len()]);
    }
    let (ours, theirs) = (ids_of(&equated.predicted), ids_of(&equated.gold));
    let sets = overlap(&ours, &theirs);
    let canonical = |label: &String| {
        let folded = fold_tog(label);
        gold.aliases
            .iter()
            .find(|(alias, _)| fold_tog(alias) == folded)
            .map_or(folded, |(_, label)| fold_tog(label))
    };
    let predicted_labels: BTreeSet<String> = predicted.labels.iter().map(canonical).collect();
    let plain: BTreeSet<String> = gold.labels.iter().map(|label| fold_tog(label)).collect();
    let by_label = overlap(&predicted_labels, &plain);
    let aliases = || {
        gold.aliases
            .iter()
            .filter(|(_, label)| plain.contains(&fold_tog(label)))
            .map(|(alias, _)| alias)
    };
    let with_aliases: BTreeSet<String> = plain
        .iter()
        .cloned()
        .chain(aliases().map(|alias| fold_tog(alias)))
        .collect();
    let open_domain: BTreeSet<String> = gold
        .labels
        .iter()
        .chain(aliases())
        .map(|label| normalise(label))
        .collect();
    let share = |hit: &dyn Fn(&String) -> bool| {
        let hits = predicted.labels.iter().filter(|label| hit(label)).count();
        if predicted.labels.is_empty() {
            0.0
        } else {
            hits as f64 / predicted.labels.len() as f64
        }
    };
    Scores {
        hits_at_1: sets.precision,
        hits_at_1_sampled: sampled(&ours, &theirs),
        hits_any: truth(sets.precision > 0.0),
        f1: sets.f1,
        precision: sets.precision,
        recall: sets.recall,
        exact: truth(ours == theirs),
        f1_alias: by_label.f1,
        exact_alias: truth(by_label.precision == 1.0 && by_label.recall == 1.0),
        em_strict: share(&|label| plain.contains(&fold_tog(label))),
        em_alias: share(&|label| with_aliases.contains(&fold_tog(label))),
        em_tog: truth(tog_match(&predicted.labels, &plain)),
        odqa_em: share(&|label| open_domain.contains(&normalise(label))),
        kqa_accuracy: truth(
            each_equals_some(&predicted.labels, &gold.labels)
                && each_equals_some(&gold.labels, &predicted.labels),
        ),
        exact_strict: truth(predicted.ids == gold.ids),
        f1_strict: overlap(&predicted.ids, &gold.ids).f1,
        ..Scores::default()
    }
}

struct Overlap {
    precision: f64,
    recall: f64,
    f1: f64,
}

/// Precision, recall and F1 of two non-empty sets.
fn overlap(predicted: &BTreeSet<String>, gold: &BTreeSet<String>) -> Overlap {
    let common = predicted.intersection(gold).count() as f64;
    let (precision, recall) = (
        common / predicted.len().max(1) as f64,
        common / gold.len().max(1) as f64,
    );
    Overlap {
        precision,
        recall,
        f1: if common > 0.0 {
            2.0 * precision * recall / (precision + recall)
        } else {
            0.0
        },
    }
}

fn truth(is: bool) -> f64 {
    f64::from(u8::from(is))
}

/// The share of hits among [`SAMPLES`] samples of a predicted answer.
fn sampled(predicted: &BTreeSet<String>, gold: &BTreeSet<String>) -> f64 {
    let members: Vec<bool> = predicted
        .iter()
        .map(|answer| gold.contains(answer))
        .collect();
    if members.is_empty() {
        return 0.0;
    }
    // The seed is a hash of both sets, so every run samples the same answers for a question.
    let bytes = predicted
        .iter()
        .chain(gold)
        .flat_map(|text| text.bytes().chain([0]));
    let mut rng = common::rng::Rng::new(common::hash::quick(bytes));
    let hits = (0..SAMPLES)
        .filter(|_| members[rng.below(members.len())])
        .count();
    hits as f64 / f64::from(SAMPLES)
}

fn tog_match(predicted: &[String], gold: &BTreeSet<String>) -> bool {
    let has_text = |text: &&String| !text.is_empty();
    let folded: Vec<String> = predicted.iter().map(|label| fold_tog(label)).collect();
    folded.iter().filter(has_text).any(|p| {
        gold.iter()
            .filter(has_text)
            .any(|g| p.contains(g.as_str()) || g.contains(p.as_str()))
    })
}

fn each_equals_some(these: &[String], those: &[String]) -> bool {
    these
        .iter()
        .all(|this| those.iter().any(|that| kqa_equal(this, that)))
}

/// A number rounded to decimal places like Python's `round`.
fn rounded(x: f64, places: usize) -> f64 {
    format!("{x:.places$}").parse().unwrap_or(x)
}

/// RoG's scores. Its scripts divide by the number of gold answers; without gold answers the scores
/// here are 0.
fn rog(scores: &mut Scores, predicted: &[String], gold: &[String]) {
    (scores.rog_hit, scores.rog_accuracy, scores.rog_f1) = (0.0, 0.0, 0.0);
    if gold.is_empty() {
        return;
    }
    let joined = normalise(&predicted.join(" "));
    let matched = gold
        .iter()
        .filter(|label| joined.contains(&normalise(label)))
        .count() as f64;
    scores.rog_hit = truth(matched > 0.0);
    scores.rog_accuracy = matched / gold.len() as f64;
    let (p, r) = (
        matched / predicted.len().max(1) as f64,
        matched / gold.len() as f64,
    );
    scores.rog_f1 = if predicted.is_empty() || p + r == 0.0 {
        0.0
    } else {
        2.0 * p * r / (p + r)
    };
}
