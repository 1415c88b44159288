//! Names that are turned round or lose their noun: `history department`, `history dept` or `in history` for
//! `Department of History`. English.

use kg::search::{NodeRole, normalise};

use super::error::LinkError;
use super::names::Asked;
use super::span::{Span, add};

/// Nouns that names begin with, before `of`.
const HEADS: [&str; 34] = [
    "academy",
    "archdiocese",
    "bank",
    "battle",
    "bay",
    "board",
    "centre",
    "center",
    "church",
    "city",
    "college",
    "conservatory",
    "council",
    "county",
    "department",
    "diocese",
    "district",
    "duchy",
    "faculty",
    "gulf",
    "institute",
    "isle",
    "kingdom",
    "lake",
    "ministry",
    "museum",
    "port",
    "province",
    "republic",
    "school",
    "siege",
    "state",
    "treaty",
    "university",
];
/// Those that people leave out: what follows is a subject, and no place.
const UNSAID: [&str; 5] = ["department", "faculty", "institute", "ministry", "school"];
/// Words behind which the noun is left out.
const BEFORE: [&str; 7] = ["of", "in", "at", "from", "for", "with", "to"];
/// Their short forms.
const SHORT: [(&str, &str); 6] = [
    ("dept", "department"),
    ("uni", "university"),
    ("univ", "university"),
    ("fac", "faculty"),
    ("inst", "institute"),
    ("ctr", "center"),
];
/// Names read per noun, by degree.
const NAMES: usize = 64;
/// Letters of the shortest beginning that stands for a word: `comp sci dept`.
const BEGINNING: usize = 3;

/// The noun of a name that a word in lower case stands for.
fn head_of(word: &str) -> Option<&str> {
    let short = SHORT.iter().find(|(short, _)| *short == word);
    let word = short.map_or(word, |(_, long)| long);
    HEADS.contains(&word).then_some(word)
}

/// How well the words before the last turn a name round, and the first of them; `None` if they do not. All in lower
/// case.
fn turned(words: &[String], name: &str) -> Option<(usize, f32)> {
    let (last, before) = words.split_last()?;
    let rest = name.strip_prefix(head_of(last)?)?.strip_prefix(" of ")?;
    let said: Vec<&str> = rest.split(' ').filter(|word| *word != "the").collect();
    let first = before.len().checked_sub(said.len())?;
    let mut quality = 1.0_f32;
    for (word, of) in before[first..].iter().zip(said) {
        // `maths` is a beginning too.
        let start = word.strip_suffix('s').unwrap_or(word);
        if word != of {
            quality = 0.8;
            if start.len() < BEGINNING || !of.starts_with(start) {
                return None;
            }
        }
    }
    Some((first, quality))
}

/// The last of the words from the first on that are a name without its noun, behind a preposition.
fn bare(words: &[String], first: usize, name: &str) -> Option<usize> {
    let (head, rest) = name.split_once(" of ")?;
    let the = usize::from(first > 0 && words[first - 1] == "the");
    let before = first.checked_sub(1 + the)?;
    let said: Vec<&str> = rest.split(' ').collect();
    let same = words.get(first..first + said.len())? == said;
    (same && UNSAID.contains(&head) && BEFORE.contains(&words[before].as_str()))
        .then(|| first + said.len() - 1)
}

/// Adds nodes whose name is turned round or lacks its noun.
pub(super) fn add_turned(asked: &Asked<'_>, spans: &mut Vec<Span>) -> Result<(), LinkError> {
    let texts: Vec<String> = (0..asked.words.len())
        .map(|at| normalise(asked.text(at, at)))
        .collect();
    for last in 1..texts.len() {
        let Some(head) = head_of(&texts[last]) else {
            continue;
        };
        asked.check()?;
        for found in asked.index.containing(head, NAMES, NodeRole::Entity)? {
            let name = normalise(&found.label);
            if let Some((first, quality)) = turned(&texts[..=last], &name) {
                let weight = 2.0 * (last - first + 1) as f32 + quality - 0.5;
                add(spans, first, last, weight, found);
            }
        }
    }
    for first in 1..texts.len() {
        let behind = BEFORE.contains(&texts[first - 1].as_str()) || texts[first - 1] == "the";
        let known = spans.iter().any(|span| span.covers(first));
        if !behind || known || asked.words[first].stop || asked.words[first].number {
            continue;
        }
        asked.check()?;
        for found in (asked.index).containing(&texts[first], NAMES, NodeRole::Entity)? {
            if let Some(last) = bare(&texts, first, &normalise(&found.label)) {
                add(spans, first, last, (last - first + 1) as f32 + 0.4, found);
            }
        }
    }
    Ok(())
}

/// The words of a question, in lower case, that turn a name round or leave out its noun: the first and the last.
pub(super) fn mention(texts: &[String], name: &str) -> Option<(usize, usize)> {
    let turned = |last: usize| Some((turned(&texts[..=last], name)?.0, last));
    let bare = |first: usize| Some((first, bare(texts, first, name)?));
    (1..texts.len())
        .find_map(turned)
        .or_else(|| (1..texts.len()).find_map(bare))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_turned_round() {
        let found = |question: &str, name: &str| {
            let words: Vec<String> = question.split(' ').map(str::to_owned).collect();
            mention(&words, name).map(|(first, last)| words[first..=last].join(" "))
        };
        for (question, name, said) in [
            (
                "who runs the history department",
                "department of history",
                "history department",
            ),
            (
                "budget of the comp sci dept",
                "department of computer science",
                "comp sci dept",
            ),
            (
                "people at the maths department",
                "department of mathematics",
                "maths department",
            ),
            ("is oslo uni old", "university of oslo", "oslo uni"),
            ("the hague city", "city of the hague", "hague city"),
            (
                "students in marine biology now",
                "department of marine biology",
                "marine biology",
            ),
            (
                "the dean of the humanities",
                "faculty of humanities",
                "humanities",
            ),
        ] {
            assert_eq!(found(question, name).as_deref(), Some(said), "{question}");
        }
        for (question, name) in [
            ("department", "department of history"),
            ("is history old", "department of history"),
            ("cities in oslo", "university of oslo"),
            ("the art department", "department of history"),
            ("the hi department", "department of history"),
            ("history departments", "department of history"),
            ("history of the department", "department of history"),
        ] {
            assert_eq!(found(question, name), None, "{question}");
        }
    }
}
