//! How much a model counts in a decision. It counts in full if it has read the question's wording in
//! training, and otherwise by what it was trained on: questions that somebody gave teach how people word
//! things, while those made from templates or from a graph have a few wordings each.

use common::wordings::{Wording, Wordings};
use toolbox::explain::{Candidate, DecisionTerm, TermWeights};
use toolbox::wording::{masked_words, of_masked};

use super::task::Task;
use crate::planner::Planner;

/// How much the terms of a model count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Trust {
    /// Whether it has read the question's wording in training.
    read: bool,
    /// The factor of the log-probability of each program.
    pub(super) logprob: f32,
    /// The factor of its own choice.
    first: f32,
    /// The factor of giving up.
    gives_up: f32,
}

/// The model has read the question's wording in training.
const READ: Trust = Trust {
    read: true,
    logprob: 1.0,
    first: 1.0,
    gives_up: 1.0,
};

/// It has not, but it was trained on questions that somebody gave. Its own program, which may be one that
/// the search does not find, counts more than its opinion of others. Set on 255 of the training questions of
/// ComplexWebQuestions, with models of the others (docs/lab/results.md).
const GIVEN: Trust = Trust {
    read: false,
    logprob: 0.5,
    first: 2.0,
    gives_up: 0.5,
};

/// It has not, and it was trained on questions made from templates or from a graph. Set on the blind
/// development questions of the demo graph, 780 more, *new entities* and *new wordings*, with two models
/// (data/base/README.md). Such a model gives up on every fifth question that has an answer.
const MADE: Trust = Trust {
    read: false,
    logprob: 0.25,
    first: 0.5,
    gives_up: 0.15,
};

/// A model was trained on questions that somebody gave if they have at least this share of the wordings
/// that it has read.
const SHARE_GIVEN: f32 = 0.05;

impl Trust {
    /// How much the planner's model counts for the question of `task`.
    pub(super) fn of(task: &Task<'_>, planner: &dyn Planner) -> Self {
        let asked = || of_masked(&masked_words(task.question, &task.linked));
        planner
            .wordings()
            .map_or(MADE, |read| Self::in_model_of(&read, &asked()))
    }

    /// How much a model counts that has read `wordings`.
    fn in_model_of(wordings: &Wordings, asked: &Wording) -> Self {
        if wordings.has(asked) {
            READ
        } else if wordings.given() >= SHARE_GIVEN {
            GIVEN
        } else {
            MADE
        }
    }

    /// The weights of the decision.
    pub(super) fn weights(self) -> TermWeights {
        if self.read {
            TermWeights::with_model()
        } else {
            TermWeights::unread()
        }
    }

    /// Sets the terms of an agent's own candidate: how `sure` its model was, also if it has read the
    /// wording of the question in training, and what giving up counts then.
    pub(super) fn own_choice(self, own: &mut Candidate, sure: f32, gives_up: f32) {
        own.terms[DecisionTerm::ModelFirst] = self.first * sure;
        own.terms[DecisionTerm::WordingRead] = if self.read { sure } else { 0.0 };
        if own.answer.is_none() {
            own.terms[DecisionTerm::ModelGivesUp] = self.gives_up * gives_up;
        }
    }
}

#[cfg(test)]
mod tests {
    use toolbox::explain::{TERMS, Terms};

    use super::*;

    fn wording(whole: u64) -> Wording {
        Wording {
            words: vec![whole],
            whole,
        }
    }

    #[test]
    fn given_questions_raise_the_trust_from_one_wording_in_twenty() {
        let mut read = Wordings::default();
        (0..20).for_each(|made| read.add(wording(made)));
        let asked = wording(99);
        assert_eq!(Trust::in_model_of(&read, &asked), MADE);
        assert_eq!(Trust::in_model_of(&read, &wording(3)), READ);
        read.add_given(wording(20));
        assert_eq!(Trust::in_model_of(&read, &asked), MADE, "1 of 21");
        read.add_given(wording(21));
        assert_eq!(Trust::in_model_of(&read, &asked), GIVEN, "2 of 22");
        assert_eq!(Trust::in_model_of(&read, &wording(3)), READ);
    }

    #[test]
    fn a_model_counts_most_on_a_wording_of_its_training_and_least_on_others_of_made_questions() {
        let scores = [READ, GIVEN, MADE].map(|trust| {
            let mut own = Candidate {
                calls: Vec::new(),
                answer: None,
                terms: Terms([0.0; TERMS]),
            };
            trust.own_choice(&mut own, 0.9, 1.0);
            TermWeights::with_model().score(&own.terms)
        });
        assert!(scores[0] > scores[1] && scores[1] > scores[2], "{scores:?}");
    }
}
