//! Words and names as the lexical ranker compares them.

use super::text::{Profile, content, dice, stem, word_grams};
use kg::words;

/// Similarity of two words below which they have nothing to do with each other (dice of their trigrams).
const ALIKE: f32 = 0.4;

/// A hash that stands for a text: among the words of all languages no two of 64 bits are expected to meet.
pub(super) fn mark(text: &str) -> u64 {
    // FNV-1a: scores are summed in this order, so it must not change with the compiler.
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// A word with what comparing it needs.
#[derive(Debug)]
pub(super) struct Word {
    /// Stands for the word.
    pub(super) mark: u64,
    /// Stands for its stem.
    pub(super) stem: u64,
    grams: Vec<u64>,
    sketch: [u128; 2],
}

impl Word {
    pub(super) fn of(word: &str) -> Self {
        let (grams, sketch) = word_grams(word);
        Self {
            mark: mark(word),
            stem: mark(&stem(word)),
            grams,
            sketch,
        }
    }

    /// From 0 to 1: the same stem, or many trigrams in common.
    pub(super) fn likeness(&self, other: &Self) -> f32 {
        if self.stem == other.stem {
            return 1.0;
        }
        // Most pairs of words have nothing in common.
        if self.sketch[0] & other.sketch[0] == 0 && self.sketch[1] & other.sketch[1] == 0 {
            return 0.0;
        }
        let dice = dice(&self.grams, &other.grams);
        if dice >= ALIKE { dice } else { 0.0 }
    }
}

/// A name taken apart.
#[derive(Debug)]
pub(super) struct Name {
    /// Content words of the last segment; all of its words where there are no others.
    pub(super) segment: Vec<Word>,
    /// Content words of what stands before it.
    pub(super) domain: Vec<Word>,
    pub(super) profile: Profile,
}

impl Name {
    /// Takes a printed name or a label apart.
    pub(super) fn of(name: &str) -> Self {
        let name = name.trim_matches('_').replace("__", ".");
        let (domain, last) = name
            .rsplit_once(['.', '/', '#', ':'])
            .unwrap_or(("", &name));
        let mut own = content(last);
        if own.is_empty() {
            own = words(last);
        }
        let domain = content(domain);
        Self {
            profile: Profile::of(&own),
            segment: own.iter().map(|word| Word::of(word)).collect(),
            domain: domain.iter().map(|word| Word::of(word)).collect(),
        }
    }
}
