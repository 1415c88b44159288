//! Values that the things asked for do not have: `outside the United Kingdom`, `whose award is not the Tony Award`. English.

use kg::words;

use super::focus::BE;

/// Whether a question asks for what has another value than this one: `outside the United Kingdom`.
pub(super) fn excludes(question: &str, value: &str) -> bool {
    const BEFORE: [&str; 5] = ["outside", "except", "excluding", "beyond", "besides"];
    const BETWEEN: usize = 3;
    let before = before(question, value);
    let mut last = before.iter().rev().take(BETWEEN);
    is_denied(&before) || last.any(|word| BEFORE.contains(&word.as_str()))
}

/// The same for a number: nothing is `beyond 400 km` by not being 400.
pub(super) fn excludes_number(question: &str, number: &str) -> bool {
    is_denied(&before(question, number))
}

/// The words of a question before a value.
fn before(question: &str, value: &str) -> Vec<String> {
    let (question, value) = (question.to_lowercase(), value.to_lowercase());
    let before = question.find(&value).and_then(|at| question.get(..at));
    before.map(words).unwrap_or_default()
}

/// Whether the words before a value say that something does not have it: `is not`, `are not equal to`.
fn is_denied(before: &[String]) -> bool {
    if before.ends_with(&["other".to_owned(), "than".to_owned()]) {
        return true;
    }
    let between =
        |word: &&String| matches!(word.as_str(), "equal" | "to" | "the" | "in" | "a" | "an");
    let mut back = before.iter().rev().skip_while(between);
    let not = back
        .next()
        .is_some_and(|word| matches!(word.as_str(), "not" | "isn't" | "t"));
    not && back
        .next()
        .is_some_and(|word| BE.contains(&word.as_str()) || word == "isn")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_excluded_by_the_words_before_them() {
        assert!(excludes(
            "guests who live outside the United Kingdom",
            "united kingdom"
        ));
        assert!(excludes("all drinks except Wine", "Wine"));
        assert!(excludes("drinks whose kind is other than wine", "Wine"));
        assert!(!excludes(
            "guests who live in the United Kingdom, not outside",
            "united kingdom"
        ));
        assert!(!excludes("guests", "United Kingdom"));
    }

    #[test]
    fn what_is_not_so_is_denied() {
        assert!(excludes(
            "musicals whose award is not \"Tony Award\"",
            "Tony Award"
        ));
        assert!(excludes(
            "cities that are not in the Netherlands",
            "Netherlands"
        ));
        assert!(!excludes("is the Netherlands not in Asia", "Netherlands"));
        assert!(excludes_number("actors whose age is not 20", "20"));
        assert!(!excludes_number("rivers that stretch beyond 400 km", "400"));
    }
}
