//! Questions inside other sentences: `please check whether …`, `let me know if …`, and what people say of themselves
//! before they ask. English.

use super::focus::BE;
use super::vocabulary::is_filler;

/// Words of such a request.
const REQUEST: &str = "check verify confirm see tell find out let me us i to can could you would was am just asking \
    whether if sure make trying";

/// The number of words up to the question that a request asks for with `whether` or `if`, or that asks for a
/// confirmation: `am I right in thinking that …`.
pub(super) fn request(all: &[impl AsRef<str>]) -> usize {
    let word = |at: usize| all.get(at).map_or("", AsRef::as_ref);
    if (word(0), word(1)) == ("am", "i")
        && matches!(word(2), "right" | "correct" | "wrong" | "mistaken")
    {
        let thinking = if matches!(word(3), "in" | "to") { 5 } else { 3 };
        return thinking + usize::from(word(thinking) == "that");
    }
    let asks = |word: &str| is_filler(word) || REQUEST.split(' ').any(|one| one == word);
    let end = (1..all.len()).find(|&at| matches!(word(at), "whether" | "if"));
    let so = |at: usize| matches!(word(at + 1), "so" | "any" | "");
    match end {
        Some(at) if (0..at).all(|before| asks(word(before))) && !so(at) => at + 1,
        _ => 0,
    }
}

/// The number of words with which somebody asks politely for what follows: `I should be most grateful if you told me`.
pub(super) fn courtesy(all: &[impl AsRef<str>]) -> usize {
    const GRATEFUL: &str = "grateful appreciate appreciated obliged thankful nice kind lovely great glad happy wonderful";
    const TELLING: &str = "tell told give gave show showed explain explained say said find";
    let word = |at: usize| all.get(at).map_or("", AsRef::as_ref);
    let one_of = |words: &str, word: &str| words.split(' ').any(|one| one == word);
    // `Do you happen to know`
    if let Some(at) = (0..all.len().min(5)).find(|&at| word(at) == "happen" && word(at + 1) == "to")
    {
        return if word(at + 2) == "know" { at + 3 } else { 0 };
    }
    let Some(at) = (1..all.len()).find(|&at| word(at) == "if" && word(at + 1) == "you") else {
        return 0;
    };
    let verb = (at + 2..at + 5).find(|&at| one_of(TELLING, word(at)));
    match verb {
        Some(verb) if (0..at).any(|before| one_of(GRATEFUL, word(before))) => {
            let to = usize::from(word(verb + 1) == "to");
            verb + 1 + to + usize::from(matches!(word(verb + 1 + to), "me" | "us"))
        }
        _ => 0,
    }
}

/// Whether the word at `at` says only that somebody has to go somewhere: `to which country must we travel`, `to visit
/// Fez, what should I bring`.
pub(super) fn is_journey(all: &[impl AsRef<str>], at: usize) -> bool {
    let word = |at: usize| all.get(at).map_or("", AsRef::as_ref);
    let before = |back: usize| at.checked_sub(back).map_or("", word);
    match word(at) {
        "travel" | "fly" | "drive" | "head" => (1..=4).any(|back| {
            let have_to = matches!(before(back), "have" | "need") && before(back - 1) == "to";
            have_to || matches!(before(back), "must" | "should")
        }),
        "visit" => at == 1 && before(1) == "to",
        _ => false,
    }
}

/// Whether the word at `at` asks what something is: `sort` of `what sort of novel is Dracula`.
pub(super) fn asks_kind(all: &[impl AsRef<str>], at: usize) -> bool {
    let word = |at: usize| all.get(at).map_or("", AsRef::as_ref);
    let asked = at.checked_sub(1).map_or("", word);
    matches!(word(at), "sort" | "kind" | "type")
        && matches!(asked, "what" | "which")
        && word(at + 1) == "of"
        && all.len() == at + 4
        && BE.contains(&word(at + 3))
}

/// Words in which people speak of themselves.
const OWN: &str = "i im i'm ive i've we we're my our me feel feeling flying going heading travelling traveling planning moving \
    fancy";
/// Words with which a question begins behind a comma.
const ASKING: &str = "what whats what's which who whos who's where wheres when how whose give show list name tell find got any";
/// Fewest words of a question.
const SHORTEST: usize = 3;

/// Where the question begins behind a clause in which people speak of themselves, as a byte offset: `I'm off to Novi
/// Sad next week, which currency should I take`, `for my homework: mountains in Peru`. 0 if there is no such clause.
pub(super) fn after_own_words(question: &str) -> usize {
    let is = |list: &str, word: &str| {
        let word = word.to_lowercase().replace('’', "'");
        list.split(' ').any(|one| one == word)
    };
    let mut marks = question.match_indices([',', ';', '.', ':', '!', '-', '–']);
    let found = marks.find_map(|(at, mark)| {
        let (clause, behind) = (question.get(..at)?, question.get(at + mark.len()..)?);
        let mut words = behind.strip_prefix(' ')?.split_whitespace();
        let begins = clause.split_whitespace().next()?;
        // `Show me the rivers, which are long` asks from its first word on.
        let own = match mark {
            "," => is(OWN, begins) && is(ASKING, words.clone().next()?),
            _ => !is(ASKING, begins) && clause.split_whitespace().any(|word| is(OWN, word)),
        };
        (own && words.nth(SHORTEST - 1).is_some()).then_some(at + mark.len())
    });
    found.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_say_of_themselves_comes_before_the_question() {
        for (clause, question) in [
            (
                "I'm off to Novi Sad next week,",
                "which currency should I take?",
            ),
            ("For my homework:", "mountains in Peru"),
            ("i fly to Jeddah. ", "what language is spoken there"),
            ("I have a long flight,", "give me films over 200 minutes"),
            ("", "In Peru, which rivers are there?"),
            ("", "Show me the rivers of our lands, which are long"),
            ("", "which of our customers, who live in Leeds, are new"),
            ("", "I need the capital, of Peru"),
            ("", "I want to see his paintings. Which cities?"),
        ] {
            let whole = format!("{clause} {question}");
            assert_eq!(whole[after_own_words(&whole)..].trim(), question);
        }
    }

    #[test]
    fn who_has_to_go_somewhere_asks_for_a_place() {
        let travels = |text: &str| {
            let all: Vec<&str> = text.split(' ').collect();
            (0..all.len()).any(|at| is_journey(&all, at))
        };
        assert!(travels("to which country must we travel"));
        assert!(travels("the region that i have to travel to"));
        assert!(travels("to visit fez what should i bring"));
        assert!(!travels("which airlines fly to peru"));
    }

    #[test]
    fn the_kind_of_something_is_asked_for() {
        let asks = |text: &str, at| {
            let all: Vec<&str> = text.split(' ').collect();
            asks_kind(&all, at)
        };
        assert!(asks("what sort of novel is", 1));
        assert!(!asks("what kind of money is used there", 1));
        assert!(!asks("a novel of what kind", 4));
    }

    #[test]
    fn courtesies_are_no_part_of_the_question() {
        for (text, words) in [
            ("i should be most grateful if you told me the year", 9),
            ("it would be nice if you could explain to me what it is", 10),
            ("i wonder if you told me", 0),
            ("the largest city if you please", 0),
        ] {
            let all: Vec<&str> = text.split(' ').collect();
            assert_eq!(courtesy(&all), words, "{text}");
        }
    }

    #[test]
    fn a_request_ends_with_whether_or_if() {
        for (text, words) in [
            ("please check whether lima is in peru", 3),
            ("let me know if lima is in peru", 4),
            ("can you tell me if lima is in peru", 5),
            ("am i right in thinking lima is in peru", 5),
            ("am i correct that lima is in peru", 4),
            ("list all cities and if so which", 0),
            ("who knows whether lima is in peru", 0),
            ("if lima is in peru", 0),
            ("is lima in peru", 0),
        ] {
            let all: Vec<&str> = text.split(' ').collect();
            assert_eq!(request(&all), words, "{text}");
        }
    }
}
