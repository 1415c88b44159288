//! Questions and the names of their queries' relations, from which translation tables are learned
//! (`toolbox::explain`). The graph of the questions is not needed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use toolbox::call::{Call, parse_call};
use toolbox::explain::WordPair;
use toolbox::wording::is_handle;

use crate::Error;
use crate::question::{GoldQuestion, Topic};
use crate::read::lines_of;
use crate::split::{relations, relations_of};

/// Facts about the questions of published sets, from separate files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WordHints {
    /// Labels of relations by local name: `P19` is `place of birth`.
    pub labels: BTreeMap<String, String>,
    /// Further mentions of entities, by the id of the question.
    pub mentions: BTreeMap<String, Vec<Topic>>,
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
            let mentions = topic.iter().filter_map(|(name, label)| {
                Some(Topic {
                    name: name.clone(),
                    label: label.as_str()?.to_owned(),
                })
            });
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
        let mut mentions: Vec<&str> = topics
            .chain(tagged.map(|topic| topic.label.as_str()))
            .collect();
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::question::GoldQuery;
    use toolbox::exec::ExcludeWhen;

    fn question(id: &str, wording: &str, topic: &str, sparql: &str) -> GoldQuestion {
        GoldQuestion {
            id: id.to_owned(),
            source: "test".to_owned(),
            question: wording.to_owned(),
            query: GoldQuery::Text(sparql.to_owned()),
            topics: vec![Topic {
                name: "http://e/topic".to_owned(),
                label: topic.to_owned(),
            }],
            answers: None,
            answers_bind: false,
            hops: None,
            kind: None,
            exclude: ExcludeWhen::Never,
        }
    }

    /// A question for a place of birth, by a relation whose name is a number.
    fn born() -> GoldQuestion {
        let sparql = "SELECT ?x WHERE { <http://e/topic> <http://e/prop/P19> ?x }";
        question("q1", "where was Ada Lovelace's Ada born", "Ada", sparql)
    }

    fn file(dir: &Path, name: &str, text: &str) -> PathBuf {
        let path = dir.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn words(text: &str) -> Vec<&str> {
        text.split_whitespace().collect()
    }

    #[test]
    fn labels_name_relations_that_have_only_a_number() {
        let mut hints = WordHints::default();
        assert_eq!(hints.wording(&born()), None, "P19 has no words");
        let dir = tempfile::tempdir().unwrap();
        let text = "P18\theading\nP19\tplace of birth\nno label\nP20\tplace of death\n";
        hints
            .read_labels(&file(dir.path(), "labels.tsv", text))
            .unwrap();
        let known: Vec<&str> = hints.labels.keys().map(String::as_str).collect();
        assert_eq!(known, ["P19", "P20"], "the first line is a heading");
        let pair = hints.wording(&born()).unwrap();
        assert_eq!(pair.relations, ["place of birth"]);
    }

    #[test]
    fn local_names_with_words_need_no_label() {
        let of = |relation: &str| {
            let sparql = format!("SELECT ?x WHERE {{ <http://e/topic> <{relation}> ?x }}");
            let asked = question("q", "where was Ada born", "Ada", &sparql);
            WordHints::default()
                .wording(&asked)
                .map(|pair| pair.relations)
        };
        assert_eq!(
            of("http://e/birthPlace"),
            Some(vec!["birthPlace".to_owned()])
        );
        assert_eq!(
            of("http://e/people.person.place_of_birth"),
            Some(vec!["people.person.place_of_birth".to_owned()])
        );
        assert_eq!(of("http://e/ns#to"), None, "too short to have words");
        assert_eq!(of("http://e/P106"), None);
    }

    #[test]
    fn names_of_entities_are_taken_out_the_longest_first() {
        let mut hints = WordHints::default();
        hints.labels.insert("P19".to_owned(), "birth".to_owned());
        let pair = hints.wording(&born()).unwrap();
        assert_eq!(
            words(&pair.question),
            ["where", "was", "Lovelace's", "born"],
            "the label of the topic"
        );
        let dir = tempfile::tempdir().unwrap();
        let text = "{\"id\":\"q1\",\"topic\":{\"Q7\":\"Ada Lovelace\",\"Q8\":\"\"}}\n\
                    {\"id\":\"q2\",\"topic\":{\"Q7\":\"born\"}}\n";
        hints
            .read_mentions(&file(dir.path(), "mentions.jsonl", text))
            .unwrap();
        let pair = hints.wording(&born()).unwrap();
        assert_eq!(
            words(&pair.question),
            ["where", "was", "'s", "born"],
            "and the mentions of this question"
        );
    }

    #[test]
    fn invalid_mentions_are_refused_with_their_line() {
        let dir = tempfile::tempdir().unwrap();
        for bad in [
            "{",
            "{\"id\":\"q1\"}",
            "{\"topic\":{}}",
            "{\"id\":7,\"topic\":{}}",
        ] {
            let text = format!("{{\"id\":\"q1\",\"topic\":{{}}}}\n{bad}\n");
            let path = file(dir.path(), "mentions.jsonl", &text);
            let error = WordHints::default()
                .read_mentions(&path)
                .unwrap_err()
                .to_string();
            assert!(error.contains("mentions.jsonl:2"), "{bad}: {error}");
        }
        let missing = dir.path().join("missing");
        assert!(WordHints::default().read_mentions(&missing).is_err());
        assert!(WordHints::default().read_labels(&missing).is_err());
        assert!(WordHints::default().read_skipped(&missing).is_err());
    }

    #[test]
    fn skipped_ids_are_left_out() {
        let mut hints = WordHints::default();
        hints.labels.insert("P19".to_owned(), "birth".to_owned());
        let dir = tempfile::tempdir().unwrap();
        let path = file(dir.path(), "skip.tsv", "q0\nq1\twhy it is left out\n");
        assert!(hints.wording(&born()).is_some());
        hints.read_skipped(&path).unwrap();
        assert_eq!(hints.wording(&born()), None);
        let mut other = born();
        other.id = "q10".to_owned();
        assert!(hints.wording(&other).is_some(), "another id");
    }

    #[test]
    fn queries_that_do_not_convert_have_no_wording() {
        let mut asked = born();
        asked.query = GoldQuery::Text("SELECT nothing".to_owned());
        let mut hints = WordHints::default();
        hints.labels.insert("P19".to_owned(), "birth".to_owned());
        assert_eq!(hints.wording(&asked), None);
    }

    #[test]
    fn examples_give_the_relations_of_their_first_line() {
        let lines = concat!(
            r#"{"program":["v0 = get_tail_entity(e0, film.directed_by)","v1 = get_head_entity(v0, person.spouse)","ans = end(v1)"]}"#,
            "\n",
            r#"{"program":["v0 = get_tail_entity(e0, film.written_by)"]}"#,
            "\n"
        );
        let pair = of_example("who directed e0 with e12 and echo", lines.as_bytes()).unwrap();
        assert_eq!(pair.relations, ["film.directed_by", "person.spouse"]);
        assert_eq!(pair.question, "who directed with and echo");
        assert_eq!(
            of_example("who is e0", b"{\"program\":[\"ans = end([])\"]}"),
            None
        );
        assert_eq!(of_example("who is e0", b"no line"), None);
    }
}
