//! Which words of a question belong to each of its numbers: in `higher than 5,000 or with a prominence over 1,000` the
//! second number is no height.

use kg::term::Literal;
use kg::value::Op;

use super::cues::is_generic;
use super::judging::NAMED;
use super::ops::{is_range, ops};
use super::plan::{Against, Hop, PlanStep, Way};
use super::state::State;
use super::words::{Explainer, is_part_of_name, names};
use crate::exec::{Adjacent, Relation};
use crate::link::{LAST_DAY, number_of_word};

/// Words that may begin what is said of the next number.
const BEGIN: &str = "and or but with whose that who which where have has had having";

/// Those behind which a number has all its words.
const NARROW: &str = "with whose that who which where having";
/// The content words around a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AroundNumber {
    /// Those that belong to it.
    own: Vec<usize>,
    /// Those that belong to other numbers.
    others: Vec<usize>,
    /// The one right behind it.
    next: Option<usize>,
    /// Whether something has so many: `with 1 race`.
    had: bool,
    /// Whether the question has other numbers before it.
    beside: bool,
}

/// The words around each value of a question, if that is a number and the question writes it. `placed` has its words with
/// their byte offsets, `content` the index of the content word at an offset.
pub(super) fn around_numbers(
    placed: &[(usize, String)],
    values: &[Literal],
    content: impl Fn(usize) -> Option<usize>,
) -> Vec<Option<AroundNumber>> {
    let places: Vec<Option<usize>> = values.iter().map(|value| place(placed, value)).collect();
    let mut numbers: Vec<usize> = places.iter().flatten().copied().collect();
    numbers.sort_unstable();
    numbers.dedup();
    let begins = |at: &usize| BEGIN.split(' ').any(|word| word == placed[*at].1);
    let mut ends: Vec<usize> = (numbers.windows(2))
        .map(|pair| (pair[0] + 1..pair[1]).rev().find(begins).unwrap_or(pair[0] + 1))
        .collect();
    ends.push(placed.len());
    let words = |from: usize, to: usize| -> Vec<usize> {
        let part = placed.get(from..to).unwrap_or_default();
        part.iter().filter_map(|(at, _)| content(*at)).collect()
    };
    let one = |at: usize| {
        let index = numbers.iter().position(|number| *number == at)?;
        // What stands before `with a height over 200` says nothing of that number.
        let narrows = |at: &usize| NARROW.split(' ').any(|word| word == placed[*at].1);
        let from = match index.checked_sub(1) {
            Some(before) => ends[before],
            None => (0..at.saturating_sub(1)).rev().find(narrows).unwrap_or_default(),
        };
        let generic = |word: &usize| placed.iter().any(|(at, text)| {
            content(*at) == Some(*word) && is_generic(text)
        });
        let mut own = words(from, ends[index]);
        own.retain(|word| !generic(word));
        let mut others = words(0, from);
        others.extend(words(ends[index], placed.len()));
        others.retain(|word| !own.contains(word));
        let next = placed.get(at + 1).and_then(|(at, _)| content(*at));
        let before = at.checked_sub(1).map_or("", |before| placed[before].1.as_str());
        let had = matches!(before, "with" | "have" | "has" | "had" | "having");
        Some(AroundNumber { own, others, next, had, beside: index > 0 })
    };
    places.into_iter().map(|at| at.and_then(one)).collect()
}

/// The index of the word that writes a number.
fn place(placed: &[(usize, String)], value: &Literal) -> Option<usize> {
    let text = value.lexical.trim_end_matches(LAST_DAY);
    let number: f64 = text.parse().ok()?;
    let named = |word: &str| number_of_word(word).is_some_and(|named| named as f64 == number);
    let is = |(_, word): &(usize, String)| word == text || named(word);
    placed.iter().position(is)
}

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
        let out = adjacent.iter().filter(|other| other.out && other.relation != one.relation);
        let mut out = out.filter(|other| {
            let way = Way::Out;
            let words = self.hop(Hop { relation: other.relation, way }).words;
            (around.own.iter()).any(|&at| is_part_of_name(&words, Some(at)))
        });
        let rivals: Vec<&Adjacent> = out.by_ref().collect();
        rivals.into_iter().any(|other| !ops(self, self.session, other, value).is_empty())
    }

    /// Whether a relation belongs to another number of the question: the words around that one speak of it, and those around
    /// this one do not. A number without words of its own is of what the one before it is of: `over 1,500 or smaller than 500`.
    fn is_of_other_number(
        &mut self,
        relation: Relation,
        value: usize,
        state: &State,
    ) -> bool {
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
        around.is_some_and(|around| {
            around.own.is_empty() || self.speak_of(&around.own, relation)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::cues::whole_words;
    use super::*;

    #[test]
    fn each_number_has_words_of_its_own() {
        let own = |question: &str, values: &[&str]| -> Vec<Vec<String>> {
            let placed = whole_words(question);
            let values: Vec<Literal> = values.iter().map(|value| Literal::plain(*value)).collect();
            let content = |at: usize| placed.iter().position(|(place, _)| *place == at);
            let found = around_numbers(&placed, &values, content);
            let words = |one: &AroundNumber| {
                let words = one.own.iter().map(|&at| placed[at].1.clone());
                words.collect()
            };
            found.iter().flatten().map(words).collect()
        };
        let two = own("height over 5000 or prominence over 1000", &["5000", "1000"]);
        assert_eq!(two[0], ["height", "over", "5000"]);
        assert_eq!(two[1], ["or", "prominence", "over", "1000"]);
        let two = own("built after 2010 with 1000 lane metres", &["1000", "2010"]);
        assert_eq!(two[0], ["with", "1000", "lane", "metres"]);
        assert_eq!(two[1], ["built", "after", "2010"]);
    }
}
