//! Parts of a source: which questions make data and which are held out, by a hash of the question's id, so that two commands with the same
//! numbers agree without sharing a file.

use std::fmt;

use crate::hash;
use crate::question::GoldQuestion;

/// Which part of a source is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// Everything.
    #[default]
    All,
    /// What is not held out.
    Train,
    /// What is held out.
    HeldOut,
}

/// A deterministic split of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// The part wanted.
    pub part: Part,
    /// Percent of the questions that are held out.
    pub percent: u8,
    /// Another seed is another split.
    pub seed: u64,
}

impl Default for Split {
    fn default() -> Self {
        Self { part: Part::All, percent: 10, seed: 0 }
    }
}

impl Split {
    /// Reads a suffix: `train`, `heldout`, `all`, each optionally with the percent held out (`heldout:5`).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (word, percent) = text.split_once(':').map_or((text, None), |(word, percent)| (word, Some(percent)));
        let part = match word {
            "all" => Part::All,
            "train" => Part::Train,
            "heldout" | "held-out" => Part::HeldOut,
            _ => return None,
        };
        let percent = match percent {
            None => Self::default().percent,
            Some(percent) => percent.parse().ok().filter(|percent| *percent <= 100)?,
        };
        Some(Self { part, percent, ..Self::default() })
    }

    /// Whether a question of this id is in the part.
    #[must_use]
    pub fn holds(&self, id: &str) -> bool {
        let held_out = || hash::falls_into(f64::from(self.percent) / 100.0, self.seed, "held-out", id);
        match self.part {
            Part::All => true,
            Part::Train => !held_out(),
            Part::HeldOut => held_out(),
        }
    }

    /// The questions of the part.
    #[must_use]
    pub fn of(&self, questions: Vec<GoldQuestion>) -> Vec<GoldQuestion> {
        questions.into_iter().filter(|question| self.holds(&question.id)).collect()
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.part {
            Part::All => return f.write_str("all"),
            Part::Train => "train",
            Part::HeldOut => "heldout",
        };
        write!(f, "{word}:{}", self.percent)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_disjoint_and_whole() {
        let train = Split::parse("train").unwrap();
        let held = Split::parse("heldout").unwrap();
        let ids: Vec<String> = (0..5000).map(|i| format!("2-hop-dev-{i}")).collect();
        assert!(ids.iter().all(|id| train.holds(id) != held.holds(id)));
        let share = ids.iter().filter(|id| held.holds(id)).count();
        assert!((400..600).contains(&share), "{share} of 5000 held out");
        assert_eq!(Split::parse("heldout:5").map(|split| split.percent), Some(5));
        assert_eq!((Split::parse("heldout:101"), Split::parse("dev")), (None, None));
    }
}
