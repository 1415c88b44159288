//! Which relations the numbers of a question are compared with.

use kg::value::Op;

use super::around_numbers::AroundNumber;
use super::judging::NAMED;
use super::ops::{is_range, ops};
use super::plan::{Against, Hop, PlanStep, Way};
use super::state::State;
use super::words::{Explainer, is_part_of_name, names};
use crate::exec::{Adjacent, Relation};

impl<'s> Explainer<'s, '_> {
    fn around(&self, value: usize) -> Option<&'s AroundNumber> {
        self.asked.numbers.get(value)?.as_ref()
    }

    /// Whether some of the words speak of a relation.
    fn speak_of(&mut self, words: &[usize], relation: Relation) -> bool {
        let way = Way::Out;
        let explained = self.hop(Hop { relation, way }).words;
        words.iter().any(|&at| explained[at] >= NAMED)
    }

    /// The comparisons of a relation's values with a value of the question, if the relation is not one of another number, and
    /// no other relation has a better claim to this one.
    pub(super) fn ops_of(
        &mut self,
        state: &State,
        adjacent: &[Adjacent],
        one: &Adjacent,
        value: usize,
    ) -> Vec<Op> {
        let found = ops(self, self.session, one, value);
        let Some(&op) = found.first() else {
            return found;
        };
        let range = is_range(self);
        let other = !range && self.is_of_other_number(one.relation, value, state)
            || self.counts_things(one.relation, value, op)
            || !range && op != Op::Eq && self.has_rival(adjacent, one, value);
        if other { Vec::new() } else { found }
    }

    /// Whether the words around a number call another relation by its name, and do not speak of this one at all.
    fn has_rival(&mut self, adjacent: &[Adjacent], one: &Adjacent, value: usize) -> bool {
        let Some(around) = self.around(value) else {
            return false;
        };
        if self.speak_of(&around.own, one.relation) {
            return false;
        }
        let rivals: Vec<&Adjacent> = (adjacent.iter())
            .filter(|other| other.out && other.relation != one.relation)
            .filter(|other| {
                let (relation, way) = (other.relation, Way::Out);
                let words = self.hop(Hop { relation, way }).words;
                (around.own.iter()).any(|&at| is_part_of_name(&words, Some(at)))
            })
            .collect();
        let compares = |other: &Adjacent| !ops(self, self.session, other, value).is_empty();
        rivals.into_iter().any(compares)
    }

    /// Whether a relation belongs to another number of the question: the words around that one speak of it, and those around
    /// this one do not. A number without words of its own is of what the one before it is of: `over 1,500 or smaller than 500`.
    fn is_of_other_number(&mut self, relation: Relation, value: usize, state: &State) -> bool {
        let Some(around) = self.around(value) else {
            return false;
        };
        if around.own.is_empty() && around.beside {
            let same = |step: &PlanStep| matches!(step, PlanStep::Compare(other, _, Against::Value(_)) if *other == relation);
            return !state.plan.steps.iter().any(same);
        }
        !around.own.is_empty()
            && !self.speak_of(&around.own, relation)
            && self.speak_of(&around.others, relation)
    }

    /// Whether a number counts things, and so compares nothing that these things have: `more than one publication`.
    fn counts_things(&mut self, relation: Relation, value: usize, op: Op) -> bool {
        let Some(around) = self.around(value) else {
            return false;
        };
        let classes = self.session.classes();
        let things = around.next.is_some_and(|next| {
            (classes.iter()).any(|&class| names(&self.class(class), Some(next)))
        });
        things && (op != Op::Eq || around.had) && !self.speak_of(&around.own, relation)
    }

    /// Whether a number has words that speak of a relation, or none of its own.
    pub(super) fn is_of_number(&mut self, relation: Relation, value: usize) -> bool {
        let around = self.around(value);
        around.is_some_and(|around| around.own.is_empty() || self.speak_of(&around.own, relation))
    }
}
