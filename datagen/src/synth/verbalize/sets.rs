//! Noun phrases for sets.

use kg::value::Op;

use super::Verbalizer;
use super::noun_phrase::{Modifier, NounPhrase, modifier};
use crate::synth::plan::{Set, Test};
use crate::synth::tail::TailType;
use crate::synth::words::{is_plural, plural, singular};

/// A relation into a silent set of statement nodes.
struct Through<'s> {
    source: &'s Set,
    relation: usize,
    forward: bool,
    /// The test on the statement nodes.
    test: Option<&'s Test>,
}

/// The relation into a silent set; `None` for other sets.
fn through(set: &Set) -> Option<Through<'_>> {
    let (set, test) = match set {
        Set::Keep { of, test } => (of.as_ref(), Some(test)),
        set => (set, None),
    };
    match set {
        Set::Follow {
            from,
            relation,
            forward,
            silent: true,
        } => Some(Through {
            source: from,
            relation: *relation,
            forward: *forward,
            test,
        }),
        _ => None,
    }
}

/// Whether a set is reached through statement nodes.
pub(super) fn is_through(set: &Set) -> bool {
    through(set).is_some()
}

/// The first set behind any silent sets.
pub(super) fn behind_silent(mut set: &Set) -> &Set {
    while let Set::Follow {
        from, silent: true, ..
    } = set
    {
        set = from;
    }
    set
}

impl Verbalizer<'_, '_> {
    pub(super) fn noun_phrase(&mut self, set: &Set) -> NounPhrase {
        match set {
            Set::Entity(node) => {
                let name = self.name(*node);
                let class = self
                    .profile
                    .class_of(*node)
                    .filter(|_| !self.profile.is_labelled(*node));
                NounPhrase::name(match class {
                    // The name of a table row alone does not state its class.
                    Some(class) => match self.rng.below(8) {
                        0 => format!("the {} {name}", self.class_noun(class)),
                        1 => format!("{} {name}", self.class_noun(class)),
                        2 => format!("the {} named {name}", self.class_noun(class)),
                        3 => format!("the {} with the name {name}", self.class_noun(class)),
                        _ => name,
                    },
                    None => name,
                })
            }
            Set::Class(class) => NounPhrase::new(self.class_noun(*class)),
            Set::Keep { of, test } => self.keep(of, test),
            Set::Most {
                of, relation, max, ..
            } => {
                let mut phrase = self.noun_phrase(of);
                self.superlative(&mut phrase, *relation, *max);
                phrase
            }
            Set::Follow {
                from,
                relation,
                forward: true,
                ..
            } => self.forward(from, *relation),
            Set::Follow {
                from,
                relation,
                forward: false,
                ..
            } => self.backward(from, *relation),
        }
    }

    /// The tails of a relation.
    fn forward(&mut self, from: &Set, relation: usize) -> NounPhrase {
        if let Some(through) = through(from) {
            let mut phrase = self.forward_through(&through, relation);
            if let Some(test) = through.test {
                let modifier = self.test(test);
                phrase.after.push(modifier);
            }
            return phrase;
        }
        // "the maximum population of the cities": the attribute by which the extreme is chosen.
        if let Set::Most {
            of,
            via: None,
            relation: by,
            max,
        } = from
            && *by == relation
            && self.rng.chance(0.8)
        {
            let noun = self.noun_of(relation);
            let extreme = self.extreme_word(relation, *max);
            let of = self.text_of_many(of);
            let joint = self.word("of|of all|among|among all|for|of any of|across all|over all");
            return NounPhrase {
                before: extreme,
                ..NounPhrase::new(noun).with(modifier!("{joint} {of}"))
            };
        }
        let noun = self.tails_noun(relation);
        if matches!(from, Set::Class(_)) && self.rng.chance(0.2) {
            // "the nationalities": without their owners.
            return NounPhrase::new(singular(&noun)).with_many(true);
        }
        self.owned(&noun, from, relation)
    }

    /// The tails of a relation from statement nodes.
    fn forward_through(&mut self, through: &Through<'_>, relation: usize) -> NounPhrase {
        if self.relation(relation).tail != TailType::Thing {
            return self.joined_attribute(through.source, relation);
        }
        if through.forward {
            // head → statement → tail: the noun of either relation fits.
            let noun = if self.rng.chance(0.5) {
                self.noun_of(through.relation)
            } else {
                self.tails_noun(relation)
            };
            return self.owned(&noun, through.source, through.relation);
        }
        // The statement points to both nodes; the wording leaves their relation open.
        let noun = self.tails_noun(relation);
        let of = self.text_of(through.source);
        let joint = self.word("of|for|in|with|at");
        let after = match self.rng.below(3) {
            0 => modifier!("{joint} {of}"),
            1 => Modifier::having(format!("that have {of}"), &of),
            _ => {
                let what = self.noun_of(through.relation);
                modifier!(
                    "whose {what} is {of}", one "has the {what} {of}", many "have {of} as {what}"
                )
            }
        };
        NounPhrase::new(singular(&noun))
            .with(after)
            .with_many(is_plural(&noun))
    }

    /// An attribute of a node joined to the source, worded as an attribute of the source or of the
    /// attribute's class: the names of the makers with cars from 1970.
    fn joined_attribute(&mut self, source: &Set, relation: usize) -> NounPhrase {
        let noun = self.noun_of(relation);
        let source = behind_silent(source);
        let class = self.relation(relation).heads;
        let Some(class) = class.filter(|_| self.rng.chance(0.5)) else {
            return self.owned(&noun, source, relation);
        };
        let bearers = plural(&self.class_noun(class));
        let joint = self.word("with|that have|of|for|in|that have|who have|having");
        let of = self.text_of(source);
        let after = modifier!("of the {bearers} {joint} {of}");
        NounPhrase::new(singular(&noun)).with(after)
    }

    /// `the N of FROM`, `FROM's N`, `the N that FROM has`.
    fn owned(&mut self, noun: &str, from: &Set, relation: usize) -> NounPhrase {
        let many = self.relation(relation).wording.plural && self.rng.chance(0.6);
        let phrase = NounPhrase::new(singular(noun)).with_many(many);
        if matches!(
            from,
            Set::Class(_) | Set::Keep { .. } | Set::Follow { forward: false, .. }
        ) && self.rng.chance(0.4)
        {
            return phrase.with(self.of_group(from));
        }
        let mut owner = self.text_of(from);
        let single = matches!(from, Set::Entity(_));
        if let Set::Follow { forward: true, .. } = from {
            // Chains have two orders: the director of the film of X, X's film's director.
            if self.rng.chance(0.2) {
                return NounPhrase {
                    before: format!("{}'s", owner.trim_start_matches("the ")),
                    possessed: true,
                    ..phrase
                };
            }
            if self.rng.chance(0.2) {
                owner = owner.trim_start_matches("the ").to_owned();
            }
        }
        match self.rng.below(10) {
            0..=2 if single => NounPhrase {
                before: format!("{owner} 's").replace(" 's", "'s"),
                possessed: true,
                ..phrase
            },
            3 => {
                let has = if single { "has" } else { "have" };
                phrase.with(modifier!(
                    "that {owner} {has}", one "belongs to {owner}", many "belong to {owner}"
                ))
            }
            4 => {
                let joint = self.word("for|of|in|belonging to");
                phrase.with(modifier!("{joint} {owner}"))
            }
            _ => phrase.with(modifier!("of {owner}")),
        }
    }

    /// The heads of a relation.
    fn backward(&mut self, from: &Set, relation: usize) -> NounPhrase {
        let noun = self.heads_noun(relation);
        let Some(through) = through(from) else {
            let value = self.text_of(from);
            let after = self.heads_modifier(relation, &value);
            return NounPhrase::new(noun)
                .with(after)
                .with_many(self.rng.chance(0.6));
        };
        let value = self.text_of(through.source);
        let after = if through.forward || self.rng.chance(0.5) {
            // FROM ← statement ← head: FROM's relation names FROM, if it leads to the statement.
            let what = self.noun_of(if through.forward {
                through.relation
            } else {
                relation
            });
            modifier!("with {what} {value}", has "{what} {value}")
        } else {
            let which = if self.rng.chance(0.5) {
                through.relation
            } else {
                relation
            };
            self.heads_modifier(which, &value)
        };
        let mut phrase = NounPhrase::new(noun).with(after);
        if let Some(test) = through.test {
            let modifier = self.test(test);
            phrase.after.push(modifier);
        }
        phrase
    }

    /// The members of a set that pass a test.
    fn keep(&mut self, of: &Set, test: &Test) -> NounPhrase {
        if let (
            Set::Class(class),
            Test::Value {
                relation,
                op: Op::Eq,
                value,
            },
        ) = (of, test)
            && self.profile.classes[*class].key == Some(*relation)
        {
            let name = self.value(value, TailType::Text);
            return self.named_by_key(*class, *relation, name);
        }
        if let Test::Of(class) = test {
            return self.typed(of, *class);
        }
        if self.rng.chance(0.75)
            && let Some(phrase) = self.both(of, test)
        {
            return phrase;
        }
        let mut phrase = self.noun_phrase(of);
        let adjective = matches!(
            test,
            Test::Value { op: Op::Eq, .. } | Test::Is { forward: true, .. }
        ) && phrase.before.is_empty()
            && !phrase.possessed;
        if adjective
            && self.rng.chance(0.12)
            && let Test::Value {
                relation, value, ..
            } = test
            && self.relation(*relation).tail == TailType::Text
        {
            phrase.before = self.value(value, TailType::Text);
            return phrase;
        }
        let modifier = self.test(test);
        phrase.with(modifier)
    }

    /// A thing named by the key of its class instead of a label.
    fn named_by_key(&mut self, class: usize, relation: usize, name: String) -> NounPhrase {
        let noun = self.class_noun(class);
        let key = self.noun_of(relation);
        let after = match self.rng.below(9) {
            0..=3 => return NounPhrase::name(name),
            4 => return NounPhrase::name(format!("the {noun} {name}")),
            5 => return NounPhrase::name(format!("{name} {noun}")),
            6 => format!("named {name}"),
            7 => format!("with the {key} {name}"),
            _ => format!("whose {key} is {name}"),
        };
        NounPhrase::new(noun).with(Modifier::plain(after))
    }

    /// The members of a set that belong to a class.
    fn typed(&mut self, of: &Set, class: usize) -> NounPhrase {
        let mut phrase = self.noun_phrase(of);
        let noun = self.class_noun(class);
        if self.rng.chance(0.6) {
            // "the clubs of X" for "the teams of X that are clubs".
            phrase.noun = noun;
            return phrase;
        }
        let after = self.word("that are|which are|of type|that are of the type");
        let noun = if after.ends_with("type") {
            noun
        } else {
            plural(&noun)
        };
        phrase.with(modifier!("{after} {noun}"))
    }
}
