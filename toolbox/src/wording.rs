//! How a question is worded without its names and numbers. Data folders list the wordings of their
//! questions, and model folders keep the list ([`common::wordings`]), so that a decision and an
//! evaluation know what a model has read.

use common::hash;
use common::wordings::Wording;

use crate::link::Linked;
use crate::rank::{is_stop, stem};

/// Lower-case words of a text.
pub fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

/// Whether a word of a masked question is the handle of an entity.
#[must_use]
pub fn is_handle(word: &str) -> bool {
    word.strip_prefix('e')
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

/// The words of a question with handles for entities and `x` for numbers and quotations.
#[must_use]
pub fn masked_words(question: &str, linked: &Linked) -> String {
    let mut text = linked.mask(question);
    // Quotations first: they may have several words.
    for value in linked
        .values
        .iter()
        .filter(|value| !value.lexical.is_empty())
    {
        text = text.replace(&format!("\"{}\"", value.lexical), "x");
    }
    let number = |word: &str| word.bytes().any(|b| b.is_ascii_digit()) && !is_handle(word);
    words(&text)
        .map(|word| if number(&word) { "x".to_owned() } else { word })
        .collect::<Vec<_>>()
        .join(" ")
}

/// The wording of a masked question ([`masked_words`]): the stems of its content words, and the
/// whole.
#[must_use]
pub fn of_masked(masked: &str) -> Wording {
    let content = masked
        .split(' ')
        .filter(|word| !word.is_empty() && *word != "x" && !is_handle(word) && !is_stop(word));
    Wording {
        words: content
            .map(|word| hash::number(0, "stem", &stem(word)))
            .collect(),
        whole: hash::number(0, "masked", masked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_numbers_and_forms_of_a_word_make_no_difference() {
        let (one, two) = (
            of_masked("which films did e0 direct after x"),
            of_masked("name the films directed by e1"),
        );
        assert_eq!(one.words, two.words);
        assert_eq!(one.words.len(), 2);
        assert_ne!(one.whole, two.whole);
        assert_eq!(of_masked("what is e0 s e1").words, Vec::<u64>::new());
    }
}
