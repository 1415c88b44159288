//! Wordings of questions for `wordings.txt`: which words a model has read in training, without the
//! names of entities.

use common::wordings::Wording;
use kg::Kg;
use toolbox::link::Linked;
use toolbox::wording::{masked_words, of_masked};

use crate::linking::gold_entities;
use crate::question::GoldQuestion;

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
