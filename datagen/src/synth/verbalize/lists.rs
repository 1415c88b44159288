//! Questions for the members of a set.

use super::Verbalizer;
use super::noun_phrase::{NounPhrase, fill};
use super::sets::{behind_silent, is_through};
use crate::synth::plan::Set;
use crate::synth::tail::{TailKind, TailType};
use crate::synth::words::{plural, singular};

impl Verbalizer<'_, '_> {
    /// A question for the members of a set, or for their names by the attribute `by`.
    pub(super) fn list(&mut self, set: &Set, by: Option<usize>) -> String {
        if let Some(text) = self.relation_question(set) {
            return text;
        }
        let phrase = self.noun_phrase(set);
        let many = self.asks_for_many(set, &phrase);
        if let Some(by) = by
            && self.rng.chance(0.7)
        {
            return self.names(set, &phrase, many, by);
        }
        if let Some(text) = self.which(&phrase, many) {
            return text;
        }
        let person = match set {
            Set::Follow {
                relation,
                forward: true,
                ..
            } => self.relation(*relation).wording.kind == TailKind::Person,
            _ => false,
        };
        if person && self.rng.chance(0.4) {
            let of = self.text(&phrase, many, true);
            let is = if many { "are" } else { "is" };
            let was = self.word(&format!("{is}|was"));
            return format!("who {} {of}", if many { is } else { &was });
        }
        let text = self.text(&phrase, many, false);
        let text = self.ordered(set, text, many);
        let determiner = if phrase.proper || phrase.possessed {
            ""
        } else {
            "the "
        };
        self.requested(&text, many, determiner)
    }

    /// A question made for the relation of the set, or "for the countries founded before 1930, what
    /// are the languages".
    fn relation_question(&mut self, set: &Set) -> Option<String> {
        let Set::Follow {
            from,
            relation,
            forward,
            ..
        } = set
        else {
            return None;
        };
        let valued = *forward && self.relation(*relation).tail != TailType::Thing;
        if (!is_through(from) || (valued && self.rng.chance(0.5)))
            && self.rng.chance(0.42)
            && let Some(text) = self.template_question(behind_silent(from), *relation, *forward)
        {
            return Some(text);
        }
        if *forward
            && matches!(from.as_ref(), Set::Keep { .. } | Set::Most { .. })
            && self.rng.chance(0.06)
        {
            let noun = self.noun_of(*relation);
            let of = self.text_of(from);
            return Some(format!("for {of}, what is the {}", singular(&noun)));
        }
        None
    }

    /// Whether the question is in the plural.
    fn asks_for_many(&mut self, set: &Set, phrase: &NounPhrase) -> bool {
        let of_class = match set {
            Set::Follow {
                from,
                forward: true,
                ..
            } => class_behind(from).is_some(),
            _ => false,
        };
        !matches!(set, Set::Most { .. })
            && (phrase.many
                || matches!(set, Set::Class(_))
                || (of_class && self.rng.chance(0.85))
                || (!matches!(set, Set::Follow { forward: true, .. }) && self.rng.chance(0.75)))
    }

    /// A question for the names of the members.
    fn names(&mut self, set: &Set, phrase: &NounPhrase, many: bool, by: usize) -> String {
        let key = self.noun_of(by);
        let of = self.text(phrase, many, true);
        let names = if many { plural(&key) } else { key.clone() };
        let all = if many {
            self.word("|||different |distinct ")
        } else {
            String::new()
        };
        let text = match self.rng.below(7) {
            6 if many => {
                let these = self.text(phrase, many, false);
                let joint = self.word("of all|of all the|of|for all");
                format!("{all}{names} {joint} {these}")
            }
            0 if !many => format!("{of} 's {key}").replace(" 's", "'s"),
            1 if many => {
                format!("{} {names}", phrase.noun)
                    + &phrase
                        .after
                        .iter()
                        .map(|m| format!(" {}", m.after))
                        .collect::<String>()
            }
            _ => format!("{all}{names} of {of}"),
        };
        let text = self.ordered(set, text, many);
        self.requested(&text, many, "the ")
    }

    /// "Which N ..." with a predicate, in some cases.
    fn which(&mut self, phrase: &NounPhrase, many: bool) -> Option<String> {
        let (first, others) = phrase.after.split_first()?;
        if phrase.proper || phrase.possessed || !self.rng.chance(0.4) {
            return None;
        }
        if first.after.starts_with("of ") || first.after.starts_with("for ") {
            return None;
        }
        let before = if phrase.before.is_empty() {
            String::new()
        } else {
            format!("{} ", phrase.before)
        };
        let rest: String = others
            .iter()
            .map(|modifier| format!(" and {}", modifier.predicate(many)))
            .collect();
        let which = self.word("which|what|which|which of the");
        let which = if which == "which of the" && !many {
            "which"
        } else {
            &which
        };
        let noun = if many {
            plural(&phrase.noun)
        } else {
            phrase.noun.clone()
        };
        Some(format!(
            "{which} {before}{noun} {}{rest}",
            first.predicate(many)
        ))
    }

    /// The text with a sort order, in some cases. The answer remains a set.
    fn ordered(&mut self, set: &Set, text: String, many: bool) -> String {
        if self.tables {
            return text;
        }
        let Some(class) = listed_class(set) else {
            return text;
        };
        // More often for a whole class, which has little other variation.
        if !many
            || !self.rng.chance(if matches!(set, Set::Keep { .. }) {
                0.2
            } else {
                0.5
            })
        {
            return text;
        }
        let attributes: Vec<usize> = (0..self.profile.relations.len())
            .filter(|&r| {
                self.profile.relations[r].heads == Some(class)
                    && self.profile.relations[r].tail != TailType::Thing
            })
            .collect();
        let Some(&attribute) = self.rng.pick(&attributes) else {
            return text;
        };
        let n = self.noun_of(attribute);
        let way = self.word("ascending|descending|alphabetical|decreasing|increasing");
        match self.rng.below(9) {
            6 => format!("{text} and sort in {way} order of {n}"),
            7 => format!("{text}, sorted by the {n} in {way} order"),
            8 => format!("{text} in {way} order by {n}"),
            0 => format!("{text} in {way} order of {n}"),
            1 => format!("{text} ordered by {n}"),
            2 => format!("{text} sorted by {n} in {way} order"),
            3 => format!("{text} sorted by their {n} {way}"),
            4 => format!("{text}, ordered {way} by {n}"),
            _ => format!("{text} ordered by {way} {n}"),
        }
    }

    /// A question from a template for the tails or heads of a relation.
    fn template_question(&mut self, from: &Set, relation: usize, forward: bool) -> Option<String> {
        let templates = self.templates(relation, forward);
        let template = self.rng.pick(&templates)?.clone();
        let n = self.noun_of(relation);
        let c = plural(&self.heads_noun(relation));
        let tails = &self.profile.relations[relation].wording.tails;
        let t = if tails.is_empty() {
            n.clone()
        } else {
            self.early(tails).to_owned()
        };
        let group = forward
            && matches!(
                from,
                Set::Class(_) | Set::Keep { .. } | Set::Follow { forward: false, .. }
            )
            && self.rng.chance(0.5);
        let (template, other) = if group {
            let auxiliaries = [
                ("does {x}", "do {x}"),
                ("is {x}", "are {x}"),
                ("was {x}", "were {x}"),
                ("{x} has", "{x} have"),
            ];
            let template = auxiliaries
                .iter()
                .fold(template, |text, (one, many)| text.replace(one, many));
            (template, self.text_of_many(from))
        } else {
            (template, self.text_of(from))
        };
        let many = plural(&n);
        Some(fill(
            &template,
            &[
                ("{x}", &other),
                ("{v}", &other),
                ("{n}", &n),
                ("{c}", &c),
                ("{t}", &t),
                ("{m}", &many),
            ],
        ))
    }

    /// The templates for the tails (`forward`) or heads of a relation.
    fn templates(&self, relation: usize, forward: bool) -> Vec<String> {
        let wording = self.relation(relation).wording.clone();
        let mut templates = if forward {
            wording.asks.clone()
        } else {
            wording.backs.clone()
        };
        if forward {
            match wording.kind {
                TailKind::Number if self.relation(relation).tail == TailType::Number => {
                    templates.push("how many {m} does {x} have".to_owned());
                    templates.push("how much {n} does {x} have".to_owned());
                    templates.push("how high is the {n} of {x}".to_owned());
                }
                TailKind::Time => {
                    templates.push("when was the {n} of {x}".to_owned());
                    templates.push("when is the {n} of {x}".to_owned());
                }
                TailKind::Person => templates.push("who is the {n} of {x}".to_owned()),
                TailKind::Place => templates.push("where is the {n} of {x}".to_owned()),
                _ => {}
            }
            templates.push("which {n} does {x} have".to_owned());
            templates.push("what {n} does {x} have".to_owned());
            templates.push("what is {x}'s {n}".to_owned());
            templates.push("{x} has which {n}".to_owned());
            if wording.kind != TailKind::Number || self.relation(relation).tail == TailType::Number
            {
                templates.push("which {n} is {x} in".to_owned());
                templates.push("what {n} is {x} in".to_owned());
            }
            templates.push("which {n} is given for {x}".to_owned());
        } else if templates.is_empty() {
            templates.extend(
                [
                    "which {c} have the {n} {v}",
                    "what has {v} as {n}",
                    "which {c} have {v} as their {n}",
                ]
                .map(str::to_owned),
            );
        }
        templates
    }
}

/// The class of a set, if the set is the class itself or a silent set next to it.
fn class_behind(set: &Set) -> Option<usize> {
    match set {
        Set::Class(class) => Some(*class),
        Set::Follow {
            from, silent: true, ..
        } => match from.as_ref() {
            Set::Class(class) => Some(*class),
            _ => None,
        },
        _ => None,
    }
}

/// The class whose members, or whose tails of one relation, a set lists.
fn listed_class(set: &Set) -> Option<usize> {
    match set {
        Set::Class(class) => Some(*class),
        Set::Keep { of, .. } => match of.as_ref() {
            Set::Class(class) => Some(*class),
            _ => None,
        },
        Set::Follow {
            from,
            forward: true,
            silent: false,
            ..
        } => class_behind(from),
        _ => None,
    }
}
