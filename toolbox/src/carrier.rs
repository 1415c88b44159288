//! Carrier phrases: English words around a question that say nothing about the answer (`… in the database, thanks`).

use std::sync::LazyLock;

use kg::placed_words;
use rustc_hash::FxHashSet;

use crate::limits::QUESTION_CHARS;

/// What may come before a question. `|` separates words that may stand in a place, `?` marks a place that may be empty.
const OPENINGS: &[&str] = &[
    "hi|hello|hey|hiya there|all|everyone|guys|folks|team?",
    "good morning|afternoon|evening",
    "excuse me",
    "also|sorry|so|ok|okay|well|um|umm|uh|hm|hmm|alright|right|btw|now|actually|anyway|please|pls|plz|kindly",
    "by the way",
    "a|one|just? quick|simple|short|another|random? question for? you?",
    "i? m? just? curious|wondering",
    "out of curiosity|interest",
];
/// What names the source of an answer: the graph, which is the only one.
const SOURCES: &[&str] = &[
    "according|going to|by the|this|our|your|my database|dataset|db|data|graph|records|record|tables|table|information|info|system|files set?",
    "according|going to|by the|this|our|your knowledge graph|base",
    "based on the|this|our|your|my database|dataset|db|data|graph|records|record|tables|table|information|info|system|files set?",
    "based on the|this|our|your knowledge graph|base",
    "as? per the|this|our|your|my database|dataset|db|data|graph|records|tables|information|info|system|files set?",
];
/// The same before a question only: behind it, `in our records` may be asked for.
const PLACES: &[&str] = &[
    "in|from|using|within the|this|our|your|my database|dataset|db|data|graph|records|system set?",
    "in|from|using|within the|this|our|your knowledge graph|base",
];
/// The same anywhere.
const PLACE_INSIDE: &str = "in|from|within the|this|our|your|my database|dataset|db";
/// Requests for an answer. They are left alone unless a question follows: `tell me about Peru`.
const REQUESTS: &[&str] = &[
    "can|could|would|will you|u please|pls|kindly|quickly|maybe? tell|show|give|remind me|us",
    "please? tell|remind me|us",
    "i d|would? like|want|need|wanted|wanna to? know|see|learn|understand|find out?",
    "i m|am|was? just? wondering|curious",
    "i wonder",
    "i m|am? trying to find|figure out?",
    "do you|u happen? to? know",
    "does? anyone|anybody|someone|somebody know",
    "do you|u|we? have|got? any idea|clue",
    "help me? find|figure|understand out?",
    "can|could|may i|we please? know|ask|see",
];
/// What may come behind a question.
const CLOSINGS: &[&str] = &[
    "please|pls|plz|thanks|thx|thankyou",
    "many thanks",
    "thanks in advance",
    "do you|u know",
    "if you|u know",
    "any idea|ideas",
    "by the way",
    "btw",
    "for me",
    "what do you|we|i get",
];
/// Words with which a question begins.
const QUESTION: &str = "what whats which who whos whose whom where wheres when how why";
/// Words with which a question that is answered by yes or no, or an order, begins.
const ORDER: &str = "is are was were does do did has have had can could list show give find name tell count display return get \
    provide compute calculate retrieve select identify print";
/// What stands behind the apostrophe of a contraction or a possessive.
const CONTRACTED: &str = "s t re d ll ve m";
/// How words are written in a hurry.
const HASTY: [(&str, &str); 11] = [
    ("wich", "which"),
    ("whch", "which"),
    ("wot", "what"),
    ("ppl", "people"),
    ("thru", "through"),
    ("abt", "about"),
    ("alltogether", "altogether"),
    ("bussiness", "business"),
    ("meny", "many"),
    ("mny", "many"),
    ("avarage", "average"),
];
/// Words and phrases, and how the rest of the program knows them.
const MEANT: [(&str, &str); 7] = [
    ("upwards of", "more than"),
    ("in excess of", "more than"),
    ("quantity|no|nr of", "number of"),
    ("lacking", "without"),
    ("many folks|souls", "many people"),
    ("still alive|living", "not dead"),
    ("if you|we|i add|sum up", "sum of"),
];
/// Letters that a shouted question has at least: `NATO` is no shout.
const SHOUTED: usize = 10;

/// The question in plain words: without carrier phrases, with single spaces, signs such as `>` as words, years before
/// our era as `-0500`, and small letters if all were capitals. What is plain already stays as it is.
#[must_use]
pub fn plainly(question: &str) -> String {
    let dated = crate::era::in_digits(question);
    let question = dated.as_deref().unwrap_or(question);
    if !may_change(question) {
        return question.to_owned();
    }
    let mut plain = question.split_whitespace().collect::<Vec<_>>().join(" ");
    loop {
        let next = plainer(&plain);
        if next == plain {
            return plain;
        }
        plain = next;
    }
}

/// Whether a question may not be plain yet. This is a cheap test, because most questions are plain.
fn may_change(question: &str) -> bool {
    static FIRST: LazyLock<FxHashSet<&str>> = LazyLock::new(|| {
        let all = OPENINGS.iter().chain(SOURCES).chain(PLACES).chain(REQUESTS);
        all.flat_map(|phrase| first_words(phrase.split(' ')))
            .collect()
    });
    static LAST: LazyLock<FxHashSet<&str>> = LazyLock::new(|| {
        let all = CLOSINGS.iter().chain(SOURCES);
        all.flat_map(|phrase| first_words(phrase.split(' ').rev()))
            .collect()
    });
    static INSIDE: LazyLock<FxHashSet<&str>> = LazyLock::new(|| {
        // `what r`, and the last place of `PLACE_INSIDE`.
        let nouns = PLACE_INSIDE.rsplit(' ').next().unwrap_or_default();
        let meant = MEANT.iter().filter_map(|(from, _)| from.split(' ').next());
        let all = meant
            .chain([nouns, "r|then"])
            .flat_map(|one| one.split('|'));
        all.chain(HASTY.iter().map(|(hasty, _)| *hasty)).collect()
    });
    let bytes = question.as_bytes();
    let strange =
        |byte: &u8| !byte.is_ascii() || byte.is_ascii_control() || matches!(byte, b'<' | b'>');
    if bytes.iter().any(strange)
        || question.contains(" w/")
        || !bytes.iter().any(u8::is_ascii_lowercase)
        || bytes.starts_with(b" ")
        || bytes.ends_with(b" ")
        || bytes.windows(2).any(|pair| pair == b"  ")
    {
        return true;
    }
    let mut words =
        (question.split(|one: char| !one.is_ascii_alphanumeric())).filter(|word| !word.is_empty());
    let is = |list: &FxHashSet<&str>, word: &str| list.contains(word.to_ascii_lowercase().as_str());
    let (Some(first), last) = (words.next(), words.clone().next_back()) else {
        return false;
    };
    let inside = is(&INSIDE, first) || words.any(|word| is(&INSIDE, word));
    inside || is(&FIRST, first) || last.is_some_and(|last| is(&LAST, last))
}

/// The words that may stand first in a phrase with these places.
fn first_words<'a>(places: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found = Vec::new();
    for place in places {
        found.extend(place.trim_end_matches('?').split('|'));
        if !place.ends_with('?') {
            break;
        }
    }
    found
}

/// One step to a plain question.
fn plainer(question: &str) -> String {
    // Too long for a question; it will be refused.
    if question.chars().count() > QUESTION_CHARS {
        return question.to_owned();
    }
    let letters = || question.chars().filter(|one| one.is_alphabetic());
    let shouted = letters().count() >= SHOUTED && letters().all(char::is_uppercase);
    let mut text = signs(question);
    if shouted && text.split(' ').nth(2).is_some() {
        text = text.to_lowercase();
    }
    let words = placed_words(&text);
    let first = opening(&text, &words);
    let last = closing(&words, first);
    // What is left must be a question of two words or more.
    if last < first + 2 {
        return text;
    }
    // What stands around words that are taken away may be quotation marks of others.
    let before = |word: usize, marks: &[char]| {
        let rest = &text[..words.get(word).map_or(text.len(), |(at, _)| *at)];
        rest.trim_end_matches(marks).len()
    };
    let mut changes = Vec::new();
    if let Some(end) = first.checked_sub(1).map(|word| end_of(&text, &words, word)) {
        let rest =
            text[end..].trim_start_matches([' ', ',', ':', ';', '.', '!', '?', '-', '–', '…']);
        changes.push((0, text.len() - rest.len(), ""));
    }
    for at in first + 1..last {
        if let Some(count) = phrase(&words[at..last], PLACE_INSIDE) {
            changes.push((
                before(at, &[' ']),
                end_of(&text, &words, at + count - 1),
                "",
            ));
        }
        // `what r the colors`, `which singers r French`
        let asks = |word: usize| is_in(QUESTION, &words[word].1);
        let follows = asks(at - 1) || at == first + 2 && asks(first);
        if words[at].1 == "r" && at + 1 < last && follows {
            changes.push((words[at].0, end_of(&text, &words, at), "are"));
        }
    }
    for at in first..last {
        // A name such as `Still Alive` stays as it is.
        if at > first && !text[words[at].0..].starts_with(char::is_lowercase) {
            continue;
        }
        let word = words[at].1.as_str();
        let hasty = (HASTY.iter().find(|one| one.0 == word)).map(|one| (1, one.1));
        let mut phrases = MEANT.iter();
        let meant = phrases.find_map(|(from, to)| Some((phrase(&words[at..last], from)?, *to)));
        if let Some((count, meant)) = hasty.or(meant) {
            let end = end_of(&text, &words, at + count - 1);
            changes.push((words[at].0, end, meant));
        }
        // `shorter then the Danube`
        let compares = |word: &str| {
            matches!(word, "more" | "less" | "fewer") || word.len() > 4 && word.ends_with("er")
        };
        if word == "then" && at > first && compares(&words[at - 1].1) && at + 1 < last {
            changes.push((words[at].0, end_of(&text, &words, at), "than"));
        }
    }
    changes.sort_unstable();
    if last < words.len() {
        changes.push((before(last, &[' ', ',', ';', '-', '–']), text.len(), ""));
    }
    let mut plain = text.clone();
    for (start, end, word) in changes.into_iter().rev() {
        plain.replace_range(start..end, word);
    }
    plain
}

/// The text with words for `>`, `<`, `≥` and `≤` before a number, and with straight apostrophes in `what’s`.
fn signs(text: &str) -> String {
    const SIGNS: [(&str, &str); 6] = [
        (">=", "at least"),
        ("<=", "at most"),
        ("≥", "at least"),
        ("≤", "at most"),
        (">", "more than"),
        ("<", "less than"),
    ];
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let sign = SIGNS.iter().find_map(|(sign, words)| {
            let after = rest.strip_prefix(sign)?.trim_start();
            let number = after.trim_start_matches(['$', '€', '£']);
            number
                .starts_with(|one: char| one.is_ascii_digit())
                .then_some((words, after))
        });
        if let Some((words, after)) = sign {
            let space = if plain.is_empty() || plain.ends_with(' ') {
                ""
            } else {
                " "
            };
            plain = plain + space + words + " ";
            rest = after;
            continue;
        }
        // `the stadium w/ most seats`
        let with = [("w/o ", "without "), ("w/", "with ")]
            .iter()
            .find_map(|(short, long)| {
                let after = rest.strip_prefix(short)?;
                plain.ends_with(' ').then_some((long, after.trim_start()))
            });
        if let Some((long, after)) = with {
            plain.push_str(long);
            rest = after;
            continue;
        }
        rest = &rest[next.len_utf8()..];
        let inside =
            plain.ends_with(char::is_alphanumeric) && rest.starts_with(char::is_alphanumeric);
        let short = rest
            .split(|one: char| !one.is_alphanumeric())
            .next()
            .is_some_and(|end| is_in(CONTRACTED, end));
        plain.push(if next == '’' && inside && short {
            '\''
        } else {
            next
        });
    }
    plain
}

/// How many words come before the question.
fn opening(text: &str, words: &[(usize, String)]) -> usize {
    let word = |at: usize| words.get(at).map_or("", |(_, word)| word.as_str());
    let longest = |list: &[&str], at: usize| {
        list.iter()
            .filter_map(|one| phrase(&words[at..], one))
            .max()
    };
    let (mut at, mut found) = (0, 0);
    loop {
        let source = longest(SOURCES, at).or_else(|| longest(PLACES, at));
        let request = longest(REQUESTS, at);
        let Some(count) = source.or(request).or_else(|| longest(OPENINGS, at)) else {
            return found;
        };
        at += count;
        let mark = || {
            let rest = &text[end_of(text, words, at - 1)..];
            rest.trim_start().starts_with([',', ':'])
        };
        let order = request.is_none() && is_in(ORDER, word(at));
        if is_in(QUESTION, word(at)) || order || source.is_some() && mark() {
            found = at;
        }
    }
}

/// The end of the question in words.
fn closing(words: &[(usize, String)], first: usize) -> usize {
    let mut last = words.len();
    let closes = |last: usize, at: usize| {
        let mut all = CLOSINGS.iter().chain(SOURCES);
        all.any(|one| phrase(&words[at..last], one) == Some(last - at))
    };
    while let Some(at) = (first + 1..last).find(|&at| closes(last, at)) {
        last = at;
    }
    last
}

/// The byte offset behind a word, which may have another length in small letters.
fn end_of(text: &str, words: &[(usize, String)], word: usize) -> usize {
    let start = words[word].0;
    let next = words.get(word + 1).map_or(text.len(), |(at, _)| *at);
    let length = text[start..next].find(|one: char| !one.is_alphanumeric());
    length.map_or(next, |length| start + length)
}

/// How many of the first words are a phrase.
fn phrase(words: &[(usize, String)], phrase: &str) -> Option<usize> {
    let mut at = 0;
    for place in phrase.split(' ') {
        let may_lack = place.ends_with('?');
        let fits = |(_, word): &(usize, String)| {
            place
                .trim_end_matches('?')
                .split('|')
                .any(|one| one == word)
        };
        match words.get(at).is_some_and(fits) {
            true => at += 1,
            false if may_lack => {}
            false => return None,
        }
    }
    (at > 0).then_some(at)
}

fn is_in(list: &str, word: &str) -> bool {
    !word.is_empty() && list.split(' ').any(|one| one == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carrier_phrases_are_left_out() {
        for (question, plain) in [
            (
                "According to the database, which singers are French?",
                "which singers are French?",
            ),
            (
                "hey, so what is the capital of Peru",
                "what is the capital of Peru",
            ),
            (
                "Hi there! Quick question: who directed Jaws?",
                "who directed Jaws?",
            ),
            (
                "I'd like to know where Frida Kahlo was born",
                "where Frida Kahlo was born",
            ),
            (
                "How many singers are there in our database, please?",
                "How many singers are there",
            ),
            (
                "list all films in this dataset by year",
                "list all films by year",
            ),
            ("what r the colors of Ajax", "what are the colors of Ajax"),
            (
                "WHAT IS THE CAPITAL OF PERU?",
                "what is the capital of peru?",
            ),
            (
                "cars with  >200 hp and weight <= 3000",
                "cars with more than 200 hp and weight at most 3000",
            ),
            ("what’s O’Neill’s birthplace", "what's O’Neill's birthplace"),
            ("\"Jaws\" is by whom?", "\"Jaws\" is by whom?"),
            ("per our data: \"Jaws\" is by whom", "\"Jaws\" is by whom"),
            (
                "who made \"Alien\" in the database? Thanks!",
                "who made \"Alien\"?",
            ),
            ("songs in our records", "songs in our records"),
            ("museums in Portugal thanks", "museums in Portugal"),
            // A name, and what is no question without its beginning.
            ("So Solid Crew members", "So Solid Crew members"),
            (
                "can you tell me the capital of Peru",
                "can you tell me the capital of Peru",
            ),
            (
                "do you know if Lima is in Peru",
                "do you know if Lima is in Peru",
            ),
            ("hello thanks", "hello thanks"),
            ("", ""),
        ] {
            assert_eq!(plainly(question), plain, "{question}");
        }
    }

    #[test]
    fn every_phrase_is_taken_away() {
        // Each phrase with all its places and with none that may be empty.
        let written = |phrase: &str, all: bool| {
            let places = phrase
                .split(' ')
                .filter(|place| all || !place.ends_with('?'));
            let words = places.map(|place| place.trim_end_matches('?').split('|').next());
            words
                .map(Option::unwrap_or_default)
                .collect::<Vec<_>>()
                .join(" ")
        };
        for all in [true, false] {
            let before = [OPENINGS, SOURCES, PLACES, REQUESTS].concat();
            for phrase in before.into_iter().map(|one| written(one, all)) {
                assert_eq!(plainly(&format!("{phrase} who made this")), "who made this");
            }
            let behind = [CLOSINGS, SOURCES].concat();
            for phrase in behind.into_iter().map(|one| written(one, all)) {
                assert_eq!(plainly(&format!("who made this {phrase}")), "who made this");
            }
        }
    }

    #[test]
    fn hasty_words_are_spelled_out_but_names_stay() {
        for (question, plain) in [
            ("wich stadium w/ roof", "which stadium with roof"),
            ("no. of rivers in Peru", "number of rivers in Peru"),
            ("bars w/orange juice", "bars with orange juice"),
            (
                "rivers shorter then the Elbe",
                "rivers shorter than the Elbe",
            ),
            ("who is still alive", "who is not dead"),
            ("who sang Still Alive", "who sang Still Alive"),
        ] {
            assert_eq!(plainly(question), plain);
        }
    }

    #[test]
    fn plain_questions_stay() {
        for text in [
            "İ İİ İİİİ İİİİİİ R",
            "ÄÖÜ so was İst, thanks é",
            "so so so",
            "so İ what r ß",
            "please, thanks in the in the database database",
            "> 5 <",
        ] {
            let plain = plainly(text);
            assert_eq!(plainly(&plain), plain, "{text}");
        }
    }
}
