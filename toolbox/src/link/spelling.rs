//! Words of a question in which two neighbouring letters are swapped, put right by what the graph knows.

use kg::Kg;
use rustc_hash::FxHashMap;

use super::codes::is_vocabulary;
use super::language::{is_adjective, is_ordinary};
use super::words::is_stop;
use crate::carrier::plainly;
use crate::text::swaps;
use crate::text_values::value_of;

/// Letters of the shortest word that is corrected.
const SHORTEST: usize = 6;
/// Most different words of a question that are looked up. People's questions have fewer.
const MOST: usize = 48;

/// The plain question ([`plainly`]) in which nations, classes, relations and values are spelled as they should be: `itailan`,
/// `counrties`, `repulbic`. Only neighbouring letters change places.
pub(crate) fn spelled(kg: &dyn Kg, question: &str) -> String {
    let mut text = question.to_owned();
    let mut known: FxHashMap<String, Option<String>> = FxHashMap::default();
    loop {
        let mut plain = plainly(&text);
        for (at, word) in kg::placed_words(&plain) {
            let span = at..at + word.len();
            // `K` (U+212A) is a longer `k`.
            let ascii = |text: &str| text.eq_ignore_ascii_case(&word);
            if !plain.get(span.clone()).is_some_and(ascii)
                || known.len() == MOST && !known.contains_key(&word)
            {
                continue;
            }
            if let Some(meant) = known.entry(word).or_insert_with_key(|word| meant(kg, word)) {
                plain.replace_range(span, meant);
            }
        }
        // What is right now may be a carrier phrase.
        if plain == text {
            return plain;
        }
        text = plain;
    }
}

/// The name of a nation, the word of a class or relation, or the value, in which two letters are swapped.
fn meant(kg: &dyn Kg, word: &str) -> Option<String> {
    let letters = word.len() >= SHORTEST && word.bytes().all(|one| one.is_ascii_lowercase());
    if !letters || is_stop(word) || is_ordinary(word) {
        return None;
    }
    let known =
        |word: &str| is_adjective(word) || is_vocabulary(kg, word) || value_of(kg, word).is_some();
    match known(word) {
        true => None,
        false => swaps(word).find(|one| known(one)),
    }
}
