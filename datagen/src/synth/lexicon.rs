//! The lexicon: what English says instead of a relation's or a class's own words.

use std::collections::{BTreeMap, BTreeSet};

use super::words::{plural, singular};

/// What the tail of a relation is, for interrogatives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TailKind {
    Person,
    Place,
    Time,
    Number,
    #[default]
    Thing,
}

/// A verb's forms.
#[derive(Clone, Debug, Default)]
pub(super) struct Verb {
    pub base: String,
    pub third: String,
    pub past: String,
    pub participle: String,
    pub agents: Vec<String>,
}

/// Ways to speak of one relation.
#[derive(Clone, Debug, Default)]
pub(super) struct Concept {
    pub triggers: Vec<String>,
    pub is: Vec<String>,
    pub ask: Vec<String>,
    pub modifiers: Vec<String>,
    pub back: Vec<String>,
    pub prepositions: Vec<String>,
    pub more: Vec<String>,
    pub less: Vec<String>,
    pub most: Vec<String>,
    pub least: Vec<String>,
    pub kind: TailKind,
}

/// Everything the lexicon holds.
#[derive(Debug, Default)]
pub(super) struct Lexicon {
    verbs: Vec<Verb>,
    concepts: Vec<Concept>,
    by_trigger: BTreeMap<String, usize>,
    nouns: BTreeMap<String, Vec<String>>,
    vocabulary: BTreeSet<String>,
}

const SOURCE: &str = include_str!("lexicon.txt");

/// Words that join others in run-together names.
const JOINTS: &[&str] = &[
    "of", "by", "in", "at", "id", "code", "number", "count", "total", "first", "last", "table",
    "average", "shown",
];

impl Lexicon {
    pub(super) fn new() -> Self {
        let mut lexicon = Self::default();
        for line in SOURCE.lines() {
            lexicon.line(line.trim());
        }
        for (i, concept) in lexicon.concepts.iter().enumerate() {
            for trigger in &concept.triggers {
                lexicon.by_trigger.entry(trigger.clone()).or_insert(i);
            }
        }
        let mut words: BTreeSet<String> = JOINTS.iter().map(|word| (*word).to_owned()).collect();
        let phrases = lexicon.by_trigger.keys().chain(lexicon.nouns.keys());
        words.extend(
            phrases
                .flat_map(|phrase| phrase.split(' '))
                .filter(|word| word.len() > 2)
                .map(str::to_owned),
        );
        lexicon.vocabulary = words;
        lexicon
    }

    fn line(&mut self, line: &str) {
        let Some((key, rest)) = line.split_once(' ') else {
            return;
        };
        let list = |separator: char| {
            rest.split(separator)
                .map(|item| item.trim().to_owned())
                .filter(|item| !item.is_empty())
                .collect::<Vec<_>>()
        };
        match key {
            "verb" => {
                let (forms, agents) = match rest.split_once('|') {
                    Some((forms, agents)) => (
                        forms,
                        agents
                            .split('|')
                            .map(|agent| agent.trim().to_owned())
                            .collect(),
                    ),
                    None => (rest, Vec::new()),
                };
                let forms: Vec<&str> = forms.split_whitespace().collect();
                let form = |i: usize| {
                    forms
                        .get(i)
                        .map_or_else(String::new, |form| (*form).to_owned())
                };
                let mut verb = Verb {
                    base: form(0),
                    third: form(1),
                    past: form(2),
                    participle: form(3),
                    agents,
                };
                if let Some(agent) = forms.get(4) {
                    verb.agents.insert(0, (*agent).to_owned());
                }
                self.verbs.push(verb);
            }
            "noun" => {
                let words = list('|');
                if let Some((first, others)) = words.split_first() {
                    self.nouns.insert(first.clone(), others.to_vec());
                }
            }
            "concept" => self.concepts.push(Concept {
                triggers: list(','),
                ..Concept::default()
            }),
            "#" => {}
            _ => {
                let Some(concept) = self.concepts.last_mut() else {
                    return;
                };
                match key {
                    "is" => concept.is = list('|'),
                    "ask" => concept.ask = list('|'),
                    "mod" => concept.modifiers = list('|'),
                    "do" => concept.back = list('|'),
                    "in" => concept.prepositions = list('|'),
                    "more" => concept.more = list('|'),
                    "less" => concept.less = list('|'),
                    "most" => concept.most = list('|'),
                    "least" => concept.least = list('|'),
                    _ => {
                        concept.kind = match rest {
                            "person" => TailKind::Person,
                            "place" => TailKind::Place,
                            "time" => TailKind::Time,
                            _ => TailKind::Number,
                        }
                    }
                }
            }
        }
    }

    /// The concept that a relation's words name: all of them, their singular, or the longest end of them; and whether all were matched.
    pub(super) fn concept(&self, words: &str) -> Option<(&Concept, bool)> {
        let find = |text: &str| {
            self.by_trigger
                .get(text)
                .or_else(|| self.by_trigger.get(&singular(text)))
                .map(|&i| &self.concepts[i])
        };
        if let Some(concept) = find(words) {
            return Some((concept, true));
        }
        let starts = words.match_indices(' ').map(|(at, _)| &words[at + 1..]);
        starts
            .into_iter()
            .find_map(find)
            .map(|concept| (concept, false))
    }

    /// The verb of which this is a form.
    pub(super) fn verb(&self, form: &str) -> Option<&Verb> {
        self.verbs.iter().find(|verb| {
            verb.participle == form || verb.past == form || verb.third == form || verb.base == form
        })
    }

    /// The verb of which this names the one who does it.
    pub(super) fn verb_of_agent(&self, agent: &str) -> Option<&Verb> {
        let agent = singular(agent);
        self.verbs.iter().find(|verb| verb.agents.contains(&agent))
    }

    /// Other words for a class of things, in the singular.
    pub(super) fn synonyms(&self, noun: &str) -> &[String] {
        self.nouns
            .get(noun)
            .or_else(|| self.nouns.get(&singular(noun)))
            .map_or(&[], Vec::as_slice)
    }

    fn knows(&self, word: &str) -> bool {
        self.vocabulary.contains(word)
            || (word.len() > 3 && self.vocabulary.contains(&singular(word)))
            || self.vocabulary.contains(&plural(word))
    }

    /// Splits words that were run together (`headofstate`), where all parts are known; a part may be cut short (`indepyear`).
    pub(super) fn split(&self, word: &str) -> Vec<String> {
        if word.len() < 6 || !word.is_ascii() || self.knows(word) {
            return vec![word.to_owned()];
        }
        if let Some(parts) = self.parts(word, 3) {
            return parts;
        }
        for at in (4..word.len().saturating_sub(3)).rev() {
            let (start, end) = word.split_at(at);
            if self.knows(end) {
                let mut longer = self
                    .vocabulary
                    .range(start.to_owned()..)
                    .take_while(|known| known.starts_with(start));
                if let Some(whole) = longer.next() {
                    return vec![whole.clone(), end.to_owned()];
                }
            }
        }
        vec![word.to_owned()]
    }

    fn parts(&self, word: &str, most: usize) -> Option<Vec<String>> {
        if most == 0 {
            return None;
        }
        if self.knows(word) {
            return Some(vec![word.to_owned()]);
        }
        (2..word.len().saturating_sub(1)).rev().find_map(|at| {
            let (start, end) = word.split_at(at);
            if !self.knows(start) {
                return None;
            }
            let mut parts = self.parts(end, most - 1)?;
            parts.insert(0, start.to_owned());
            Some(parts)
        })
    }
}
