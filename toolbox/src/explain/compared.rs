//! What the values of a question are compared with: each number has its own comparison, a year is
//! compared with times, and two values joined by `or` are alternatives.

use kg::term::Literal;
use kg::value::Op;

use super::cues::comparison;
use crate::era::unsigned;
use crate::link::{LAST_DAY, year_of};

/// Words before a year: `after 1980`, `in the year 1980`.
const TIMES: [&str; 11] = [
    "in", "after", "before", "since", "until", "till", "during", "by", "from", "year", "to",
];
/// What may stand between two alternatives.
pub(super) const JOINING: [&str; 4] = ["or", "or in", "or the", "or from"];

/// Words before an amount, which is no year.
const AMOUNTS: [&str; 7] = ["below", "above", "under", "over", "than", "least", "most"];

/// How one value of a question is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Compared {
    /// The comparison of a number and of a time, if the question has others for its other numbers.
    pub(super) own: Option<Option<[Op; 2]>>,
    /// Whether it is a year by the word before it.
    pub(super) year: bool,
    /// The value that it is an alternative to.
    pub(super) or: Option<usize>,
    /// The value to which `and` joins it.
    pub(super) and: Option<usize>,
}

/// How each value of a question is compared; `all` are its words.
pub(super) fn compared(question: &str, all: &[String], values: &[Literal]) -> Vec<Compared> {
    let places = places(values, |text| {
        let text = unsigned(text);
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let written = all.iter().enumerate().filter(|(_, word)| *word == text);
        written.filter(|_| digits).map(|(at, _)| at).collect()
    });
    let lower = question.to_lowercase();
    let spans: Vec<Option<(usize, usize)>> =
        values.iter().map(|value| span(&lower, value)).collect();
    // `after 1850 or public` are no alternatives of one kind.
    let alike = |one: usize, other: usize| places[one].is_some() == places[other].is_some();
    let one = |index: usize| {
        let mut compared = Compared {
            or: alternative(&lower, &spans, index, &JOINING).filter(|&other| alike(index, other)),
            and: alternative(&lower, &spans, index, &["and", "&"]),
            ..Compared::default()
        };
        let Some(at) = places[index] else {
            return compared;
        };
        // `a balance below -1000` is no year.
        let amount = at
            .checked_sub(1)
            .is_some_and(|at| AMOUNTS.contains(&&*all[at]));
        compared.year = !amount && is_early_year(&values[index]) || is_year(all, at);
        let others = || places.iter().flatten().filter(|&&other| other != at);
        if others().next().is_some() {
            let from = others()
                .filter(|&&other| other < at)
                .max()
                .map_or(0, |other| other + 1);
            // `3 or more`.
            let more = all.get(at + 1).is_some_and(|word| word == "or")
                && !others().any(|&other| other > at && other <= at + 3)
                && all.get(at + 3).is_none_or(|word| word != "than");
            let to = (at + if more { 3 } else { 1 }).min(all.len());
            compared.own = Some(comparison(&all[from..to]));
        }
        compared
    };
    (0..values.len()).map(one).collect()
}

/// The word that writes each value; `words` gives all words that may write a text. Words have no signs:
/// in `above -5 and below 5` the second value stands at the second `5`.
pub(super) fn places(values: &[Literal], words: impl Fn(&str) -> Vec<usize>) -> Vec<Option<usize>> {
    let mut given: Vec<(&str, usize)> = Vec::new();
    let one = |value| {
        let text = text_of(value);
        if let Some((_, at)) = given.iter().find(|(other, _)| *other == text) {
            return Some(*at);
        }
        let words = words(text);
        let is_free = |at: &&usize| given.iter().all(|(_, taken)| taken != *at);
        let at = *words.iter().find(is_free).or(words.first())?;
        given.push((text, at));
        Some(at)
    };
    values.iter().map(one).collect()
}

/// The text of a value. A year is two values, of which the second is its last day.
fn text_of(value: &Literal) -> &str {
    value.lexical.trim_end_matches(LAST_DAY)
}

/// Whether the number at `at` is a year: four digits behind a word for times.
fn is_year(all: &[String], at: usize) -> bool {
    let year = may_be_year(&Literal::plain(all[at].as_str()));
    let before = |back: usize| at.checked_sub(back).map_or("", |at| all[at].as_str());
    year && (TIMES.contains(&before(1)) || before(1) == "of" && before(2) == "year")
}

/// The bytes of a lower-case question at which a value stands, as whole words.
fn span(lower: &str, value: &Literal) -> Option<(usize, usize)> {
    let text = value.lexical.to_lowercase();
    let letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let whole = |at: usize| {
        let (before, behind) = (&lower[..at], &lower[at + text.len()..]);
        !letter(before.chars().next_back()) && !letter(behind.chars().next())
    };
    let mut found = lower.match_indices(&text).map(|(at, _)| at);
    let at = found.find(|&at| !text.is_empty() && whole(at))?;
    Some((at, at + text.len()))
}

/// The value that stands behind one of the joining words after a value.
fn alternative(
    lower: &str,
    spans: &[Option<(usize, usize)>],
    index: usize,
    joining: &[&str],
) -> Option<usize> {
    let (_, end) = spans[index]?;
    let joined = |span: &Option<(usize, usize)>| {
        let between = span.and_then(|(start, _)| lower.get(end..start));
        between
            .is_some_and(|between| joining.contains(&between.trim_matches([' ', ',', '\'', '"'])))
    };
    spans.iter().position(joined)
}

/// Whether a literal is a whole number that may be a year.
pub(super) fn may_be_year(value: &Literal) -> bool {
    let year = whole(value).and_then(|digits| digits.parse::<u32>().ok());
    year.is_some_and(|year| (1_000..=2_100).contains(&year))
}

/// Whether a literal is a year before 1000 in the form that [`crate::era`] writes: `0476`, `-0500`.
pub(super) fn is_early_year(value: &Literal) -> bool {
    let text = year_of(value);
    let digits = unsigned(text);
    digits.len() >= 4
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits.len() < text.len() || digits.starts_with('0'))
}

/// The digits of a whole number. Tables with gaps often write their years as `2001.0`.
pub(super) fn whole(value: &Literal) -> Option<&str> {
    let text = value.lexical.trim_start_matches('-');
    let (digits, fraction) = text.split_once('.').unwrap_or((text, ""));
    let zeros = fraction.bytes().all(|byte| byte == b'0');
    let number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    (number && zeros).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kg::words;

    fn of(question: &str, values: &[&str]) -> Vec<Compared> {
        let values: Vec<Literal> = values.iter().map(|value| Literal::plain(*value)).collect();
        compared(question, &words(question), &values)
    }

    #[test]
    fn each_number_has_its_own_comparison() {
        let own = |question, values: &[&str]| -> Vec<Option<Op>> {
            let found = of(question, values);
            found
                .iter()
                .map(|one| one.own.flatten().map(|ops| ops[0]))
                .collect()
        };
        let two = own(
            "weighing no less than 3000 and no more than 4000",
            &["3000", "4000"],
        );
        assert_eq!(two, [Some(Op::Ge), Some(Op::Le)]);
        // Words have no signs.
        let signs = own("a low above -5 and a high below 5", &["-5", "5"]);
        assert_eq!(signs, [Some(Op::Gt), Some(Op::Lt)]);
        let more = own("a grade over 5 and 2 or more friends", &["5", "2"]);
        assert_eq!(more, [Some(Op::Gt), Some(Op::Ge)]);
        assert_eq!(
            own("films of 1990 with more than 3 actors", &["1990", "3"]),
            [None, Some(Op::Gt)]
        );
        // The only number takes the question's comparison.
        assert_eq!(of("heavier than 3000", &["3000"])[0].own, None);
    }

    #[test]
    fn a_number_behind_a_word_for_times_is_a_year() {
        for (question, year) in [
            ("produced after 1980", true),
            ("in the year of 1980", true),
            ("heavier than 1980", false),
        ] {
            assert_eq!(of(question, &["1980"])[0].year, year, "{question}");
        }
        assert!(!of("after 80", &["80"])[0].year);
    }

    #[test]
    fn values_joined_by_or_are_alternatives() {
        let found = of("countries in Asia or Europe", &["Europe", "Asia"]);
        assert_eq!((found[0].or, found[1].or), (None, Some(0)));
        let found = of("in Asia and Europe", &["Asia", "Europe"]);
        assert_eq!((found[0].or, found[0].and), (None, Some(1)));
        assert_eq!(of("grade 9 or 10", &["9", "10"])[0].or, Some(1));
    }
}
