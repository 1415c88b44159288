//! Years before the year 1000 and before our era, as questions write them: `500 BC`, `AD 79`, `the 5th century BCE`,
//! `before 476`, `before the common era`. They are written as the graph writes years, with a sign and four digits
//! (`-0500`), so that linking and comparing read them like other years. A name that contains such a year is rewritten too,
//! and is then not found. English.

/// A number without its sign.
pub(crate) fn unsigned(text: &str) -> &str {
    text.strip_prefix('-').unwrap_or(text)
}

/// Words for ordinal numbers, in order.
pub(crate) const ORDINALS: [&str; 10] = [
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
];

/// Words for ordinal numbers from eleven on.
const TEENTHS: [&str; 10] = [
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
    "twentieth",
];

/// Words behind which a number that ends a clause is a year.
const LIMITS: [&str; 5] = ["before", "after", "since", "until", "till"];
/// Words that may follow such a year.
const CLAUSES: &str =
    "and or but that which who whose with in by are is was were did do does have has";
/// Words between two years that share an era: `from 753 to 509 BC`.
const JOINING: [&str; 7] = ["and", "or", "to", "until", "till", "through", "-"];
/// Digits of a year.
const DIGITS: usize = 4;

/// A word of a question without the signs around it.
struct Token<'a> {
    before: &'a str,
    core: &'a str,
    behind: &'a str,
}

impl<'a> Token<'a> {
    fn of(word: &'a str) -> Self {
        let inner = word.trim_start_matches(['(', '"', '\'']);
        let before = &word[..word.len() - inner.len()];
        // The last dot of `B.C.` may end the sentence too.
        let core = inner.trim_end_matches(['?', '!', ',', ';', ':', ')', '"', '\'', '.']);
        let behind = &inner[core.len()..];
        let behind = match core.contains('.') {
            true => behind.strip_prefix('.').unwrap_or(behind),
            false => behind,
        };
        Self {
            before,
            core,
            behind,
        }
    }

    /// In lower case without dots: `bc` for `B.C`.
    fn plain(&self) -> String {
        self.core.replace('.', "").to_lowercase()
    }

    /// The number that it writes, if that may be a year: at most five digits, with a sign or without.
    fn number(&self) -> Option<i32> {
        let text = self.core.replace('−', "-");
        let digits = unsigned(&text);
        let year = (1..=DIGITS + 1).contains(&digits.len())
            && digits.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| year)
    }

    /// The number and the era of `500BC`.
    fn joined(&self) -> Option<(i32, Era)> {
        let plain = self.plain();
        let digits = plain.trim_end_matches(char::is_alphabetic);
        let era = Era::of(&plain[digits.len()..])?;
        let number = Token::of(digits).number()?;
        Some((number, era))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Era {
    Before,
    Common,
}

impl Era {
    fn of(word: &str) -> Option<Self> {
        match word {
            "bc" | "bce" => Some(Self::Before),
            "ad" | "ce" => Some(Self::Common),
            _ => None,
        }
    }

    fn year(self, number: i32) -> i32 {
        match self {
            Self::Before => -number.abs(),
            Self::Common => number,
        }
    }
}

/// The era that words begin with, and how many words that are.
fn era_at(words: &[Token<'_>]) -> Option<(Era, usize)> {
    const PHRASES: [(&str, Era); 5] = [
        ("before the common era", Era::Before),
        ("before common era", Era::Before),
        ("before christ", Era::Before),
        ("of the common era", Era::Common),
        ("anno domini", Era::Common),
    ];
    let first = words.first()?;
    let phrase = |(phrase, era): (&str, Era)| {
        let length = phrase.split(' ').count();
        let same = words.len() >= length
            && (phrase.split(' ').zip(words)).all(|(word, token)| token.plain() == word);
        same.then_some((era, length))
    };
    // `1 ad per page` is no year.
    let ends = || !first.behind.is_empty() || ends_clause(words.get(1));
    let era = Era::of(&first.plain())
        .filter(|era| *era == Era::Before || first.core.contains(char::is_uppercase) || ends());
    era.map(|era| (era, 1))
        .or_else(|| PHRASES.into_iter().find_map(phrase))
}

/// Words of a question in other words.
struct Rewritten {
    text: String,
    /// How many words of the question it stands for.
    words: usize,
    /// How many words before them it stands for too.
    dropped: usize,
}

/// A question with such years in signs and digits; `None` if it has none.
pub(crate) fn in_digits(question: &str) -> Option<String> {
    let digits = question.bytes().any(|byte| byte.is_ascii_digit());
    let words = || ["entury", "hrist", "era", "CENTURY", "CHRIST", "ERA"];
    // A cheap test: most questions have no such year.
    if !digits && !words().iter().any(|word| question.contains(word)) {
        return None;
    }
    let words: Vec<&str> = question.split_whitespace().collect();
    let tokens: Vec<Token<'_>> = words.iter().map(|word| Token::of(word)).collect();
    let mut out: Vec<String> = Vec::with_capacity(words.len());
    let mut changed = false;
    let mut at = 0;
    while at < tokens.len() {
        let read = century(&tokens, at)
            .or_else(|| {
                let (year, words) = year(&tokens, at)?;
                Some(Rewritten {
                    text: written(year),
                    words,
                    dropped: 0,
                })
            })
            .or_else(|| epoch(&tokens, at));
        let Some(read) = read else {
            out.push(words[at].to_owned());
            at += 1;
            continue;
        };
        let (first, last) = (&tokens[at - read.dropped], &tokens[at + read.words - 1]);
        out.truncate(out.len() - read.dropped);
        out.push(format!("{}{}{}", first.before, read.text, last.behind));
        at += read.words;
        changed = true;
    }
    changed.then(|| out.join(" "))
}

/// A year as the graph writes it.
fn written(year: i32) -> String {
    let width = DIGITS + usize::from(year < 0);
    format!("{year:0width$}")
}

/// The year at `at`, and how many words write it.
fn year(tokens: &[Token<'_>], at: usize) -> Option<(i32, usize)> {
    let token = &tokens[at];
    if let Some((number, era)) = token.joined() {
        return Some((era.year(number), 1));
    }
    // `AD 79`; an `ad` is an advertisement.
    if matches!(token.core, "AD" | "A.D" | "CE" | "C.E")
        && token.behind.trim_matches('.').is_empty()
        && let Some(number) = tokens.get(at + 1).and_then(Token::number)
    {
        return Some((number, 2));
    }
    let number = token.number()?;
    // A sign behind the number ends its clause.
    let rest = match token.behind {
        "" => &tokens[at + 1..],
        _ => &[],
    };
    if let Some((era, length)) = era_at(rest) {
        return Some((era.year(number), 1 + length));
    }
    // `from 753 to 509 BC`
    if let [join, next, rest @ ..] = rest
        && JOINING.contains(&join.plain().as_str())
        && let Some((second, era)) = next.joined().or_else(|| {
            let rest = if next.behind.is_empty() { rest } else { &[] };
            Some((next.number()?, era_at(rest)?.0))
        })
        && (era == Era::Common || number >= second)
    {
        return Some((era.year(number), 1));
    }
    let short = token.core.trim_start_matches(['-', '−']).len() < DIGITS;
    (short && is_limited(tokens, at) && ends_clause(rest.first())).then_some((number, 1))
}

/// Whether no noun follows that a number could count.
fn ends_clause(next: Option<&Token<'_>>) -> bool {
    next.is_none_or(|next| {
        let next = next.plain();
        CLAUSES.split(' ').any(|word| word == next)
    })
}

/// Whether the word before `at` limits a time: `before 476`, `the year 79`.
fn is_limited(tokens: &[Token<'_>], at: usize) -> bool {
    let word = |back: usize| at.checked_sub(back).map(|at| &tokens[at]);
    let is = |back: usize, list: &[&str]| {
        word(back)
            .is_some_and(|token| list.contains(&token.plain().as_str()) && token.behind.is_empty())
    };
    is(1, &LIMITS) || is(1, &["year"]) && is(2, &["the"])
}

/// The century with an era at `at`, with the words before it that say how it is compared: `in the 5th century BC` are
/// the years between -500 and -401.
fn century(tokens: &[Token<'_>], at: usize) -> Option<Rewritten> {
    let mut count = tokens[at].plain();
    let mut words = 1;
    // `5th-century`
    match count.strip_suffix("-century") {
        Some(counted) => count = counted.to_owned(),
        None => {
            words += 1;
            tokens
                .get(at + 1)
                .filter(|next| next.plain() == "century")?;
        }
    }
    let number = ordinal(&count).filter(|number| (1..=99).contains(number))?;
    let first = i32::try_from(100 * number - 99).ok()?;
    let (era, length) = era_at(&tokens[at + words..])?;
    let (from, to) = match era {
        Era::Before => (written(-(first + 99)), written(-first)),
        Era::Common => (written(first), written(first + 99)),
    };
    let word = |back: usize| {
        at.checked_sub(back)
            .map_or(String::new(), |at| tokens[at].plain())
    };
    let the = usize::from(word(1) == "the");
    let before = word(the + 1);
    let (text, joins) = match before.as_str() {
        "before" | "until" | "till" | "since" => (format!("{before} {from}"), 1),
        "after" => (format!("{before} {to}"), 1),
        "in" | "during" | "from" | "of" => (format!("between {from} and {to}"), 1),
        _ => (format!("between {from} and {to}"), 0),
    };
    Some(Rewritten {
        text,
        words: words + length,
        dropped: the + joins,
    })
}

/// `before the common era` and `before Christ` without a year.
fn epoch(tokens: &[Token<'_>], at: usize) -> Option<Rewritten> {
    let (era, words) = era_at(&tokens[at..])?;
    (era == Era::Before && words > 1).then(|| Rewritten {
        text: format!("before {}", written(1)),
        words,
        dropped: 0,
    })
}

/// The number that an ordinal in lower case writes: 19 for `19th` and `nineteenth`.
fn ordinal(word: &str) -> Option<u32> {
    let mut known = ORDINALS.iter().chain(&TEENTHS);
    if let Some(place) = known.position(|known| *known == word) {
        return Some(place as u32 + 1);
    }
    let digits = word.trim_end_matches(char::is_alphabetic);
    let number = digits.parse().ok()?;
    matches!(&word[digits.len()..], "st" | "nd" | "rd" | "th").then_some(number)
}

/// The first year of the century that a lower-case word counts: 1801 for `19th` and `nineteenth`.
pub(crate) fn century_of_word(word: &str) -> Option<u32> {
    let known = ordinal(word).filter(|number| (1..=21).contains(number));
    known.map(|number| 100 * number - 99)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn years_before_our_era_have_a_sign() {
        for (question, plain) in [
            (
                "cities founded before 500 BC",
                "cities founded before -0500",
            ),
            (
                "cities founded before 500 BCE?",
                "cities founded before -0500?",
            ),
            ("who died after 44 B.C.?", "who died after -0044?"),
            (
                "ruins from 1200 b.c.e. in Syria",
                "ruins from -1200 in Syria",
            ),
            ("built in 500BC", "built in -0500"),
            ("born 63 before Christ", "born -0063"),
            ("10000 BC", "-10000"),
            ("the eruption of AD 79", "the eruption of 0079"),
            ("what erupted in 79 AD?", "what erupted in 0079?"),
            ("crowned in A.D. 800", "crowned in 0800"),
            ("crowned in 1066 CE", "crowned in 1066"),
            ("in the year 0", "in the year 0000"),
            ("founded before 0", "founded before 0000"),
            ("fell before 476?", "fell before 0476?"),
            (
                "fell after 410 and before 476",
                "fell after 0410 and before 0476",
            ),
            ("before the year -44", "before the year -0044"),
            ("from 753 to 509 BC", "from -0753 to -0509"),
            ("between 44 BC and AD 14", "between -0044 and 0014"),
            ("between 500 and 300 BCE", "between -0500 and -0300"),
            (
                "temples of the 5th century BC",
                "temples between -0500 and -0401",
            ),
            (
                "built in the first century BCE?",
                "built between -0100 and -0001?",
            ),
            (
                "older than before the 5th century BC",
                "older than before -0500",
            ),
            (
                "after the third century B.C. in Rome",
                "after -0201 in Rome",
            ),
            ("in the 5th century AD", "between 0401 and 0500"),
            ("from 753 to 509BC", "from -0753 to -0509"),
            ("before the 25th century BC", "before -2500"),
            ("founded before the common era", "founded before 0001"),
            ("cities (before Christ)", "cities (before 0001)"),
        ] {
            assert_eq!(in_digits(question).as_deref(), Some(plain), "{question}");
            assert_eq!(in_digits(plain), None, "{plain}");
        }
    }

    #[test]
    fn other_numbers_stay() {
        for question in [
            "who starred in 10,000 BC",
            "films before 1990",
            "after 300 episodes",
            "the 19th century",
            "BC Place",
            "1 ad per page of AD Alcorcón",
            "is 500 more than 44",
            "",
            "pupils in year 9",
        ] {
            assert_eq!(in_digits(question), None, "{question}");
        }
    }
}
