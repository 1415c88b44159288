//! Overlap between the parts of a dataset: equal questions, equal masked questions with equal
//! masked programs, and shared entities.

use std::collections::HashSet;
use std::fmt;

use kg::Kg;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use toolbox::call::ToolTable;

use super::item::{DatasetPart, Fate, Item};
use crate::fingerprint::Fingerprint;
use crate::question::GoldQuestion;
use crate::verify;

/// Maximum number of questions named per leak.
const NAMED: usize = 5;

/// How similar questions of two parts may be; each level includes the levels before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeakLevel {
    /// The same words.
    Question,
    /// The same words and program except for names and numbers.
    Masked,
    /// An entity in common.
    Topics,
}

/// Overlap of the second of two parts with the first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leak {
    /// `train` or `valid`.
    pub first: String,
    /// `valid` or `held-out`.
    pub second: String,
    /// Questions of the second part.
    pub questions: usize,
    /// Those with the same words as a question of the first part.
    pub same_question: usize,
    /// Those with the same masked words and masked program as one.
    pub same_masked: usize,
    /// Those that share an entity with one.
    pub shared_topics: usize,
    /// Some of the questions, most similar first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
}

impl Leak {
    /// Whether there is a leak of this level.
    #[must_use]
    pub fn reaches(&self, level: LeakLevel) -> bool {
        self.same_question > 0
            || (level >= LeakLevel::Masked && self.same_masked > 0)
            || (level >= LeakLevel::Topics && self.shared_topics > 0)
    }
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            first,
            second,
            questions,
            same_question,
            same_masked,
            shared_topics,
            ids,
        } = self;
        write!(
            f,
            "of {questions} {second} questions {same_question} are also in {first}, {same_masked} except for names and numbers, "
        )?;
        write!(
            f,
            "{shared_topics} share an entity with {first}; for example {}",
            ids.join(", ")
        )
    }
}

/// Compares the written parts with each other and with the held-out questions.
pub(super) fn leaks(
    items: &[Item<'_>],
    fates: &[Fate],
    hold_out: &[GoldQuestion],
    kg: &dyn Kg,
) -> Vec<Leak> {
    let part = |part: DatasetPart| -> Vec<(&str, &Fingerprint)> {
        let inside = items
            .iter()
            .zip(fates)
            .filter(|(_, fate)| **fate == Fate::Written(part));
        inside
            .map(|(item, _)| (item.question.id.as_str(), item.fingerprint))
            .collect()
    };
    let (train, valid) = (part(DatasetPart::Train), part(DatasetPart::Valid));
    let mut leaks = Vec::new();
    if !valid.is_empty() {
        leaks.push(compare(("train", &train), ("valid", &valid)));
    }
    if !hold_out.is_empty() {
        let fingerprints: Vec<Fingerprint> = hold_out
            .par_iter()
            .map(|question| held_out_fingerprint(kg, question))
            .collect();
        let held: Vec<(&str, &Fingerprint)> = hold_out
            .iter()
            .map(|question| question.id.as_str())
            .zip(&fingerprints)
            .collect();
        leaks.push(compare(("train", &train), ("held-out", &held)));
        if !valid.is_empty() {
            leaks.push(compare(("valid", &valid), ("held-out", &held)));
        }
    }
    leaks
}

/// The fingerprint of a held-out question. It is converted and linked but not verified: a leaked
/// question need not have an answer on this graph.
fn held_out_fingerprint(kg: &dyn Kg, question: &GoldQuestion) -> Fingerprint {
    let program = verify::converted(question, Some(kg), ToolTable::Paper).ok();
    let linked = program.and_then(|program| verify::link(kg, question, program).ok());
    linked.map_or_else(
        || Fingerprint::of_wording(kg, question),
        |linked| Fingerprint::of(kg, question, &linked),
    )
}

type NamedPart<'a> = (&'a str, &'a [(&'a str, &'a Fingerprint)]);

fn compare((first, known): NamedPart<'_>, (second, asked): NamedPart<'_>) -> Leak {
    let wordings: HashSet<u64> = known
        .iter()
        .map(|(_, fingerprint)| fingerprint.wording)
        .collect();
    let patterns: HashSet<(&str, u64)> = known
        .iter()
        .filter_map(|(_, fingerprint)| fingerprint.pattern())
        .collect();
    let topics: HashSet<&String> = known
        .iter()
        .flat_map(|(_, fingerprint)| &fingerprint.topics)
        .collect();
    let mut leak = Leak {
        first: first.to_owned(),
        second: second.to_owned(),
        questions: asked.len(),
        ..Leak::default()
    };
    let mut found: Vec<(LeakLevel, &str)> = Vec::new();
    for (id, fingerprint) in asked {
        let same_question = wordings.contains(&fingerprint.wording);
        let same_masked = fingerprint
            .pattern()
            .is_some_and(|pattern| patterns.contains(&pattern));
        let shared = fingerprint
            .topics
            .iter()
            .any(|topic| topics.contains(topic));
        leak.same_question += usize::from(same_question);
        leak.same_masked += usize::from(same_masked);
        leak.shared_topics += usize::from(shared);
        let levels = [
            (same_question, LeakLevel::Question),
            (same_masked, LeakLevel::Masked),
            (shared, LeakLevel::Topics),
        ];
        found.extend(
            levels
                .iter()
                .find(|(holds, _)| *holds)
                .map(|(_, level)| (*level, *id)),
        );
    }
    found.sort_by_key(|(level, _)| *level);
    leak.ids = found
        .into_iter()
        .take(NAMED)
        .map(|(_, id)| id.to_owned())
        .collect();
    leak
}
