//! When two answers are the same: by their text, or by the value that it stands for.
//!
//! One rule for all data sets, in `docs/metrics.md` (*Equal answers*). Published answers are texts, and
//! so are values in graphs that scripts made; programs compute typed values.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use kg::term::{Literal, Term, XSD};
use kg::value::{Kind, TimeSpan, sort_key};
use serde::{Deserialize, Serialize};

/// Nanoseconds in a day.
const DAY: i128 = 86_400_000_000_000;

/// One value of an answer, as it is compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The exact form, for the strict scores.
    pub id: String,
    /// Its text, without datatype and language.
    text: String,
    /// The truth value, number or time that the text stands for.
    value: Option<String>,
    /// Whether its datatype says that it is one.
    typed: bool,
}

impl Reading {
    /// A text whose datatype is not known: a published answer, or a label.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        Self {
            id: text.to_owned(),
            text: text.to_owned(),
            value: value_of(text),
            typed: false,
        }
    }

    /// A term; `id` is its exact form.
    #[must_use]
    pub fn of_term(term: &Term, id: String) -> Self {
        match term {
            Term::Literal(literal) => Self::of_literal(literal, &literal.lexical, id),
            Term::Iri(_) | Term::Blank(_) => Self {
                text: term.to_string(),
                id,
                ..Self::default()
            },
        }
    }

    /// A term that is compared by another text than its own: its label, or the name that a data set
    /// gives.
    #[must_use]
    pub fn named(term: &Term, text: &str) -> Self {
        match term {
            Term::Literal(literal) => Self::of_literal(literal, text, text.to_owned()),
            Term::Iri(_) | Term::Blank(_) => Self::of_text(text),
        }
    }

    /// A truth value.
    #[must_use]
    pub fn of_truth(truth: bool) -> Self {
        Self {
            typed: true,
            ..Self::of_text(&truth.to_string())
        }
    }

    /// A computed number.
    #[must_use]
    pub fn of_number(number: u64) -> Self {
        Self {
            typed: true,
            ..Self::of_text(&number.to_string())
        }
    }

    fn of_literal(literal: &Literal, text: &str, id: String) -> Self {
        let typed = typed_value(literal);
        Self {
            id,
            text: text.to_owned(),
            typed: typed.is_some(),
            value: typed.or_else(|| value_of(text)),
        }
    }

    /// Whether two values are the same: they have the same text, or the same value and at least one
    /// of them says by its datatype that it is a value. Of two texts such as `007` and `7` nobody
    /// knows that they are numbers.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        self.text == other.text
            || self.value.is_some() && self.value == other.value && (self.typed || other.typed)
    }
}

/// The value of a literal whose datatype is one of truth values, numbers or times.
fn typed_value(literal: &Literal) -> Option<String> {
    let text = literal.lexical.trim();
    let datatype = literal.datatype.as_deref()?;
    if datatype.strip_prefix(XSD) == Some("boolean") {
        return match text {
            "1" => Some(truth_key(true)),
            "0" => Some(truth_key(false)),
            _ => truth_of(text),
        };
    }
    match Kind::of(literal) {
        Kind::Int | Kind::Float => number_key(text),
        Kind::Quantity => Some(format!("number {}", sort_key(literal))),
        Kind::Time => time_key(text),
        Kind::Text => None,
    }
}

/// The value that a text without a datatype may stand for.
fn value_of(text: &str) -> Option<String> {
    let text = text.trim();
    truth_of(text)
        .or_else(|| number_key(text))
        .or_else(|| time_key(text).filter(|_| text.contains('-')))
}

fn truth_key(truth: bool) -> String {
    format!("truth {truth}")
}

fn truth_of(text: &str) -> Option<String> {
    let is = |words: [&str; 2]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    match (is(["true", "yes"]), is(["false", "no"])) {
        (true, _) => Some(truth_key(true)),
        (_, true) => Some(truth_key(false)),
        _ => None,
    }
}

/// A number by value: `4`, `4.0`, `04`, `+4`, `4e0`. Commas may separate thousands.
fn number_key(text: &str) -> Option<String> {
    let plain = text.replace('\u{2212}', "-");
    let plain = without_separators(&plain).unwrap_or(plain);
    let key = sort_key(&Literal::xsd(plain, "decimal"));
    // What is no number sorts among the texts.
    key.starts_with('1').then(|| format!("number {key}"))
}

/// A number without the commas between its thousands; `None` without such commas.
fn without_separators(text: &str) -> Option<String> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut groups = whole.trim_start_matches(['-', '+']).split(',');
    let first = groups
        .next()
        .filter(|first| (1..=3).contains(&first.len()))?;
    let mut rest = groups.peekable();
    rest.peek()?;
    let digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let grouped = digits(first) && rest.all(|group| group.len() == 3 && digits(group));
    (grouped && digits(fraction)).then(|| text.replace(',', ""))
}

/// A time by value. Midnight is the whole day, as graphs write days as moments.
fn time_key(text: &str) -> Option<String> {
    let span = TimeSpan::parse(text.strip_prefix('+').unwrap_or(text))?;
    let hi = match span.lo == span.hi && span.lo.rem_euclid(DAY) == 0 {
        true => span.lo + DAY - 1,
        false => span.hi,
    };
    Some(format!("time {} {hi}", span.lo))
}

/// The rows of a prediction and of the gold answer, in which values that are the same have the same
/// text: the exact form of the first of them, gold ones first.
pub(super) struct Equated {
    pub predicted: Vec<Vec<String>>,
    pub gold: Vec<Vec<String>>,
}

impl Equated {
    pub(super) fn of(predicted: &[Vec<Reading>], gold: &[Vec<Reading>]) -> Self {
        let mut known = Known::default();
        let mut rows = |rows: &[Vec<Reading>]| -> Vec<Vec<String>> {
            let row = |row: &Vec<Reading>| row.iter().map(|cell| known.name(cell)).collect();
            rows.iter().map(row).collect()
        };
        // In this order, so that a prediction is written as the gold answer is.
        let gold = rows(gold);
        Self {
            predicted: rows(predicted),
            gold,
        }
    }
}

/// The values met so far, with the name of each: a reading is found by its text or its value without
/// a comparison with all others.
#[derive(Default)]
struct Known {
    by_text: HashMap<String, String>,
    by_value: HashMap<String, String>,
    /// The same of typed values only: texts without a type are the same as those.
    by_typed_value: HashMap<String, String>,
}

impl Known {
    fn name(&mut self, reading: &Reading) -> String {
        let value = reading.value.as_ref();
        let same = match reading.typed {
            true => value.and_then(|value| self.by_value.get(value)),
            false => value.and_then(|value| self.by_typed_value.get(value)),
        };
        let name = self.by_text.get(&reading.text).or(same);
        let name = name.unwrap_or(&reading.id).clone();
        let fresh = || name.clone();
        (self.by_text.entry(reading.text.clone())).or_insert_with(fresh);
        if let Some(value) = value {
            (self.by_value.entry(value.clone())).or_insert_with(fresh);
            if reading.typed {
                (self.by_typed_value.entry(value.clone())).or_insert_with(fresh);
            }
        }
        name
    }
}

/// One text per row. A row that occurs again gets a number, so that repetitions count. Answers of one
/// column are a set.
pub(super) fn ids_of(rows: &[Vec<String>]) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut ids = BTreeSet::new();
    for row in rows {
        let text = row.join("\t");
        let times = seen.entry(text.clone()).or_default();
        *times += usize::from(row.len() > 1);
        ids.insert(if *times > 1 {
            format!("{text}\t×{times}")
        } else {
            text
        });
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::super::{Answers, score};
    use super::*;

    fn literal(text: &str, datatype: &str) -> Reading {
        let literal = match datatype {
            "" => Literal::plain(text.to_owned()),
            "@en" => Literal {
                lang: Some("en".to_owned()),
                ..Literal::plain(text.to_owned())
            },
            _ => Literal::xsd(text.to_owned(), datatype),
        };
        let term = Term::Literal(literal);
        Reading::of_term(&term, term.to_string())
    }

    #[test]
    fn a_value_is_the_same_however_it_is_written() {
        let (truth, number) = (Reading::of_truth(true), Reading::of_number(4));
        let day = literal("2011-05-01", "date");
        for (typed, text, same) in [
            (&truth, "True", true),
            (&truth, "TRUE", true),
            (&truth, " yes", true),
            (&truth, "1", false),
            (&truth, "False", false),
            (&truth, "no", false),
            (&truth, "truth", false),
            (&number, "4.0", true),
            (&number, "04", true),
            (&number, "+4", true),
            (&number, "4e0", true),
            (&number, "4.01", false),
            (&number, "-4", false),
            (&number, "four", false),
            (&number, "", false),
            (&literal("-1234.50", "decimal"), "-1,234.5", true),
            (&literal("1234", "integer"), "1,234.0", true),
            (&literal("1234", "integer"), "12,34", false),
            (&literal("1000000", "long"), "1,000,000", true),
            (&literal("-4.0", "float"), "\u{2212}4", true),
            (&literal("1", "boolean"), "True", true),
            (&literal("0", "boolean"), "False", true),
            (&day, "2011-05-01", true),
            (&day, "2011-05-01T00:00:00Z", true),
            (&day, "+2011-05-01T00:00:00Z", true),
            (&day, "2011-05-01T10:00:00Z", false),
            (&day, "2011", false),
            (&literal("2011", "gYear"), "2011", true),
            (
                &literal("2011-05-01T00:00:00", "dateTime"),
                "2011-05-01",
                true,
            ),
        ] {
            for text in [
                Reading::of_text(text),
                literal(text, ""),
                literal(text, "@en"),
            ] {
                assert_eq!(typed.same(&text), same, "{typed:?} {text:?}");
                assert_eq!(text.same(typed), same, "{typed:?} {text:?}");
            }
        }
    }

    #[test]
    fn types_and_languages_do_not_tell_values_apart_and_texts_stay_texts() {
        for (a, b, same) in [
            (literal("4", "integer"), literal("4.0", "double"), true),
            (literal("4", "integer"), literal("4", "string"), true),
            (literal("2011", "gYear"), literal("2011", "integer"), true),
            (literal("true", "boolean"), Reading::of_truth(true), true),
            (literal("True", "boolean"), Reading::of_truth(true), true),
            (literal("Lisbon", "@en"), literal("Lisbon", ""), true),
            (literal("Lisbon", ""), literal("lisbon", ""), false),
            // Codes, and answers that happen to be words for truth values.
            (literal("007", ""), literal("7", ""), false),
            (literal("Yes", ""), literal("true", ""), false),
            (literal("1", "boolean"), literal("1.0", "integer"), false),
            (
                literal("2011", "gYear"),
                literal("2011-01-01", "date"),
                false,
            ),
        ] {
            assert_eq!(a.same(&b), same, "{a:?} {b:?}");
        }
        let iri = Term::Iri("http://e/4".to_owned());
        let iri = Reading::of_term(&iri, iri.to_string());
        assert!(!iri.same(&literal("http://e/4", "")) && iri.same(&iri));
    }

    fn answers(rows: Vec<Vec<Reading>>) -> Answers {
        Answers::of_readings(rows, Vec::new())
    }

    #[test]
    fn scores_count_values_and_strict_scores_texts_and_types() {
        let gold = answers(vec![
            vec![literal("4", "integer")],
            vec![literal("True", "")],
        ]);
        let of = |cells: Vec<Reading>| {
            let predicted = answers(cells.into_iter().map(|cell| vec![cell]).collect());
            let scores = score(&predicted, &gold);
            [
                scores.exact,
                scores.f1,
                scores.exact_strict,
                scores.f1_strict,
            ]
        };
        let (four, truth) = (literal("4.0", "decimal"), Reading::of_truth(true));
        assert_eq!(of(vec![four.clone(), truth.clone()]), [1.0, 1.0, 0.0, 0.0]);
        assert_eq!(
            of(vec![literal("4", "integer"), literal("True", "")]),
            [1.0; 4]
        );
        // One value in two forms is one answer.
        assert_eq!(
            of(vec![four.clone(), literal("4", ""), truth])[..2],
            [1.0, 1.0]
        );
        assert_eq!(of(vec![four, Reading::of_truth(false)])[..2], [0.0, 0.5]);
    }

    #[test]
    fn rows_are_compared_cell_by_cell() {
        let row = |name: &str, cell: Reading| vec![literal(name, ""), cell];
        let gold = answers(vec![
            row("a", literal("1", "integer")),
            row("a", literal("1.0", "decimal")),
            row("b", literal("2", "")),
        ]);
        let of = |last: &str, times: usize| {
            let mut rows = vec![row("a", literal("1.00", "double")); times];
            rows.push(row("b", literal(last, "decimal")));
            score(&answers(rows), &gold).exact
        };
        assert_eq!(of("2.0", 2), 1.0);
        assert_eq!((of("2.0", 1), of("2.0", 3), of("3.0", 2)), (0.0, 0.0, 0.0));
    }
}
