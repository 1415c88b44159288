//! Phrases that mean one thing (`come out`, `part of`), as they are written. English.

use rustc_hash::FxHashMap;

/// How phrases are written, by their stems.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Phrases(FxHashMap<String, Vec<Vec<String>>>);

impl Phrases {
    /// Adds a way to write the phrase with these stems. A single word is no phrase.
    pub(super) fn add(&mut self, stems: &str, written: Vec<String>) {
        if written.len() > 1 {
            self.0.entry(stems.to_owned()).or_default().push(written);
        }
    }

    /// Adds the phrases of `other`.
    pub(super) fn extend(&mut self, other: &Self) {
        for (stems, written) in &other.0 {
            let known = self.0.entry(stems.clone()).or_default();
            known.extend(written.iter().cloned());
        }
    }

    /// The number of words at the start of `words` that form the longest phrase. `known` tells stems
    /// that are a phrase however they are written. `party of` is not `part of`, though both have one
    /// stem.
    pub(super) fn length(
        &self,
        words: &[String],
        stems: &[String],
        known: impl Fn(&str) -> bool,
    ) -> Option<usize> {
        const LONGEST: usize = 4;
        let is_phrase = |length: usize| {
            let stems = stems[..length].join(" ");
            let alike = |written: &Vec<String>| {
                let mut pairs = written.iter().zip(words);
                pairs.all(|(a, b)| same_but_ending(a, b))
            };
            match self.0.get(&stems) {
                Some(written) => written.iter().any(alike),
                None => known(&stems),
            }
        };
        (2..=stems.len().min(LONGEST))
            .rev()
            .find(|&length| is_phrase(length))
    }
}

/// Whether two words are the same but for an ending of their number or tense.
pub(super) fn same_but_ending(a: &str, b: &str) -> bool {
    const ENDINGS: [&str; 6] = ["", "s", "es", "d", "ed", "ing"];
    let bases = |word| {
        ENDINGS
            .iter()
            .filter_map(move |ending| str::strip_suffix(word, ending))
    };
    bases(a).any(|base| base.len() > 1 && bases(b).any(|other| other == base))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_phrase_is_found_in_other_forms_but_not_in_other_words() {
        let mut phrases = Phrases::default();
        phrases.add("part of", all("part of"));
        phrases.add("death of", all("died of"));
        phrases.add("death", all("died"));
        let length = |words: &str, stems: &str| phrases.length(&all(words), &all(stems), |_| false);
        assert_eq!(length("parts of it", "part of it"), Some(2));
        assert_eq!(length("party of it", "part of it"), None);
        assert_eq!(length("dies of it", "death of it"), Some(2));
        assert_eq!(length("death of it", "death of it"), None);
        assert_eq!(length("died", "death"), None);
        assert_eq!(length("of", "of"), None);
        let known = phrases.length(&all("come out"), &all("com out"), |stems| {
            stems == "com out"
        });
        assert_eq!(known, Some(2));
    }

    #[test]
    fn words_differ_by_an_ending_only() {
        for (a, b, same) in [
            ("painter", "painters", true),
            ("died", "dies", true),
            ("come", "coming", false),
            ("belong", "belongs", true),
            ("party", "part", false),
            ("death", "die", false),
            ("s", "ed", false),
        ] {
            assert_eq!(same_but_ending(a, b), same, "{a} {b}");
        }
    }
}
