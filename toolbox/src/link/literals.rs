//! Extraction of numbers, dates and quoted strings from a question.

use kg::term::Literal;

use crate::era::ORDINALS;

use super::dates::{date_at, months_at};
use super::units::{Unit, unit_named};
use super::words::is_stop;
use super::years::{
    LAST_DAY, century_at, decade_in_digits, decade_of_word, decade_word, is_somebodys, years,
};

/// The numbers, dates and quoted strings of a question, in order, without duplicates.
///
/// A year also gives its last day, because "after 1990" compares with the end of the year (rule R10
/// starts `>` at the beginning).
#[must_use]
pub fn literals(question: &str) -> Vec<Literal> {
    let mut found: Vec<Literal> = Vec::new();
    let mut add = |literal: Literal| {
        if !found.contains(&literal) {
            found.push(literal);
        }
    };
    let chars: Vec<char> = question.chars().collect();
    // Dates have a year.
    let dated = chars.iter().any(char::is_ascii_digit);
    let mut i = 0;
    while i < chars.len() {
        let c = chars[i];
        // Nothing begins within a word.
        if c.is_alphabetic() && i > 0 && chars[i - 1].is_alphanumeric() {
            i += 1;
            continue;
        }
        if c == '"' {
            if let Some(length) = chars[i + 1..].iter().position(|&c| c == '"') {
                if length > 0 {
                    add(Literal::plain(
                        chars[i + 1..i + 1 + length].iter().collect::<String>(),
                    ));
                }
                i += length + 2;
                continue;
            }
        } else if let Some((date, length)) = dated.then(|| date_at(&chars, i)).flatten() {
            add(Literal::plain(date));
            i += length;
            continue;
        } else if let Some((months, length)) = dated.then(|| months_at(&chars, i)).flatten() {
            months.into_iter().map(Literal::plain).for_each(&mut add);
            i += length;
            continue;
        } else if let Some((first, length)) = century_at(&chars, i) {
            years(first, first + 99).into_iter().for_each(&mut add);
            i += length;
            continue;
        } else if c.is_ascii_digit() && (i == 0 || !chars[i - 1].is_alphanumeric()) {
            let end = number_end(&chars, i);
            let text: String = chars[i..end].iter().filter(|&&c| c != ',').collect();
            let letters: String = (chars[end..].iter())
                .take_while(|c| c.is_alphabetic())
                .collect();
            let text = match letters.as_str() {
                "k" | "K" => scaled_by(&text, 3).unwrap_or(text),
                _ => text,
            };
            let sign = if is_signed(&chars, i) { "-" } else { "" };
            if let Some(decade) = decade_in_digits(&text, &letters) {
                if !is_somebodys(&chars[..i]) {
                    years(decade, decade + 9).into_iter().for_each(&mut add);
                }
            } else if matches!(letters.as_str(), "st" | "nd" | "rd" | "th") {
                if is_level(&chars[end + letters.len()..]) {
                    add(Literal::plain(text));
                }
            } else if matches!(letters.as_str(), "" | "k" | "K") || is_unit(&letters, &text) {
                // Years before our era may begin with any digit; `0476` is a year of it.
                let year = text.len() == 4
                    && text.bytes().all(|b| b.is_ascii_digit())
                    && (!sign.is_empty() || matches!(text.as_bytes()[0], b'0'..=b'2'));
                let text = format!("{sign}{}", scaled(&text, &chars[end..]));
                add(Literal::plain(text.clone()));
                if year {
                    add(Literal::plain(format!("{text}{LAST_DAY}")));
                }
            }
            i = end;
            continue;
        } else if !c.is_alphabetic() || !may_be_number(&chars, i) {
            i += 1;
            continue;
        } else if let Some((decade, length)) = decade_word(&chars, i) {
            years(decade, decade + 9).into_iter().for_each(&mut add);
            i += length;
            continue;
        } else if let Some((number, length)) = half(&chars, i) {
            add(Literal::plain(number));
            i += length;
            continue;
        } else if let Some((number, length)) = ordinal_word(&chars, i) {
            add(Literal::plain(number.to_string()));
            i += length;
            continue;
        } else if let Some((number, length)) = number_word(&chars, i) {
            add(Literal::plain(scaled(
                &number.to_string(),
                &chars[i + length..],
            )));
            i += length;
            continue;
        }
        i += 1;
    }
    found
}

/// Whether a minus sign stands before the number at `at`: `below -5`, not `1990-2000`.
fn is_signed(chars: &[char], at: usize) -> bool {
    let before = at.checked_sub(1).map(|at| chars[at]);
    let ends = |at: usize| !chars[at].is_alphanumeric() && chars[at] != '-' && chars[at] != ')';
    matches!(before, Some('-' | '−')) && at.checked_sub(2).is_none_or(ends)
}

/// Whether letters behind a number are its unit. `5m` may be millions, `1.92m` is a length.
fn is_unit(letters: &str, number: &str) -> bool {
    const OTHERS: &str = "g lb lbs kw mw gw kwh mwh gwh mb gb tb mph";
    let lower = letters.to_lowercase();
    let measure = lower.len() > 1 && unit_named(&lower).is_some();
    measure || OTHERS.split(' ').any(|unit| unit == lower) || letters == "m" && number.contains('.')
}

/// Words for whole numbers, in order.
const NUMBERS: [&str; 21] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
];
/// Words for the tens from 30 on.
const TENS: [&str; 8] = [
    "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", "hundred",
];

/// Whether the word at `at` may write a number, or begin one.
fn may_be_number(chars: &[char], at: usize) -> bool {
    let word: String = (chars[at..].iter())
        .take_while(|c| c.is_alphabetic())
        .flat_map(|c| c.to_lowercase())
        .collect();
    matches!(word.as_str(), "a" | "an" | "half")
        || number_of_word(&word).is_some()
        || ORDINALS.contains(&word.as_str())
        || decade_of_word(&word).is_some()
}

/// Whether the next word names something that is numbered: `floor` of `third floor`.
fn is_level(after: &[char]) -> bool {
    const LEVELS: [&str; 9] = [
        "floor", "storey", "story", "grade", "level", "season", "division", "round", "quarter",
    ];
    let space = after.first() == Some(&' ');
    let next: String = (after.iter().skip(1))
        .take_while(|c| c.is_alphabetic())
        .collect();
    space && LEVELS.contains(&next.to_lowercase().as_str())
}

/// An ordinal number before something that is numbered, with its length in characters: 3 of `third
/// floor`. It counts as a number, because the graph says `floor 3`.
fn ordinal_word(chars: &[char], at: usize) -> Option<(usize, usize)> {
    if !chars[at].is_alphabetic() || at > 0 && chars[at - 1].is_alphanumeric() {
        return None;
    }
    let word: String = (chars[at..].iter())
        .take_while(|c| c.is_alphabetic())
        .collect();
    let length = word.chars().count();
    let lower = word.to_lowercase();
    let place = ORDINALS.iter().position(|known| *known == lower)?;
    is_level(&chars[at + length..]).then_some((place + 1, length))
}

/// The whole number that a lower-case word means.
pub(crate) fn number_of_word(word: &str) -> Option<usize> {
    let small = NUMBERS.iter().position(|known| *known == word);
    let tens = || TENS.iter().position(|known| *known == word);
    small.or_else(|| tens().map(|place| 10 * (place + 3)))
}

/// The year of a value that is a year or the last day of one; any other value as it is.
pub(crate) fn year_of(value: &Literal) -> &str {
    value.lexical.trim_end_matches(LAST_DAY)
}

/// A number that is written as a word, with its length in characters. It counts only after a
/// comparison (`more than ten`), or between a word for what things have and a plural (`with three stars`), because
/// elsewhere `one` and `two` often mean something else.
fn number_word(chars: &[char], at: usize) -> Option<(usize, usize)> {
    const BEFORE: [&str; 9] = [
        "than", "least", "most", "over", "above", "under", "below", "exactly", "to",
    ];
    const HAVING: [&str; 9] = [
        "with", "has", "have", "having", "had", "last", "lasts", "lasted", "lasting",
    ];
    let starts = chars[at].is_alphabetic() && at > 0 && chars[at - 1] == ' ';
    if !starts {
        return None;
    }
    let word: String = (chars[at..].iter())
        .take_while(|c| c.is_alphabetic())
        .collect();
    // `a billion`, `an hour`: the word behind it says how much.
    let one = |word: &str| {
        if !matches!(word, "a" | "an") {
            return None;
        }
        let next: String = (chars[at..].iter().skip(word.len() + 1))
            .take_while(|c| c.is_alphabetic())
            .collect();
        let much = is_size(&next) || unit_named(&next.to_lowercase()).is_some();
        much.then_some(1)
    };
    let word_lower = word.to_lowercase();
    let number = number_of_word(&word_lower).or_else(|| one(&word_lower))?;
    let text: String = chars[..at - 1].iter().collect();
    let before = text.rsplit(|c: char| !c.is_alphabetic()).next()?;
    let before = before.to_lowercase();
    let length = word.chars().count();
    let next: String = (chars[at + length..].iter().skip(1))
        .take_while(|c| c.is_alphabetic())
        .collect();
    let several = number > 1 && next.ends_with('s') && !is_stop(&next);
    let said = BEFORE.contains(&before.as_str()) || HAVING.contains(&before.as_str()) && several;
    said.then_some((number, length))
}

/// `half a million` and the like as a number, with its length in characters.
fn half(chars: &[char], at: usize) -> Option<(String, usize)> {
    const HALF: &str = "half a ";
    let text: String = chars[at..].iter().take(HALF.len()).collect();
    let size: String = (chars.get(at + HALF.len()..)?.iter())
        .take_while(|c| c.is_alphabetic())
        .collect();
    let number = scaled_by("0.5", zeros(&size.to_lowercase())?)?;
    let number = number.trim_start_matches('0').to_owned();
    text.eq_ignore_ascii_case(HALF)
        .then(|| (number, HALF.len() + size.chars().count()))
}

/// Whether a word says how large a number is: `million`.
pub(crate) fn is_size(word: &str) -> bool {
    zeros(word).is_some()
}

/// The unit that stands behind a number of the question.
pub(crate) fn unit_of(question: &str, value: &Literal) -> Option<&'static Unit> {
    let number: f64 = value.lexical.parse().ok()?;
    let lower = question.to_lowercase();
    let tokens: Vec<&str> = (lower.split([' ', '-']))
        .map(|token| token.trim_matches(['?', '!', ',', '.', ';', '"']))
        .collect();
    let is_number = |token: &str| {
        let digits = token.replace(',', "").parse::<f64>().ok();
        let word = || match token {
            "a" | "an" => Some(1.0),
            _ => number_of_word(token).map(|at| at as f64),
        };
        digits.or_else(word) == Some(number)
    };
    let behind = |at: usize| tokens.get(at + 1).copied().unwrap_or_default();
    let place = (0..tokens.len()).find(|&at| is_number(tokens[at]))?;
    unit_named(behind(place))
}

/// A number times the word of size after it: `2 million` is 2000000.
fn scaled(text: &str, after: &[char]) -> String {
    let next: String = (after.iter().skip_while(|c| **c == ' '))
        .take_while(|c| c.is_alphabetic())
        .collect();
    let scaled = zeros(&next.to_lowercase()).and_then(|zeros| scaled_by(text, zeros));
    scaled.unwrap_or_else(|| text.to_owned())
}

/// The zeros of the number that a word of size means.
fn zeros(size: &str) -> Option<usize> {
    match size {
        "hundred" => Some(2),
        "thousand" => Some(3),
        "million" | "millions" => Some(6),
        "billion" | "billions" => Some(9),
        _ => None,
    }
}

/// A number times a power of ten; `None` if the text is not a plain number, or the result is not
/// whole.
fn scaled_by(text: &str, zeros: usize) -> Option<String> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    (digits(whole) && digits(part) && part.len() <= zeros)
        .then(|| format!("{whole}{part}{}", "0".repeat(zeros - part.len())))
}

/// The end of the number or date that starts at `start`: digits, then `.`, `-` or a thousands comma
/// if digits follow.
fn number_end(chars: &[char], start: usize) -> usize {
    let digits = |from: usize| {
        chars[from.min(chars.len())..]
            .iter()
            .take_while(|c| c.is_ascii_digit())
            .count()
    };
    let mut end = start + digits(start);
    while let Some(&c) = chars.get(end) {
        let next = digits(end + 1);
        let joins = match c {
            '.' | '-' => next > 0,
            ',' => next == 3,
            _ => false,
        };
        if !joins {
            break;
        }
        end += 1 + next;
    }
    end
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn texts(question: &str) -> Vec<String> {
        literals(question)
            .into_iter()
            .map(|literal| literal.lexical)
            .collect()
    }

    #[test]
    fn ordinals_decades_and_units_are_numbers() {
        for (question, values) in [
            ("rooms on the third floor", vec!["3"]),
            ("pupils of the 2nd grade", vec!["2"]),
            ("who won first prize", vec![]),
            (
                "films of the seventies",
                vec!["1970", "1970-12-31", "1979", "1979-12-31"],
            ),
            (
                "films from the 80s",
                vec!["1980", "1980-12-31", "1989", "1989-12-31"],
            ),
            ("women in their 80s", vec![]),
            ("flights that were more than an hour late", vec!["1"]),
            ("cities with over half a million people", vec!["500000"]),
            ("Half a billion or behalf a million", vec!["500000000"]),
            ("who is older than ébé", vec![]),
            ("larger than a", vec![]),
            ("keepers over 1.92m", vec!["1.92"]),
            ("plants above 50MW", vec!["50"]),
            ("who has 5m", vec![]),
            ("halls for more than a hundred guests", vec!["100"]),
        ] {
            assert_eq!(texts(question), values, "{question}");
        }
    }

    #[test]
    fn literals_are_numbers_dates_and_quotes() {
        assert_eq!(
            texts("teams in 2011 with more than 60,000 seats"),
            ["2011", "2011-12-31", "60000"]
        );
        assert_eq!(
            texts("born on 1985-02-05, rated 7.5."),
            ["1985-02-05", "7.5"]
        );
        assert_eq!(texts("who is called \"Young Forrest\""), ["Young Forrest"]);
        assert_eq!(
            texts("between 1.5 million and 2 billion"),
            ["1500000", "2000000000"]
        );
        assert_eq!(texts("the 20th of A1"), Vec::<String>::new());
        for question in ["the 20th century of A1", "twentieth-century art"] {
            let years = ["1901", "1901-12-31", "2000", "2000-12-31"];
            assert_eq!(texts(question), years, "{question}");
        }
        assert_eq!(texts("a 90th century, a century"), Vec::<String>::new());
        assert_eq!(texts("more than 80k, at least ten"), ["80000", "10"]);
        assert_eq!(
            texts("films of the 1970s")[..3],
            ["1970", "1970-12-31", "1979"]
        );
        assert_eq!(texts("the one of the two"), Vec::<String>::new());
        for question in [
            "hired after 1 January 2021.",
            "since January 1st, 2021",
            "the 1st of Jan 2021",
        ] {
            assert_eq!(texts(question), ["2021-01-01"], "{question}");
        }
        assert_eq!(texts("in May 2021"), ["2021-05"]);
        assert_eq!(texts("October of 2024?"), ["2024-10"]);
        assert_eq!(
            texts("between november and february 2024"),
            ["2023-11-01", "2024-02-29"]
        );
        assert_eq!(texts("may the 4th be"), Vec::<String>::new());
        assert_eq!(texts("marked 3 times, 2021"), ["3", "2021", "2021-12-31"]);
    }

    #[test]
    fn numbers_are_read_in_the_unit_of_the_relation() {
        let value = |text: &str| Literal::plain(text);
        for (question, number, relation, read) in [
            ("films longer than 3 hours", "3", "minut", vec!["180"]),
            ("songs over five minutes", "5", "second", vec!["300"]),
            ("trails longer than 2.5 km", "2.5", "metr", vec!["2500"]),
            ("a 90-minute film", "90", "minut", vec!["90"]),
            ("more than an hour late", "1", "minut", vec!["60"]),
            ("peaks above 1500 m?", "1500", "km", vec!["1.5"]),
        ] {
            let unit = unit_of(question, &value(number)).unwrap();
            let found = unit.readings(&value(number), &[relation.to_owned()]);
            let found: Vec<&str> = found.iter().map(|one| one.lexical.as_str()).collect();
            assert_eq!(found, read, "{question}");
        }
        let hours = unit_of("films longer than 3 hours", &value("3")).unwrap();
        let found = hours.readings(&value("3"), &["runtim".to_owned()]);
        let found: Vec<&str> = found.iter().map(|one| one.lexical.as_str()).collect();
        assert_eq!(found, ["3", "180", "10800", "0.125"]);
        assert_eq!(unit_of("films with 3 actors", &value("3")), None);
        assert_eq!(unit_of("films of 2003", &value("2003")), None);
    }
}
