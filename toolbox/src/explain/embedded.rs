//! Questions inside other sentences: `please check whether …`, `let me know if …`, and what people say of themselves
//! before they ask. English.

use super::vocabulary::is_filler;

/// Words of such a request.
const REQUEST: &str = "check verify confirm see tell find out let me us i to can could you would was am just asking \
    whether if sure make trying";

/// The number of words up to the question that a request asks for with `whether` or `if`.
pub(super) fn request(all: &[impl AsRef<str>]) -> usize {
    let word = |at: usize| all.get(at).map_or("", AsRef::as_ref);
    let asks = |word: &str| is_filler(word) || REQUEST.split(' ').any(|one| one == word);
    let end = (1..all.len()).find(|&at| matches!(word(at), "whether" | "if"));
    let so = |at: usize| matches!(word(at + 1), "so" | "any" | "");
    match end {
        Some(at) if (0..at).all(|before| asks(word(before))) && !so(at) => at + 1,
        _ => 0,
    }
}

/// Words in which people speak of themselves.
const OWN: &str = "i im i'm ive i've we we're my our me";
/// Words with which a question begins behind a comma.
const ASKING: &str = "what whats what's which who whos who's where wheres when how whose give show list name tell find";
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
    fn a_request_ends_with_whether_or_if() {
        for (text, words) in [
            ("please check whether lima is in peru", 3),
            ("let me know if lima is in peru", 4),
            ("can you tell me if lima is in peru", 5),
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
