//! Wordings of questions for `wordings.txt`: which words a model has read in training, without the
//! names of entities.

use common::wordings::Wording;
use kg::Kg;
use toolbox::link::Linked;
use toolbox::rank::{is_stop, stem};

use crate::fingerprint::{is_handle, masked_words};
use crate::hash;
use crate::linking::gold_entities;
use crate::question::GoldQuestion;

/// The wording of a masked question ([`masked_words`]): the stems of its content words, and the
/// whole.
pub(crate) fn of_masked(masked: &str) -> Wording {
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

/// The wording of a question with gold entities, to compare with those of training.
#[must_use]
pub fn wording(kg: &dyn Kg, question: &GoldQuestion) -> Wording {
    // As in training: the entities that the data set names and those of the gold query.
    let unnamed = GoldQuestion {
        topics: Vec::new(),
        ..question.clone()
    };
    let named = gold_entities(kg, question).into_iter();
    let entities: Vec<_> = named.chain(gold_entities(kg, &unnamed)).flatten().collect();
    let linked = Linked::new(kg, &question.question, &entities);
    of_masked(&masked_words(&question.question, &linked))
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
