//! Short codes that tables write for words: `RT` for `retired`, `TERM` for `terminated`. English.

use kg::Kg;
use kg::search::NodeRole;
use kg::term::{Literal, NodeId, RelId, Term};

use crate::rank::stem;

/// The longest code.
const LONGEST: usize = 4;
/// Shorter words are codes of too many others.
const SHORTEST_WORD: usize = 5;

/// The codes that may stand for a word in lower case: its first letters, or its first letter with the
/// consonants behind it.
fn codes_of(word: &str) -> impl Iterator<Item = String> {
    let letters: Vec<char> = word.to_uppercase().chars().collect();
    let usable = letters.len() >= SHORTEST_WORD && letters.iter().all(char::is_ascii_uppercase);
    let consonants: Vec<char> = (letters.iter().enumerate())
        .filter(|(at, letter)| *at == 0 || !"AEIOU".contains(**letter))
        .map(|(_, letter)| *letter)
        .collect();
    let starts = (2..=LONGEST).flat_map(move |length| {
        let of = |from: &[char]| {
            from.get(..length)
                .map(|part| part.iter().collect::<String>())
        };
        let (first, bare) = (of(&letters), of(&consonants));
        let bare = bare.filter(|bare| first.as_ref() != Some(bare));
        [first, bare].into_iter().flatten()
    });
    starts.filter(move |_| usable)
}

/// Whether a value may be the code of a word in lower case.
pub(crate) fn is_code_of(value: &str, word: &str) -> bool {
    value.len() <= LONGEST && codes_of(word).any(|code| code == value)
}

/// The codes of a graph made from tables that a word in lower case may be written as. No word of the names of classes
/// and relations is one: `rented bikes` have no status `RT`.
pub(super) fn coded(kg: &dyn Kg, word: &str) -> Vec<Literal> {
    if !kg.schema().named_by_iris() || word.len() < SHORTEST_WORD {
        return Vec::new();
    }
    let mut found: Vec<Literal> = (codes_of(word).map(Literal::plain))
        .filter(|code| {
            let node = kg.find(&Term::Literal(code.clone()));
            let columns = node.map(|node| kg.in_relations(node)).unwrap_or_default();
            columns.into_iter().any(|column| holds_codes(kg, column))
        })
        .collect();
    if found.is_empty() || is_vocabulary(kg, word) {
        return Vec::new();
    }
    // The longest says most of the word.
    found.sort_by_key(|code| std::cmp::Reverse(code.lexical.len()));
    found.truncate(1);
    found
}

/// Whether the name of a class or relation of the graph has a word with this word's stem.
pub(crate) fn is_vocabulary(kg: &dyn Kg, word: &str) -> bool {
    const LETTERS: usize = 4;
    let stemmed = stem(word);
    let prefix: String = stemmed.chars().take(LETTERS).collect();
    let same = |other: &str| stem(other) == stemmed;
    let index = kg.label_index();
    index.is_ok_and(|index| index.is_vocabulary(&prefix, &same).unwrap_or(false))
}

/// Whether words of a question are the whole name of a relation.
pub(crate) fn is_relation_name(kg: &dyn Kg, words: &[String]) -> bool {
    let index = kg.label_index();
    index.is_ok_and(|index| {
        let known = index.knows(&words.join(" "), NodeRole::Relation);
        known.unwrap_or(false)
    })
}

/// Whether a column has few values, which are all short and in capitals, as far as its first ones show.
fn holds_codes(kg: &dyn Kg, column: RelId) -> bool {
    // Pairs are in the order of their values, so that few pairs show few values of a long column.
    const SAMPLE: usize = 4096;
    const MOST: usize = 12;
    let mut seen = 0;
    let mut values: Vec<NodeId> = Vec::new();
    let mut short = true;
    kg.each_pair(column, &mut |_, value| {
        seen += 1;
        if !values.contains(&value) {
            short = matches!(kg.term(value), Term::Literal(code) if is_short_code(&code.lexical));
            values.push(value);
        }
        short && values.len() <= MOST && seen < SAMPLE
    });
    // Keys of rows are all different.
    short && values.len() <= MOST && values.len() * 3 <= seen * 2
}

/// Whether a text is as short as codes are, and in capitals.
pub(crate) fn is_short_code(text: &str) -> bool {
    (1..=LONGEST + 1).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_first_letters_or_consonants() {
        for (code, word) in [
            ("RT", "retired"),
            ("RP", "repair"),
            ("AV", "available"),
            ("TERM", "terminated"),
            ("STU", "student"),
            ("DSQ", "disqualified"),
            ("YR", "yearly"),
        ] {
            assert!(is_code_of(code, word), "{code} {word}");
        }
        for (code, word) in [
            ("RT", "rented"),
            ("RT", "repair"),
            ("RETIR", "retired"),
            ("rt", "retired"),
            ("R", "retired"),
            ("RT", "rate"),
            ("", "retired"),
        ] {
            assert!(!is_code_of(code, word), "{code} {word}");
        }
    }
}
