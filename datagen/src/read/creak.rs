//! Creak in the form that the ODA study uses: a JSON array of claims (`sentence`), each true or
//! false (`label`), with `topic_entity`. There are no queries.

use serde_json::Value;

use super::description::SourceFormat;
use super::json::{blank, get, missing, plain, read_records, topics};
use super::reader::{Each, QuestionReader, ReadRequest};
use super::sample::{Likeness, Sample};
use crate::Error;
use crate::question::{GoldQuery, GoldQuestion};

pub(super) struct Creak;

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

impl QuestionReader for Creak {
    fn format(&self) -> &'static SourceFormat {
        &FORMAT
    }

    fn likeness(&self, sample: &Sample) -> Likeness {
        let needed = sample.array_of(&[&["sentence"], &["label"]]);
        Likeness::of(needed, needed)
    }

    fn read(&self, from: &ReadRequest<'_>, each: &mut Each<'_>) -> Result<(), Error> {
        read_records(from.path, None, FORMAT.name, each, &mut question)
    }
}

fn question(record: &Value, number: usize) -> Result<GoldQuestion, String> {
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
