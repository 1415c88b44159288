//! Translation tables: how probable it is that a question uses one word where a relation's name has
//! another, and the reverse (IBM model 1, Brown et al. 1993), learned from people's questions.

use std::sync::{Arc, LazyLock};

use kg::search::nearly;
use kg::words;
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};

use super::phrases::Phrases;
use super::vocabulary::{SYNONYMS, before_misspelt_ending, sides_of};
use crate::rank::stem;

/// Probabilities are stored as `-SCALE · ln p`, rounded, in one byte.
pub(super) const SCALE: f32 = 20.0;
/// The stored probability of a synonym: 0.25.
const SYNONYM: u8 = 28;
/// The first line of a table file.
pub(super) const HEADER: &str = "kgagent word tables 1";

/// Two translation tables over word stems.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WordTables {
    stems: FxHashMap<String, u32>,
    /// P(question word | relation word), by relation word and question word.
    to_question: FxHashMap<(u32, u32), u8>,
    /// P(relation word | question word), by question word and relation word.
    to_relation: FxHashMap<(u32, u32), u8>,
    /// For each question word, its best probability in `to_relation`.
    best: FxHashMap<u32, u8>,
    /// How the phrases of the synonyms are written.
    phrases: Phrases,
    /// See [`WordTables::name`].
    name: String,
}

/// A file that is not a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the word tables: {message}")]
pub struct TableError {
    /// Line number, counting from 1.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// A translation probability: given the first stem, that of the second.
pub(super) type Translation = (String, String, f32);

impl WordTables {
    /// The tables that ship with the program (`data/base/words.tsv` and `synonyms.txt`).
    ///
    /// # Panics
    /// If the files are damaged, which a test rules out before the program is built.
    #[must_use]
    pub fn base() -> Arc<Self> {
        static BASE: LazyLock<Arc<WordTables>> = LazyLock::new(|| {
            let text = include_str!("../../../data/base/words.tsv");
            let mut tables = WordTables::parse(text)
                .unwrap_or_else(|error| unreachable!("data/base/words.tsv: {error}"));
            tables
                .add_synonyms(SYNONYMS)
                .unwrap_or_else(|error| unreachable!("data/base/synonyms.txt: {error}"));
            Arc::new(tables)
        });
        Arc::clone(&BASE)
    }

    /// The name in traces: empty for the tables that ship with the program, otherwise a hash of those
    /// added to them.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The shipped tables with those of the file `text`.
    ///
    /// # Errors
    /// [`TableError`] names the first bad line.
    pub fn base_with(text: &str) -> Result<Arc<Self>, TableError> {
        let mut all = Self::base().with(&Self::parse(text)?);
        let hash = Sha256::digest(text.as_bytes());
        let bytes = hash.iter().take(6);
        all.name = bytes.map(|byte| format!("{byte:02x}")).collect();
        Ok(Arc::new(all))
    }

    /// These tables with those of `other`; where both know a pair, the higher probability counts.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let mut all = self.clone();
        all.phrases.extend(&other.phrases);
        let names: FxHashMap<u32, &str> = (other.stems.iter())
            .map(|(stem, &id)| (id, stem.as_str()))
            .collect();
        for to_question in [true, false] {
            let theirs = if to_question {
                &other.to_question
            } else {
                &other.to_relation
            };
            for (&(given, wanted), &stored) in theirs {
                let pair = (all.stem(names[&given]), all.stem(names[&wanted]));
                let mine = if to_question {
                    &mut all.to_question
                } else {
                    &mut all.to_relation
                };
                raise(mine, pair, stored);
                if !to_question {
                    all.note(pair.0, stored);
                }
            }
        }
        all
    }

    /// Number of stored probabilities.
    #[must_use]
    pub fn len(&self) -> usize {
        self.to_question.len() + self.to_relation.len()
    }

    /// Whether no probability is stored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// P(`question` | `relation`) of two stems; 0 if the pair was never seen.
    pub(super) fn question_given(&self, relation: &str, question: &str) -> f32 {
        self.look(&self.to_question, relation, question)
    }

    /// P(`relation` | `question`) of two stems; 0 if the pair was never seen.
    pub(super) fn relation_given(&self, question: &str, relation: &str) -> f32 {
        self.look(&self.to_relation, question, relation)
    }

    /// How surely a question word means a relation: the probability of its likeliest relation word.
    pub(super) fn known(&self, question: &str) -> f32 {
        let stem = self.stems.get(question);
        stem.and_then(|stem| self.best.get(stem))
            .map_or(0.0, |&stored| (-f32::from(stored) / SCALE).exp())
    }

    /// The stem of the tables that a misspelt stem means: the first one in order of letters that
    /// differs by one letter, else the longest one that it begins with, if only an ending follows.
    /// `None` for known stems and for short ones, which may be words of the graph: coral is not coal.
    pub(super) fn meant(&self, misspelt: &str) -> Option<String> {
        const SHORTEST: usize = 6;
        const ENDING: usize = 3;
        if misspelt.chars().count() < SHORTEST || self.stems.contains_key(misspelt) {
            return None;
        }
        let near = self
            .stems
            .keys()
            .filter(|stem| stem.len().abs_diff(misspelt.len()) <= 1 && nearly(misspelt, stem));
        let begins = || {
            let ends = misspelt.char_indices().rev().take(ENDING);
            ends.map(|(at, _)| &misspelt[..at])
                .find(|stem| stem.chars().count() >= SHORTEST && self.stems.contains_key(*stem))
        };
        let near = near.min().cloned();
        near.or_else(|| begins().map(str::to_owned))
            .or_else(|| before_misspelt_ending(misspelt, |stem| self.has(stem)).map(str::to_owned))
    }

    /// The number of words at the start of `words`, with their stems, that form a phrase of the tables,
    /// such as `come out`; the longest counts.
    pub(super) fn phrase(&self, words: &[String], stems: &[String]) -> Option<usize> {
        self.phrases.length(words, stems, |stems| self.has(stems))
    }

    fn look(&self, table: &FxHashMap<(u32, u32), u8>, given: &str, wanted: &str) -> f32 {
        let (Some(&given), Some(&wanted)) = (self.stems.get(given), self.stems.get(wanted)) else {
            return 0.0;
        };
        table
            .get(&(given, wanted))
            .map_or(0.0, |&stored| (-f32::from(stored) / SCALE).exp())
    }

    /// Reads tables from their text form: the header, then a line `q` (to question words) or `r`
    /// (to relation words), a stem, and pairs of a stem and its stored probability, all separated
    /// by tabs.
    ///
    /// # Errors
    /// [`TableError`] names the first bad line.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let mut tables = Self::default();
        let mut lines = text.lines().enumerate();
        let bad = |line: usize, message: &str| TableError {
            line: line + 1,
            message: message.to_owned(),
        };
        match lines.next() {
            Some((_, first)) if first.trim_end() == HEADER => {}
            _ => return Err(bad(0, &format!("it must be `{HEADER}`"))),
        }
        for (number, line) in lines {
            // In short fields, comparing each letter beats the search that a single `char` gets.
            let mut fields = line.split(['\t']);
            let to_question = match fields.next() {
                Some("q") => true,
                Some("r") => false,
                _ => return Err(bad(number, "it must begin with `q` or `r` and a tab")),
            };
            let given = fields
                .next()
                .ok_or_else(|| bad(number, "a stem is missing"))?;
            let given = tables.stem(given);
            let (mut best, mut pairs) = (u8::MAX, 0);
            while let Some(wanted) = fields.next() {
                pairs += 1;
                let stored = fields.next().and_then(|text| text.parse().ok());
                let stored =
                    stored.ok_or_else(|| bad(number, "a stem has no number from 0 to 255"))?;
                let wanted = tables.stem(wanted);
                let table = if to_question {
                    &mut tables.to_question
                } else {
                    &mut tables.to_relation
                };
                table.insert((given, wanted), stored);
                best = stored.min(best);
            }
            if pairs == 0 {
                return Err(bad(number, "a stem has no number from 0 to 255"));
            }
            if !to_question {
                tables.note(given, best);
            }
        }
        if !text.ends_with('\n') {
            let last = text.lines().count().saturating_sub(1);
            return Err(bad(last, "it is cut off: the last line has no end"));
        }
        Ok(tables)
    }

    /// Adds lines of relation words, a colon and question words that mean them; `_` joins the words of a phrase, and
    /// `#` begins a comment.
    ///
    /// # Errors
    /// [`TableError`] names the first bad line.
    fn add_synonyms(&mut self, text: &str) -> Result<(), TableError> {
        for (number, sides) in sides_of(text) {
            let Some((relations, questions)) = sides else {
                return Err(TableError {
                    line: number + 1,
                    message: "it must have words of relations, a colon and words of questions"
                        .to_owned(),
                });
            };
            let relations = words(relations);
            let relations: Vec<u32> = relations.iter().map(|one| self.stem(&stem(one))).collect();
            for question in questions.split_whitespace() {
                let written = words(question);
                let stems: Vec<String> = written.iter().map(|word| stem(word)).collect();
                let stems = stems.join(" ");
                let question = self.stem(&stems);
                self.phrases.add(&stems, written);
                self.note(question, SYNONYM);
                for &relation in &relations {
                    raise(&mut self.to_question, (relation, question), SYNONYM);
                    raise(&mut self.to_relation, (question, relation), SYNONYM);
                }
            }
        }
        Ok(())
    }

    /// Whether a stem occurs in the tables.
    pub(super) fn has(&self, stem: &str) -> bool {
        self.stems.contains_key(stem)
    }

    fn note(&mut self, question: u32, stored: u8) {
        let best = self.best.entry(question).or_insert(u8::MAX);
        *best = stored.min(*best);
    }

    fn stem(&mut self, stem: &str) -> u32 {
        if let Some(&known) = self.stems.get(stem) {
            return known;
        }
        let id = u32::try_from(self.stems.len()).unwrap_or(u32::MAX);
        self.stems.insert(stem.to_owned(), id);
        id
    }
}

/// The stems of all words of a text, in order.
pub(super) fn stems_of(text: &str) -> Vec<String> {
    words(text).iter().map(|word| stem(word)).collect()
}

/// Stores a probability if it is higher than the one known.
fn raise(table: &mut FxHashMap<(u32, u32), u8>, pair: (u32, u32), stored: u8) {
    let known = table.entry(pair).or_insert(u8::MAX);
    *known = stored.min(*known);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::super::learn::print;
    use super::*;

    /// SHA-256 of the tables that ship.
    const BASE: &str = "d116e3448164af22cf04dcabfa308c4a295a8c4b91d3a38b378a674145a59a7a";

    fn parsed(rows: &str) -> WordTables {
        WordTables::parse(&format!("{HEADER}\n{rows}")).unwrap()
    }

    fn error(text: &str) -> TableError {
        WordTables::parse(text).unwrap_err()
    }

    fn near(found: f32, wanted: f32) -> bool {
        (found - wanted).abs() < 0.03
    }

    fn pair(given: &str, wanted: &str, probability: f32) -> Translation {
        (given.to_owned(), wanted.to_owned(), probability)
    }

    #[test]
    fn the_tables_that_ship_parse_and_are_those_that_were_measured() {
        let text = include_str!("../../../data/base/words.tsv");
        let tables = WordTables::parse(text).unwrap();
        assert!(!tables.is_empty());
        let base = WordTables::base();
        assert!(base.len() > tables.len(), "with the synonyms");
        let hash: String = Sha256::digest(text.as_bytes())
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(
            hash, BASE,
            "data/base/words.tsv has changed. Make it again with `kgagent datagen words --source \
             FORMAT=PATH … --out data/base/words.tsv`; if the change is meant, measure again and \
             put its SHA-256 here"
        );
    }

    #[test]
    fn synonyms_raise_probabilities_in_both_directions() {
        let mut tables = parsed("q\tfilm\tmovi\t10\n");
        let lines = "# Comment: not read\nfilms works: movies flicks\n";
        tables.add_synonyms(lines).unwrap();
        let synonym = (-f32::from(SYNONYM) / SCALE).exp();
        assert!(near(synonym, 0.25));
        assert!(near(
            tables.question_given("film", &stem("flicks")),
            synonym
        ));
        assert!(near(
            tables.relation_given(&stem("flicks"), &stem("works")),
            synonym
        ));
        assert!(near(tables.known(&stem("flicks")), synonym));
        let known = (-10.0_f32 / SCALE).exp();
        assert!(
            near(tables.question_given("film", "movi"), known),
            "the higher one counts"
        );
        assert!(!tables.has("comment"));
        let bad = tables.add_synonyms("film: movie\nno colon\n").unwrap_err();
        assert_eq!(bad.line, 2);
    }

    #[test]
    fn errors_name_the_line() {
        let first = error("");
        assert_eq!(first.line, 1);
        assert!(first.message.contains(HEADER), "{first}");
        assert_eq!(error("kgagent word tables 2\nq\ta\tb\t1").line, 1);

        let kind = error(&format!("{HEADER}\nq\tfilm\tmovi\t3\nx\tfilm\tmovi\t3"));
        assert_eq!(kind.line, 3);
        assert!(kind.to_string().starts_with("line 3 of the word tables"));
        assert_eq!(error(&format!("{HEADER}\n\nq\tfilm")).line, 2);
        assert!(
            error(&format!("{HEADER}\nr"))
                .message
                .contains("stem is missing")
        );
        let cut = error(&format!("{HEADER}\nq\tfilm\tmovi\t21"));
        assert_eq!(cut.line, 2);
        assert!(cut.message.contains("cut off"), "{cut}");
        for row in [
            "q\ta",
            "q\ta\tb",
            "q\ta\tb\t256",
            "r\ta\tb\t-1",
            "r\ta\tb\tmuch",
            "q\ta\tb\t1\tc",
        ] {
            let found = error(&format!("{HEADER}\nq\tfilm\tmovi\t3\n{row}\n"));
            assert_eq!(found.line, 3, "{row}");
            assert!(found.message.contains("0 to 255"), "{row}: {found}");
        }
    }

    #[test]
    fn what_is_printed_is_read_again() {
        let text = print(
            vec![
                pair("film", "movi", 0.25),
                pair("birth", "#when", 0.5),
                pair("film", "flick", 0.5),
                pair("film", "cinema", 0.5),
            ],
            vec![pair("movi", "film", 1.0), pair("movi", "rare", 1e-9)],
        );
        assert_eq!(
            text,
            "kgagent word tables 1\nq\tbirth\t#when\t14\n\
             q\tfilm\tcinema\t14\tflick\t14\tmovi\t28\nr\tmovi\tfilm\t0\trare\t255\n"
        );
        let tables = WordTables::parse(&text).unwrap();
        assert_eq!(tables.len(), 6);
        assert!(near(tables.question_given("film", "movi"), 0.25));
        assert!(near(tables.question_given("birth", "#when"), 0.5));
        assert!(near(tables.relation_given("movi", "film"), 1.0));
        // The two directions are two tables, and unseen pairs have no probability.
        assert!(tables.relation_given("film", "movi") <= 0.0);
        assert!(tables.question_given("movi", "film") <= 0.0);
        assert!(tables.question_given("film", "never") <= 0.0);
        assert!(near(tables.known("movi"), 1.0), "the likeliest counts");
        assert!(tables.known("film") <= 0.0, "no question word");
        assert!(tables.known("never") <= 0.0);
    }

    #[test]
    fn an_empty_table_is_only_its_header() {
        let text = print(Vec::new(), Vec::new());
        assert_eq!(text, format!("{HEADER}\n"));
        let tables = WordTables::parse(&text).unwrap();
        assert!(tables.is_empty());
        assert_eq!(tables.meant("anything"), None);
    }

    #[test]
    fn of_two_tables_the_higher_probability_counts() {
        let mine = parsed("q\tfilm\tmovi\t10\tflick\t40\nr\tmovi\tfilm\t60\n");
        let theirs = parsed(
            "r\tmovi\tfilm\t20\tpictur\t5\nq\tother\tword\t7\nq\tfilm\tflick\t30\tmovi\t50\n",
        );
        for both in [mine.with(&theirs), theirs.with(&mine)] {
            let of = |stored: f32| (-stored / SCALE).exp();
            assert!(near(both.question_given("film", "movi"), of(10.0)));
            assert!(near(both.question_given("film", "flick"), of(30.0)));
            assert!(near(both.question_given("other", "word"), of(7.0)));
            assert!(near(both.relation_given("movi", "film"), of(20.0)));
            assert!(near(both.relation_given("movi", "pictur"), of(5.0)));
            assert!(near(both.known("movi"), of(5.0)));
            assert_eq!(both.len(), 5);
        }
        assert_eq!(mine.with(&WordTables::default()), mine);
    }

    #[test]
    fn misspelt_stems_mean_the_stem_that_differs_by_one_letter() {
        let tables = parsed("r\tdirect\tfilm\t3\nr\tpopul\tcensus\t3\nr\tsong\ttrack\t3\n");
        let meant = |stem| tables.meant(stem);
        assert_eq!(meant("direct"), None, "known");
        assert_eq!(meant("direect").as_deref(), Some("direct"), "one too many");
        assert_eq!(meant("durect").as_deref(), Some("direct"), "another letter");
        assert_eq!(meant("dirct"), None, "too short");
        assert_eq!(meant("zzzzzzz"), None, "like none");
        assert_eq!(meant("sung"), None, "too short to tell");
        assert_eq!(meant("populaton").as_deref(), Some("popul"), "the ending");
        assert_eq!(meant("populist"), None, "another word");
        let two = parsed("r\tdrapes\tx\t3\nr\tdraces\tx\t3\n");
        assert_eq!(
            two.meant("drates").as_deref(),
            Some("draces"),
            "the first one"
        );
    }
}
