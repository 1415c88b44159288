//! Analysed words and names of the lexical ranker.

use super::text::{Profile, content, dice, stem, word_grams};
use kg::words;

/// Similarity (Dice coefficient of trigrams) below which two words count as unrelated.
const ALIKE: f32 = 0.4;

/// Hash of a text. Collisions among the 64-bit hashes of all words of all languages are not
/// expected.
pub(super) fn mark(text: &str) -> u64 {
    // Scores are summed in hash order, so the hash must not change with the compiler.
    common::hash::quick(text.bytes())
}

/// A word with its hashes and trigrams.
#[derive(Debug)]
pub(super) struct Word {
    /// Hash of the word.
    pub(super) mark: u64,
    /// Hash of its stem.
    pub(super) stem: u64,
    grams: Vec<u64>,
    fingerprint: [u128; 2],
}

impl Word {
    pub(super) fn of(word: &str) -> Self {
        let (grams, fingerprint) = word_grams(word);
        Self {
            mark: mark(word),
            stem: mark(&stem(word)),
            grams,
            fingerprint,
        }
    }

    /// Similarity from 0 to 1: 1 for equal stems, else by shared trigrams.
    pub(super) fn similarity(&self, other: &Self) -> f32 {
        if self.stem == other.stem {
            return 1.0;
        }
        // Most pairs of words share no trigram.
        if self.fingerprint[0] & other.fingerprint[0] == 0
            && self.fingerprint[1] & other.fingerprint[1] == 0
        {
            return 0.0;
        }
        let dice = dice(&self.grams, &other.grams);
        if dice >= ALIKE { dice } else { 0.0 }
    }
}

/// An analysed name.
#[derive(Debug)]
pub(super) struct Name {
    /// Content words of the last segment, or all of its words if it has only stop words.
    pub(super) segment: Vec<Word>,
    /// Content words of the segments before it.
    pub(super) domain: Vec<Word>,
    pub(super) profile: Profile,
}

impl Name {
    /// Analyses a printed name or a label.
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
