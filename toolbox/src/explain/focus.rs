//! What a question is about: the content word that the last step of its program explains.
//! English.

use super::adjective::{Degree, adjective};
use super::vocabulary::{is_chatter, is_filler};
use crate::rank::is_stop;

pub(super) const QUESTION_WORDS: &[&str] = &[
    "what", "which", "who", "whom", "whose", "where", "when", "how", "whos", "wheres", "whens",
];
/// Forms of `do`: the verb that they help comes last.
const DO: &[&str] = &["do", "does", "did"];
/// Forms of `be`.
pub(super) const BE: &[&str] = &["is", "are", "was", "were", "s"];

/// Words that ask how many there are.
pub(super) const COUNTING: [&str; 6] = ["number", "total", "count", "amount", "many", "tally"];

/// The index of the word of a question that names what is asked for, among its words with their
/// byte offsets in it: the noun behind the question word (`which river`), the adjective behind `how`,
/// the verb at the end (`where was the author of … born`), else the first noun.
pub(super) fn focus(question: &str, words: &[(usize, String)]) -> Option<usize> {
    let word = |at: usize| words.get(at).map_or("", |(_, word)| word.as_str());
    let noun = |at: &usize| {
        let word = word(*at);
        is_content(word)
            && !is_chatter(word)
            && word != "else"
            && !COUNTING.contains(&word)
            && adjective(word).is_none()
    };
    let first = || (0..words.len()).find(noun);
    let Some(asking) = (0..words.len()).find(|&at| asks(question, words, at)) else {
        if let Some(last) = words.len().checked_sub(1)
            && asks_at_its_end(words)
        {
            return Some(last);
        }
        // `annual rain fall`: the last of neighbouring nouns.
        let next = |at: &usize| {
            let end = words[*at].0 + words[*at].1.len();
            words
                .get(at + 1)
                .is_some_and(|(start, _)| *start == end + 1)
                && noun(&(at + 1))
                && !is_verb_behind(word(*at), word(at + 1))
        };
        return first().map(|mut at| {
            while next(&at) {
                at += 1;
            }
            at
        });
    };
    let asked = word(asking);
    let next = match word(asking + 1) {
        "else" => word(asking + 2),
        next => next,
    };
    if asked == "how" && adjective(next).is_some() {
        return Some(asking + 1);
    }
    let place_or_time = matches!(asked, "where" | "when" | "how");
    let last = words.last().map_or("", |(_, word)| word.as_str());
    // `what else has the author written`
    let has = matches!(next, "has" | "have" | "had") && is_verb_behind("", last);
    let verb_last =
        DO.contains(&next) || has || BE.contains(&next) && (place_or_time || asking > 0);
    let mut behind = asking + 1..words.len();
    let found = if verb_last {
        behind.rfind(noun)
    } else {
        behind.find(noun)
    };
    found.or_else(first)
}

/// Whether a question asks by its last words: `he was from a country whose capital lies on which river`, `the city has
/// how many residents`.
fn asks_at_its_end(words: &[(usize, String)]) -> bool {
    let all: Vec<&str> = words.iter().map(|(_, word)| word.as_str()).collect();
    matches!(
        all.as_slice(),
        [_, .., "which" | "what", _] | [_, .., "how", "many", _]
    )
}

/// Whether the second of two neighbouring words is a verb that says something of the first: `films
/// directed by`, `countries bordering`. `oil painting` is a noun.
pub(super) fn is_verb_behind(noun: &str, word: &str) -> bool {
    const IRREGULAR: &str = "born built found given held known led made met run sent set shot sold sung taken told won \
written worn drawn spoken";
    let plural = noun.ends_with('s') && !noun.ends_with("ss");
    let irregular = || IRREGULAR.split(' ').any(|verb| verb == word);
    word.len() > 4 && word.ends_with("ed") || irregular() || plural && word.ends_with("ing")
}

/// Whether the word at a byte offset, or the first of the neighbouring nouns that it ends, stands behind
/// a superlative: `stadium` of `the biggest football stadium`.
pub(super) fn is_extreme(words: &[(usize, String)], place: usize) -> bool {
    const NOUNS: usize = 3;
    let superlative = |word: &str| {
        word == "most" || adjective(word).is_some_and(|(_, degree)| degree == Degree::Superlative)
    };
    let Some(at) = words.iter().position(|(start, _)| *start == place) else {
        return false;
    };
    for before in (0..at).rev().take(NOUNS) {
        let word = &words[before].1;
        if superlative(word) {
            return true;
        }
        if !is_content(word) {
            return false;
        }
    }
    false
}

/// Whether the word at a byte offset stands behind `which`, `what` or `the`, or before `of`, and so is a noun. `the
/// country that uses what` does not ask for what begins it.
pub(super) fn is_noun(words: &[(usize, String)], place: usize) -> bool {
    let at = words.iter().position(|(start, _)| *start == place);
    let before = at.and_then(|at| Some((at, words.get(at.checked_sub(1)?)?.1.as_str())));
    // `mum of George Stephenson`
    let of = at
        .and_then(|at| words.get(at + 1))
        .is_some_and(|(_, next)| next == "of");
    of || match before {
        Some((_, "which" | "what")) => true,
        Some((at, "the")) => at > 1,
        _ => false,
    }
}

pub(super) fn is_content(word: &str) -> bool {
    !is_stop(word) && word.chars().any(char::is_alphabetic) && !is_filler(word)
}

/// Whether a word is the question word of a question, not the pronoun of a relative clause (`the
/// river on which …`): no noun stands before it.
pub(super) fn asks(question: &str, words: &[(usize, String)], at: usize) -> bool {
    if !QUESTION_WORDS.contains(&words[at].1.as_str()) {
        return false;
    }
    let Some(before) = (0..at).rev().find(|&before| {
        let word = words[before].1.as_str();
        // `Find where he was born`
        let verb = before == 0 && matches!(word, "find" | "list" | "show");
        is_content(word) && !is_chatter(word) && adjective(word).is_none() && !verb
    }) else {
        return true;
    };
    let (start, word) = &words[before];
    let between = question.get(start + word.len()..words[at].0);
    between.is_some_and(|text| text.contains([',', '-', '–', ':', ';', '?', '.', '!']))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_word_that_names_what_is_asked_for_is_found() {
        for (question, word) in [
            ("which river flows through the capital", "river"),
            ("how long is the river on which it lies", "long"),
            ("how many rivers cross it", "rivers"),
            ("where was the man born", "born"),
            ("what did the author write", "write"),
            ("what else did the author write", "write"),
            ("when did it open", "open"),
            ("into what does the river that crosses it flow?", "flow"),
            ("who painted it", "painted"),
            (
                "who is the wife of the composer that was born there",
                "wife",
            ),
            ("what is the capital", "capital"),
            ("in which country is the stadium", "country"),
            ("beside which river is the city", "river"),
            ("the clubs - what leagues are they in?", "leagues"),
            ("rivers which cross it", "rivers"),
            ("a country whose capital lies on which river?", "river"),
            ("the river on which it lies", "river"),
            ("capital", "capital"),
            ("annual rain fall there", "fall"),
            ("annual oil painting there", "painting"),
            ("films directed by the painter", "films"),
            ("the books written there", "books"),
            ("countries bordering the river", "countries"),
            ("the number of rivers there", "rivers"),
            ("tell me where the painter died", "painter"),
        ] {
            let words = kg::placed_words(question);
            let found = focus(question, &words).unwrap();
            assert_eq!(words[found].1, word, "{question}");
        }
        assert_eq!(focus("", &[]), None);
        let words = kg::placed_words("who is it");
        assert_eq!(focus("who is it", &words), None);
    }

    #[test]
    fn an_extreme_stands_before_its_noun() {
        let extreme = |question: &str, word: &str| {
            let words = kg::placed_words(question);
            let place = question.find(word).unwrap();
            is_extreme(&words, place)
        };
        assert!(extreme("the biggest football stadium there", "stadium"));
        assert!(extreme("most populous city", "city"));
        assert!(!extreme("the stadium of the biggest city", "stadium"));
        assert!(!extreme("the biggest of all cities", "cities"));
    }
}
