//! The lexicon: synonyms, verbs and question templates for relations and classes.

use std::collections::{BTreeMap, BTreeSet};

use super::tail::TailKind;
use super::words::{plural, singular};

/// The forms of a verb, and nouns for its agent.
#[derive(Clone, Debug, Default)]
pub(super) struct Verb {
    pub base: String,
    pub third: String,
    pub past: String,
    pub participle: String,
    pub agents: Vec<String>,
}

/// The entry for relations of one meaning. The fields are those of [`super::wording`].
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

/// The parsed lexicon.
#[derive(Debug, Default)]
pub(super) struct Lexicon {
    verbs: Vec<Verb>,
    concepts: Vec<Concept>,
    by_trigger: BTreeMap<String, usize>,
    nouns: BTreeMap<String, Vec<String>>,
    vocabulary: BTreeSet<String>,
}

const SOURCE: &str = include_str!("lexicon.txt");

/// Words that occur in compound names.
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

    /// The concept of a relation's words, their singular, or their longest suffix; and whether all
    /// words matched.
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

    pub(super) fn verb(&self, form: &str) -> Option<&Verb> {
        self.verbs.iter().find(|verb| {
            verb.participle == form || verb.past == form || verb.third == form || verb.base == form
        })
    }

    /// The verb with this agent noun.
    pub(super) fn verb_of_agent(&self, agent: &str) -> Option<&Verb> {
        let agent = singular(agent);
        self.verbs.iter().find(|verb| verb.agents.contains(&agent))
    }

    /// Synonyms of a noun, in the singular.
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

    /// Splits compounds (`headofstate`) whose parts are all known; the first part may be
    /// abbreviated (`indepyear`).
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

    /// The segments of a relation's or class's short name as words, most specific last:
    /// `film.film.directed_by` gives `[film, film, directed by]`,
    /// `http://ex.org/car_makers#ref-country` gives `[car makers, ref country]`, `dbo:birthPlace`
    /// gives `[birth place]`.
    pub(super) fn segments(&self, name: &str) -> Vec<String> {
        let local = match name.split_once("://") {
            // The last two parts of a full IRI: table and column, or vocabulary and name.
            Some((_, rest)) => {
                let parts: Vec<&str> = rest.split(['/', '#']).collect();
                parts[parts
                    .len()
                    .saturating_sub(2)
                    .max(usize::from(parts.len() > 1))..]
                    .join("#")
            }
            None => name
                .split_once(':')
                .map_or(name, |(_, local)| local)
                .to_owned(),
        };
        local
            .replace("__", ".")
            .split(['.', '/', '#', ':'])
            .map(|part| {
                let words = toolbox::rank::words(part);
                words
                    .iter()
                    .flat_map(|word| self.split(word))
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .filter(|part| !part.is_empty())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_words() {
        let lexicon = Lexicon::new();
        let last = |name: &str| lexicon.segments(name).pop().unwrap_or_default();
        assert_eq!(last("film.film.directed_by"), "directed by");
        assert_eq!(last("dbo:birthPlace"), "birth place");
        assert_eq!(
            lexicon.segments("http://valuenet.example/ontop/car_makers#ref-country"),
            ["car makers", "ref country"]
        );
        assert_eq!(last("__people__person__place_of_birth"), "place of birth");
        assert_eq!(last("lifeexpectancy"), "life expectancy");
        assert_eq!(last("headofstate"), "head of state");
    }
}
