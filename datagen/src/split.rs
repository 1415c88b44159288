//! Splits of a source into training and held-out questions by a hash of the question's id or of the
//! relations that it needs. Two commands with the same numbers agree without sharing a file.

use std::collections::BTreeSet;
use std::fmt;

use toolbox::call::{Arg, Call, ToolTable};

use crate::question::GoldQuestion;
use crate::verify;
use common::hash;

common::worded! {
    /// A part of a source.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum SourcePart, fn word() {
        /// Everything.
        #[default]
        All = "all",
        /// Questions that are not held out.
        Train = "train",
        /// Held-out questions.
        HeldOut = "heldout",
        /// Questions that need no held-back relation.
        Seen = "seen",
        /// Questions that need at least one held-back relation.
        Unseen = "unseen",
    }
}

/// A deterministic split of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// The part to read.
    pub part: SourcePart,
    /// Percentage of held-out questions.
    pub percent: u8,
    /// Number of held-back relations among those of the source's gold programs.
    pub relations: usize,
    /// Seed of the split.
    pub seed: u64,
}

impl Default for Split {
    fn default() -> Self {
        Self {
            part: SourcePart::All,
            percent: 10,
            relations: 0,
            seed: 0,
        }
    }
}

impl Split {
    /// Parses a suffix: `train`, `heldout` or `all`, optionally with the percentage held out
    /// (`heldout:5`), or `seen:60` or `unseen:60` with the number of held-back relations. A seed
    /// may follow: `unseen:60:2`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split(':');
        let (word, number, seed) = (fields.next()?, fields.next(), fields.next());
        if fields.next().is_some() {
            return None;
        }
        let seed = seed.map_or(Some(0), |seed| seed.parse().ok())?;
        let word = if word == "held-out" { "heldout" } else { word };
        let part = SourcePart::ALL
            .into_iter()
            .find(|part| part.word() == word)?;
        if matches!(part, SourcePart::Seen | SourcePart::Unseen) {
            return Some(Self {
                part,
                relations: number?.parse().ok()?,
                seed,
                ..Self::default()
            });
        }
        let percent = match number {
            None => Self::default().percent,
            Some(percent) => percent.parse().ok().filter(|percent| *percent <= 100)?,
        };
        Some(Self {
            part,
            percent,
            seed,
            ..Self::default()
        })
    }

    /// Whether the question with this id is in the part; `None` if that depends on all questions of
    /// the source.
    #[must_use]
    pub fn holds(&self, id: &str) -> Option<bool> {
        let held_out =
            || hash::falls_into(f64::from(self.percent) / 100.0, self.seed, "held-out", id);
        match self.part {
            SourcePart::All => Some(true),
            SourcePart::Train => Some(!held_out()),
            SourcePart::HeldOut => Some(held_out()),
            SourcePart::Seen | SourcePart::Unseen => None,
        }
    }

    /// The questions of the part. A query that does not convert to a program needs no relation.
    #[must_use]
    pub fn of(&self, questions: Vec<GoldQuestion>) -> Vec<GoldQuestion> {
        match self.part {
            SourcePart::All | SourcePart::Train | SourcePart::HeldOut => questions
                .into_iter()
                .filter(|question| self.holds(&question.id) == Some(true))
                .collect(),
            SourcePart::Seen | SourcePart::Unseen => {
                let needed: Vec<BTreeSet<String>> = questions.iter().map(relations).collect();
                let all: BTreeSet<&String> = needed.iter().flatten().collect();
                let mut order: Vec<&String> = all.into_iter().collect();
                order.sort_by_cached_key(|relation| hash::number(self.seed, "held-back", relation));
                let held: BTreeSet<&String> = order.into_iter().take(self.relations).collect();
                let unseen = needed
                    .iter()
                    .map(|needed| needed.iter().any(|relation| held.contains(relation)));
                let wanted: Vec<bool> = unseen
                    .map(|unseen| unseen == (self.part == SourcePart::Unseen))
                    .collect();
                questions
                    .into_iter()
                    .zip(wanted)
                    .filter_map(|(question, wanted)| wanted.then_some(question))
                    .collect()
            }
        }
    }
}

/// The relations that a question's gold program names, by full name.
pub(crate) fn relations(question: &GoldQuestion) -> BTreeSet<String> {
    let program = verify::converted(question, None, ToolTable::Paper);
    relations_of(&program.map(|program| program.calls).unwrap_or_default())
}

/// The relations that calls name, by full name.
pub(crate) fn relations_of(calls: &[Call]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for call in calls {
        let params = call.tool.signature().params;
        for (i, arg) in call.args.iter().enumerate() {
            let named = params[i.min(params.len() - 1)].names_relation();
            if let (true, Arg::Name(name)) = (named, arg.relation()) {
                names.insert(name.clone());
            }
        }
    }
    names
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.part.word();
        if self.part == SourcePart::All {
            return f.write_str(word);
        }
        let number = if matches!(self.part, SourcePart::Seen | SourcePart::Unseen) {
            self.relations
        } else {
            usize::from(self.percent)
        };
        write!(f, "{word}:{number}")?;
        if self.seed == 0 {
            Ok(())
        } else {
            write!(f, ":{}", self.seed)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::question::GoldQuery;
    use toolbox::exec::ExcludeWhen;

    fn question(id: String, sparql: &str) -> GoldQuestion {
        GoldQuestion {
            id,
            source: "test".to_owned(),
            question: String::new(),
            query: GoldQuery::Text(sparql.to_owned()),
            topics: Vec::new(),
            answers: None,
            answers_bind: false,
            hops: None,
            kind: None,
            exclude: ExcludeWhen::Never,
        }
    }

    fn ids(split: &str, questions: &[GoldQuestion]) -> BTreeSet<String> {
        Split::parse(split)
            .unwrap()
            .of(questions.to_vec())
            .into_iter()
            .map(|question| question.id)
            .collect()
    }

    #[test]
    fn parts_are_disjoint_and_whole() {
        let questions: Vec<GoldQuestion> = (0..5000)
            .map(|i| question(format!("2-hop-dev-{i}"), ""))
            .collect();
        let (train, held) = (ids("train", &questions), ids("heldout", &questions));
        assert!(train.is_disjoint(&held) && train.len() + held.len() == 5000);
        assert!(
            (400..600).contains(&held.len()),
            "{} of 5000 held out",
            held.len()
        );
        assert_ne!(ids("heldout:10:1", &questions), held);
        assert_eq!(
            Split::parse("heldout:5").map(|split| split.percent),
            Some(5)
        );
        assert_eq!(
            (
                Split::parse("heldout:101"),
                Split::parse("dev"),
                Split::parse("seen")
            ),
            (None, None, None)
        );
        for text in ["all", "train:10", "heldout:5", "seen:60", "unseen:60:2"] {
            assert_eq!(Split::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn held_back_relations_are_in_one_part_only() {
        let path = |i: usize| {
            format!(
                "SELECT ?x {{ <urn:kgagent:a> <urn:kgagent:r{}> ?y . ?y <urn:kgagent:r{}> ?x }}",
                i % 20,
                i / 20
            )
        };
        let questions: Vec<GoldQuestion> = (0..400)
            .map(|i| question(i.to_string(), &path(i)))
            .collect();
        let (seen, unseen) = (ids("seen:5", &questions), ids("unseen:5", &questions));
        assert!(seen.is_disjoint(&unseen));
        // Five of twenty relations are held back: fifteen are left for either hop.
        assert_eq!((seen.len(), unseen.len()), (15 * 15, 400 - 15 * 15));
        let of = |part: &BTreeSet<String>| -> BTreeSet<String> {
            questions
                .iter()
                .filter(|question| part.contains(&question.id))
                .flat_map(relations)
                .collect()
        };
        assert_eq!((of(&seen).len(), of(&unseen).len()), (15, 20));
    }
}
