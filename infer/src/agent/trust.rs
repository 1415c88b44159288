//! How much a model counts in a decision. It counts in full if it has read the question's wording in
//! training, and less if it has not. Its own choice counts more if it was trained on questions that
//! somebody gave: they teach how people word things. Questions made from templates or from a graph
//! have a few wordings each.

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

// Where the factors come from: data/base/README.md.
/// The model has read the question's wording in training.
const READ: Trust = Trust {
    read: true,
    logprob: 1.0,
    first: 1.0,
    gives_up: 1.0,
};

/// It has not. A model of made questions then gives up on every fifth question that has an answer.
const UNREAD: Trust = Trust {
    read: false,
    logprob: 0.25,
    first: 0.5,
    gives_up: 0.3,
};

/// The factor of its own choice if it was trained on questions that somebody gave: then its own program,
/// which may be one that the search does not find, is right more often.
const FIRST_OF_GIVEN: f32 = 4.0;

/// A model was trained on questions that somebody gave if they have at least this share of the wordings
/// that it has read.
const SHARE_GIVEN: f32 = 0.1;

impl Trust {
    /// How much the planner's model counts for the question of `task`.
    pub(super) fn of(task: &Task<'_>, planner: &dyn Planner) -> Self {
        let asked = || of_masked(&masked_words(task.question, &task.linked));
        planner
            .wordings()
            .map_or(UNREAD, |read| Self::in_model_of(&read, &asked()))
    }

    /// How much a model counts that has read `wordings`.
    fn in_model_of(wordings: &Wordings, asked: &Wording) -> Self {
        let trust = if wordings.has(asked) { READ } else { UNREAD };
        if wordings.given() >= SHARE_GIVEN {
            Self {
                first: FIRST_OF_GIVEN,
                ..trust
            }
        } else {
            trust
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

    /// What a model's own choice adds to a candidate's score.
    fn own_choice(read: &Wordings, asked: u64) -> f32 {
        let mut own = Candidate {
            calls: Vec::new(),
            answer: None,
            terms: Terms([0.0; TERMS]),
        };
        Trust::in_model_of(read, &wording(asked)).own_choice(&mut own, 0.9, 1.0);
        TermWeights::with_model().score(&own.terms)
    }

    #[test]
    fn a_models_choice_counts_more_if_it_has_read_the_wording_or_a_tenth_was_given() {
        let mut read = Wordings::default();
        (0..20).for_each(|made| read.add(wording(made)));
        let (known, unknown) = (own_choice(&read, 3), own_choice(&read, 99));
        assert!(known > unknown, "{known} {unknown}");
        (20..22).for_each(|given| read.add_given(wording(given)));
        assert_eq!(own_choice(&read, 99), unknown, "2 of 22");
        read.add_given(wording(22));
        assert!(own_choice(&read, 99) > unknown, "3 of 23");
        assert!(own_choice(&read, 3) > known);
        assert!(own_choice(&read, 3) > own_choice(&read, 99));
    }
}
