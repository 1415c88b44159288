//! What the parts of a data set share: the same question, the same masked question with the same masked program, the same entity.

use std::collections::HashSet;
use std::fmt;

use kg::Kg;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Fate, Item};
use crate::fingerprint::Sketch;
use crate::pipeline::Part;
use crate::question::GoldQuestion;
use crate::verify;

/// Questions named in a report of a leak.
const NAMED: usize = 5;

/// How much alike questions of two parts may be; each level includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeakLevel {
    /// The same words.
    Question,
    /// The same words and program but for names and numbers.
    Masked,
    /// An entity in common.
    Topics,
}

/// What the second of two parts shares with the first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leak {
    /// `train` or `valid`.
    pub first: String,
    /// `valid` or `held-out`.
    pub second: String,
    /// Questions of the second part.
    pub questions: usize,
    /// Of these, with the words of a question of the first.
    pub same_question: usize,
    /// With the masked words and the masked program of one.
    pub same_masked: usize,
    /// With an entity of one.
    pub shared_topics: usize,
    /// Some of the questions, the most alike first.
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
            "of {questions} {second} questions {same_question} are also in {first}, {same_masked} but for names and numbers, "
        )?;
        write!(
            f,
            "{shared_topics} share an entity with {first}; for example {}",
            ids.join(", ")
        )
    }
}

/// Compares every part that is written with those it must not leak into.
pub(super) fn look(
    items: &[Item<'_>],
    fates: &[Fate],
    hold_out: &[GoldQuestion],
    kg: &dyn Kg,
) -> Vec<Leak> {
    let part = |part: Part| -> Vec<(&str, &Sketch)> {
        let inside = items
            .iter()
            .zip(fates)
            .filter(|(_, fate)| **fate == Fate::Written(part));
        inside
            .map(|(item, _)| (item.question.id.as_str(), item.sketch))
            .collect()
    };
    let (train, valid) = (part(Part::Train), part(Part::Valid));
    let mut leaks = Vec::new();
    if !valid.is_empty() {
        leaks.push(compare(("train", &train), ("valid", &valid)));
    }
    if !hold_out.is_empty() {
        let sketches: Vec<Sketch> = hold_out
            .par_iter()
            .map(|question| sketch(kg, question))
            .collect();
        let held: Vec<(&str, &Sketch)> = hold_out
            .iter()
            .map(|question| question.id.as_str())
            .zip(&sketches)
            .collect();
        leaks.push(compare(("train", &train), ("held-out", &held)));
        if !valid.is_empty() {
            leaks.push(compare(("valid", &valid), ("held-out", &held)));
        }
    }
    leaks
}

/// A held-out question is converted and linked; it need not have an answer here to be leaked.
fn sketch(kg: &dyn Kg, question: &GoldQuestion) -> Sketch {
    let program = verify::converted(question, Some(kg)).ok();
    let linked = program.and_then(|program| verify::link(kg, question, program).ok());
    linked.map_or_else(
        || Sketch::of_wording(kg, question),
        |linked| Sketch::of(kg, question, &linked),
    )
}

type Named<'a> = (&'a str, &'a [(&'a str, &'a Sketch)]);

fn compare((first, known): Named<'_>, (second, asked): Named<'_>) -> Leak {
    let wordings: HashSet<u64> = known.iter().map(|(_, sketch)| sketch.wording).collect();
    let patterns: HashSet<(&str, u64)> = known
        .iter()
        .filter_map(|(_, sketch)| sketch.pattern())
        .collect();
    let topics: HashSet<&String> = known
        .iter()
        .flat_map(|(_, sketch)| &sketch.topics)
        .collect();
    let mut leak = Leak {
        first: first.to_owned(),
        second: second.to_owned(),
        questions: asked.len(),
        ..Leak::default()
    };
    let mut found: Vec<(LeakLevel, &str)> = Vec::new();
    for (id, sketch) in asked {
        let same_question = wordings.contains(&sketch.wording);
        let same_masked = sketch
            .pattern()
            .is_some_and(|pattern| patterns.contains(&pattern));
        let shared = sketch.topics.iter().any(|topic| topics.contains(topic));
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
