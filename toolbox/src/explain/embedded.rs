//! Yes-or-no questions inside a request: `please check whether …`, `let me know if …`. English.

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

#[cfg(test)]
mod tests {
    use super::*;

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
