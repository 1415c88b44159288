//! Spans of years that questions name: decades and centuries.

use kg::term::Literal;

use crate::era::century_of_word;

/// What makes a year its last day.
pub(crate) const LAST_DAY: &str = "-12-31";

/// The first and the last year of a range, each with its last day: the 1970s are the years from 1970 to
/// 1979.
pub(super) fn years(first: u32, last: u32) -> Vec<Literal> {
    let of = |year: u32| [format!("{year:04}"), format!("{year:04}{LAST_DAY}")];
    let all = [first, last].into_iter().flat_map(of);
    all.map(Literal::plain).collect()
}

/// The century that is written at `at`, by its first year, with the characters it takes: `19th century`,
/// `nineteenth-century`.
pub(super) fn century_at(chars: &[char], at: usize) -> Option<(u32, usize)> {
    if at > 0 && chars[at - 1].is_alphanumeric() {
        return None;
    }
    let word = |at: usize| -> String {
        let word = chars[at..].iter().take_while(|c| c.is_alphanumeric());
        word.flat_map(|c| c.to_lowercase()).collect()
    };
    let count = word(at);
    let behind = at + count.chars().count();
    let joined = matches!(chars.get(behind), Some(' ' | '-'));
    let first = joined.then(|| century_of_word(&count)).flatten()?;
    (word(behind + 1) == "century").then(|| (first, behind + 1 + "century".len() - at))
}

/// The first year of a decade that is written in digits and an `s`, the century left out or not:
/// `1980s`, `80s`.
pub(crate) fn decade_in_digits(digits: &str, letters: &str) -> Option<u32> {
    let decade: u32 = digits.parse().ok().filter(|decade| decade % 10 == 0)?;
    match (digits.len(), letters) {
        (4, "s") => Some(decade),
        (2, "s") if decade >= 20 => Some(1900 + decade),
        _ => None,
    }
}

/// Whether the word before a decade says that it is somebody's age: `in her 80s`.
pub(super) fn is_somebodys(before: &[char]) -> bool {
    let before: String = before.iter().collect();
    let word = before.trim_end().rsplit(' ').next().unwrap_or_default();
    ["his", "her", "their", "your", "my"].contains(&word.to_lowercase().as_str())
}

/// Words for the decades of the twentieth century, from 1920 on.
const DECADES: [&str; 8] = [
    "twenties",
    "thirties",
    "forties",
    "fifties",
    "sixties",
    "seventies",
    "eighties",
    "nineties",
];

/// The first year of the decade that a lower-case word names.
pub(crate) fn decade_of_word(word: &str) -> Option<u32> {
    let place = DECADES.iter().position(|known| *known == word)?;
    u32::try_from(1920 + 10 * place).ok()
}

/// The decade that a word names, with the word's length in characters.
pub(super) fn decade_word(chars: &[char], at: usize) -> Option<(u32, usize)> {
    if !chars[at].is_alphabetic() || at > 0 && chars[at - 1].is_alphanumeric() {
        return None;
    }
    let word: String = (chars[at..].iter())
        .take_while(|c| c.is_alphabetic())
        .collect();
    Some((decade_of_word(&word.to_lowercase())?, word.chars().count()))
}
