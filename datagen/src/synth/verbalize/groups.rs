//! Modifiers for values of groups, and for values or things shared by two groups.

use kg::value::Op;

use super::Verbalizer;
use super::noun_phrase::{Modifier, NounPhrase, modifier};
use crate::synth::plan::{Set, Test};
use crate::synth::tail::TailType;
use crate::synth::words::{plural, singular};

impl Verbalizer<'_, '_> {
    /// The modifier of values of a group: `of all cities`, `where singers above age 20 are from`.
    pub(super) fn of_group(&mut self, from: &Set) -> Modifier {
        if matches!(from, Set::Class(_)) && self.rng.chance(0.3) {
            let phrase = self.noun_phrase(from);
            let each = self.word("of each|for each|of every|that each");
            let has = if each == "that each" { " has" } else { "" };
            return Modifier::plain(format!("{each} {}{has}", singular(&phrase.noun)));
        }
        let owners = self.text_of_many(from);
        match self.rng.below(8) {
            0 => Modifier::plain(format!("of all {}", owners.trim_start_matches("the "))),
            1 => modifier!("for all {owners}"),
            2 | 3 => Modifier::having(format!("with {owners}"), &owners),
            4 => {
                let be = self.word("are from|are|live|come from|were|are in|belong to");
                let bare = be
                    .rsplit_once(' ')
                    .map_or("", |(_, preposition)| preposition)
                    .to_owned();
                let one = if bare.is_empty() {
                    format!("has {owners}")
                } else {
                    format!("are {owners} {bare}")
                };
                Modifier::new(
                    format!("where {owners} {be}"),
                    one.clone(),
                    one.replacen("has ", "have ", 1),
                )
            }
            5 => modifier!("that {owners} have", one "do {owners} have", many "do {owners} have"),
            6 => modifier!("used by {owners}", one "do {owners} use", many "do {owners} use"),
            _ => Modifier::having(format!("that have {owners}"), &owners),
        }
    }

    /// A test of a set as a property of two groups at once: values that both groups have, or things
    /// related to both of two others.
    pub(super) fn both(&mut self, of: &Set, test: &Test) -> Option<NounPhrase> {
        let Test::Is {
            relation,
            forward,
            set,
        } = test
        else {
            return None;
        };
        match of {
            Set::Follow {
                from,
                relation: first,
                forward: true,
                silent: false,
            } if !forward => Some(self.shared_values(*first, from, set)),
            Set::Keep {
                of,
                test:
                    Test::Is {
                        relation: first,
                        forward: along,
                        set: before,
                    },
            } if first == relation && along == forward => {
                Some(self.related_to_both(of, *relation, *forward, [before, set]))
            }
            _ => None,
        }
    }

    /// Values that two groups share.
    fn shared_values(&mut self, relation: usize, from: &Set, set: &Set) -> NounPhrase {
        let noun = self.noun_of(relation);
        let (one, other) = (self.text_of_many(from), self.text_of_many(set));
        let one = one.trim_start_matches("the ");
        let other = other.trim_start_matches("the ");
        let after = match self.rng.below(6) {
            0 => modifier!("shared by {one} and {other}", is "shared by {one} and {other}"),
            1 => {
                let be = self.word("live|are from|are|come from");
                modifier!("where both {one} and {other} {be}", has "both {one} and {other}")
            }
            2 => modifier!("with both {one} and {other}", has "both {one} and {other}"),
            3 => modifier!("that have both {one} and {other}", has "{one} as well as {other}"),
            4 => modifier!(
                "that {one} and {other} share",
                one "do {one} and {other} share", many "do both {one} and {other} have"
            ),
            _ => modifier!("of both {one} and {other}", has "{one} and {other}"),
        };
        NounPhrase::new(singular(&noun)).with(after)
    }

    /// Things of a set that are related to both of two others.
    fn related_to_both(
        &mut self,
        of: &Set,
        relation: usize,
        forward: bool,
        sets: [&Set; 2],
    ) -> NounPhrase {
        let (one, other, noun_of) = match sets {
            [
                Set::Keep {
                    test:
                        Test::Value {
                            relation: by,
                            op: Op::Eq,
                            value: one,
                        },
                    ..
                },
                Set::Keep {
                    test:
                        Test::Value {
                            relation: and,
                            op: Op::Eq,
                            value: other,
                        },
                    ..
                },
            ] if by == and => (
                self.value(one, TailType::Text),
                self.value(other, TailType::Text),
                *by,
            ),
            [one, other] => (self.text_of(one), self.text_of(other), relation),
        };
        let phrase = self.noun_phrase(of);
        let n = self.noun_of(noun_of);
        let after = match self.rng.below(6) {
            0 => modifier!("with both {one} and {other}", has "both {one} and {other}"),
            1 => Modifier::having(
                format!("where both {one} and {other} are {}", plural(&n)),
                &format!("both {one} and {other} as {}", plural(&n)),
            ),
            2 => Modifier::having(
                format!("with {one} and {other} as {}", plural(&n)),
                &format!("the {} {one} and {other}", plural(&n)),
            ),
            3 => modifier!("that have {one} and {other}", has "{one} and {other}"),
            4 => modifier!(
                "that use both {one} and {other}",
                one "uses both {one} and {other}", many "use both {one} and {other}"
            ),
            _ => self.heads_modifier(
                if forward { relation } else { noun_of },
                &format!("both {one} and {other}"),
            ),
        };
        phrase.with(after)
    }
}
