//! Creak in the form that the ODA study uses: a JSON array of claims (`sentence`), each true or
//! false (`label`), with `topic_entity`. There are no queries.

use serde_json::Value;

use super::description::SourceFormat;
use super::json::{JsonReader, blank, get, missing, plain, topics};
use super::reader::ReadRequest;
use super::sample::Likeness;
use crate::question::{GoldQuery, GoldQuestion};

pub(super) const CREAK: JsonReader = JsonReader {
    format: &FORMAT,
    wrapper: None,
    likeness: |sample| Likeness::certain(sample.array_of(&[&["sentence"], &["label"]])),
    question,
};

const FORMAT: SourceFormat = SourceFormat {
    name: "creak",
    about: "Creak (Wikidata), claims to check",
    needs: "a JSON array of `sentence` and `label` (true or false), with `topic_entity`",
    folder: "creak*.json",
    files: "creak*.json",
    is_one: |name| name.starts_with("creak") && name.ends_with(".json"),
    example: r#"{"ex_id": "dev_0", "sentence": "Arvel Tower stands in Lomen.", "label": "true", "entity": "Arvel Tower", "topic_entity": {"Q1": "Arvel Tower"}}"#,
    options: &[],
    fronts: &[],
    queries: false,
};

fn question(record: &Value, number: usize, _: &ReadRequest<'_>) -> Result<GoldQuestion, String> {
    let sentence = record["sentence"]
        .as_str()
        .map(str::trim)
        .ok_or_else(|| missing(&["sentence"]))?;
    let label = get(record, &["label"])
        .map(plain)
        .ok_or_else(|| missing(&["label"]))?
        .to_ascii_lowercase();
    if !matches!(label.as_str(), "true" | "false") {
        return Err(format!("`label` is `{label}`; it is `true` or `false`"));
    }
    Ok(GoldQuestion {
        question: sentence.to_owned(),
        query: GoldQuery::AnswersOnly {
            aliases: Vec::new(),
        },
        topics: get(record, &["topic_entity"])
            .map(topics)
            .unwrap_or_default(),
        answers: Some(vec![label]),
        kind: Some("claim".to_owned()),
        ..blank(
            FORMAT.name,
            get(record, &["ex_id"]).map_or_else(|| format!("creak-{number}"), plain),
        )
    })
}
