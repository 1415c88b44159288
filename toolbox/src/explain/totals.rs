//! Numbers that a question asks for without `how many`, and totals that are no sums. English.

use super::adjective::{Degree, adjective};
use super::focus::is_content;

/// What numbers are given for, and nothing is counted for.
const UNITS: [&str; 12] = [
    "capita", "unit", "game", "hour", "year", "day", "month", "week", "head", "second", "minute",
    "mile",
];
/// Words of what is counted, at most: `doctoral students`.
const NOUNS: usize = 3;
/// Ends of words that say how something is, and name nothing: `the most successful clubs`.
const QUALITIES: [&str; 10] = [
    "ful", "ous", "ed", "ive", "able", "ible", "ing", "lar", "mon", "ant",
];
/// Words for what is computed of numbers, which names of relations have too.
const AMOUNTS: [&str; 8] = [
    "total", "amount", "average", "mean", "maximum", "minimum", "max", "min",
];
/// Words of such a question, at most.
const WORDS: usize = 5;

/// Whether a question is a plural and what it is counted for: `customers per country`, not `GDP per capita`.
pub(super) fn counted_per(all: &[impl AsRef<str>]) -> bool {
    let word = |at: usize| all.get(at).map_or("", AsRef::as_ref);
    let per = (0..all.len()).find(|&at| word(at) == "per");
    let (Some(at), true) = (per.filter(|&at| at > 0), all.len() <= WORDS) else {
        return false;
    };
    let plural = word(at - 1).ends_with('s') && !word(at - 1).ends_with("ss");
    let noun = |at: usize| is_content(word(at)) && adjective(word(at)).is_none();
    let nouns = (0..all.len()).all(|other| other == at || noun(other));
    let unit = word(at + 1).is_empty() || is_unit_of_rate(word(at + 1));
    plural && nouns && !unit && !matches!(word(0), "average" | "mean" | "avg" | "sum")
}

/// Whether nothing is counted for each of this: `20 per hour`.
pub(super) fn is_unit_of_rate(word: &str) -> bool {
    UNITS.contains(&word)
}

/// Whether a question asks for the most or the fewest of some things: `the most doctoral students`, not `the most
/// recent` nor `at most two`.
pub(super) fn asks_for_most(all: &[String]) -> bool {
    let most = |at: &usize| matches!(all[*at].as_str(), "most" | "fewest");
    (0..all.len()).filter(most).any(|at| things_follow(all, at))
}

/// Whether the word at `at`, such as `most`, stands before things that can be counted, and not before an adjective.
pub(super) fn things_follow(all: &[impl AsRef<str>], at: usize) -> bool {
    let word = |at: usize| all.get(at).map_or("", AsRef::as_ref);
    let before = at.checked_sub(1).map_or("", word);
    let nouns = (at + 1..at + 1 + NOUNS).map(word);
    let several =
        |noun: &str| noun.ends_with('s') || matches!(noun, "people" | "children" | "men" | "women");
    for noun in nouns {
        if several(noun) && is_content(noun) && adjective(noun).is_none() {
            return !matches!(before, "at" | "one" | "two" | "three");
        }
        let describes = |end: &&str| noun.ends_with(*end);
        if !is_content(noun) || adjective(noun).is_some() || QUALITIES.iter().any(describes) {
            return false;
        }
    }
    false
}

/// Whether `total` at `at` is a noun of its own, and no sum: `the invoice total`, `the average total`.
pub(super) fn is_amount(all: &[impl AsRef<str>], at: usize) -> bool {
    let word = |at: usize| all.get(at).map_or("", AsRef::as_ref);
    let before = at.checked_sub(1).map_or("", word);
    let next = word(at + 1);
    let measured = matches!(
        before,
        "average" | "mean" | "highest" | "lowest" | "maximum" | "minimum"
    );
    let noun = measured || is_content(before) && adjective(before).is_none();
    noun && !matches!(next, "number" | "amount" | "count" | "of") && !is_content(next)
}

/// Whether the `number of` at `at` is a number that the question compares: `with a number of shops greater than 50`. Such a
/// question does not ask how many.
fn is_compared_number(all: &[String], at: usize) -> bool {
    /// Words between it and the comparison, at most.
    const BETWEEN: usize = 3;
    let word = |at: usize| all.get(at).map_or("", String::as_str);
    let before = |back: usize| at.checked_sub(back).map_or("", word);
    let had = |word: &str| matches!(word, "with" | "have" | "has" | "having" | "whose");
    let had = had(before(1)) || had(before(2)) && matches!(before(1), "a" | "the" | "total");
    let compares = |at: usize| {
        let than = word(at + 1) == "than";
        let degree = adjective(word(at)).map(|(_, degree)| degree);
        than && (degree == Some(Degree::Comparative)
            || matches!(word(at), "more" | "less" | "fewer"))
            || matches!(word(at), "over" | "above" | "below" | "under")
            || word(at) == "at" && matches!(word(at + 1), "least" | "most")
    };
    had && word(at) == "number" && word(at + 1) == "of" && (at + 3..at + 3 + BETWEEN).any(compares)
}

/// Whether a word is one for any number.
pub(super) fn is_value(word: &str) -> bool {
    const VALUES: &str = "score scores point points value values marks";
    VALUES.split(' ').any(|one| one == word)
}

/// For each word, whether it belongs to the name of a relation that has a word for a sum or a mean in it: `total amount`,
/// `average rating`. `is_name` says whether words are the whole name of a relation.
pub(super) fn amount_names(all: &[String], is_name: impl Fn(&[String]) -> bool) -> Vec<bool> {
    /// Words of such a name, at most.
    const LONGEST: usize = 4;
    let mut named = vec![false; all.len()];
    let word = |at: usize| all.get(at).map_or("", String::as_str);
    for at in 0..all.len() {
        if is_compared_number(all, at) {
            named[at..at + 2].fill(true);
        }
        if !AMOUNTS.contains(&word(at)) {
            continue;
        }
        // `the total number of horses` of a farm that has `total_horses`
        if word(at + 1) == "number" && word(at + 2) == "of" {
            let whole = |until: usize| {
                let rest = all.get(at + 3..until).unwrap_or_default();
                let name: Vec<String> = std::iter::once(&all[at]).chain(rest).cloned().collect();
                !rest.is_empty() && is_name(&name)
            };
            if let Some(until) = (at + 4..=at + 3 + LONGEST).find(|&until| whole(until)) {
                named[at..until].fill(true);
                continue;
            }
        }
        for from in at.saturating_sub(LONGEST - 1)..=at {
            let until = (at + 1..=all.len().min(from + LONGEST)).rev();
            let found = until.into_iter().find(|&until| is_name(&all[from..until]));
            // `total sales` are a sum, even where something is called `total`.
            // But the `total score` is what is called so.
            let alone = |until: usize| {
                until == from + 1 && is_content(word(until)) && !is_value(word(until))
            };
            if let Some(until) = found.filter(|&until| !alone(until)) {
                named[from..until].fill(true);
                break;
            }
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<&str> {
        text.split(' ').collect()
    }

    #[test]
    fn plurals_are_counted_for_what_follows_per() {
        for text in [
            "customers per country",
            "customers per billing country",
            "albums per label",
        ] {
            assert!(counted_per(&all(text)), "{text}");
        }
        for text in [
            "gdp per capita",
            "points per game",
            "revenue per country",
            "average age per team",
            "what is the number of customers per country",
            "per country",
            "customers",
        ] {
            assert!(!counted_per(&all(text)), "{text}");
        }
    }

    #[test]
    fn the_most_of_some_things_is_no_date() {
        let most = |text: &str| {
            let all: Vec<String> = text.split(' ').map(str::to_owned).collect();
            asks_for_most(&all)
        };
        for text in [
            "who supervises the most doctoral students",
            "which club has the fewest members",
        ] {
            assert!(most(text), "{text}");
        }
        for text in [
            "the most recent film",
            "at most two goals",
            "which film won most recently",
            "most of them",
        ] {
            assert!(!most(text), "{text}");
        }
    }

    #[test]
    fn names_of_relations_are_no_sums() {
        let named = |text: &str| {
            let all: Vec<String> = all(text).into_iter().map(str::to_owned).collect();
            let known = ["total", "total amount", "gate total", "average"];
            let named = amount_names(&all, |words| known.contains(&words.join(" ").as_str()));
            let words = all.iter().zip(&named).filter(|(_, named)| **named);
            let words: Vec<&str> = words.map(|(word, _)| word.as_str()).collect();
            words.join(" ")
        };
        for (text, words) in [
            ("the date and total of the bill", "total"),
            ("the total amount of booking 5", "total amount"),
            ("which gate total is highest", "gate total"),
            ("the total sales", ""),
            ("average age", ""),
            ("name and average of each stadium", "average"),
            ("the maximum", ""),
        ] {
            assert_eq!(named(text), words, "{text}");
        }
    }

    #[test]
    fn a_total_behind_a_noun_is_an_amount() {
        let total = |text: &str| {
            let all = all(text);
            all.iter()
                .position(|word| *word == "total")
                .is_some_and(|at| is_amount(&all, at))
        };
        for text in [
            "the average invoice total for each city",
            "highest total",
            "invoice total ever",
        ] {
            assert!(total(text), "{text}");
        }
        for text in [
            "the total of the bills",
            "the total number of cities",
            "how much in total",
            "order total amount",
            "total",
        ] {
            assert!(!total(text), "{text}");
        }
    }
}
