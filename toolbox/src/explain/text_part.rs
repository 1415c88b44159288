//! The part of a text that a question says: `with "star" in the title`, `contains the word Bank`. English.

use kg::placed_words;

use super::cues::is_negation;

/// Words before a part that are looked at: one of them says that it is a part.
const BEFORE: usize = 4;
/// Words among which a negation stands: `that do not contain`.
const NEGATION: usize = 3;
/// Words that say that a text has a part.
const CONTAIN: &str = "contain contains containing contained include includes including substring string word words \
    letter letters phrase";

/// Where a text has a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Anywhere,
    Start,
    End,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextPart {
    /// It, in lower case.
    pub(super) text: String,
    place: Place,
    /// Whether the texts that are asked for do not have it. Then nothing is found: other texts are too many to be compared.
    denied: bool,
    /// The byte range of the question that says it.
    range: (usize, usize),
}

impl TextPart {
    /// Whether a byte of the question belongs to what says it.
    pub(super) fn covers(&self, at: usize) -> bool {
        (self.range.0..self.range.1).contains(&at)
    }

    /// Whether the texts that are asked for do not have it.
    pub(super) fn is_denied(&self) -> bool {
        self.denied
    }

    /// Whether a text has it.
    pub(super) fn is_in(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        if self.denied {
            return false;
        }
        match self.place {
            Place::Anywhere => text.contains(&self.text),
            Place::Start => text.starts_with(&self.text),
            Place::End => text.ends_with(&self.text),
        }
    }
}

/// The part of a text that a question says, if it says one: in quotation marks, or behind `the word`.
pub(super) fn text_part(question: &str) -> Option<TextPart> {
    let lower = question.to_lowercase();
    let placed = placed_words(&lower);
    let words: Vec<(usize, &str)> = (placed.iter())
        .map(|(at, word)| (*at, word.as_str()))
        .collect();
    let (start, end, text) = quoted(&lower).or_else(|| behind_word(&lower, &words))?;
    let before: Vec<(usize, &str)> = (words.iter())
        .filter(|(at, _)| *at < start)
        .copied()
        .collect();
    let near = &before[before.len().saturating_sub(BEFORE)..];
    let behind: Vec<(usize, &str)> = (words.iter())
        .filter(|(at, _)| *at >= end)
        .copied()
        .collect();
    let is = |list: &str, word: &str| list.split(' ').any(|one| one == word);
    // `includes the song "Help!"` names a song.
    let filler = |(_, word): &&(usize, &str)| {
        is(CONTAIN, word) || matches!(*word, "the" | "a" | "an" | "following")
    };
    let contains = (near.iter().rev())
        .take_while(filler)
        .filter(|(_, word)| is(CONTAIN, word))
        .last();
    let starts = |word: &str| word.starts_with("start") || word.starts_with("begin");
    let ends = |word: &str| matches!(word, "end" | "ends" | "ending");
    let edge = near.windows(2).find(|pair| {
        let with = matches!(pair[1].1, "with" | "from" | "in");
        (starts(pair[0].1) || ends(pair[0].1)) && with
    });
    // `with "star" in the title`
    let held = near
        .last()
        .filter(|(_, word)| is("with without has have having", word));
    let within = behind.first().is_some_and(|(_, word)| *word == "in")
        && behind
            .get(1)
            .is_some_and(|(_, word)| is("the its their his her", word));
    let (from, place) = match (edge, contains, held) {
        (Some(pair), ..) if ends(pair[0].1) => (pair[0].0, Place::End),
        (Some(pair), ..) => (pair[0].0, Place::Start),
        (None, Some((at, _)), _) => (*at, Place::Anywhere),
        (None, None, Some((at, _))) if within => (*at, Place::Anywhere),
        _ => return None,
    };
    let denied = (before.iter().rev())
        .skip_while(|(at, _)| *at > from)
        .take(NEGATION)
        .any(|(_, word)| *word == "without" || is_negation(word));
    Some(TextPart {
        text: text.to_owned(),
        place,
        denied,
        range: (from, end),
    })
}

/// The first text in quotation marks in a question, with the bytes of these.
fn quoted(question: &str) -> Option<(usize, usize, &str)> {
    const MARKS: [(char, char); 4] = [('"', '"'), ('\'', '\''), ('“', '”'), ('‘', '’')];
    let of = |(open, close): (char, char)| {
        let apart = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
        let begins = |(at, _): &(usize, char)| apart(question[..*at].chars().next_back());
        let (start, _) = question
            .char_indices()
            .filter(|(_, c)| *c == open)
            .find(begins)?;
        let from = start + open.len_utf8();
        let ends = |(at, _): &(usize, char)| {
            apart(question[from + at + close.len_utf8()..].chars().next())
        };
        let (length, _) = question[from..]
            .char_indices()
            .filter(|(_, c)| *c == close)
            .find(ends)?;
        let text = question.get(from..from + length)?.trim();
        (!text.is_empty()).then_some((start, from + length + close.len_utf8(), text))
    };
    MARKS.into_iter().find_map(of)
}

/// The word behind `the word` or `the letters`.
fn behind_word<'q>(question: &'q str, words: &[(usize, &str)]) -> Option<(usize, usize, &'q str)> {
    let says = |word: &str| matches!(word, "word" | "string" | "substring" | "letter" | "letters");
    let at = words
        .windows(2)
        .position(|pair| pair[0].1 == "the" && says(pair[1].1))?;
    let (start, word) = words.get(at + 2)?;
    let end = start + word.len();
    let text = question.get(*start..end)?;
    (text == *word && *word != "of").then_some((*start, end, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_text_is_quoted_or_a_word() {
        let part = |question: &str| text_part(question).map(|one| (one.text, one.place));
        let anywhere = |text: &str| Some((text.to_owned(), Place::Anywhere));
        assert_eq!(part("films with 'star' in the title"), anywhere("star"));
        assert_eq!(
            part("Which names contain the substring \"Ha\"?"),
            anywhere("ha")
        );
        assert_eq!(
            part("how many films have the word Dummy in their titles"),
            anywhere("dummy")
        );
        assert_eq!(
            part("names that start with \"Mc\""),
            Some(("mc".to_owned(), Place::Start))
        );
        assert_eq!(
            part("cities ending with 'ville'"),
            Some(("ville".to_owned(), Place::End))
        );
        let denied = |question: &str| text_part(question).map(|one| one.denied);
        assert_eq!(denied("films without 'the' in the title"), Some(true));
        assert_eq!(
            denied("names that do not contain the letter \"w\""),
            Some(true)
        );
        assert_eq!(denied("films with 'star' in the title"), Some(false));
        // A quoted value is no part.
        assert_eq!(part("musicals with the award \"Tony Award\""), None);
        assert_eq!(part("who's in 'Alien'"), None);
        assert_eq!(part("which film includes the song \"Help\""), None);
        assert_eq!(part("what is the last word of Hamlet"), None);
    }
}
