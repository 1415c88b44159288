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

/// Where the question begins behind a clause in which people speak of themselves, as a byte offset: `I'm off to Novi
/// Sad next week, which currency should I take`. 0 if there is no such clause.
pub(super) fn after_own_words(question: &str) -> usize {
    const OWN: [&str; 7] = ["i", "im", "i'm", "ive", "we", "we're", "my"];
    const ASKING: [&str; 11] = [
        "what", "whats", "which", "who", "whos", "where", "wheres", "when", "how", "whose",
        "what's",
    ];
    let first_of = |text: &str| {
        let word = text.split_whitespace().next().unwrap_or_default();
        word.to_lowercase().replace('’', "'")
    };
    let mut commas = question.match_indices([',', ';', '.', '-', '–', ':']);
    let asked = commas.find(|(at, mark)| {
        let behind = question.get(at + mark.len()..).unwrap_or_default();
        behind.starts_with(' ') && ASKING.contains(&first_of(behind).as_str())
    });
    match asked {
        Some((at, mark)) if OWN.contains(&first_of(question).as_str()) => at + mark.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_say_of_themselves_comes_before_the_question() {
        let asked = |text: &str| text[after_own_words(text)..].trim().to_owned();
        let currency = "which currency should I take?";
        assert_eq!(
            asked(&format!("I'm off to Novi Sad next week, {currency}")),
            currency
        );
        for whole in [
            currency,
            "In Peru, which rivers are there?",
            "I need the capital, of Peru",
        ] {
            assert_eq!(asked(whole), whole);
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
