//! Verbalisation of question plans in English, with much variation.

mod comparisons;
mod conditions;
mod groups;
mod lists;
mod noun_phrase;
mod per_group;
mod requests;
mod sets;
mod tables;

use kg::clean;
use kg::term::{Literal, NodeId};
use kg::value::Op;

use super::plan::{QuestionPlan, Set, Test};
use super::profile::{GraphProfile, RelationProfile};
use super::tail::TailType;
use super::words::plural;
use common::rng::Rng;
use noun_phrase::NounPhrase;

/// Verbalises questions about a graph.
pub(super) struct Verbalizer<'a, 'g> {
    pub profile: &'a GraphProfile<'g>,
    /// Whether other questions ask for rows in order, so that no question for a set may.
    pub tables: bool,
    pub rng: Rng,
}

impl Verbalizer<'_, '_> {
    /// A wording of the question.
    pub(super) fn question(&mut self, plan: &QuestionPlan) -> String {
        let text = match plan {
            QuestionPlan::List { set, by } => self.list(set, *by),
            QuestionPlan::Count { set } => self.count(set),
            QuestionPlan::Yes { of, test } => self.yes(of, test),
            QuestionPlan::Either { left, right, by } => self.either(left, right, *by),
            QuestionPlan::Compare {
                left,
                right,
                relation,
                max,
            } => self.compare(*left, *right, *relation, *max),
            QuestionPlan::Table { of, rows } => self.table(of, rows),
        };
        self.finished(&text)
    }

    /// One of some alternatives, separated by `|`.
    fn word(&mut self, alternatives: &str) -> String {
        let words: Vec<&str> = alternatives.split('|').collect();
        self.rng
            .pick(&words)
            .copied()
            .unwrap_or_default()
            .to_owned()
    }

    /// One of the words, the first most likely: a name's words come before the synonyms of the
    /// lexicon.
    fn early<'w>(&mut self, words: &'w [String]) -> &'w str {
        let n = words.len();
        let i = if self.rng.chance(0.45) {
            0
        } else {
            self.rng.below(n)
        };
        words.get(i).map_or("", String::as_str)
    }

    fn relation(&self, relation: usize) -> &RelationProfile {
        &self.profile.relations[relation]
    }

    fn noun_of(&mut self, relation: usize) -> String {
        let nouns = self.profile.relations[relation].wording.nouns.clone();
        if self.rng.chance(0.05) {
            // The name of the relation as it is, because users who know the graph write it.
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

    fn heads_noun(&mut self, relation: usize) -> String {
        let relation = self.relation(relation);
        let (heads, class) = (relation.wording.heads.clone(), relation.heads);
        if let Some(class) = class.filter(|_| self.rng.chance(0.8)) {
            return self.class_noun(class);
        }
        if !heads.is_empty() && self.rng.chance(0.7) {
            return self.early(&heads).to_owned();
        }
        self.word("thing|thing|entity|one|item")
    }

    /// The noun for the tails of a relation: of their class or of the relation.
    fn tails_noun(&mut self, relation: usize) -> String {
        let tails = self.relation(relation).wording.tails.clone();
        if !tails.is_empty() && self.rng.chance(0.35) {
            self.early(&tails).to_owned()
        } else {
            self.noun_of(relation)
        }
    }

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

    /// The text of a value.
    fn value(&mut self, value: &Literal, tail: TailType) -> String {
        let text = clean(&value.lexical);
        if tail == TailType::Text {
            return match self.rng.below(8) {
                0 => format!("\"{text}\""),
                1 => format!("'{text}'"),
                _ => text,
            };
        }
        let year = text.strip_suffix("-12-31").unwrap_or(&text);
        if let Some(digits) = year.strip_prefix('-')
            && tail == TailType::Time
            && digits.len() == 4
            && let Ok(number) = digits.parse::<u16>()
        {
            return format!("{number} {}", self.word("BC|BC|BCE"));
        }
        if tail == TailType::Time
            && year.len() == 4
            && year.starts_with('0')
            && let Ok(number) = year.parse::<u16>()
        {
            return format!("AD {number}");
        }
        if year.len() < text.len() {
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

    fn text(&mut self, phrase: &NounPhrase, many: bool, determined: bool) -> String {
        let mut text = String::new();
        let many = many || phrase.many;
        if phrase.proper {
            text.push_str(&phrase.noun);
        } else {
            if determined && !phrase.possessed {
                text.push_str("the ");
            }
            if !phrase.before.is_empty() {
                text.push_str(&phrase.before);
                text.push(' ');
            }
            text.push_str(&if many {
                plural(&phrase.noun)
            } else {
                phrase.noun.clone()
            });
        }
        for (i, modifier) in phrase.after.iter().enumerate() {
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

    /// The text of a set inside another phrase: `X`, `the director of X`, `cities in Y`.
    fn text_of(&mut self, set: &Set) -> String {
        let phrase = self.noun_phrase(set);
        let single = matches!(set, Set::Most { .. });
        let many = !single && (phrase.many || self.is_many(set));
        let determined = !phrase.proper && (single || !many || self.rng.chance(0.6));
        self.text(&phrase, many, determined)
    }

    /// The text of a set in the plural.
    fn text_of_many(&mut self, set: &Set) -> String {
        let phrase = self.noun_phrase(set);
        let determined = self.rng.chance(0.5);
        self.text(&phrase, true, determined)
    }

    /// Whether a set usually has several members.
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
            Set::Follow {
                relation,
                forward: true,
                ..
            } => self.relation(*relation).wording.plural,
            Set::Follow { forward: false, .. } => self.rng.chance(0.6),
        }
    }
}
