//! The terms of a decision and their weights: a log-linear model over candidate programs.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use kg::value::Kind;
use serde::{Deserialize, Serialize};

use super::plan::Finish;
use super::state::{Found, State};
use super::words::Explainer;
use crate::exec::Value;

/// Probability of a word that nothing explains.
const FLOOR: f32 = 0.01;

/// Number of terms.
pub const TERMS: usize = 38;

/// The names of the terms, in order.
pub const TERM_NAMES: [&str; TERMS] = [
    "explained",
    "asked",
    "hops",
    "incoming",
    "both ways",
    "filters",
    "entities unused",
    "values unused",
    "count missing",
    "count not asked for",
    "extreme missing",
    "extreme not asked for",
    "truth missing",
    "truth not asked for",
    "answer is a topic",
    "answer size",
    "time for when",
    "thing for when",
    "text for who or where",
    "text answer",
    "number not asked for",
    "unexplained words",
    "give up",
    "give up, per word",
    "model",
    "model's first choice",
    "model gives up",
    "question words explained",
    "truth holds",
    "first word explained last",
    "nothing explained",
    "known words unexplained",
    "give up, known words",
    "compared with a topic",
    "class filters",
    "comparison not asked for",
    "number or time for who or where",
    "class asked for is missing",
];

/// The term of the model's log-probability.
pub const MODEL: usize = 24;
/// The term of the model's own program.
pub const MODEL_FIRST: usize = 25;
/// The term of giving up if the model does.
pub const MODEL_GIVES_UP: usize = 26;

/// The terms of one candidate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<f32>", into = "Vec<f32>")]
pub struct Terms(pub [f32; TERMS]);

impl From<Terms> for Vec<f32> {
    fn from(terms: Terms) -> Self {
        terms.0.to_vec()
    }
}

impl TryFrom<Vec<f32>> for Terms {
    type Error = String;

    fn try_from(terms: Vec<f32>) -> Result<Self, String> {
        let found = terms.len();
        let terms = terms.try_into();
        terms
            .map(Self)
            .map_err(|_| format!("{found} terms; this version has {TERMS}"))
    }
}

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

/// Weights that ship with the program; a test parses them.
fn shipped(text: &str) -> TermWeights {
    TermWeights::parse(text).unwrap_or(TermWeights([0.0; TERMS]))
}

impl Default for TermWeights {
    /// The weights without a model (`data/base/weights.json`), fitted on development questions.
    fn default() -> Self {
        static BASE: LazyLock<TermWeights> =
            LazyLock::new(|| shipped(include_str!("../../../data/base/weights.json")));
        *BASE
    }
}

/// The part of the score that a plan has before its end, by which the search prunes.
pub(super) fn partial(state: &State, explainer: &Explainer<'_, '_>) -> f32 {
    TermWeights::default().score(&of_state(state, explainer))
}

fn of_state(state: &State, explainer: &Explainer<'_, '_>) -> Terms {
    let linked = explainer.session.linked();
    let tally = &state.tally;
    let unused = |count: usize, used: u64| {
        (0..count.min(63))
            .filter(|index| used & (1 << index) == 0)
            .count() as f32
    };
    // A year is also its last day: two values, one of which is used.
    let values = linked
        .values
        .iter()
        .enumerate()
        .filter(|(index, value)| {
            let stem = value.lexical.trim_end_matches("-12-31");
            let said =
                |other: &usize| linked.values[*other].lexical.trim_end_matches("-12-31") == stem;
            !(0..linked.values.len().min(63))
                .filter(said)
                .any(|other| tally.values & (1 << other) != 0)
                && !value.lexical.ends_with("-12-31")
                && *index < 63
        })
        .count();
    let mut terms = [0.0; TERMS];
    for (p, word) in state.words.iter().zip(&explainer.asked.words) {
        // `who` and `when` are weaker evidence than content words.
        let term = if word.is_mark() { 27 } else { 0 };
        terms[term] += (FLOOR + p.min(1.0 - FLOOR)).ln();
    }
    terms[1] = tally.asked;
    terms[2] = tally.hops as f32;
    terms[3] = tally.incoming as f32;
    terms[4] = tally.both as f32;
    terms[5] = tally.filters as f32;
    terms[34] = tally.classes as f32;
    terms[6] = unused(linked.entities.len(), tally.entities);
    terms[7] = values as f32;
    terms[21] = (state.words.iter().zip(&explainer.asked.words))
        .filter(|(p, word)| **p < FLOOR && !word.is_mark())
        .count() as f32;
    Terms(terms)
}

/// The terms of a candidate without a model.
pub(super) fn of_found(found: &Found, explainer: &Explainer<'_, '_>) -> Terms {
    let (asked, state) = (explainer.asked, &found.state);
    let flag = |holds: bool| if holds { 1.0 } else { 0.0 };
    let mut terms = of_state(state, explainer).0;
    let kind = state
        .literal_kind(explainer.session)
        .filter(|_| state.plan.finish == Finish::Set);
    let number = matches!(kind, Some(Kind::Int | Kind::Float | Kind::Quantity));
    let counted = state.plan.finish == Finish::Count;
    let judged = matches!(found.answer, Value::Bool(_));
    let when = asked
        .words
        .iter()
        .any(|word| word.stem == "#when" || word.stem == "#what-year");
    let named = asked
        .words
        .iter()
        .any(|word| word.stem == "#who" || word.stem == "#where");
    let set = match &found.answer {
        Value::Set(set) => Some(set),
        Value::Int(_) | Value::Bool(_) => None,
    };
    terms[8] = flag(asked.count && !counted && !number);
    terms[9] = flag(counted && !asked.count);
    let extreme = asked.extreme.is_some() || asked.either.is_some();
    terms[10] = flag(extreme && state.tally.extremes == 0);
    terms[11] = flag(!extreme && state.tally.extremes > 0);
    terms[12] = flag(asked.judge && !judged);
    terms[13] = flag(judged && !asked.judge);
    let topics = &explainer.session.linked().entities;
    terms[14] = flag(
        set.is_some_and(|set| set.iter().any(|node| topics.contains(node)))
            && asked.either.is_none(),
    );
    terms[15] = set.map_or(0.0, |set| (set.len().max(1) as f32).ln());
    terms[16] = flag(when && kind == Some(Kind::Time));
    terms[17] = flag(when && set.is_some() && kind != Some(Kind::Time));
    terms[18] = flag(named && kind == Some(Kind::Text));
    terms[36] = flag(named && kind.is_some_and(|kind| kind != Kind::Text));
    terms[19] = flag(kind == Some(Kind::Text));
    terms[20] = flag(number && !asked.count);
    terms[28] = flag(found.answer == Value::Bool(true));
    terms[29] = state.last;
    let content =
        || (asked.words.iter().zip(state.words.iter())).filter(|(word, _)| !word.is_mark());
    terms[30] = flag(content().all(|(_, p)| *p < FLOOR) && content().count() > 0);
    terms[31] = content()
        .filter(|(_, p)| **p < FLOOR)
        .map(|(word, _)| explainer.known(word))
        .sum();
    terms[33] = state.tally.compared as f32;
    terms[37] = flag(explainer.class_asked && !judged && !state.class_said);
    terms[35] = state.tally.contrary as f32;
    Terms(terms)
}

/// The terms of giving up.
pub(super) fn of_abstention(explainer: &Explainer<'_, '_>) -> Terms {
    let content = || explainer.asked.words.iter().filter(|word| !word.is_mark());
    let mut terms = [0.0; TERMS];
    terms[22] = 1.0;
    terms[23] = content().count() as f32;
    terms[32] = content().map(|word| explainer.known(word)).sum();
    Terms(terms)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// TermWeights that differ from each other, with what three decimals can hold.
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
    fn terms_have_names_of_their_own() {
        let mut names = TERM_NAMES.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TERMS);
        assert_eq!(
            [MODEL, MODEL_FIRST, MODEL_GIVES_UP].map(|term| TERM_NAMES[term]),
            ["model", "model's first choice", "model gives up"]
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
        let mut terms = Terms([0.0; TERMS]);
        (terms.0[0], terms.0[3]) = (2.0, -4.0);
        let weights = numbered();
        let wanted = 2.0 * weights.0[0] - 4.0 * weights.0[3];
        assert!((weights.score(&terms) - wanted).abs() < 1e-6);
    }
}
