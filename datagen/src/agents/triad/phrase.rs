//! Phrases for relations in Triad's triples.

use kg::Kg;
use kg::term::Term;
use toolbox::triad::IS;

/// Maximum number of characters of a phrase.
const PHRASE_CHARS: usize = 40;

/// The phrase of a relation: the words of the last segment of its name, or its label if the name is
/// opaque.
pub(super) fn relation_phrase(kg: &dyn Kg, iri: &str) -> Option<String> {
    let label = kg
        .find(&Term::Iri(iri.to_owned()))
        .and_then(|node| kg.label(node));
    let words = name_phrase(iri);
    // `P31` is not a word.
    let readable = words
        .as_ref()
        .is_some_and(|words| words.chars().filter(|c| c.is_alphabetic()).count() > 2);
    if readable {
        words
    } else {
        label.as_deref().and_then(clean).or(words)
    }
}

/// The words of the last segment of a name.
pub(super) fn name_phrase(name: &str) -> Option<String> {
    let last = name.rsplit(['.', '/', '#', ':']).next()?;
    let mut text = String::with_capacity(last.len() + 8);
    let mut before = ' ';
    for c in last.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            text.push(' ');
        }
        text.push(if c == '_' || c == '-' { ' ' } else { c });
        before = c;
    }
    clean(&text)
}

/// The text as a phrase that the grammar of triples accepts.
fn clean(text: &str) -> Option<String> {
    let kept: String = text
        .to_lowercase()
        .chars()
        .map(|c| {
            if c.is_control() || "<>,".contains(c) {
                ' '
            } else {
                c
            }
        })
        .collect();
    let phrase: String = kept
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(PHRASE_CHARS)
        .collect();
    let phrase = phrase.trim_end().to_owned();
    // The equality keyword cannot name a relation.
    let phrase = if phrase == IS {
        format!("{IS} of")
    } else {
        phrase
    };
    (phrase.chars().count() >= 2).then_some(phrase)
}
