//! The comparisons that fit a relation's values and a value of the question.

use kg::term::{Literal, Term};
use kg::value::{Kind, Op};

use super::asked_word::AskedWord;
use super::compared::{is_early_year, may_be_year, whole};
use super::denied::{excludes, excludes_number};
use super::values::{is_unasked_key, kind_of};
use super::words::Explainer;
use crate::era::unsigned;
use crate::exec::{Adjacent, Relation, Session};
use crate::link::{LAST_DAY, is_date, is_short_code, words_of_nation};
use crate::text::find_words;

/// The comparisons of a relation's values with a value of the question.
pub(super) fn ops(
    explainer: &Explainer<'_, '_>,
    session: &Session<'_>,
    one: &Adjacent,
    index: usize,
) -> Vec<Op> {
    let asked = explainer.asked;
    let text = &session.linked().values[index].lexical;
    let number = text
        .chars()
        .next()
        .is_some_and(|c| c.is_ascii_digit() || c == '-');
    let last_day = text.ends_with(LAST_DAY);
    let range = || match bound(explainer, text) {
        Some(op) => vec![op],
        None => vec![Op::Ge, Op::Le],
    };
    match kind_of(explainer, one) {
        Some(Kind::Int | Kind::Float | Kind::Quantity) if number && !last_day => {
            let ops = if asked.between {
                range()
            } else {
                let other = || excludes_number(session.plain_question(), text);
                let same = || if other() { Op::Ne } else { Op::Eq };
                vec![asked.compare_of(index).map_or_else(same, |ops| ops[0])]
            };
            let equal = ops == [Op::Eq];
            let year = asked.compared.get(index).is_some_and(|one| one.year);
            let early = year && is_early_year(&session.linked().values[index]);
            let other_than_year = year && !has_years(explainer, one, early);
            if other_than_year || !equal && is_unasked_key(explainer, one) {
                Vec::new()
            } else {
                ops
            }
        }
        // `2` is no year.
        Some(Kind::Time) if number && text.len() >= 4 => {
            if matches!(one.relation, Relation::Interval(_)) {
                return if last_day { Vec::new() } else { vec![Op::Eq] };
            }
            let wanted = if asked.between {
                range()
            } else {
                vec![asked.compare_of(index).map_or(Op::Eq, |ops| ops[1])]
            };
            if is_whole(explainer, one) {
                // A number has no last day, and 3,000 is no year.
                let value = &session.linked().values[index];
                let year = !last_day && (may_be_year(value) || is_early_year(value));
                return if year { wanted } else { Vec::new() };
            }
            // After a year means after its last day; before it, before its first.
            let late = |op: &Op| matches!(op, Op::Gt | Op::Le);
            let year = unsigned(text).len() == 4;
            wanted
                .into_iter()
                .filter(|op| late(op) == last_day || !year && !last_day)
                .collect()
        }
        Some(Kind::Text) if !number && excludes(session.plain_question(), text) => {
            let value = session
                .kg()
                .find(&Term::Literal(session.linked().values[index].clone()));
            let has =
                value.is_some_and(|value| !session.step(value, one.relation, false).is_empty());
            if has { vec![Op::Ne] } else { Vec::new() }
        }
        Some(Kind::Text) if !number && !is_unsaid_code(explainer, index) => vec![Op::Eq],
        _ => Vec::new(),
    }
}

/// Whether a value is a code that no word of the question says, nor the question itself.
fn is_unsaid_code(explainer: &Explainer<'_, '_>, index: usize) -> bool {
    let session = explainer.session;
    let text = &session.linked().values[index].lexical;
    // `norwegian` says `NO`, even if it says `Norwegian` too.
    let nation = || words_of_nation(text).iter();
    let said =
        |word: &AskedWord| word.value == Some(index) || nation().any(|one| *one == word.word);
    session.kg().schema().named_by_iris()
        && is_short_code(text)
        && find_words(session.plain_question(), text).is_none()
        && !explainer.asked.words.iter().any(said)
}

/// Whether a relation's values are whole numbers, such as years without a datatype of their own.
fn is_whole(explainer: &Explainer<'_, '_>, one: &Adjacent) -> bool {
    let session = explainer.session;
    let far = session.step(one.member, one.relation, one.out);
    let read = session.literals(far.get(..1).unwrap_or_default());
    read.first().is_some_and(|value| {
        let number = matches!(Kind::majority([value]), Kind::Int | Kind::Float);
        number && whole(value).is_some()
    })
}

/// Whether a relation that the question speaks of leads to whole numbers that may be years, also `early` ones.
fn has_years(explainer: &Explainer<'_, '_>, one: &Adjacent, early: bool) -> bool {
    let session = explainer.session;
    let far = session.step(one.member, one.relation, one.out);
    let read = session.literals(far.get(..1).unwrap_or_default());
    let may_be = |value: &Literal| {
        may_be_year(value) || early && whole(value).is_some_and(|year| year.len() <= 4)
    };
    read.first().is_some_and(may_be) && explainer.speaks_of(one.relation, one.member, false)
}

/// Of a question with two numbers, the comparison in a range: the smaller one is its lower bound.
fn bound(explainer: &Explainer<'_, '_>, text: &str) -> Option<Op> {
    let values = &explainer.session.linked().values;
    let has = |text: &str| values.iter().any(|value| value.lexical == text);
    // A year is also its last day; other dates in their order: 2022-07-31 is 20220731.
    let number = |text: &str| match text.strip_suffix(LAST_DAY).filter(|year| has(year)) {
        Some(year) => year.parse::<f64>().ok(),
        None if is_date(text) => day_number(text),
        None => text.parse().ok(),
    };
    let mut all: Vec<f64> = (values.iter())
        .filter_map(|value| number(&value.lexical))
        .collect();
    all.sort_unstable_by(f64::total_cmp);
    all.dedup();
    let [low, _] = all.as_slice() else {
        return None;
    };
    Some(if number(text)? == *low {
        Op::Ge
    } else {
        Op::Le
    })
}

/// A date or a month as a number in the order of dates: 20220731, -440315 for a day before our era.
fn day_number(text: &str) -> Option<f64> {
    let (year, rest) = unsigned(text).split_once('-')?;
    let (year, rest): (f64, f64) = (year.parse().ok()?, rest.replace('-', "").parse().ok()?);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    Some(sign * year * 10_000.0 + rest)
}

/// Whether the question gives a range, and its values are the two ends.
pub(super) fn is_range(explainer: &Explainer<'_, '_>) -> bool {
    let values = &explainer.session.linked().values;
    explainer.asked.between
        && (values.iter()).all(|value| bound(explainer, &value.lexical).is_some())
}
