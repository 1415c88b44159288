//! Relations that a question says one after another: `the wife of the author of Emma`, `Emma's
//! author's wife`. Each of them is followed by a step of its own. English.

use kg::placed_words;

use super::focus::is_content;
use super::mentions::bare_possessive;
use super::question::Asked;
use super::vocabulary::is_chatter;
use crate::exec::Session;

/// Number of words of the longest noun phrase that says a relation.
const LONGEST: usize = 4;
/// From this probability a step speaks of a relation that the question says.
pub(super) const SPOKEN_OF: f32 = 0.05;

/// For each linked entity, the relations that the question says of it, the nearest first: for each,
/// the indices of its content words.
pub(super) fn chains(session: &Session<'_>, asked: &Asked) -> Vec<Vec<Vec<usize>>> {
    let (question, linked) = (session.plain_question(), session.linked());
    let words = placed_words(question);
    (0..linked.entities.len())
        .map(|entity| {
            let Some((start, end)) = linked.span(entity) else {
                return Vec::new();
            };
            let bare = bare_possessive(session.kg(), question, linked, entity);
            let mut said = behind(question, &words, end, bare);
            said.extend(before(question, &words, start));
            said.into_iter()
                .map(|phrase| {
                    phrase
                        .into_iter()
                        .filter_map(|at| asked.placed(at))
                        .collect()
                })
                .filter(|phrase: &Vec<usize>| !phrase.is_empty())
                .collect()
        })
        .collect()
}

/// How often relations are said again: `the recording of Stay's recording`.
pub(super) fn repeated(chains: &[Vec<Vec<usize>>]) -> usize {
    let again = |chain: &Vec<Vec<usize>>| {
        let said = |at: &usize| chain[..*at].contains(&chain[*at]);
        (0..chain.len()).filter(said).count()
    };
    chains.iter().map(again).sum()
}

/// The rest of a text behind an apostrophe and an `s`.
fn behind_possessive(text: &str) -> Option<&str> {
    let rest = text.trim_start();
    let rest = rest.strip_prefix(['\'', '’', '`'])?;
    let rest = rest.strip_prefix('s').unwrap_or(rest);
    rest.starts_with(' ').then_some(rest)
}

fn is_noun(word: &str) -> bool {
    is_content(word) && !is_chatter(word)
}

/// The noun phrases behind a mention that ends at `end`, each behind `'s`: the offsets of their words. `bare` is where the
/// first begins if there is no apostrophe.
fn behind(
    question: &str,
    words: &[(usize, String)],
    mut end: usize,
    bare: Option<usize>,
) -> Vec<Vec<usize>> {
    let mut phrases = Vec::new();
    let mut bare = bare.and_then(|at| question.get(at..));
    while let Some(rest) = (bare.take()).or_else(|| question.get(end..).and_then(behind_possessive))
    {
        let mut at = question.len() - rest.len();
        let mut phrase = Vec::new();
        let begin = at;
        for (place, word) in words.iter().filter(|(place, _)| *place >= begin) {
            let next = question.get(at..*place).is_some_and(|gap| gap == " ");
            // A column's name is one word: `place_of_birth`.
            let part = !phrase.is_empty() && question.get(at..*place) == Some("_");
            if !(part || next && is_noun(word)) || phrase.len() == LONGEST {
                break;
            }
            phrase.push(*place);
            at = place + word.len();
            if behind_possessive(&question[at..]).is_some() {
                break;
            }
        }
        if phrase.is_empty() {
            break;
        }
        phrases.push(phrase);
        end = at;
    }
    phrases
}

/// The noun phrases before a mention that begins at `start`, each before `of`: the offsets of their
/// words, those nearest to the mention first.
fn before(question: &str, words: &[(usize, String)], mut start: usize) -> Vec<Vec<usize>> {
    const ARTICLES: [&str; 7] = ["the", "a", "an", "all", "his", "her", "its"];
    let mut phrases = Vec::new();
    loop {
        let mut left = words
            .iter()
            .rev()
            .skip_while(|(place, _)| *place >= start)
            .peekable();
        while left
            .peek()
            .is_some_and(|(_, word)| ARTICLES.contains(&word.as_str()))
        {
            left.next();
        }
        let Some((of, _)) = left.next().filter(|(_, word)| word == "of") else {
            return phrases;
        };
        let mut at = *of;
        let mut phrase = Vec::new();
        for (place, word) in left {
            let gap = question.get(place + word.len()..at).unwrap_or_default();
            // A column's name is one word: `place_of_birth`.
            let part = !phrase.is_empty() && gap == "_";
            let next = gap == " " && is_noun(word);
            if !(part || next) || phrase.len() == LONGEST {
                break;
            }
            phrase.push(*place);
            at = *place;
        }
        if phrase.is_empty() {
            return phrases;
        }
        phrases.push(phrase);
        start = at;
    }
}

/// How far a plan has come in what the question says of its first entity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Progress {
    /// The relation that the next step should explain.
    next: usize,
    /// How many of them a step of their own explains.
    pub(super) told: usize,
}

impl Progress {
    /// The progress after a step that explains words of the question. Words of one name are explained
    /// by one step: the `date` and the `birth` of a date of birth.
    pub(super) fn follow(self, chain: &[Vec<usize>], words: &[f32]) -> Self {
        const SAME: f32 = 0.5;
        let best = |phrase: &Vec<usize>| {
            let of = |&at: &usize| words.get(at).copied().unwrap_or_default();
            phrase.iter().map(of).fold(0.0, f32::max)
        };
        let left = chain.get(self.next..).unwrap_or_default();
        let Some(found) = left.iter().position(|phrase| best(phrase) >= SPOKEN_OF) else {
            return self;
        };
        let first = self.next + found;
        let mut made = Self {
            next: first + 1,
            told: self.told + 1,
        };
        let whole = best(&chain[first]) >= SAME;
        while let Some(phrase) = chain.get(made.next)
            && whole
            && best(phrase) >= SAME
            && !chain[first..made.next].contains(phrase)
        {
            made.next += 1;
            made.told += 1;
        }
        made
    }

    /// How many relations that the plan explains have no step of their own.
    pub(super) fn untold(self, chain: &[Vec<usize>], words: &[f32]) -> usize {
        let said = |phrase: &&Vec<usize>| {
            phrase
                .iter()
                .any(|&at| words.get(at).is_some_and(|p| *p >= SPOKEN_OF))
        };
        chain.iter().filter(said).count().saturating_sub(self.told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(question: &str, mention: &str) -> Vec<Vec<String>> {
        let words = placed_words(question);
        let start = question.find(mention).unwrap_or_default();
        let mut phrases = behind(question, &words, start + mention.len(), None);
        phrases.extend(before(question, &words, start));
        let text = |at: usize| {
            let found = words.iter().find(|(place, _)| *place == at);
            found.map(|(_, word)| word.clone()).unwrap_or_default()
        };
        let texts = |phrase: Vec<usize>| phrase.into_iter().map(text).collect();
        phrases.into_iter().map(texts).collect()
    }

    #[test]
    fn relations_are_read_from_the_mention_outwards() {
        let none: [&[&str]; 0] = [];
        assert_eq!(
            said("what is Emma 's author 's wife ?", "Emma"),
            [["author"], ["wife"]]
        );
        assert_eq!(
            said("the wife of the author of Emma", "Emma"),
            [["author"], ["wife"]]
        );
        assert_eq!(
            said("the wife of Emma's author", "Emma"),
            [["author"], ["wife"]]
        );
        assert_eq!(
            said("what is the place_of_birth of Emma 's author?", "Emma"),
            [vec!["author"], vec!["birth", "of", "place"]]
        );
        assert_eq!(said("who wrote Emma", "Emma"), none);
        assert_eq!(said("who is the author behind Emma", "Emma"), none);
    }

    #[test]
    fn a_step_tells_one_relation_unless_its_name_says_both() {
        let chain = [vec![0], vec![1]];
        let one = Progress::default().follow(&chain, &[0.2, 0.2]);
        assert_eq!((one.told, one.untold(&chain, &[0.2, 0.2])), (1, 1));
        let two = one.follow(&chain, &[0.0, 0.3]);
        assert_eq!((two.told, two.untold(&chain, &[0.2, 0.3])), (2, 0));
        let both = Progress::default().follow(&chain, &[0.5, 0.5]);
        assert_eq!(both.told, 2, "a date of birth");
        let twice = [vec![0], vec![0]];
        assert_eq!(Progress::default().follow(&twice, &[0.5]).told, 1);
        assert_eq!(one.untold(&chain, &[0.2, 0.0]), 0, "nothing explains it");
        assert_eq!(repeated(&[chain.to_vec(), twice.to_vec()]), 1);
    }
}
