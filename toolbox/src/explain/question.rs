//! What a question asks, read from its words: content words, cues for counts, comparisons, extremes
//! and yes/no questions. English.

use kg::value::{Extreme, Op};
use kg::words;

use super::adjective::{Adjective, Degree, adjective};
use super::table::WordTables;
use crate::link::Linked;
use crate::rank::{is_stop, stem};

/// Words of politeness and filling, which no relation explains.
const FILLERS: &str = "hey hi hello um uh erm well btw pls plz please thanks thank know need want like wanna gotta wonder wondering curious idea \
remind question say said exactly actually anyone someone something anything everything thing things ok okay so now again get got us lemme \
gimme dont don isn didn doesn possible kindly quick quickly help ever mean means called named name names btw im ive id s t d ll re ve m \
looking look interested search searching provide display return enumerate sort kind whats whos wheres whens hows every bit kinda maybe";

/// The marks of question words. They are content words like any other, because `who` says something
/// about `director` and `when` about `founded`.
const MARKS: &[(&str, &[&str])] = &[
    ("#who", &["who", "whom", "whose", "whos"]),
    ("#where", &["where", "wheres"]),
    ("#when", &["when", "whens"]),
    ("#what-year", &["year", "date"]),
];
/// The mark of `how many`.
const HOW_MANY: &str = "#how-many";

/// A content word of a question.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AskedWord {
    /// Its stem, or a mark.
    pub(super) stem: String,
    /// The word as written, in lower case.
    pub(super) word: String,
    /// The value of the question that it belongs to.
    pub(super) value: Option<usize>,
    /// Its meaning as an adjective of degree.
    pub(super) adjective: Option<&'static Adjective>,
}

impl AskedWord {
    /// Whether it is the mark of a question word.
    pub(super) fn is_mark(&self) -> bool {
        self.stem.starts_with('#')
    }
}

/// An analysed question.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    /// Content words in order, each stem once.
    pub(super) words: Vec<AskedWord>,
    /// It asks for a number of things.
    pub(super) count: bool,
    /// It asks whether something is so.
    pub(super) judge: bool,
    /// It asks for an extreme: of a number, and of a time.
    pub(super) extreme: Option<[Extreme; 2]>,
    /// It compares: with a number, and with a time.
    pub(super) compare: Option<[Op; 2]>,
    /// It asks which of two, with the extremes of its comparative.
    pub(super) either: Option<[Extreme; 2]>,
    /// It compares with something: `than`.
    pub(super) than: bool,
    /// It gives a range.
    pub(super) between: bool,
}

/// The stems of the content words of a question without its entities, with the marks of its
/// question words; sorted, each once.
pub(super) fn question_stems(bare: &str) -> Vec<String> {
    let all = words(bare);
    let mut stems: Vec<String> = all
        .iter()
        .filter(|word| is_content(word))
        .map(|word| base(word))
        .collect();
    stems.extend(marks(&all).map(str::to_owned));
    stems.sort_unstable();
    stems.dedup();
    stems
}

fn is_content(word: &str) -> bool {
    !is_stop(word)
        && word.chars().any(char::is_alphabetic)
        && !FILLERS.split(' ').any(|filler| filler == word)
}

/// The stem of a word; of an adjective of degree, the stem of its plain form.
fn base(word: &str) -> String {
    adjective(word).map_or_else(|| stem(word), |(found, _)| stem(found.plain))
}

fn marks(all: &[String]) -> impl Iterator<Item = &'static str> {
    let has = |list: &[&str]| all.iter().any(|word| list.contains(&word.as_str()));
    let asked = MARKS
        .iter()
        .filter(move |(_, list)| has(list))
        .map(|(mark, _)| *mark);
    asked.chain(counts(all).then_some(HOW_MANY))
}

fn follows(all: &[String], first: &str, second: &[&str]) -> bool {
    all.windows(2)
        .any(|pair| pair[0] == first && second.contains(&pair[1].as_str()))
}

fn counts(all: &[String]) -> bool {
    follows(all, "how", &["many", "much"])
        || follows(all, "number", &["of"])
        || follows(all, "total", &["of", "number"])
        || follows(all, "amount", &["of"])
        || all.first().is_some_and(|word| word == "count")
        || follows(all, "count", &["of", "the", "all"])
}

impl Asked {
    /// Analyses a linked question.
    pub(super) fn new(question: &str, linked: &Linked, tables: &WordTables) -> Self {
        let bare = linked.bare(question);
        let all = words(&bare);
        let mut asked = Self {
            count: counts(&all),
            judge: judges(question),
            ..Self::default()
        };
        let values: Vec<Vec<String>> = (linked.values.iter())
            .map(|value| words(&value.lexical))
            .collect();
        let of_value = |word: &String| values.iter().position(|value| value.contains(word));
        for word in &all {
            let value = of_value(word);
            if value.is_none() && !is_content(word) {
                continue;
            }
            // Numbers are explained by being used, not by a relation's name.
            if !word.chars().any(char::is_alphabetic) {
                continue;
            }
            let stem = base(word);
            asked.push(AskedWord {
                stem: tables.meant(&stem).unwrap_or(stem),
                word: word.clone(),
                value,
                adjective: adjective(word).map(|(found, _)| found),
            });
        }
        for mark in marks(&all) {
            asked.push(AskedWord {
                stem: mark.to_owned(),
                word: mark.trim_start_matches('#').replace('-', " "),
                value: None,
                adjective: None,
            });
        }
        asked.read_degrees(&all);
        asked.read_comparisons(&all);
        asked
    }

    fn push(&mut self, word: AskedWord) {
        if !self.words.iter().any(|known| known.stem == word.stem) {
            self.words.push(word);
        }
    }

    /// Extremes: `longest`, `most recent`, `with the fewest`; which of two: `longer … or …`.
    fn read_degrees(&mut self, all: &[String]) {
        let or = all.iter().any(|word| word == "or");
        for (i, word) in all.iter().enumerate() {
            let before = i.checked_sub(1).map_or("", |before| all[before].as_str());
            match word.as_str() {
                "most" | "max" | "maximum" | "highest" | "top" => {
                    // `most recent` is read at `recent`, `at most` is a comparison.
                    if before != "at" {
                        self.extreme = Some([Extreme::Max; 2]);
                    }
                }
                "least" | "fewest" | "min" | "minimum" if before != "at" => {
                    self.extreme = Some([Extreme::Min; 2]);
                }
                _ => {}
            }
            let Some((found, degree)) = adjective(word) else {
                continue;
            };
            let degree = match before {
                "most" => Degree::Superlative,
                _ => degree,
            };
            match degree {
                Degree::Superlative => self.extreme = Some(found.extremes),
                Degree::Comparative if or => self.either = Some(found.extremes),
                Degree::Comparative | Degree::Plain => {}
            }
        }
        if or && self.either.is_none() {
            self.either = self.extreme;
        }
    }

    fn read_comparisons(&mut self, all: &[String]) {
        let mut found = None;
        for (i, word) in all.iter().enumerate() {
            let next = all.get(i + 1).map_or("", String::as_str);
            found = match (word.as_str(), next) {
                ("at", "least") => Some([Op::Ge; 2]),
                ("at", "most") => Some([Op::Le; 2]),
                ("over" | "above" | "past" | "under" | "below", _) if !number_follows(all, i) => {
                    found
                }
                ("more" | "greater" | "over" | "above" | "exceed" | "exceeding" | "exceeds", _) => {
                    Some([Op::Gt; 2])
                }
                ("less" | "fewer" | "under" | "below", _) => Some([Op::Lt; 2]),
                ("after" | "since" | "past", _) => Some([Op::Gt; 2]),
                ("before" | "until" | "till" | "prior", _) => Some([Op::Lt; 2]),
                _ => match adjective(word) {
                    Some((found, Degree::Comparative)) => Some(found.comparisons()),
                    _ => found,
                },
            };
        }
        self.compare = found;
        self.between = all.iter().any(|word| word == "between");
        self.than = all.iter().any(|word| word == "than");
    }
}

/// Whether one of the next three words has a digit.
fn number_follows(all: &[String], i: usize) -> bool {
    let next = all.iter().skip(i + 1).take(3);
    next.into_iter()
        .any(|word| word.bytes().any(|byte| byte.is_ascii_digit()))
}

/// Whether a question asks if something is so: it begins with an auxiliary verb.
fn judges(question: &str) -> bool {
    let all = words(question);
    let first = all
        .iter()
        .find(|word| !FILLERS.split(' ').any(|filler| filler == word.as_str()));
    first.is_some_and(|word| {
        matches!(
            word.as_str(),
            "is" | "are" | "was" | "were" | "do" | "does" | "did" | "has" | "have" | "had"
        )
    })
}
