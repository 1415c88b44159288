//! Words in texts: their byte ranges, search for whole words, and texts on one line.

/// Byte ranges of the words of a text. Punctuation inside a word (`O'Neill`, `U.S`, `p_b_shelley`)
/// belongs to it, a possessive ending does not.
pub(crate) fn word_spans(text: &str) -> Vec<(usize, usize)> {
    text.split_whitespace()
        .flat_map(|word| {
            let start = word.as_ptr() as usize - text.as_ptr() as usize;
            let trimmed = word.trim_start_matches(|c: char| !c.is_alphanumeric());
            let start = start + word.len() - trimmed.len();
            let trimmed = trimmed.trim_end_matches(|c: char| !c.is_alphanumeric());
            let possessive = ["'s", "’s", "'S"]
                .iter()
                .find_map(|ending| trimmed.strip_suffix(ending));
            let trimmed = possessive.unwrap_or(trimmed);
            (!trimmed.is_empty()).then_some((start, start + trimmed.len()))
        })
        .collect()
}

/// The byte range of the first occurrence of `needle` in a text as whole words, ignoring case.
pub(crate) fn find_words(text: &str, needle: &str) -> Option<(usize, usize)> {
    if text.is_ascii() && needle.is_ascii() {
        return find_ascii(text.as_bytes(), needle.trim().as_bytes());
    }
    let needle: Vec<char> = needle.trim().chars().flat_map(char::to_lowercase).collect();
    if needle.is_empty() {
        return None;
    }
    let hay: Vec<(usize, char)> = text.char_indices().collect();
    let fold = |c: char| c.to_lowercase().next().unwrap_or(c);
    let word = |i: usize| hay.get(i).is_some_and(|(_, c)| c.is_alphanumeric());
    'places: for start in 0..hay.len() {
        let end = start + needle.len();
        if end > hay.len() {
            break;
        }
        for (offset, &c) in needle.iter().enumerate() {
            if fold(hay[start + offset].1) != c {
                continue 'places;
            }
        }
        let open = start == 0 || !word(start - 1) || !needle[0].is_alphanumeric();
        let close = !word(end) || !needle[needle.len() - 1].is_alphanumeric();
        if open && close {
            return Some((hay[start].0, hay.get(end).map_or(text.len(), |(i, _)| *i)));
        }
    }
    None
}

/// Like [`find_words`], for ASCII.
fn find_ascii(text: &[u8], needle: &[u8]) -> Option<(usize, usize)> {
    let (first, last) = (needle.first()?, needle.last()?);
    let word = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphanumeric);
    (0..=text.len().checked_sub(needle.len())?).find_map(|start| {
        let end = start + needle.len();
        let same = text[start].eq_ignore_ascii_case(first)
            && text[start..end].eq_ignore_ascii_case(needle);
        let open = start == 0 || !word(start - 1) || !first.is_ascii_alphanumeric();
        let close = !word(end) || !last.is_ascii_alphanumeric();
        (same && open && close).then_some((start, end))
    })
}

/// A text with byte ranges replaced; the ranges are sorted and do not overlap.
pub(crate) fn replace_ranges(text: &str, ranges: &[(usize, usize, String)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (start, end, replacement) in ranges {
        out.push_str(&text[at..*start]);
        out.push_str(replacement);
        at = *end;
    }
    out.push_str(&text[at..]);
    out
}

/// The index of a handle: the number after its letter.
pub(crate) fn handle_index(text: &str, letter: char) -> Option<usize> {
    text.strip_prefix(letter)?.parse().ok()
}

/// User text on one line, without control characters.
pub(crate) fn one_line(text: &str) -> String {
    let clean: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    clean.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The words that differ from an ASCII word by two neighbouring letters that are swapped.
pub(crate) fn swaps(word: &str) -> impl Iterator<Item = String> {
    let letters = word.as_bytes();
    (1..letters.len())
        .filter(|&at| letters[at - 1] != letters[at])
        .map(move |at| {
            let mut other: Vec<char> = word.chars().collect();
            other.swap(at - 1, at);
            other.into_iter().collect()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lose_their_punctuation() {
        let text = "Is “O'Neill's” (U.S.) team, [The Third Man]?";
        let found: Vec<&str> = word_spans(text)
            .into_iter()
            .map(|(start, end)| &text[start..end])
            .collect();
        assert_eq!(
            found,
            ["Is", "O'Neill", "U.S", "team", "The", "Third", "Man"]
        );
    }

    #[test]
    fn words_match_whole() {
        assert_eq!(find_words("the Rome of Romeo", "Romeo"), Some((12, 17)));
        assert_eq!(find_words("a romeo", "Rome"), None);
        assert_eq!(find_words("ÉCOLE x", "école"), Some((0, 6)));
        assert_eq!(find_words("in rome, ROME'S \u{e9}", " Rome "), Some((3, 7)));
        assert_eq!(find_words("in rome, ROME'S e", " Rome "), Some((3, 7)));
        assert_eq!(
            (
                find_words("Rome", ""),
                find_words("Rom", "Rome"),
                find_words("aRome Rome-", "rome-")
            ),
            (None, None, Some((6, 11)))
        );
    }
}
