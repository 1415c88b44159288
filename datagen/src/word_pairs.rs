//! Questions and the names of their queries' relations, from which translation tables are learned
//! (`toolbox::explain`). The graph of the questions is not needed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use toolbox::call::{Call, parse_call};
use toolbox::explain::WordPair;

use crate::Error;
use crate::fingerprint::is_handle;
use crate::question::GoldQuestion;
use crate::read::lines_of;
use crate::split::{relations, relations_of};

/// What published sets say about their questions in files of their own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WordHints {
    /// Labels of relations by local name: `P19` is `place of birth`.
    pub labels: BTreeMap<String, String>,
    /// Further mentions of entities, by the id of the question.
    pub mentions: BTreeMap<String, Vec<String>>,
    /// Ids of questions that are left out.
    pub skipped: BTreeSet<String>,
}

impl WordHints {
    /// Reads labels: a local name, a tab, the label; the first line is a heading.
    ///
    /// # Errors
    /// [`Error`] names the file.
    pub fn read_labels(&mut self, path: &Path) -> Result<(), Error> {
        lines_of(path, &mut |number, line| {
            let mut fields = line.split('\t');
            if let (Some(name), Some(label), true) = (fields.next(), fields.next(), number > 1) {
                self.labels.insert(name.to_owned(), label.to_owned());
            }
            Ok(())
        })
    }

    /// Reads mentions: JSON Lines of `{"id", "topic": {entity: mention}}`.
    ///
    /// # Errors
    /// [`Error`] names the file and the line.
    pub fn read_mentions(&mut self, path: &Path) -> Result<(), Error> {
        lines_of(path, &mut |number, line| {
            let record: Value = serde_json::from_str(line)
                .map_err(|error| Error::line(path, number, format!("not JSON: {error}")))?;
            let (Some(id), Some(topic)) = (record["id"].as_str(), record["topic"].as_object())
            else {
                return Err(Error::line(path, number, "`id` and `topic` are needed"));
            };
            let mentions = topic.values().filter_map(Value::as_str).map(str::to_owned);
            self.mentions
                .entry(id.to_owned())
                .or_default()
                .extend(mentions);
            Ok(())
        })
    }

    /// Reads ids to leave out: the first field of each line.
    ///
    /// # Errors
    /// [`Error`] names the file.
    pub fn read_skipped(&mut self, path: &Path) -> Result<(), Error> {
        lines_of(path, &mut |_, line| {
            let id = line.split('\t').next().unwrap_or_default();
            self.skipped.insert(id.to_owned());
            Ok(())
        })
    }

    /// The wording of a question; `None` if it is left out, if no relation of its query has a name
    /// in words, or if its query does not convert.
    #[must_use]
    pub fn wording(&self, question: &GoldQuestion) -> Option<WordPair> {
        if self.skipped.contains(&question.id) {
            return None;
        }
        let relations: Vec<String> = relations(question)
            .iter()
            .filter_map(|iri| self.name(iri))
            .collect();
        let mut text = question.question.clone();
        let topics = question.topics.iter().map(|topic| topic.label.as_str());
        let tagged = self.mentions.get(&question.id).into_iter().flatten();
        let mut mentions: Vec<&str> = topics.chain(tagged.map(String::as_str)).collect();
        // The longest first: a mention may contain another.
        mentions.sort_by_key(|mention| std::cmp::Reverse(mention.len()));
        for mention in mentions.into_iter().filter(|mention| !mention.is_empty()) {
            text = text.replace(mention, " ");
        }
        (!relations.is_empty()).then_some(WordPair {
            question: text,
            relations,
        })
    }

    /// The words of a relation: its label, if one is known, or its local name, if that has words.
    fn name(&self, iri: &str) -> Option<String> {
        let local = iri
            .trim_matches(['<', '>'])
            .rsplit(['/', '#', ':'])
            .next()?;
        if let Some(label) = self.labels.get(local) {
            return Some(label.clone());
        }
        let key = local.len() < 3 || local.chars().skip(1).all(|c| c.is_ascii_digit());
        (!key && local != "type").then(|| local.to_owned())
    }
}

/// The pair of a verified question: its masked wording, and the relations of the program in the
/// first of its example lines.
pub(crate) fn of_example(masked: &str, lines: &[u8]) -> Option<WordPair> {
    #[derive(Deserialize)]
    struct Line {
        program: Vec<String>,
    }
    let first = lines.split(|byte| *byte == b'\n').next()?;
    let line: Line = serde_json::from_slice(first).ok()?;
    let calls: Vec<Call> = line
        .program
        .iter()
        .filter_map(|text| parse_call(text).ok())
        .collect();
    let relations: Vec<String> = relations_of(&calls).into_iter().collect();
    let words: Vec<&str> = masked.split(' ').filter(|word| !is_handle(word)).collect();
    (!relations.is_empty()).then(|| WordPair {
        question: words.join(" "),
        relations,
    })
}
