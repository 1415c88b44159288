//! Near-duplicates: questions with the same program and similar wording. The first in reading order
//! is kept.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::str::FromStr;

use super::item::Item;

/// Words of a shingle. With single words, any two questions about one program would be similar.
const SHINGLE: usize = 2;

/// Which questions count as duplicates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Dedup {
    /// No questions.
    #[default]
    Off,
    /// The same words and the same program.
    Exact,
    /// The same words and the same program after entities, numbers and quotations are masked.
    Masked,
    /// The same masked program, and masked wordings whose word pairs have at least this Jaccard
    /// similarity.
    Near(f64),
}

impl FromStr for Dedup {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let share = |text: &str| {
            text.parse()
                .ok()
                .filter(|share| (0.0..=1.0).contains(share))
        };
        match text.split_once(':').unwrap_or((text, "0.8")) {
            ("off", _) => Ok(Self::Off),
            ("exact", _) => Ok(Self::Exact),
            ("masked", _) => Ok(Self::Masked),
            ("near", text) if share(text).is_some_and(|share| share > 0.0) => {
                Ok(Self::Near(share(text).unwrap_or_default()))
            }
            _ => Err(format!(
                "`{text}` is not a deduplication level; write off, exact, masked, near or near:SHARE with a share above 0 and at most 1"
            )),
        }
    }
}

impl fmt::Display for Dedup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Exact => f.write_str("exact"),
            Self::Masked => f.write_str("masked"),
            Self::Near(share) => write!(f, "near:{share}"),
        }
    }
}

/// For each question, whether it is the first among its duplicates.
pub(super) fn first_of_each(items: &[Item<'_>], dedup: Dedup) -> Vec<bool> {
    let mut seen = HashSet::new();
    match dedup {
        Dedup::Off => vec![true; items.len()],
        Dedup::Exact => items
            .iter()
            .map(|item| seen.insert((item.fingerprint.wording, item.fingerprint.program)))
            .collect(),
        Dedup::Masked => masked(items),
        Dedup::Near(share) => near(items, share),
    }
}

fn masked(items: &[Item<'_>]) -> Vec<bool> {
    let mut seen = HashSet::new();
    items
        .iter()
        .map(|item| seen.insert((item.fingerprint.masked.as_str(), item.fingerprint.shape)))
        .collect()
}

/// The wordings kept for one program, indexed by shingle.
#[derive(Default)]
struct KeptWordings<'a> {
    sizes: Vec<usize>,
    with: HashMap<(&'a str, &'a str), Vec<usize>>,
}

fn near<'a>(items: &[Item<'a>], share: f64) -> Vec<bool> {
    let mut programs: HashMap<u64, KeptWordings<'_>> = HashMap::new();
    let mut is_new = |item: &Item<'a>| {
        programs
            .entry(item.fingerprint.shape)
            .or_default()
            .is_new(&item.fingerprint.masked, share)
    };
    items
        .iter()
        .zip(masked(items))
        .map(|(item, first)| first && is_new(item))
        .collect()
}

impl<'a> KeptWordings<'a> {
    /// Adds a wording unless a similar one is present.
    fn is_new(&mut self, wording: &'a str, share: f64) -> bool {
        let shingles = shingles(wording);
        let mut common: HashMap<usize, usize> = HashMap::new();
        for &other in shingles
            .iter()
            .filter_map(|shingle| self.with.get(shingle))
            .flatten()
        {
            *common.entry(other).or_default() += 1;
        }
        let similar = |(&other, &common): (&usize, &usize)| {
            let either = self.sizes[other] + shingles.len() - common;
            common as f64 >= share * either as f64
        };
        if common.iter().any(similar) {
            return false;
        }
        let index = self.sizes.len();
        self.sizes.push(shingles.len());
        for shingle in shingles {
            self.with.entry(shingle).or_default().push(index);
        }
        true
    }
}

/// Pairs of adjacent words; the first word is paired with the empty string.
fn shingles(text: &str) -> HashSet<(&str, &str)> {
    let words: Vec<&str> = std::iter::once("").chain(text.split(' ')).collect();
    words
        .windows(SHINGLE)
        .map(|pair| (pair[0], pair[1]))
        .collect()
}
