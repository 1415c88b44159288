//! Scrambled names: in a share of the training examples the words of relation names are replaced by
//! invented words, consistently in the question, in every list and in every call. The model cannot
//! memorise such an example; it has to read it.

use std::collections::{BTreeMap, BTreeSet};

use common::transcript::Role;
use toolbox::call::{Arg, parse_call};
use toolbox::rank::{is_stop, stem};

use crate::example::Example;
use common::hash;

/// Words that belong to the layout of relation lists.
const LAYOUT_WORDS: &[&str] = &["out", "in", "none", "one", "many", "done"];

/// Scrambles the relation names of an example in the dialogue layout. Handles, entities, classes
/// and literals are unchanged.
pub(crate) fn scramble(example: &mut Example, seed: u64) {
    let lists = example
        .messages
        .iter()
        .filter(|message| message.role == Role::Tool)
        .map(|message| message.content.as_str());
    let words = Scrambler::new(lists, seed, &example.id);
    for message in &mut example.messages {
        match message.role {
            Role::Tool => message.content = words.replace(&message.content),
            Role::User => {
                let (question, linked) = message
                    .content
                    .split_once('\n')
                    .map_or((message.content.as_str(), None), |(q, l)| (q, Some(l)));
                let question = words.replace(question);
                message.content = linked.map_or_else(
                    || question.clone(),
                    |linked| format!("{question}\n{linked}"),
                );
            }
            Role::Assistant => message.content = words.in_call(&message.content),
            Role::System => {}
        }
    }
}

/// Maps each stem of a relation name to an invented word.
struct Scrambler(BTreeMap<String, String>);

impl Scrambler {
    fn new<'a>(lists: impl Iterator<Item = &'a str>, seed: u64, id: &str) -> Self {
        let mut stems = BTreeSet::new();
        for list in lists {
            pieces(list, &mut |piece, word| {
                if word && is_name(piece) {
                    stems.insert(stem(&piece.to_lowercase()));
                }
            });
        }
        let mut taken = BTreeSet::new();
        let mut words = BTreeMap::new();
        for stem in stems {
            let invented = (0..).map(|attempt| {
                invent(hash::number(
                    seed,
                    "scramble",
                    &format!("{id} {stem} {attempt}"),
                ))
            });
            let invented = invented
                .into_iter()
                .find(|word| taken.insert(word.clone()))
                .unwrap_or_default();
            words.insert(stem, invented);
        }
        Self(words)
    }

    /// The text with every known word replaced; endings and capitals are kept.
    fn replace(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        pieces(text, &mut |piece, word| {
            let lower = piece.to_lowercase();
            let stem = stem(&lower);
            match self.0.get(&stem).filter(|_| word && is_name(piece)) {
                Some(invented) if piece.starts_with(char::is_uppercase) => {
                    out.extend(
                        invented
                            .chars()
                            .next()
                            .into_iter()
                            .flat_map(char::to_uppercase),
                    );
                    out.extend(invented.chars().skip(1));
                    out.push_str(lower.strip_prefix(&stem).unwrap_or_default());
                }
                Some(invented) => {
                    out.push_str(invented);
                    out.push_str(lower.strip_prefix(&stem).unwrap_or_default());
                }
                None => out.push_str(piece),
            }
        });
        out
    }

    /// The call with its relation names replaced.
    fn in_call(&self, text: &str) -> String {
        let Ok(mut call) = parse_call(text) else {
            return text.to_owned();
        };
        let params = call.tool.signature().params;
        for (i, arg) in call.args.iter_mut().enumerate() {
            if params[i.min(params.len() - 1)].names_relation()
                && let Arg::Name(name) = arg.relation_mut()
            {
                *name = self.replace(name);
            }
        }
        call.to_string()
    }
}

fn is_name(word: &str) -> bool {
    let lower = word.to_lowercase();
    word.chars().count() > 1
        && word.chars().all(char::is_alphabetic)
        && !is_stop(&lower)
        && !LAYOUT_WORDS.contains(&lower.as_str())
}

/// Splits a text into words (letters and digits; also at changes from lower to upper case) and the
/// separators between them.
fn pieces(text: &str, each: &mut dyn FnMut(&str, bool)) {
    let mut start = 0;
    let mut last: Option<char> = None;
    for (at, c) in text.char_indices() {
        if let Some(before) = last {
            let border = before.is_alphanumeric() != c.is_alphanumeric()
                || (before.is_lowercase() && c.is_uppercase());
            if border {
                each(&text[start..at], before.is_alphanumeric());
                start = at;
            }
        }
        last = Some(c);
    }
    if let Some(last) = last {
        each(&text[start..], last.is_alphanumeric());
    }
}

/// A word of two or three syllables.
fn invent(mut number: u64) -> String {
    const ONSETS: [&str; 24] = [
        "b", "c", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "z",
        "st", "tr", "pl", "br", "ch", "sh",
    ];
    const VOWELS: [&str; 8] = ["a", "e", "i", "o", "u", "ea", "ou", "ai"];
    let mut choose = |choices: &[&'static str]| {
        let chosen = choices[(number % choices.len() as u64) as usize];
        number /= choices.len() as u64;
        chosen
    };
    let mut word = String::new();
    let syllables = if choose(&["2", "3"]) == "2" { 2 } else { 3 };
    for _ in 0..syllables {
        word.push_str(choose(&ONSETS));
        word.push_str(choose(&VOWELS));
    }
    word.push_str(choose(&["", "n", "r", "t", "l", "k"]));
    word
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn one_word_becomes_one_word_everywhere() {
        let words = Scrambler::new(
            ["out m0 music.recording.tracks r3 film.directed_by\nin people.person.placeOfBirth"]
                .into_iter(),
            1,
            "q",
        );
        let question =
            words.replace("what is the m0 tracks of e0 's track that who directed out of places ?");
        assert!(
            !question.contains("track") && !question.contains("direct"),
            "{question}"
        );
        let track = words.0["track"].clone();
        assert!(
            question.starts_with(&format!(
                "what is the m0 {track}s of e0 's {track} that who "
            )),
            "{question}"
        );
        assert!(question.contains(" out of "), "{question}");
        let call = words.in_call("v0 = get_tail_entity(e0, music.recording.tracks)");
        assert!(
            call.ends_with(&format!(".{track}s)")) && call.starts_with("v0 = get_tail_entity(e0, "),
            "{call}"
        );
        assert_eq!(
            words.in_call("v0 = get_tail_entity(e0, m0)"),
            "v0 = get_tail_entity(e0, m0)"
        );
        let list = words.replace("out m0 music.recording.tracks\nin people.person.placeOfBirth");
        assert!(
            list.starts_with("out m0 ") && list.contains("\nin ") && list.contains("Of"),
            "{list}"
        );
    }

    #[test]
    fn words_differ_and_are_the_same_again() {
        let list = (0..200)
            .map(|i| format!("r{i} a.b.{}", invent(i).repeat(2)))
            .collect::<Vec<_>>()
            .join(" ");
        let (one, two) = (
            Scrambler::new([list.as_str()].into_iter(), 1, "q"),
            Scrambler::new([list.as_str()].into_iter(), 1, "q"),
        );
        assert_eq!(one.0, two.0);
        let distinct: BTreeSet<&String> = one.0.values().collect();
        assert_eq!(distinct.len(), one.0.len());
        assert!(one.0.len() > 50);
        assert_ne!(
            Scrambler::new([list.as_str()].into_iter(), 1, "other").0,
            one.0
        );
    }
}
