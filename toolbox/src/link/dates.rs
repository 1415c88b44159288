//! Dates and months that a question writes out in words. English.

use crate::era::unsigned;

/// The date that is written out at `at`, such as `1 January 2021`, `March 3rd, 2020` or `the 3rd of
/// March 2020`, as `2021-01-01`, with its length in characters.
pub(super) fn date_at(chars: &[char], at: usize) -> Option<(String, usize)> {
    const WORDS: usize = 4;
    if at > 0 && chars[at - 1].is_alphanumeric() || !chars[at].is_alphanumeric() {
        return None;
    }
    let mut words: Vec<(String, usize)> = Vec::new();
    let mut end = at;
    while words.len() < WORDS {
        let word = word_or_early_year(chars, end);
        end += word.chars().count();
        words.push((word.to_lowercase(), end));
        end += (chars[end..].iter())
            .take_while(|c| matches!(c, ' ' | ',' | '.'))
            .count();
    }
    words.retain(|(word, _)| word != "of");
    let day = |word: &str| {
        let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let ending = &word[digits.len()..];
        let known = matches!(ending, "" | "st" | "nd" | "rd" | "th");
        digits
            .parse()
            .ok()
            .filter(|day: &u8| known && (1..=31).contains(day))
    };
    let [(first, _), (second, _), (year, end), ..] = words.as_slice() else {
        return None;
    };
    let (day, month) = match (day(first), month(second)) {
        (Some(day), Some(month)) => (day, month),
        _ => (day(second)?, month(first)?),
    };
    is_year(year).then(|| (format!("{year}-{:02}-{day:02}", month + 1), end - at))
}

/// The word at a place, with the sign of a year before our era: `-0044`.
fn word_or_early_year(chars: &[char], at: usize) -> String {
    let rest = chars.get(at..).unwrap_or_default();
    let sign = usize::from(matches!(rest, ['-', digit, ..] if digit.is_ascii_digit()));
    let word = rest[sign..].iter().take_while(|c| c.is_alphanumeric());
    rest[..sign].iter().chain(word).collect()
}

/// Whether a word is a year of four digits, with or without a sign.
fn is_year(word: &str) -> bool {
    let digits = unsigned(word);
    digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The place of a month in the year, from 0, by its name or the beginning of its name.
fn month(word: &str) -> Option<usize> {
    const NAMES: &str =
        "january february march april may june july august september october november december";
    let mut names = NAMES.split(' ');
    names.position(|name| word.len() >= 3 && name.starts_with(word))
}

/// Whether a value is a date or a month, as this module writes them: `2024-10-31`, `2024-10`, `-0044-03`.
pub(crate) fn is_date(value: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = value.strip_prefix('-').unwrap_or(value).split('-');
    let year = parts
        .next()
        .is_some_and(|year| year.len() == 4 && digits(year));
    let rest: Vec<&str> = parts.collect();
    year && matches!(rest.len(), 1 | 2) && rest.into_iter().all(digits)
}

/// Whether a text is the name of a month.
pub(crate) fn is_month(text: &str) -> bool {
    month(&text.to_lowercase()).is_some()
}

/// The month that is written out at `at`, such as `October 2024` as `2024-10`, with its length in characters. Of
/// two months, such as `between July and December 2022`, the first and the last day.
pub(super) fn months_at(chars: &[char], at: usize) -> Option<(Vec<String>, usize)> {
    const BETWEEN: [&str; 5] = ["and", "to", "until", "till", "through"];
    if at > 0 && chars[at - 1].is_alphanumeric() || !chars[at].is_alphabetic() {
        return None;
    }
    let mut rest = at;
    let mut next = || {
        while chars.get(rest).is_some_and(|c| matches!(c, ' ' | ',')) {
            rest += 1;
        }
        let word = word_or_early_year(chars, rest);
        rest += word.chars().count();
        (word.to_lowercase(), rest)
    };
    let first = month(&next().0)?;
    let (mut word, mut end) = next();
    if word == "of" {
        (word, end) = next();
    }
    if is_year(&word) {
        return Some((vec![format!("{word}-{:02}", first + 1)], end - at));
    }
    if !BETWEEN.contains(&word.as_str()) {
        return None;
    }
    let second = month(&next().0)?;
    let (word, end) = next();
    let year: u32 = word.parse().ok().filter(|_| is_year(&word))?;
    let days = match second {
        1 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        1 => 28,
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    };
    let (from, to) = (first + 1, second + 1);
    let begin = year.saturating_sub(u32::from(from > to));
    Some((
        vec![
            format!("{begin:04}-{from:02}-01"),
            format!("{year:04}-{to:02}-{days}"),
        ],
        end - at,
    ))
}
