//! Wording: from what is asked to English, with as many ways to say it as people have.

mod conditions;
mod groups;
mod requests;

use kg::clean;
use kg::term::{Literal, NodeId};
use kg::value::Op;

use super::plan::{Ask, Set, Test};
use super::profile::{Profile, Relation, Tail};
use super::words::{is_plural, plural, singular};
use common::rng::Rng;

/// Says questions about one graph.
pub(super) struct Say<'a, 'g> {
    pub profile: &'a Profile<'g>,
    pub rng: Rng,
}

/// A noun phrase in the making.
#[derive(Clone, Debug, Default)]
struct Np {
    /// What stands before the noun: a superlative, a possessor.
    before: String,
    /// The noun in the singular; of a name, the name.
    noun: String,
    /// What stands behind it.
    after: Vec<Modifier>,
    /// A name: neither article nor plural.
    proper: bool,
    /// The possessor or superlative already determines it.
    possessed: bool,
    /// Said in the plural whatever the form asked for.
    many: bool,
}

/// What is said of things: behind their noun, and as a predicate of one and of many.
#[derive(Clone, Debug, Default)]
struct Modifier {
    after: String,
    one: String,
    many: String,
}

impl Modifier {
    /// `directed by X`, `in Asia`: a predicate with a form of *be*.
    fn plain(after: String) -> Self {
        for (start, one, many) in [
            ("that are ", "is ", "are "),
            ("who are ", "is ", "are "),
            ("which are ", "is ", "are "),
            ("that were ", "was ", "were "),
            ("who was ", "was ", "were "),
        ] {
            if let Some(rest) = after.strip_prefix(start) {
                return Self {
                    one: format!("{one}{rest}"),
                    many: format!("{many}{rest}"),
                    after,
                };
            }
        }
        for start in ["that ", "who ", "which "] {
            if let Some(rest) = after.strip_prefix(start) {
                return Self {
                    one: rest.to_owned(),
                    many: rest.to_owned(),
                    after,
                };
            }
        }
        Self {
            one: format!("is {after}"),
            many: format!("are {after}"),
            after,
        }
    }

    fn new(after: String, one: String, many: String) -> Self {
        Self { after, one, many }
    }
}

/// Text with its placeholders filled.
fn fill(template: &str, slots: &[(&str, &str)]) -> String {
    slots
        .iter()
        .fold(template.to_owned(), |text, (slot, value)| {
            text.replace(slot, value)
        })
}

impl Say<'_, '_> {
    /// A wording of the question.
    pub(super) fn question(&mut self, ask: &Ask) -> String {
        let text = match ask {
            Ask::List { set, by } => self.list(set, *by),
            Ask::Count { set } => self.count(set),
            Ask::Yes { of, test } => self.yes(of, test),
            Ask::Either { left, right, by } => self.either(left, right, *by),
            Ask::Compare {
                left,
                right,
                relation,
                max,
            } => self.compare(*left, *right, *relation, *max),
        };
        self.finished(&text)
    }

    fn word(&mut self, words: &[&str]) -> String {
        self.rng.pick(words).copied().unwrap_or_default().to_owned()
    }

    /// Early words are likelier than late ones: what a name says itself before what the lexicon adds.
    fn early<'w>(&mut self, words: &'w [String]) -> &'w str {
        let n = words.len();
        let i = if self.rng.chance(0.45) {
            0
        } else {
            self.rng.below(n)
        };
        words.get(i).map_or("", String::as_str)
    }

    fn relation(&self, relation: usize) -> &Relation {
        &self.profile.relations[relation]
    }

    fn noun_of(&mut self, relation: usize) -> String {
        let nouns = self.profile.relations[relation].say.nouns.clone();
        if self.rng.chance(0.05) {
            // Who knows the graph writes a name as it stands there, where it says the noun.
            let name = self
                .relation(relation)
                .name
                .rsplit(['.', '/', '#', ':'])
                .next()
                .unwrap_or_default();
            let name = name.rsplit("__").next().unwrap_or_default();
            if name.contains('_') && nouns.contains(&name.replace('_', " ")) {
                return name.to_owned();
            }
        }
        self.early(&nouns).to_owned()
    }

    fn class_noun(&mut self, class: usize) -> String {
        let nouns = self.profile.classes[class].nouns.clone();
        self.early(&nouns).to_owned()
    }

    /// The noun for the heads of a relation.
    fn heads_noun(&mut self, relation: usize) -> String {
        let relation = self.relation(relation);
        let (heads, class) = (relation.say.heads.clone(), relation.heads);
        if let Some(class) = class.filter(|_| self.rng.chance(0.8)) {
            return self.class_noun(class);
        }
        if !heads.is_empty() && self.rng.chance(0.7) {
            return self.early(&heads).to_owned();
        }
        self.word(&["thing", "thing", "entity", "one", "item"])
    }

    /// The noun for the tails of a relation: what they are to the head, or what they are.
    fn tails_noun(&mut self, relation: usize) -> String {
        let tails = self.relation(relation).say.tails.clone();
        if !tails.is_empty() && self.rng.chance(0.35) {
            self.early(&tails).to_owned()
        } else {
            self.noun_of(relation)
        }
    }

    /// A name in a question.
    fn name(&mut self, node: NodeId) -> String {
        let named = if self.profile.is_labelled(node) {
            None
        } else {
            self.profile.alias(node)
        };
        let label = named
            .or_else(|| self.profile.kg.label(node))
            .unwrap_or_default();
        let label = label.replace('_', " ");
        match self.rng.below(24) {
            0 => format!("\"{label}\""),
            1 => format!("'{label}'"),
            2 if label.contains(' ') => label.to_lowercase(),
            _ => label,
        }
    }

    /// A value in a question.
    fn value(&mut self, value: &Literal, tail: Tail) -> String {
        let text = clean(&value.lexical);
        if tail == Tail::Text {
            return match self.rng.below(8) {
                0 => format!("\"{text}\""),
                1 => format!("'{text}'"),
                _ => text,
            };
        }
        if let Some(year) = text.strip_suffix("-12-31") {
            return year.to_owned();
        }
        if text.len() > 4 && text.bytes().all(|b| b.is_ascii_digit()) && self.rng.chance(0.15) {
            let mut out = String::new();
            for (i, c) in text.chars().enumerate() {
                if i > 0 && (text.len() - i).is_multiple_of(3) {
                    out.push(',');
                }
                out.push(c);
            }
            return out;
        }
        text
    }

    /// The noun phrase of a set.
    fn np(&mut self, set: &Set) -> Np {
        match set {
            Set::Entity(node) => {
                let name = self.name(*node);
                let noun = match self
                    .profile
                    .class_of(*node)
                    .filter(|_| !self.profile.is_labelled(*node))
                {
                    // A row's name alone does not say what it is.
                    Some(class) => match self.rng.below(8) {
                        0 => format!("the {} {name}", self.class_noun(class)),
                        1 => format!("{} {name}", self.class_noun(class)),
                        2 => format!("the {} named {name}", self.class_noun(class)),
                        3 => format!("the {} with the name {name}", self.class_noun(class)),
                        _ => name,
                    },
                    None => name,
                };
                Np {
                    noun,
                    proper: true,
                    ..Np::default()
                }
            }
            Set::Class(class) => Np {
                noun: self.class_noun(*class),
                ..Np::default()
            },
            Set::Keep { of, test } => self.keep(of, test),
            Set::Most {
                of, relation, max, ..
            } => {
                let mut np = self.np(of);
                self.superlative(&mut np, *relation, *max);
                np
            }
            Set::Walk {
                from,
                relation,
                forward: true,
                ..
            } => self.forward(from, *relation),
            Set::Walk {
                from,
                relation,
                forward: false,
                ..
            } => self.backward(from, *relation),
        }
    }

    /// The statement set between, as its source set, the relation into it, and what it must pass.
    fn through(set: &Set) -> Option<(&Set, usize, bool, Option<&Test>)> {
        match set {
            Set::Walk {
                from,
                relation,
                forward,
                silent: true,
            } => Some((from, *relation, *forward, None)),
            Set::Keep { of, test } => match of.as_ref() {
                Set::Walk {
                    from,
                    relation,
                    forward,
                    silent: true,
                } => Some((from, *relation, *forward, Some(test))),
                _ => None,
            },
            _ => None,
        }
    }

    fn forward(&mut self, from: &Set, relation: usize) -> Np {
        if let Some((source, first, forward, test)) = Self::through(from) {
            let test = test.cloned();
            let valued = self.relation(relation).tail != Tail::Thing;
            let mut np = if valued {
                // An attribute of what the source is joined to reads as the source's own, or as that of what bears it: the names of the makers
                // with cars from 1970. What lies between goes without saying.
                let noun = self.noun_of(relation);
                let mut source = source;
                while let Set::Walk {
                    from, silent: true, ..
                } = source
                {
                    source = from;
                }
                match self
                    .relation(relation)
                    .heads
                    .filter(|_| self.rng.chance(0.5))
                {
                    Some(class) => {
                        let bearers = plural(&self.class_noun(class));
                        let joint = self.word(&[
                            "with",
                            "that have",
                            "of",
                            "for",
                            "in",
                            "that have",
                            "who have",
                            "having",
                        ]);
                        let of = self.text_of(source);
                        Np {
                            noun: singular(&noun),
                            after: vec![Modifier::plain(format!("of the {bearers} {joint} {of}"))],
                            ..Np::default()
                        }
                    }
                    None => self.owned(&noun, source, relation),
                }
            } else if forward {
                // head → statement → tail: either relation's noun does.
                let noun = if self.rng.chance(0.5) {
                    self.noun_of(first)
                } else {
                    self.tails_noun(relation)
                };
                self.owned(&noun, source, first)
            } else {
                // The statement points at both: what they have to do with each other is its own affair.
                let noun = self.tails_noun(relation);
                let of = self.text_of(source);
                let joint = self.word(&["of", "for", "in", "with", "at"]);
                let after = match self.rng.below(3) {
                    0 => Modifier::plain(format!("{joint} {of}")),
                    1 => Modifier::new(
                        format!("that have {of}"),
                        format!("has {of}"),
                        format!("have {of}"),
                    ),
                    _ => {
                        let what = self.noun_of(first);
                        Modifier::new(
                            format!("whose {what} is {of}"),
                            format!("has the {what} {of}"),
                            format!("have {of} as {what}"),
                        )
                    }
                };
                Np {
                    noun: singular(&noun),
                    after: vec![after],
                    many: is_plural(&noun),
                    ..Np::default()
                }
            };
            if let Some(test) = test {
                let modifier = self.test(&test, None);
                np.after.push(modifier);
            }
            return np;
        }
        // "the maximum population of the cities": an attribute of an extreme of itself.
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
            let joint = self.word(&[
                "of",
                "of all",
                "among",
                "among all",
                "for",
                "of any of",
                "across all",
                "over all",
            ]);
            return Np {
                before: extreme,
                noun,
                after: vec![Modifier::plain(format!("{joint} {of}"))],
                ..Np::default()
            };
        }
        let noun = self.tails_noun(relation);
        if matches!(from, Set::Class(_)) && self.rng.chance(0.2) {
            // "the nationalities": whose they are goes without saying.
            return Np {
                noun: singular(&noun),
                many: true,
                ..Np::default()
            };
        }
        self.owned(&noun, from, relation)
    }

    /// `the N of FROM`, `FROM's N`, `the N that FROM has`.
    fn owned(&mut self, noun: &str, from: &Set, relation: usize) -> Np {
        let many = self.relation(relation).say.plural && self.rng.chance(0.6);
        let noun = singular(noun);
        if matches!(
            from,
            Set::Class(_) | Set::Keep { .. } | Set::Walk { forward: false, .. }
        ) && self.rng.chance(0.4)
        {
            let after = vec![self.of_group(from)];
            return Np {
                noun,
                after,
                many,
                ..Np::default()
            };
        }
        let mut owner = self.text_of(from);
        let lone = matches!(from, Set::Entity(_));
        if let Set::Walk { forward: true, .. } = from {
            // Chains are said in both orders: the director of the film of X, X's film's director.
            if self.rng.chance(0.2) {
                return Np {
                    before: format!("{}'s", owner.trim_start_matches("the ")),
                    noun,
                    possessed: true,
                    many,
                    ..Np::default()
                };
            }
            if self.rng.chance(0.2) {
                owner = owner.trim_start_matches("the ").to_owned();
            }
        }
        match self.rng.below(10) {
            0..=2 if lone => Np {
                before: format!("{owner} 's").replace(" 's", "'s"),
                noun,
                possessed: true,
                many,
                ..Np::default()
            },
            3 => {
                let has = if lone { "has" } else { "have" };
                let after = Modifier::new(
                    format!("that {owner} {has}"),
                    format!("belongs to {owner}"),
                    format!("belong to {owner}"),
                );
                Np {
                    noun,
                    after: vec![after],
                    many,
                    ..Np::default()
                }
            }
            4 => {
                let joint = self.word(&["for", "of", "in", "belonging to"]);
                Np {
                    noun,
                    after: vec![Modifier::plain(format!("{joint} {owner}"))],
                    many,
                    ..Np::default()
                }
            }
            _ => Np {
                noun,
                after: vec![Modifier::plain(format!("of {owner}"))],
                many,
                ..Np::default()
            },
        }
    }

    fn backward(&mut self, from: &Set, relation: usize) -> Np {
        if let Some((source, first, forward, test)) = Self::through(from) {
            let test = test.cloned();
            let noun = self.heads_noun(relation);
            let value = self.text_of(source);
            // FROM ← statement ← head: the statement's relation to FROM says what FROM is; else the noun of FROM's own relation.
            let say = if forward { first } else { relation };
            let mut after = vec![if forward || self.rng.chance(0.5) {
                let what = self.noun_of(say);
                Modifier::new(
                    format!("with {what} {value}"),
                    format!("has {what} {value}"),
                    format!("have {what} {value}"),
                )
            } else {
                let which = if self.rng.chance(0.5) {
                    first
                } else {
                    relation
                };
                self.said_of_heads(which, &value)
            }];
            if let Some(test) = test {
                after.push(self.test(&test, None));
            }
            return Np {
                noun,
                after,
                ..Np::default()
            };
        }
        let noun = self.heads_noun(relation);
        let value = self.text_of(from);
        let after = self.said_of_heads(relation, &value);
        Np {
            noun,
            after: vec![after],
            many: self.rng.chance(0.6),
            ..Np::default()
        }
    }

    fn keep(&mut self, of: &Set, test: &Test) -> Np {
        // A thing that goes by an attribute instead of a label.
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
            let name = self.value(value, Tail::Text);
            let noun = self.class_noun(*class);
            let key = self.noun_of(*relation);
            return match self.rng.below(9) {
                0..=3 => Np {
                    noun: name,
                    proper: true,
                    ..Np::default()
                },
                4 => Np {
                    noun: format!("the {noun} {name}"),
                    proper: true,
                    ..Np::default()
                },
                5 => Np {
                    noun: format!("{name} {noun}"),
                    proper: true,
                    ..Np::default()
                },
                6 => Np {
                    noun,
                    after: vec![Modifier::plain(format!("named {name}"))],
                    ..Np::default()
                },
                7 => Np {
                    noun,
                    after: vec![Modifier::plain(format!("with the {key} {name}"))],
                    ..Np::default()
                },
                _ => Np {
                    noun,
                    after: vec![Modifier::plain(format!("whose {key} is {name}"))],
                    ..Np::default()
                },
            };
        }
        if let Test::Of(class) = test {
            let mut np = self.np(of);
            let noun = self.class_noun(*class);
            if self.rng.chance(0.6) {
                // "the clubs of X" for "the teams of X that are clubs".
                np.noun = noun;
            } else {
                let after =
                    self.word(&["that are", "which are", "of type", "that are of the type"]);
                np.after.push(Modifier::plain(format!(
                    "{after} {}",
                    if after.ends_with("type") {
                        noun
                    } else {
                        plural(&noun)
                    }
                )));
            }
            return np;
        }
        if self.rng.chance(0.75)
            && let Some(np) = self.both(of, test)
        {
            return np;
        }
        let mut np = self.np(of);
        let adjective = matches!(
            test,
            Test::Value { op: Op::Eq, .. } | Test::Is { forward: true, .. }
        ) && np.before.is_empty()
            && !np.possessed;
        if adjective
            && self.rng.chance(0.12)
            && let Test::Value {
                relation, value, ..
            } = test
            && self.relation(*relation).tail == Tail::Text
        {
            np.before = self.value(value, Tail::Text);
            return np;
        }
        let modifier = self.test(test, np.after.last());
        np.after.push(modifier);
        np
    }

    /// A noun phrase as text.
    fn text(&mut self, np: &Np, many: bool, determined: bool) -> String {
        let mut text = String::new();
        let many = many || np.many;
        if np.proper {
            text.push_str(&np.noun);
        } else {
            if determined && !np.possessed {
                text.push_str("the ");
            }
            if !np.before.is_empty() {
                text.push_str(&np.before);
                text.push(' ');
            }
            text.push_str(&if many {
                plural(&np.noun)
            } else {
                np.noun.clone()
            });
        }
        for (i, modifier) in np.after.iter().enumerate() {
            text.push(' ');
            if i > 0
                && (modifier.after.starts_with("whose")
                    || modifier.after.starts_with("that")
                    || self.rng.chance(0.4))
            {
                text.push_str("and ");
            }
            text.push_str(&modifier.after);
        }
        text
    }

    /// A set where another phrase names it: `X`, `the director of X`, `cities in Y`.
    fn text_of(&mut self, set: &Set) -> String {
        let np = self.np(set);
        let single = matches!(set, Set::Most { .. });
        let many = !single && (np.many || self.is_many(set));
        let determined = !np.proper && (single || !many || self.rng.chance(0.6));
        self.text(&np, many, determined)
    }

    fn text_of_many(&mut self, set: &Set) -> String {
        let np = self.np(set);
        let determined = self.rng.chance(0.5);
        self.text(&np, true, determined)
    }

    /// Whether a set is usually of more than one.
    fn is_many(&mut self, set: &Set) -> bool {
        match set {
            Set::Entity(_) | Set::Most { .. } => false,
            Set::Class(_) => true,
            Set::Keep {
                of,
                test:
                    Test::Value {
                        relation,
                        op: Op::Eq,
                        ..
                    },
            } => match of.as_ref() {
                Set::Class(class) if self.profile.classes[*class].key == Some(*relation) => false,
                _ => self.rng.chance(0.7),
            },
            Set::Keep { .. } => self.rng.chance(0.7),
            Set::Walk {
                relation,
                forward: true,
                ..
            } => self.relation(*relation).say.plural,
            Set::Walk { forward: false, .. } => self.rng.chance(0.6),
        }
    }
}
