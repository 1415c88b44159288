//! Modifiers for tests.

use kg::term::Literal;

use super::Verbalizer;
use super::noun_phrase::{Modifier, fill, modifier};
use crate::synth::plan::{Set, Test};
use crate::synth::profile::GraphProfile;
use crate::synth::tail::TailType;
use crate::synth::words::{article, plural};

impl Verbalizer<'_, '_> {
    /// The modifier of heads of a relation with the tail `value`.
    pub(super) fn heads_modifier(&mut self, relation: usize, value: &str) -> Modifier {
        let wording = self.relation(relation).wording.clone();
        let n = self.noun_of(relation);
        let slots = [("{v}", value), ("{n}", n.as_str()), ("{cmp}", "in")];
        if !wording.modifiers.is_empty() && self.rng.chance(0.5) {
            let template = self
                .rng
                .pick(&wording.modifiers)
                .cloned()
                .unwrap_or_default();
            return Modifier::plain(fill(&template, &slots));
        }
        if !wording.prepositions.is_empty() && self.rng.chance(0.3) {
            let preposition = self
                .rng
                .pick(&wording.prepositions)
                .cloned()
                .unwrap_or_default();
            return modifier!("{preposition} {value}");
        }
        match self.rng.below(8) {
            0 | 1 => modifier!("with {n} {value}", has "{n} {value}"),
            2 | 3 => modifier!("whose {n} is {value}", has "{value} as {n}"),
            4 => modifier!("with {value} as {n}", has "the {n} {value}"),
            5 => modifier!(
                "that have the {n} {value}",
                one "has {value} as its {n}", many "have {value} as their {n}"
            ),
            6 => modifier!("where the {n} is {value}", has "{n} {value}"),
            _ => modifier!("of {value}"),
        }
    }

    pub(super) fn test(&mut self, test: &Test) -> Modifier {
        match test {
            Test::Value {
                relation,
                op,
                value,
            } => self.comparison(*relation, *op, value),
            Test::Between {
                relation,
                low,
                high,
            } => self.between(*relation, low, high),
            Test::OneOf { relation, values } => self.one_of(*relation, values),
            Test::Is { set, .. }
                if self.rng.chance(0.55) && joined_test(self.profile, set).is_some() =>
            {
                match joined_test(self.profile, set) {
                    Some(inner) => self.test(inner),
                    None => Modifier::default(),
                }
            }
            Test::Is {
                relation,
                forward: true,
                set,
            } => {
                let value = self.text_of(set);
                self.heads_modifier(*relation, &value)
            }
            Test::Is {
                relation,
                forward: false,
                set,
            } => self.tails_modifier(*relation, set),
            Test::Of(class) => {
                let noun = self.class_noun(*class);
                Modifier::new(
                    format!("that are {}", plural(&noun)),
                    format!("is {} {noun}", article(&noun)),
                    format!("are {}", plural(&noun)),
                )
            }
            Test::During { year, .. } => {
                let when = self.word("in|during|in the year|as of|in");
                modifier!("{when} {year}")
            }
        }
    }

    /// A value between two bounds.
    fn between(&mut self, relation: usize, low: &Literal, high: &Literal) -> Modifier {
        let tail = self.relation(relation).tail;
        let (low, high) = (self.value(low, tail), self.value(high, tail));
        let n = self.noun_of(relation);
        let span = match self.rng.below(5) {
            0 | 1 => format!("between {low} and {high}"),
            2 => format!("from {low} to {high}"),
            3 => format!("at least {low} and at most {high}"),
            _ => format!("no less than {low} and no more than {high}"),
        };
        let wording = self.relation(relation).wording.clone();
        if let Some(text) = self.by_verb(&wording, &span) {
            return text;
        }
        match self.rng.below(3) {
            0 => modifier!("with a {n} {span}", has "a {n} {span}"),
            1 => modifier!(
                "whose {n} is {span}", one "has a {n} {span}", many "have a {n} that is {span}"
            ),
            _ => modifier!("that have a {n} {span}", has "{n} {span}"),
        }
    }

    /// One of two values.
    fn one_of(&mut self, relation: usize, [one, other]: &[Literal; 2]) -> Modifier {
        let tail = self.relation(relation).tail;
        let either = self.word("||either ");
        let (one_is_year, n) = (one.lexical.len() == 4, self.noun_of(relation));
        let (one, other) = (self.value(one, tail), self.value(other, tail));
        let many = plural(&n);
        let v = format!("{either}{one} or {other}");
        if one_is_year && tail != TailType::Text && self.rng.chance(0.4) {
            let joint = self.word("in|from|in the year|in year|of|in either");
            return Modifier::plain(format!("{joint} {}", v.trim_start_matches("either ")));
        }
        match self.rng.below(12) {
            // One noun for both values, or one for each.
            0 => modifier!(
                "whose {many} are {v}", one "has the {n} {v}", many "have the {many} {v}"
            ),
            1 => modifier!("in {many} {v}", is "in {n} {v}"),
            2 => modifier!("in {n} {v}"),
            3 => {
                let each = format!("{either}the {n} {one} or the {n} {other}");
                self.heads_modifier(relation, &each)
            }
            4 => modifier!("with {many} {v}", has "{n} {v}"),
            5 => modifier!("whose {n} is {v}", has "{v} as {n}"),
            6 => Modifier::having(format!("that have {v}"), &v),
            _ => self.heads_modifier(relation, &v),
        }
    }

    /// Tails of a relation whose heads are in `set`.
    fn tails_modifier(&mut self, relation: usize, set: &Set) -> Modifier {
        let owner = self.text_of(set);
        let n = self.noun_of(relation);
        match self.rng.below(5) {
            0 => Modifier::new(
                format!("that is the {n} of {owner}"),
                format!("is the {n} of {owner}"),
                format!("are {} of {owner}", plural(&n)),
            ),
            1 => modifier!("which {owner} have as {n}", is "{n} of {owner}"),
            2 => modifier!("that are also the {n} of {owner}", is "also the {n} of {owner}"),
            3 => modifier!(
                "and {owner}", one "belongs to {owner} too", many "belong to {owner} too"
            ),
            _ => modifier!("that {owner} also have", is "shared by {owner}"),
        }
    }
}

/// The test of a joined set, if its attribute does not name the joined node: it is worded as a test
/// of the member itself.
fn joined_test<'s>(profile: &GraphProfile<'_>, set: &'s Set) -> Option<&'s Test> {
    let Set::Keep {
        of,
        test: test @ Test::Value { relation, .. },
    } = set
    else {
        return None;
    };
    match of.as_ref() {
        Set::Class(class) if profile.classes[*class].key != Some(*relation) => Some(test),
        _ => None,
    }
}
