//! Text for a terminal. Names, labels, questions, replies of servers and paths come from others;
//! escape sequences and bidirectional marks in them could recolour, move or reorder what is shown.
//!
//! Everything that the program prints for people passes through here, whether or not the output is
//! a terminal, so that both look the same. Exact values are in `--json`, where JSON's own escapes
//! stand for the same characters.

use std::borrow::Cow;

pub(crate) use kg::clean_json;

/// `text` with every character that acts on a terminal as `\u{1b}`; line breaks and tabs stay.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    escaped(text, |c| !matches!(c, '\n' | '\t') && kg::is_unsafe(c))
}

/// [`clean`] for a value inside a line: line breaks and tabs are escaped too, so that a value cannot
/// look like the next line.
pub(crate) fn clean_value(text: &str) -> Cow<'_, str> {
    escaped(text, kg::is_unsafe)
}

fn escaped(text: &str, acts: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&acts) {
        return Cow::Borrowed(text);
    }
    let shown = text.chars().map(|c| match c {
        c if acts(c) => c.escape_unicode().to_string(),
        c => c.to_string(),
    });
    Cow::Owned(shown.collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\u{1b}[2Jb\u{7}\r\u{9b}1m\u{202e}\u{2066}\u{200f}c\u{7f}\u{e0041}";

    #[test]
    fn nothing_that_acts_on_a_terminal_is_left() {
        for text in [HOSTILE, "\u{feff}x", "plain ü 東京 👩‍🚀\tline\nline"] {
            let shown = clean(text);
            assert!(
                shown
                    .chars()
                    .all(|c| matches!(c, '\n' | '\t') || !kg::is_unsafe(c)),
                "{shown:?}"
            );
        }
        assert!(clean(HOSTILE).starts_with("a\\u{1b}[2Jb\\u{7}\\u{d}\\u{9b}1m"));
        assert_eq!(clean("ü 東京\n\t"), "ü 東京\n\t");
        assert_eq!(clean_value("Rome\nevidence"), "Rome\\u{a}evidence");
    }

    #[test]
    fn json_reads_back_as_the_same_value() {
        let value = serde_json::json!({ "label": HOSTILE, HOSTILE: ["\u{e0041}", "\n"] });
        let text = value.to_string();
        let shown = clean_json(&text);
        assert!(!shown.contains(kg::is_unsafe), "{shown}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&shown).unwrap(),
            value
        );
    }
}
