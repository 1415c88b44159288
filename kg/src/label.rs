//! Labels: one clean line for each node, whatever the graph contains.

use std::borrow::Cow;
use std::fmt::Write as _;

use percent_encoding::percent_decode_str;

use crate::limits::LABEL_CHARS;

/// Whether a character could reorder, hide or break its line: controls, bidirectional marks,
/// invisible and tag characters.
#[must_use]
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}'
                | '\u{200b}'
                | '\u{200e}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// A text as one clean line: white space collapsed, unsafe characters removed, at most
/// [`LABEL_CHARS`] characters. If it was cut, the last character is `…`.
#[must_use]
pub fn clean(text: &str) -> String {
    one_line(text, LABEL_CHARS)
}

/// [`clean`] with a limit of `most` characters.
pub fn one_line(text: &str, most: usize) -> String {
    // Most texts are so already.
    let is_plain = text.len() <= most
        && text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && !(text.starts_with(' ') || text.ends_with(' ') || text.contains("  "));
    if is_plain {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut space = false;
    for c in text.chars() {
        if c.is_whitespace() {
            space = !out.is_empty();
        } else if !is_unsafe(c) {
            if std::mem::take(&mut space) {
                out.push(' ');
            }
            out.push(c);
        }
    }
    if let Some((cut, _)) = out.char_indices().nth(most)
        && let Some((last, _)) = out[..cut].char_indices().next_back()
    {
        out.truncate(last);
        out.truncate(out.trim_end().len());
        out.push('…');
    }
    out
}

/// Printed JSON with every [unsafe](is_unsafe) character as `\u001b`, which reads back as the same
/// value. They can only be inside strings: a value printed in one line has no others.
#[must_use]
pub fn clean_json(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if !is_unsafe(c) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    Cow::Owned(out)
}

/// The form for case-insensitive label lookup: lower case, underscores as spaces.
#[must_use]
pub fn fold(text: &str) -> String {
    let spaced: String = text
        .chars()
        .map(|c| if c == '_' { ' ' } else { c })
        .collect();
    let mut out = String::with_capacity(spaced.len());
    for word in spaced.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.extend(
            word.chars()
                .filter(|&c| !is_unsafe(c))
                .flat_map(char::to_lowercase),
        );
    }
    out
}

/// Lower-case words. Separators are all characters except letters and digits, and changes from
/// lower to upper case.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    placed_words(text)
        .into_iter()
        .map(|(_, word)| word)
        .collect()
}

/// The [`words`] of a text, each with the byte offset at which it begins.
#[must_use]
pub fn placed_words(text: &str) -> Vec<(usize, String)> {
    let mut words: Vec<(usize, String)> = Vec::new();
    // Whether the last word is still being read, and whether its last character is lower case.
    let (mut open, mut lower) = (false, false);
    for (at, c) in text.char_indices() {
        if !c.is_alphanumeric() {
            (open, lower) = (false, false);
            continue;
        }
        if !open || c.is_uppercase() && lower {
            words.push((at, String::new()));
        }
        (open, lower) = (true, c.is_lowercase());
        if let Some((_, word)) = words.last_mut() {
            match c.is_ascii() {
                true => word.push(c.to_ascii_lowercase()),
                false => word.extend(c.to_lowercase()),
            }
        }
    }
    words
}

/// Rank of a language tag in lower case, smaller is better: the wanted languages in order, each
/// before its regional variants, then untagged, then other tags in order.
pub(crate) fn language_rank<'a>(lang: &'a str, wanted: &[String]) -> (usize, &'a str) {
    let region = |tag: &String| {
        let (start, rest) = lang.split_at_checked(tag.len()).unwrap_or(("", ""));
        !tag.is_empty() && start.eq_ignore_ascii_case(tag) && rest.starts_with('-')
    };
    let is_own = |tag: &String| tag.eq_ignore_ascii_case(lang);
    if let Some(place) = wanted.iter().position(is_own) {
        return (2 * place, "");
    }
    match wanted.iter().position(region) {
        Some(place) => (2 * place + 1, lang),
        None if lang.is_empty() => (2 * wanted.len(), ""),
        None => (2 * wanted.len() + 1, lang),
    }
}

/// Percent-decodes; a text that does not decode to UTF-8 is returned unchanged.
#[must_use]
pub fn percent_decode(text: &str) -> String {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map_or_else(|_| text.to_owned(), Cow::into_owned)
}
