//! T-REx in the form that the ODA study uses: a JSON array with `input` ("subject [SEP] relation"),
//! `topic_entity`, `answer` and its `alias`es. There are no queries.

use serde_json::Value;

use super::description::SourceFormat;
use super::json::{JsonReader, blank, get, missing, texts, topics};
use super::sample::{Likeness, Sample};
use crate::question::{GoldQuery, GoldQuestion};

pub(super) const TREX: JsonReader = JsonReader {
    format: &FORMAT,
    wrapper: None,
    likeness,
    question: |record, number, _| slot(record, FORMAT.name, number),
};

const FORMAT: SourceFormat = SourceFormat {
    name: "trex",
    about: "T-REx (Wikidata), slot filling",
    needs: "a JSON array of `input` (`subject [SEP] relation`), `topic_entity` and `answer`, with `alias`",
    folder: "T-REX*.json",
    files: "T-REX*.json",
    is_one: |name| {
        (name.starts_with("t-rex") || name.starts_with("trex")) && name.ends_with(".json")
    },
    example: r#"{"input": "Arvel Tower [SEP] architect", "topic_entity": {"Q1": "Arvel Tower"}, "answer": "Mira Sol", "alias": ["Mira Sol", "M. Sol"]}"#,
    options: &[],
    fronts: &[],
    queries: false,
};

/// Separates subject and relation.
pub(super) const SEPARATOR: &str = "[SEP]";

fn likeness(sample: &Sample) -> Likeness {
    let needed = sample.array_of(&[&["input"], &["answer"]]) && !sample.has("template_questions");
    let input = sample
        .record
        .as_ref()
        .and_then(|record| record.get("input")?.as_str());
    let separated = input.is_some_and(|input| input.contains(SEPARATOR));
    Likeness::of(needed, needed && separated)
}

/// A slot to fill: the question is the published input, its kind is the relation.
pub(super) fn slot(record: &Value, format: &str, number: usize) -> Result<GoldQuestion, String> {
    let input = record["input"]
        .as_str()
        .map(str::trim)
        .ok_or_else(|| missing(&["input"]))?;
    let answer = record
        .get("answer")
        .filter(|answer| !answer.is_null())
        .ok_or_else(|| missing(&["answer"]))?;
    let relation = input
        .split_once(SEPARATOR)
        .map(|(_, relation)| relation.trim().to_owned());
    Ok(GoldQuestion {
        question: input.to_owned(),
        query: GoldQuery::AnswersOnly {
            aliases: get(record, &["alias"]).map(texts).unwrap_or_default(),
        },
        topics: get(record, &["topic_entity", "topic_entity_ids"])
            .map(topics)
            .unwrap_or_default(),
        answers: Some(texts(answer)),
        kind: relation,
        ..blank(format, format!("{format}-{number}"))
    })
}
