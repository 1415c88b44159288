//! The marks of question words. English.

use super::cues::counts;
use super::focus::asks;

/// The marks of question words. They are content words like any other, because `who` says something
/// about `director` and `when` about `founded`.
const MARKS: &[(&str, &[&str])] = &[
    ("#who", &["who", "whom", "whose", "whos"]),
    ("#where", &["where", "wheres"]),
    ("#when", &["when", "whens"]),
    (YEAR, &["year", "date"]),
];
/// The mark of words for points in time, which are no question words.
const YEAR: &str = "#what-year";
/// The mark of `how many`.
const HOW_MANY: &str = "#how-many";

/// The marks of the question words among these words.
pub(super) fn marks(all: &[String]) -> impl Iterator<Item = &'static str> {
    let has = |list: &[&str]| all.iter().any(|word| list.contains(&word.as_str()));
    let asked = MARKS
        .iter()
        .filter(move |(_, list)| has(list))
        .map(|(mark, _)| *mark);
    asked.chain(counts(all).then_some(HOW_MANY))
}

/// The marks of the words that ask: `the place where it was held` does not ask where.
pub(super) fn asking_marks(bare: &str, placed: &[(usize, String)]) -> Vec<&'static str> {
    let all: Vec<String> = placed.iter().map(|(_, word)| word.clone()).collect();
    let asking = |mark: &&str| {
        let Some((_, list)) = MARKS.iter().find(|(name, _)| name == mark) else {
            return true;
        };
        let asks = |(at, (_, word)): (usize, &(usize, String))| {
            list.contains(&word.as_str()) && asks(bare, placed, at)
        };
        *mark == YEAR || placed.iter().enumerate().any(asks)
    };
    marks(&all).filter(asking).collect()
}
