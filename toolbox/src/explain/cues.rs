//! The cues of a question: words that ask for counts, extremes, comparisons and truth values.
//! English.

use kg::placed_words;
use kg::value::{Extreme, Op};

use super::adjective::{Degree, adjective};
use super::focus::is_content;
use super::name_parts::name_part;
use super::order::sorts;
use super::totals::counted_per;
use crate::era::century_of_word;
use crate::link::{decade_in_digits, decade_of_word, is_size, number_of_word};

pub(super) fn follows(all: &[String], first: &str, second: &[&str]) -> bool {
    all.windows(2)
        .any(|pair| pair[0] == first && second.contains(&pair[1].as_str()))
}

/// Words that say what is not so, as words of a question: `aren't` is `aren` and `t`.
const NEGATIONS: &str = "not cannot without never neither none nobody lack lacking isn aren wasn weren don doesn didn hasn haven \
    isnt arent wasnt werent dont doesnt didnt hasnt havent";

/// Whether a word says what is not so. `no` does so too, except in `no longer`.
pub(super) fn is_negation(word: &str) -> bool {
    NEGATIONS.split(' ').any(|one| one == word)
}

/// Whether a question asks for what is not so.
pub(super) fn negates(all: &[String]) -> bool {
    all.iter().enumerate().any(|(at, word)| {
        // What is no longer made is discontinued.
        let longer = all.get(at + 1).is_some_and(|next| next == "longer");
        is_negation(word) && !falls_short(all, at) || word == "no" && !longer
    })
}

/// Whether the negation at `at` belongs to a comparison: what does not reach a number is below it.
pub(super) fn falls_short(all: &[String], at: usize) -> bool {
    (at..all.len().min(at + 4)).any(|at| reaches(all, at))
}

/// Whether the word at `at` says that something is at least a number: `reach 1.70 m`.
fn reaches(all: &[String], at: usize) -> bool {
    matches!(all[at].as_str(), "reach" | "reaches" | "reached") && number_follows(all, at)
}

/// Whether `number of` asks how many there are: not `the phone number of`, nor `the largest by number
/// of`.
fn numbers(all: &[String]) -> bool {
    (all.windows(2).enumerate()).any(|(at, pair)| {
        let before = at.checked_sub(1).map_or("", |before| all[before].as_str());
        pair[0] == "number" && pair[1] == "of" && before != "by" && !is_content(before)
    })
}

/// Whether a question asks for a number of things.
pub(super) fn counts(all: &[String]) -> bool {
    // `bigger by how many people live there`
    let by = all
        .windows(2)
        .any(|pair| pair[0] == "by" && pair[1] == "how");
    follows(all, "how", &["many", "much"]) && !by
        // `students among the volunteers, count`
        || all.len() > 2 && all.last().is_some_and(|last| last == "count")
        || all.windows(3).any(|w| {
            w[1] == "number"
                && w[2] == "of"
                && matches!(w[0].as_str(), "the" | "total" | "a" | "exact")
        })
        || (all.windows(3)).any(|w| w[0] == "how" && w[1] == "often" && is_past(&w[2]))
        // `it has been awarded how often`
        || follows(all, "how", &["often"]) && follows(all, "has", &["been"])
        || all.first().is_some_and(|word| word == "number") && follows(all, "number", &["of"])
        || follows(all, "total", &["of", "number"])
        || follows(all, "total", &["of"])
        || numbers(all) && !follows(all, "the", &["average", "mean"])
        || (all.windows(2).enumerate()).any(|(at, pair)| {
            // `the date and the total amount of each bill` counts nothing.
            let before = &all[at.saturating_sub(3)..at];
            pair[0] == "amount" && pair[1] == "of" && !before.iter().any(|word| word == "and")
        })
        || all.first().is_some_and(|word| word == "count")
        || follows(all, "count", &["of", "the", "all"])
        || counted_per(all)
        || follows(all, "tally", &["of"])
        || matches!(all, [_, .., last] if last == "altogether")
        || matches!(all, [_, .., before, last] if before == "in" && (last == "total" || last == "all"))
        || ends_with_total(all)
}

/// Whether a noun stands before a last `total`: `rome museums total`.
fn ends_with_total(all: &[String]) -> bool {
    let noun = |word: &String| word.ends_with('s') && is_content(word);
    matches!(all, [.., before, last] if last == "total" && noun(before))
}

/// Whether the word at `at` writes a number.
fn is_number(all: &[String], at: usize) -> bool {
    all.get(at).is_some_and(|word| {
        word.bytes().all(|byte| byte.is_ascii_digit()) || number_of_word(word).is_some()
    })
}

/// Whether `or` joins two properties, and is not a part of `3 or more`.
pub(super) fn joins_by_or(all: &[String]) -> bool {
    all.iter().enumerate().skip(1).any(|(at, word)| {
        let next = all.get(at + 1).map_or("", String::as_str);
        // `3 or more`
        let compares = matches!(
            next,
            "more" | "less" | "fewer" | "higher" | "lower" | "above" | "over" | "under"
        ) || adjective(next)
            .is_some_and(|(_, degree)| degree == Degree::Comparative);
        // But `over 20 or less than 10` are two.
        let than = all.get(at + 2).is_some_and(|word| word == "than") || is_number(all, at + 2);
        let limit = is_number(all, at - 1) && (compares && !than || is_number(all, at + 1));
        word == "or" && !limit && !matches!(next, "" | "not" | "so")
    })
}

/// Whether one of the next words is worse the more of it there is: `worst flight delay`.
fn is_bad(next: &[String]) -> bool {
    const BAD: &str = "delay damage loss debt accident error fault crime flood drought pollution outage injur casualt death";
    const WORDS: usize = 3;
    let bad = |word: &String| BAD.split(' ').any(|bad| word.starts_with(bad));
    next.iter().take(WORDS).any(bad)
}

/// Whether a word begins what happened: `how often did he win`.
fn is_past(word: &str) -> bool {
    matches!(word, "did" | "has" | "have" | "had" | "was" | "were")
}

/// Whether a question asks for an amount: `how much`. What is counted is asked for by `how many`.
pub(super) fn amounts(all: &[String]) -> bool {
    follows(all, "how", &["much"]) && !follows(all, "how", &["many"])
}

/// Whether a word is the superlative of an adjective that is not known to measure anything: `the richest`.
fn is_other_superlative(before: &str, word: &str) -> bool {
    const NOUNS: &str = "arrest conquest contest digest forest harvest honest interest manifest modest northwest \
protest request rest southwest suggest west";
    let stands = matches!(before, "" | "the" | "s" | "what" | "whats" | "whos");
    let superlative = word.ends_with("est") && word.len() > "guest".len();
    stands && superlative && !NOUNS.split(' ').any(|noun| noun == word)
}

/// Whether an adjective may be said of any number: `high`.
fn is_any_degree(plain: &str) -> bool {
    matches!(plain, "high" | "low" | "big" | "large" | "great" | "small")
}

/// Whether a word compares anything, and so says nothing of what is compared: `higher`, `the largest`, `more`.
pub(super) fn is_generic(word: &str) -> bool {
    matches!(word, "more" | "less" | "fewer")
        || adjective(word).is_some_and(|(found, _)| is_any_degree(found.plain))
}

/// The word that says what is extreme: `coldest`, `visited` of `most visited`. The `biggest` may be so in anything.
pub(super) fn degree_word(all: &[String]) -> Option<usize> {
    const ENDINGS: [&str; 4] = ["ed", "ive", "ous", "ful"];
    let any = |plain: &str| is_any_degree(plain) || matches!(plain, "early" | "late");
    (0..all.len()).find(|&at| {
        let word = &all[at];
        let before = at.checked_sub(1).map_or("", |at| all[at].as_str());
        let most = matches!(before, "most" | "least");
        match adjective(word) {
            Some((found, degree)) => degree == Degree::Superlative && !any(found.plain),
            None if most => ENDINGS.iter().any(|end| word.ends_with(end)),
            None => is_other_superlative(before, word),
        }
    })
}

/// The extreme that a question asks for (`longest`, `most recent`, `with the fewest`), and the one by
/// which it asks for one of two (`longer … or …`).
/// With `listed`, two things stand in front of the question: `Bach, Handel: who was the elder`.
pub(super) fn degrees(all: &[String], listed: bool) -> [Option<[Extreme; 2]>; 2] {
    let (mut extreme, mut either) = (None, None);
    let or = joins_choices(all) || listed || chooses_between(all);
    // "When did it first open."
    let when = follows(all, "when", &["did"]);
    // Where the words end that say how a list is sorted.
    let mut sorted = 0;
    for (i, word) in all.iter().enumerate() {
        if let Some((_, length)) = sorts(&all[i..]) {
            sorted = i + length;
        }
        if i < sorted || name_part(all, i).is_some() {
            continue;
        }
        let before = i.checked_sub(1).map_or("", |before| all[before].as_str());
        let next = all.get(i + 1).map_or("", String::as_str);
        match word.as_str() {
            // `most recent` is read at `recent`, `at most` is a comparison.
            "maximum" | "minimum" if number_follows(all, i) => {}
            // `most of them` are many.
            "most" if next == "of" => {}
            "best" if next.ends_with("ing") || next.ends_with("ed") || next == "paid" => {
                extreme = Some([Extreme::Max; 2]);
            }
            "more" | "fewer" if or && next != "than" && !follows(all, "or", &["more", "fewer"]) => {
                let more = word == "more";
                either = Some([if more { Extreme::Max } else { Extreme::Min }; 2]);
            }
            // The worst of what is bad is the most of it.
            "worst" if is_bad(&all[i + 1..]) => {
                extreme = Some([Extreme::Max; 2]);
            }
            "top" if exceeds(all, i) => {}
            "most" | "max" | "maximum" | "highest" | "top" if before != "at" => {
                extreme = Some([Extreme::Max; 2]);
            }
            "least" | "fewest" | "min" | "minimum" | "worst" if before != "at" => {
                extreme = Some([Extreme::Min; 2]);
            }
            _ => {}
        }
        let Some((found, degree)) = adjective(word) else {
            if extreme.is_none() && is_other_superlative(before, word) {
                extreme = Some([Extreme::Max; 2]);
            }
            continue;
        };
        if is_no_end(all, i, or, when) {
            continue;
        }
        let degree = match before {
            "most" => Degree::Superlative,
            "more" => Degree::Comparative,
            _ => degree,
        };
        match degree {
            Degree::Superlative => extreme = Some(found.extremes),
            Degree::Comparative if or => either = Some(found.extremes),
            Degree::Comparative | Degree::Plain => {}
        }
    }
    if or && either.is_none() {
        either = extreme;
    }
    [extreme, either]
}

/// Whether `or` joins two things: not `3 or more`, `50 or older`.
fn joins_choices(all: &[String]) -> bool {
    all.iter().enumerate().any(|(i, word)| {
        let next = all.get(i + 1).map_or("", String::as_str);
        let more = matches!(next, "more" | "less" | "fewer" | "above" | "below");
        let degree = adjective(next).map(|(_, degree)| degree);
        let versus = matches!(word.as_str(), "vs" | "versus");
        versus || word == "or" && !more && degree != Some(Degree::Comparative)
    })
}

/// Whether `first` or `last` at `i` is no extreme. `or` says that things are chosen from, `when` that the question
/// begins with `when did`.
fn is_no_end(all: &[String], i: usize, or: bool, when: bool) -> bool {
    let word = all[i].as_str();
    let before = i.checked_sub(1).map_or("", |before| all[before].as_str());
    let next = all.get(i + 1).map_or("", String::as_str);
    // "how long did it last", "last name".
    let which = all.iter().any(|word| word == "which" || word == "that");
    let ends = i + 1 == all.len() && !or && (word == "last" || word == "first" && !which);
    // `that last more than 60 minutes`.
    let lasts = word == "last"
        && before != "the"
        && matches!(
            next,
            "more" | "less" | "longer" | "at" | "over" | "under" | "between" | "for" | "about"
        )
        || word == "last"
            && matches!(before, "that" | "which" | "to" | "they")
            && (number_of_word(next).is_some() || next.bytes().all(|byte| byte.is_ascii_digit()));
    // `the first night` of a play is no extreme, nor is `the first floor`.
    let fixed = matches!(word, "first" | "last")
        && matches!(
            next,
            "night" | "floor" | "aid" | "class" | "lady" | "prize" | "prizes" | "place"
        );
    // "When was it first opened": the start, not the first one of several.
    // "The first animated film" is an extreme.
    let noun = matches!(
        before,
        "the" | "a" | "his" | "her" | "its" | "their" | "my" | "our" | "your" | "s"
    );
    let verb = next.ends_with("ed") || happens(next) || when;
    ends || fixed || lasts || matches!(word, "first" | "last") && !noun && verb
}

/// Whether a word behind `first` is a verb: `it first hit the cinemas`.
fn happens(word: &str) -> bool {
    const VERBS: &str = "see saw come came hit go went air won took flew ran got met began became";
    VERBS.split(' ').any(|verb| verb == word)
}

/// Whether a question chooses one of two things: `between the one and the other, which is older`.
fn chooses_between(all: &[String]) -> bool {
    let between = all.iter().position(|word| word == "between");
    let rest = between.and_then(|at| all.get(at + 1..)).unwrap_or_default();
    let digits = |word: &String| word.bytes().any(|byte| byte.is_ascii_digit());
    let which = |word: &String| matches!(word.as_str(), "which" | "who" | "what");
    rest.iter().any(|word| word == "and") && all.iter().any(which) && !rest.iter().any(digits)
}

/// The place of the word that says which a question asks for in the order of its extreme, and which: 2
/// of `the second longest`.
pub(super) fn rank(all: &[String]) -> Option<(usize, usize)> {
    const RANKS: [[&str; 2]; 4] = [
        ["second", "2nd"],
        ["third", "3rd"],
        ["fourth", "4th"],
        ["fifth", "5th"],
    ];
    let superlative = |word: &str| {
        matches!(word, "most" | "fewest" | "least" | "highest")
            || adjective(word).is_some_and(|(_, degree)| degree == Degree::Superlative)
    };
    let of = |pair: &[String]| {
        let rank = RANKS
            .iter()
            .position(|names| names.contains(&pair[0].as_str()));
        rank.filter(|_| superlative(&pair[1])).map(|at| at + 2)
    };
    let mut pairs = all.windows(2).enumerate();
    pairs.find_map(|(at, pair)| Some((at, of(pair)?)))
}

/// The comparison that a question asks for: of a number, and of a time.
pub(super) fn comparison(all: &[String]) -> Option<[Op; 2]> {
    let mut found = None;
    for (i, word) in all.iter().enumerate() {
        let next = all.get(i + 1).map_or("", String::as_str);
        let before = i.checked_sub(1).map_or("", |before| all[before].as_str());
        let said = match (word.as_str(), next) {
            ("at", "least") => Some([Op::Ge; 2]),
            ("at", "most") => Some([Op::Le; 2]),
            ("up", "to") | ("maximum", "of") if number_follows(all, i) => Some([Op::Le; 2]),
            ("minimum", "of") if number_follows(all, i) => Some([Op::Ge; 2]),
            ("over" | "above" | "past" | "under" | "below", _)
                if before != "or" && !number_follows(all, i) =>
            {
                None
            }
            ("more" | "greater" | "over" | "above" | "exceed" | "exceeding" | "exceeds", _) => {
                Some([Op::Gt; 2])
            }
            ("less" | "fewer" | "under" | "below", _) => Some([Op::Lt; 2]),
            ("from", _)
                if all.iter().any(|word| word == "onwards" || word == "onward")
                    || all.get(i + 2).is_some_and(|word| word == "on") =>
            {
                Some([Op::Ge; 2])
            }
            // `summits that top 6,500 metres`.
            ("top" | "tops" | "topped", _) if exceeds(all, i) => Some([Op::Gt; 2]),
            // `reach 1.70 m`, and `don't even reach 1.70 m`.
            _ if reaches(all, i) => {
                let mut before = all[i.saturating_sub(3)..i].iter();
                let not = before.any(|word| is_negation(word));
                Some(if not { [Op::Lt; 2] } else { [Op::Ge; 2] })
            }
            ("since", _) => Some([Op::Ge; 2]),
            ("after" | "past", _) => Some([Op::Gt; 2]),
            ("before" | "until" | "till" | "prior", _) => Some([Op::Lt; 2]),
            _ => match adjective(word) {
                Some((found, Degree::Comparative)) => Some(found.comparisons()),
                _ => None,
            },
        };
        let said = said.map(|ops| {
            ops.map(|op| match before {
                "no" | "not" => negated(op),
                // `over 20 or less than 10` is two limits.
                "or" if !(is_number(all, i.wrapping_sub(2))
                    && (next == "than" || number_follows(all, i))) =>
                {
                    inclusive(op)
                }
                _ => op,
            })
        });
        found = said.or(found);
    }
    found
}

/// Whether a question gives a range: `between 5 and 8`, `from 1999 to 2005`, `the 1970s`, `the 70s`,
/// `the 19th century`.
pub(super) fn gives_range(all: &[String]) -> bool {
    let year = |word: &String| word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    let from_to = |w: &[String]| w[0] == "from" && year(&w[1]) && w[2] == "to" && year(&w[3]);
    let decade = |word: &String| {
        let digits = word.strip_suffix('s').unwrap_or_default();
        decade_in_digits(digits, "s")
            .or_else(|| decade_of_word(word))
            .is_some()
    };
    let century = (0..all.len()).any(|at| counts_century(all, at));
    century
        || all.iter().any(|word| word == "between" || decade(word))
        || all.windows(4).any(from_to)
}

/// Whether the words at `at` are a century's: `19th century`.
fn counts_century(all: &[String], at: usize) -> bool {
    let next = all.get(at + 1).is_some_and(|next| next == "century");
    next && century_of_word(&all[at]).is_some()
}

/// Whether the word at `at` belongs to a century, as in `19th century`.
pub(super) fn is_of_century(all: &[String], at: usize) -> bool {
    counts_century(all, at) || at > 0 && counts_century(all, at - 1)
}

/// Whether `top` at `at` is a verb before a number: `that top 6500 metres`, not `list the top 10`.
fn exceeds(all: &[String], at: usize) -> bool {
    let before = at
        .checked_sub(1)
        .map_or("the", |before| all[before].as_str());
    let large = all.get(at + 1).is_some_and(|next| next.len() > 2);
    before != "the" && number_follows(all, at) && (all[at] != "top" || large)
}

/// The comparison that holds where `op` does not: `no more than 3`.
pub(super) fn negated(op: Op) -> Op {
    match op {
        Op::Gt => Op::Le,
        Op::Lt => Op::Ge,
        Op::Ge => Op::Lt,
        Op::Le => Op::Gt,
        Op::Eq => Op::Ne,
        Op::Ne => Op::Eq,
    }
}

/// The comparison with its bound: `3 or more`.
fn inclusive(op: Op) -> Op {
    match op {
        Op::Gt => Op::Ge,
        Op::Lt => Op::Le,
        other => other,
    }
}

/// The words of a question, each with the byte offset at which it begins; `1,500` is one word, and ` & ` is `and`.
pub(super) fn whole_words(question: &str) -> Vec<(usize, String)> {
    let digits = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let mut all: Vec<(usize, String)> = Vec::new();
    let mut end = 0;
    for (at, word) in placed_words(question) {
        let comma = question.get(end..at) == Some(",");
        end = at + word.len();
        match all.last_mut() {
            Some((_, number)) if comma && word.len() == 3 && digits(number) && digits(&word) => {
                number.push_str(&word);
            }
            _ => {
                if question.get(..at).is_some_and(|text| text.ends_with(" & ")) {
                    all.push((at - "& ".len(), "and".to_owned()));
                }
                all.push((at, word));
            }
        }
    }
    all
}

/// Whether one of the next three words has a digit.
fn number_follows(all: &[String], i: usize) -> bool {
    let next = all.iter().skip(i + 1).take(3);
    next.into_iter().any(|word| {
        word.bytes().any(|byte| byte.is_ascii_digit())
            || is_size(word)
            || number_of_word(word).is_some()
    })
}
