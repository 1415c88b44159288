//! Selection among verified questions: removes near-duplicates, mixes sources, splits questions and
//! reports leaks. It works on fingerprints only, so that it can run again with other options
//! without verifying anything again.

mod dedup;
mod item;
mod leakage;
mod mix;
mod partition;

use std::collections::BTreeMap;

use kg::Kg;
use serde::{Deserialize, Serialize};

pub use dedup::Dedup;
pub(crate) use item::{DatasetPart, Fate, Item};
pub use leakage::{Leak, LeakLevel};
pub use mix::{Mix, MixOptions, Unit};
pub use partition::SplitKind;

use crate::Error;
use crate::question::GoldQuestion;

/// How verified questions are selected and split.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SelectOptions {
    /// Which questions count as duplicates.
    pub dedup: Dedup,
    /// How many questions or steps of each source are drawn.
    pub mixing: MixOptions,
    /// How the validation part differs from the training part.
    pub split: SplitKind,
    /// The lowest level of leaks that is an error.
    pub strict: Option<LeakLevel>,
}

/// Numbers of questions and calls.
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

/// The result of selection, for `report.json` and the data card.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Selection {
    /// The deduplication level, such as `near:0.8`.
    pub dedup: String,
    /// Verified questions dropped as duplicates.
    pub duplicates: usize,
    /// Verified questions that the mixture left out.
    pub not_drawn: usize,
    /// The unit of the mixture.
    pub unit: Unit,
    /// Questions and calls drawn, by source.
    pub drawn: BTreeMap<String, Amount>,
    /// The kind of split.
    pub split: SplitKind,
    /// The training part.
    pub train: Amount,
    /// The validation part.
    pub valid: Amount,
    /// Combinations or relations that occur only in the validation part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
    /// Overlap of the parts with each other and with held-out questions.
    pub leakage: Vec<Leak>,
}

/// The fate of every verified question, in order. `valid` is the share of the validation part.
pub(crate) fn select(
    items: &[Item<'_>],
    kg: &dyn Kg,
    select: &SelectOptions,
    seed: u64,
    valid: f64,
    hold_out: &[GoldQuestion],
) -> Result<(Vec<Fate>, Selection), Error> {
    let first: Vec<bool> = dedup::first_of_each(items, select.dedup);
    let unique: Vec<usize> = (0..items.len()).filter(|&i| first[i]).collect();
    let drawn = mix::draw(items, &unique, &select.mixing, seed)?;
    let (held, unseen) = partition::held_out(items, &drawn, select.split, valid, seed)?;

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
        unit: select.mixing.unit,
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
            (DatasetPart::Valid, &mut selection.valid)
        } else {
            (DatasetPart::Train, &mut selection.train)
        };
        amount.add(item);
        fates[i] = Fate::Written(part);
    }
    selection.leakage = leakage::leaks(items, &fates, hold_out, kg);
    if let Some(level) = select.strict
        && let Some(leak) = selection.leakage.iter().find(|leak| leak.reaches(level))
    {
        return Err(Error::Leakage(leak.to_string()));
    }
    Ok((fates, selection))
}
