//! Words of a question in which two neighbouring letters are swapped, put right by what the graph knows.

use kg::Kg;
use kg::term::Literal;
use rustc_hash::FxHashMap;

use super::codes::is_vocabulary;
use super::language::is_adjective;
use super::words::is_stop;
use crate::carrier::plainly;
use crate::text::{SWAPPED, swaps, word_spans};
use crate::text_values::value_of;

/// Most different words of a question that are looked up. People's questions have fewer.
const MOST: usize = 48;

/// The plain question ([`plainly`]) in which nations, classes and relations are spelled as they should be: `itailan`,
/// `counrties`. Only neighbouring letters change places.
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

/// The name of a nation, or the word of a class or relation, in which two letters are swapped.
fn meant(kg: &dyn Kg, word: &str) -> Option<String> {
    if word.len() < SWAPPED || !word.bytes().all(|one| one.is_ascii_lowercase()) {
        return None;
    }
    let known = is_stop(word)
        || is_adjective(word)
        || is_vocabulary(kg, word)
        || value_of(kg, word).is_some();
    let right = |one: &String| is_adjective(one) || is_vocabulary(kg, one);
    (!known).then(|| swaps(word).find(right)).flatten()
}

/// The texts of the graph that words of a text mean in which two letters are swapped: `repulbic`.
pub(super) fn misspelt_values(kg: &dyn Kg, text: &str) -> Vec<Literal> {
    let of_word = |(start, end): (usize, usize)| {
        let word = text[start..end].to_lowercase();
        let letters = word.len() >= SWAPPED && word.bytes().all(|one| one.is_ascii_lowercase());
        let known = || is_stop(&word) || is_vocabulary(kg, &word) || value_of(kg, &word).is_some();
        let meant = || swaps(&word).find_map(|one| value_of(kg, &one));
        (letters && !known()).then(meant).flatten()
    };
    let mut seen: Vec<&str> = Vec::new();
    let spans = word_spans(text).into_iter();
    let new = spans.filter(|&(start, end)| {
        let new = seen.len() < MOST && !seen.contains(&&text[start..end]);
        if new {
            seen.push(&text[start..end]);
        }
        new
    });
    new.filter_map(of_word).collect()
}
