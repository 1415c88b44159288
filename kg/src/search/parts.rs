//! Searches by a part of a name: one word of it, a misspelt word, its initials; and whether a word
//! belongs to the vocabulary of the graph.
//!
//! Each search reads one list of the index or a narrow range of it, so its cost depends on the
//! number of similar names and not on the number of nodes.

use std::cmp::Reverse;

use tantivy::collector::DocSetCollector;
use tantivy::query::FuzzyTermQuery;
use tantivy::schema::IndexRecordOption;
use tantivy::{SegmentReader, Term};

use super::index::LabelIndex;
use super::open::guarded;
use super::query::Hit;
use super::text::{allowed_edits, undistinguished};
use super::types::{FoundLabels, LabelMatch, MatchKind, NodeRole, SearchError};
use crate::search::normalise;

/// Maximum number of names that contain one word: a word of more names does not identify one.
const COMMON: usize = 4_096;
/// Maximum number of terms read for initials and for a stem. In graphs with more names, initials
/// are not unique anyway.
const TERMS: usize = 20_000;
/// Maximum number of terms read to complete a text, so that one letter costs milliseconds.
const COMPLETED: usize = 2_000;

impl LabelIndex {
    /// Nodes with a name that contains this normalised word, at most `k`, by decreasing degree.
    /// Scores are 1.
    ///
    /// # Errors
    /// [`SearchError::Damaged`] for an index whose files were changed.
    pub fn containing(&self, word: &str, k: usize, role: NodeRole) -> FoundLabels {
        guarded(|| {
            let term = Term::from_field_text(self.fields.words, word);
            let mut hits = Vec::new();
            for (ord, reader) in self.reader.searcher().segment_readers().iter().enumerate() {
                let index = reader.inverted_index(self.fields.words)?;
                let Some(info) = index.get_term_info(&term)? else {
                    continue;
                };
                if info.doc_freq as usize > COMMON {
                    return Ok(Vec::new());
                }
                let postings =
                    index.read_postings_from_terminfo(&info, IndexRecordOption::Basic)?;
                self.collect(ord, postings, 1.0, role, &mut hits);
            }
            self.by_degree(hits, k)
        })
    }

    /// Nodes with a name that contains a word within a few edits of this normalised word, at most
    /// `k`, by decreasing degree. Scores are 1.
    ///
    /// # Errors
    /// [`SearchError::Damaged`] for an index whose files were changed.
    pub fn resembling(&self, word: &str, k: usize, role: NodeRole) -> FoundLabels {
        guarded(|| {
            let allowed = allowed_edits(word.chars().count());
            // tantivy's automaton panics on an index without documents.
            if allowed == 0 || self.is_empty() {
                return Ok(Vec::new());
            }
            let term = Term::from_field_text(self.fields.words, word);
            let query = FuzzyTermQuery::new(term, allowed, true);
            let found = self.reader.searcher().search(&query, &DocSetCollector)?;
            let hits = found.into_iter().filter_map(|at| self.hit(at, 1.0, role));
            self.by_degree(hits.collect(), k)
        })
    }

    /// Nodes with a name that begins with this text in normal form, then nodes with a word in their
    /// name that does; at most `k`, by decreasing degree. Scores are 1. Reads a limited number of
    /// names, so the list may lack some for a very short text.
    ///
    /// # Errors
    /// [`SearchError::Damaged`] for an index whose files were changed.
    pub fn completing(&self, text: &str, k: usize, role: NodeRole) -> FoundLabels {
        guarded(|| {
            let normal = normalise(text);
            let mut found: Vec<LabelMatch> = Vec::new();
            if normal.is_empty() {
                return Ok(found);
            }
            for field in [self.fields.name, self.fields.words] {
                let mut hits = Vec::new();
                for (ord, reader) in self.reader.searcher().segment_readers().iter().enumerate() {
                    let index = reader.inverted_index(field)?;
                    let range = index.terms().range().ge(normal.as_bytes());
                    let mut terms = range.into_stream()?;
                    let mut read = 0;
                    while read < COMPLETED && terms.advance() {
                        read += 1;
                        if !terms.key().starts_with(normal.as_bytes()) {
                            break;
                        }
                        let postings = index
                            .read_postings_from_terminfo(terms.value(), IndexRecordOption::Basic)?;
                        self.collect(ord, postings, 1.0, role, &mut hits);
                    }
                }
                for one in self.by_degree(hits, k)? {
                    if !found.iter().any(|known| known.node == one.node) {
                        found.push(one);
                    }
                }
            }
            found.truncate(k);
            Ok(found)
        })
    }

    /// Nodes with a name of several words whose initials are these letters, with or without the
    /// words `and`, `of` and `the`; at most `k`, by decreasing degree. Empty if the graph has too
    /// many names with the first letter. Scores are 1.
    ///
    /// # Errors
    /// [`SearchError::Damaged`] for an index whose files were changed.
    pub fn initials(&self, letters: &str, k: usize, role: NodeRole) -> FoundLabels {
        guarded(|| {
            let Some(first) = letters.bytes().next().filter(u8::is_ascii_lowercase) else {
                return Ok(Vec::new());
            };
            let mut hits = Vec::new();
            for (ord, reader) in self.reader.searcher().segment_readers().iter().enumerate() {
                let index = reader.inverted_index(self.fields.name)?;
                let range = index.terms().range().ge([first]).lt([first + 1]);
                let mut names = range.into_stream()?;
                let mut read = 0;
                while names.advance() {
                    read += 1;
                    if read > TERMS {
                        return Ok(Vec::new());
                    }
                    if !std::str::from_utf8(names.key()).is_ok_and(|name| begins(name, letters)) {
                        continue;
                    }
                    let postings = index
                        .read_postings_from_terminfo(names.value(), IndexRecordOption::Basic)?;
                    self.collect(ord, postings, 1.0, role, &mut hits);
                }
            }
            self.by_degree(hits, k)
        })
    }

    /// Whether the name of a class or of a relation contains a word that starts with `prefix` and
    /// for which `same` holds.
    ///
    /// # Errors
    /// [`SearchError::Damaged`] for an index whose files were changed.
    pub fn is_vocabulary(
        &self,
        prefix: &str,
        same: &dyn Fn(&str) -> bool,
    ) -> Result<bool, SearchError> {
        guarded(|| {
            for (ord, reader) in self.reader.searcher().segment_readers().iter().enumerate() {
                if self.names_vocabulary(ord, reader, prefix, same)? {
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }

    fn names_vocabulary(
        &self,
        ord: usize,
        reader: &SegmentReader,
        prefix: &str,
        same: &dyn Fn(&str) -> bool,
    ) -> Result<bool, SearchError> {
        let index = reader.inverted_index(self.fields.words)?;
        let mut words = index.terms().range().ge(prefix).into_stream()?;
        for _ in 0..TERMS {
            if !words.advance() || !words.key().starts_with(prefix.as_bytes()) {
                break;
            }
            if !std::str::from_utf8(words.key()).is_ok_and(same) {
                continue;
            }
            for role in [NodeRole::Class, NodeRole::Relation] {
                let postings =
                    index.read_postings_from_terminfo(words.value(), IndexRecordOption::Basic)?;
                let mut hits = Vec::new();
                self.collect(ord, postings, 1.0, role, &mut hits);
                if !hits.is_empty() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn by_degree(&self, mut hits: Vec<Hit>, k: usize) -> FoundLabels {
        hits.sort_by_key(|hit| (Reverse(hit.degree), hit.node, hit.at));
        hits.truncate(k);
        let score = |_: &Hit, _: &str| Some((1.0, MatchKind::Partial));
        self.best(&self.reader.searcher(), hits, k, score)
    }
}

/// Whether the words of a name begin with these letters, with or without the small words.
fn begins(name: &str, letters: &str) -> bool {
    let all = || name.split(' ');
    let of = |words: &mut dyn Iterator<Item = &str>| {
        words
            .filter_map(|word| word.chars().next())
            .eq(letters.chars())
    };
    all().nth(1).is_some()
        && (of(&mut all()) || of(&mut all().filter(|word| !matches!(*word, "and" | "of" | "the"))))
}

/// The normal forms under which a name may be written: the whole, and without the part that
/// distinguishes it from equal names.
#[must_use]
pub fn forms_of(name: &str) -> Vec<String> {
    let mut forms = vec![normalise(name)];
    forms.extend(undistinguished(name).map(normalise));
    forms.retain(|form| !form.is_empty());
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initials_may_skip_small_words() {
        assert!(begins("united states of america", "usa"));
        assert!(begins("united states of america", "usoa"));
        assert!(begins("united kingdom", "uk"));
        assert!(!begins("united kingdom", "u") && !begins("usa", "u"));
    }

    #[test]
    fn a_name_is_also_written_without_its_distinguishing_part() {
        assert_eq!(
            forms_of("Titanic (1997 film)"),
            ["titanic 1997 film", "titanic"]
        );
        assert!(forms_of("?!").is_empty());
    }
}
