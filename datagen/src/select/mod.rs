//! From verified questions to the data that is written: near-duplicates go, sources are mixed, questions are split, leaks are looked for.
//! Everything here works on sketches, so that it can be run again with other options without verifying anything twice.

mod dedup;
mod leakage;
mod mix;
mod partition;

use std::collections::BTreeMap;

use kg::Kg;
use serde::{Deserialize, Serialize};

pub use dedup::Dedup;
pub use leakage::{Leak, LeakLevel};
pub use mix::{Draw, Mix, Unit};
pub use partition::SplitKind;

use crate::Error;
use crate::fingerprint::Sketch;
use crate::pipeline::{GenerateOptions, Part};
use crate::question::GoldQuestion;

/// What is chosen among verified questions, and how they are split.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SelectOptions {
    /// Which questions count as the same.
    pub dedup: Dedup,
    /// How many questions or steps of which source.
    pub draw: Draw,
    /// What is special about the validation part.
    pub split: SplitKind,
    /// Leaks from this level on are an error.
    pub strict: Option<LeakLevel>,
}

/// A verified question as selection sees it.
pub(crate) struct Item<'a> {
    pub(crate) question: &'a GoldQuestion,
    pub(crate) sketch: &'a Sketch,
    /// Calls in its examples.
    pub(crate) steps: usize,
}

/// What becomes of a verified question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The same as an earlier one.
    Duplicate,
    /// Left out by the mixture.
    NotDrawn,
    /// Written.
    Written(Part),
}

/// How many questions and calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// Questions.
    pub questions: usize,
    /// Calls in their examples.
    pub steps: usize,
}

impl Amount {
    fn add(&mut self, item: &Item<'_>) {
        self.questions += 1;
        self.steps += item.steps;
    }
}

/// What selection did, for `report.json` and the data card.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Selection {
    /// Which questions counted as the same, such as `near:0.8`.
    pub dedup: String,
    /// Verified questions dropped as duplicates.
    pub duplicates: usize,
    /// Verified questions that the mixture left out.
    pub not_drawn: usize,
    /// What was drawn of each source, by the unit asked for.
    pub unit: Unit,
    /// Questions and calls by source.
    pub drawn: BTreeMap<String, Amount>,
    /// The kind of split.
    pub split: SplitKind,
    /// The part trained on.
    pub train: Amount,
    /// The part to validate with.
    pub valid: Amount,
    /// Combinations or relations that only the validation part has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
    /// What the parts share with each other and with held-out questions.
    pub leakage: Vec<Leak>,
}

/// Decides about every verified question, in order.
pub(crate) fn select(
    items: &[Item<'_>],
    kg: &dyn Kg,
    options: &GenerateOptions,
) -> Result<(Vec<Fate>, Selection), Error> {
    let select = &options.select;
    let first: Vec<bool> = dedup::first_of_each(items, select.dedup);
    let unique: Vec<usize> = (0..items.len()).filter(|&i| first[i]).collect();
    let drawn = mix::draw(items, &unique, &select.draw, options.seed)?;
    let (held, unseen) =
        partition::held_out(items, &drawn, select.split, options.valid, options.seed)?;

    let mut fates: Vec<Fate> = first
        .iter()
        .map(|first| {
            if *first {
                Fate::NotDrawn
            } else {
                Fate::Duplicate
            }
        })
        .collect();
    let mut selection = Selection {
        dedup: select.dedup.to_string(),
        duplicates: items.len() - unique.len(),
        not_drawn: unique.len() - drawn.len(),
        unit: select.draw.unit,
        split: select.split,
        unseen,
        ..Selection::default()
    };
    for (&i, held) in drawn.iter().zip(held) {
        let item = &items[i];
        selection
            .drawn
            .entry(item.question.source.clone())
            .or_default()
            .add(item);
        let (part, amount) = if held {
            (Part::Valid, &mut selection.valid)
        } else {
            (Part::Train, &mut selection.train)
        };
        amount.add(item);
        fates[i] = Fate::Written(part);
    }
    selection.leakage = leakage::look(items, &fates, &options.hold_out, kg);
    if let Some(level) = select.strict
        && let Some(leak) = selection.leakage.iter().find(|leak| leak.reaches(level))
    {
        return Err(Error::Leakage(leak.to_string()));
    }
    Ok((fates, selection))
}
