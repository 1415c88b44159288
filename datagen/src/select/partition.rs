//! Splits as in GrailQA: the validation part is random, or it has combinations of relations that
//! the training part does not have (compositional), or relations that the training part does not
//! have (zero-shot).

use std::collections::{BTreeMap, HashMap};

use common::hash;
use serde::{Deserialize, Serialize};

use super::item::Item;
use crate::Error;
use crate::reword::original;

/// How the validation part differs from the training part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SplitKind {
    /// A random sample.
    #[default]
    Iid,
    /// Each of its questions has a combination of relations, classes and functions that does not
    /// occur in training, though each of these does.
    Compositional,
    /// Each of its questions has a relation that does not occur in training.
    ZeroShot,
}

/// Which of `drawn` are held out for validation, and the combinations or relations unique to them.
pub(super) fn held_out(
    items: &[Item<'_>],
    drawn: &[usize],
    kind: SplitKind,
    share: f64,
    seed: u64,
) -> Result<(Vec<bool>, Vec<String>), Error> {
    let wanted = (share * drawn.len() as f64).round() as usize;
    let parts = match kind {
        SplitKind::Iid => {
            // All wordings of a question are on one side.
            let held = |&i: &usize| {
                hash::falls_into(share, seed, "valid", original(&items[i].question.id))
            };
            return Ok((drawn.iter().map(held).collect(), Vec::new()));
        }
        SplitKind::Compositional => combinations(items, drawn, wanted, seed),
        SplitKind::ZeroShot => relations(items, drawn, wanted, seed),
    };
    if parts.1.is_empty() {
        let what = if kind == SplitKind::ZeroShot {
            "relation"
        } else {
            "combination of relations that also occur elsewhere"
        };
        return Err(Error::Split(format!(
            "no {what} is in at most {wanted} of {} questions; a larger --valid would allow one",
            drawn.len()
        )));
    }
    Ok(parts)
}

fn combinations(
    items: &[Item<'_>],
    drawn: &[usize],
    wanted: usize,
    seed: u64,
) -> (Vec<bool>, Vec<String>) {
    let parts = |i: usize| {
        items[i]
            .fingerprint
            .relations
            .iter()
            .chain(&items[i].fingerprint.functions)
    };
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let mut uses: HashMap<&String, usize> = HashMap::new();
    for (place, &i) in drawn.iter().enumerate() {
        groups
            .entry(parts(i).map(String::as_str).collect::<Vec<_>>().join(" + "))
            .or_default()
            .push(place);
        parts(i).for_each(|part| *uses.entry(part).or_default() += 1);
    }
    let mut order: Vec<(&String, &Vec<usize>)> = groups.iter().collect();
    order
        .sort_by_cached_key(|(name, _)| (hash::number(seed, "combination", name), (*name).clone()));
    let (mut held, mut unseen, mut taken) = (vec![false; drawn.len()], Vec::new(), 0);
    for (name, group) in order {
        let of = drawn[group[0]];
        let elsewhere =
            parts(of).all(|part| uses.get(part).is_some_and(|uses| *uses > group.len()));
        if taken + group.len() > wanted || parts(of).count() < 2 || !elsewhere {
            continue;
        }
        for part in parts(of) {
            uses.entry(part).and_modify(|uses| *uses -= group.len());
        }
        group.iter().for_each(|&place| held[place] = true);
        taken += group.len();
        unseen.push(name.clone());
    }
    unseen.sort_unstable();
    (held, unseen)
}

fn relations(
    items: &[Item<'_>],
    drawn: &[usize],
    wanted: usize,
    seed: u64,
) -> (Vec<bool>, Vec<String>) {
    let mut with: BTreeMap<&String, Vec<usize>> = BTreeMap::new();
    for (place, &i) in drawn.iter().enumerate() {
        for relation in &items[i].fingerprint.relations {
            with.entry(relation).or_default().push(place);
        }
    }
    let mut order: Vec<(&String, &Vec<usize>)> = with
        .iter()
        .map(|(relation, places)| (*relation, places))
        .collect();
    order.sort_by_cached_key(|(relation, _)| {
        (hash::number(seed, "unseen", relation), (*relation).clone())
    });
    let (mut held, mut unseen, mut taken) = (vec![false; drawn.len()], Vec::new(), 0);
    for (relation, places) in order {
        let fresh = places.iter().filter(|place| !held[**place]).count();
        if taken + fresh > wanted {
            continue;
        }
        places.iter().for_each(|&place| held[place] = true);
        taken += fresh;
        unseen.push(relation.clone());
    }
    unseen.sort_unstable();
    (held, unseen)
}
