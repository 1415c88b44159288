//! The weights of a decision's terms, which ship with the program.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::terms::{DecisionTerm, TERM_NAMES, TERMS, Terms};

/// The weight of each term.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TermWeights(pub [f32; TERMS]);

impl TermWeights {
    /// The weighted sum.
    #[must_use]
    pub fn score(&self, terms: &Terms) -> f32 {
        self.0.iter().zip(&terms.0).map(|(a, b)| a * b).sum()
    }

    /// The weights of a decision in which a model takes part (`data/base/weights.model.json`).
    #[must_use]
    pub fn with_model() -> Self {
        static MODEL: LazyLock<TermWeights> =
            LazyLock::new(|| shipped(include_str!("../../../data/base/weights.model.json")));
        *MODEL
    }

    /// The weights where a model takes part that has not read the question's wording in training: a quarter of the way
    /// from those without a model to those with one.
    #[must_use]
    pub fn unread() -> Self {
        const OF_MODEL: [DecisionTerm; 4] = [
            DecisionTerm::Model,
            DecisionTerm::ModelFirst,
            DecisionTerm::ModelGivesUp,
            DecisionTerm::WordingRead,
        ];
        let (with, without) = (Self::with_model(), Self::default());
        let mut weights = with;
        for (at, weight) in weights.0.iter_mut().enumerate() {
            if !OF_MODEL.iter().any(|term| *term as usize == at) {
                *weight = 0.75 * without.0[at] + 0.25 * with.0[at];
            }
        }
        weights
    }

    /// Reads weights from a JSON object with a number for each of [`TERM_NAMES`].
    ///
    /// # Errors
    /// A message that names what is missing.
    pub fn parse(text: &str) -> Result<Self, String> {
        let read: BTreeMap<String, f32> =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        let mut weights = [0.0; TERMS];
        for (weight, name) in weights.iter_mut().zip(TERM_NAMES) {
            *weight = *read
                .get(name)
                .ok_or_else(|| format!("the weight of `{name}` is missing"))?;
        }
        Ok(Self(weights))
    }

    /// The JSON object that [`parse`](Self::parse) reads.
    #[must_use]
    pub fn print(&self) -> String {
        let lines: Vec<String> = TERM_NAMES
            .iter()
            .zip(self.0)
            .map(|(name, weight)| format!("  \"{name}\": {weight:.3}"))
            .collect();
        format!("{{\n{}\n}}\n", lines.join(",\n"))
    }
}

/// Weights that ship with the program.
///
/// # Panics
/// If the file is damaged, which a test rules out before the program is built.
fn shipped(text: &str) -> TermWeights {
    TermWeights::parse(text).unwrap_or_else(|why| unreachable!("weights that ship: {why}"))
}

impl Default for TermWeights {
    /// The weights without a model (`data/base/weights.json`), fitted on development questions.
    fn default() -> Self {
        static BASE: LazyLock<TermWeights> =
            LazyLock::new(|| shipped(include_str!("../../../data/base/weights.json")));
        *BASE
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Weights that differ from each other and have three decimals at most.
    fn numbered() -> TermWeights {
        let mut weights = [0.0; TERMS];
        for (index, weight) in weights.iter_mut().enumerate() {
            *weight = index as f32 * 0.125 - 2.0;
        }
        TermWeights(weights)
    }

    #[test]
    fn the_weights_that_ship_have_every_term_and_no_other() {
        let base = include_str!("../../../data/base/weights.json");
        let model = include_str!("../../../data/base/weights.model.json");
        for (text, loaded) in [
            (base, TermWeights::default()),
            (model, TermWeights::with_model()),
        ] {
            assert_eq!(TermWeights::parse(text).unwrap(), loaded);
            assert!(loaded.0.iter().all(|weight| weight.is_finite()));
            assert!(loaded.0.iter().any(|weight| *weight != 0.0));
            let read: BTreeMap<String, f32> = serde_json::from_str(text).unwrap();
            let mut names: Vec<&str> = TERM_NAMES.to_vec();
            names.sort_unstable();
            assert_eq!(read.keys().collect::<Vec<_>>(), names);
        }
        assert_ne!(TermWeights::default(), TermWeights::with_model());
    }

    #[test]
    fn names_of_terms_are_unique() {
        let mut names = TERM_NAMES.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TERMS);
        assert_eq!(
            [
                DecisionTerm::Model,
                DecisionTerm::ModelFirst,
                DecisionTerm::GiveUpWithoutWords
            ]
            .map(|term| TERM_NAMES[term as usize]),
            ["model", "model's first choice", "give up, no words"]
        );
    }

    #[test]
    fn what_is_printed_is_read_again() {
        let text = numbered().print();
        assert_eq!(TermWeights::parse(&text).unwrap(), numbered());
        assert!(text.contains("  \"hops\": -1.750,\n"), "{text}");
    }

    #[test]
    fn a_missing_weight_is_named() {
        let mut read: BTreeMap<String, f32> = serde_json::from_str(&numbered().print()).unwrap();
        read.remove("answer size").unwrap();
        let text = serde_json::to_string(&read).unwrap();
        assert_eq!(
            TermWeights::parse(&text).unwrap_err(),
            "the weight of `answer size` is missing"
        );
        assert!(TermWeights::parse("[1.0]").is_err());
        let text = numbered().print().replace("-1.750", "\"much\"");
        assert!(TermWeights::parse(&text).is_err());
    }

    #[test]
    fn terms_of_another_length_are_refused() {
        let terms = Terms(numbered().0);
        let text = serde_json::to_string(&terms).unwrap();
        assert_eq!(serde_json::from_str::<Terms>(&text).unwrap(), terms);
        for length in [0, TERMS - 1, TERMS + 1] {
            assert_eq!(
                Terms::try_from(vec![0.0; length]).unwrap_err(),
                format!("{length} terms; this version has {TERMS}")
            );
            let text = serde_json::to_string(&vec![0.0; length]).unwrap();
            assert!(serde_json::from_str::<Terms>(&text).is_err());
        }
    }

    #[test]
    fn a_score_is_the_weighted_sum() {
        let mut terms = Terms::ZERO;
        (
            terms[DecisionTerm::Explained],
            terms[DecisionTerm::Incoming],
        ) = (2.0, -4.0);
        let weights = numbered();
        let wanted = 2.0 * weights.0[0] - 4.0 * weights.0[3];
        assert!((weights.score(&terms) - wanted).abs() < 1e-6);
    }
}
