//! The words of a question and their properties.

use crate::text::word_spans;

/// A word of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// Whether it begins with a capital letter.
    pub capital: bool,
    /// Whether it has digits only.
    pub number: bool,
    /// Whether it is a stop word.
    pub stop: bool,
}

pub(super) fn words(question: &str) -> Vec<Word> {
    let word = |(start, end): (usize, usize)| {
        let text = &question[start..end];
        let number = text
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '/'))
            && text.contains(|c: char| c.is_ascii_digit());
        Word {
            start,
            end,
            capital: text.starts_with(char::is_uppercase),
            number,
            // `US` is a name, `us` a pronoun.
            stop: is_stop(text) && text != "US",
        }
    };
    word_spans(question).into_iter().map(word).collect()
}

/// Whether a word never names anything alone: articles, prepositions, pronouns, auxiliaries,
/// question words and the verbs of requests for a list.
pub(super) fn is_stop(word: &str) -> bool {
    let mut lower = word.to_lowercase();
    lower.retain(|c| !matches!(c, '\'' | '’'));
    STOP_WORDS.binary_search(&lower.as_str()).is_ok()
}

/// Sorted for binary search.
#[rustfmt::skip]
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "all", "also", "am", "among", "an", "and", "any", "are", "arent", "around", "as", "at", "be", "been", "before",
    "being", "between", "both", "but", "by", "can", "could", "count", "did", "didnt", "different", "do", "does", "doesnt", "done", "dont",
    "during", "each", "either", "ever", "every", "exactly", "find", "for", "from", "get", "give", "given", "gives", "had", "has", "have",
    "having", "he", "her", "here", "hers", "him", "his", "how", "i", "if", "in", "into", "is", "isnt", "it", "its", "kind", "least",
    "less", "like", "list", "lot", "made", "make", "many", "me", "more", "most", "much", "my", "name", "named", "neither", "no", "not",
    "number", "of", "on", "one", "ones", "only", "or", "other", "others", "our", "out", "over", "please", "plus", "same", "she", "show", "since",
    "so", "some", "such", "tell", "than", "that", "the", "their", "them", "then", "there", "these", "they", "thinking", "this", "those", "through",
    "thru", "to", "total", "type", "u", "under", "until", "up", "ur", "us", "using", "versus", "vs", "was", "wasnt", "we", "well", "were", "werent", "what", "whatever",
    "whats", "when", "where", "wheres", "whether", "which", "while", "who", "whom", "whos", "whose", "why", "will", "with", "within",
    "without", "would", "yes", "you", "your",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted() {
        assert!(STOP_WORDS.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(is_stop("What's") && is_stop("The") && !is_stop("Lisbon"));
    }
}
