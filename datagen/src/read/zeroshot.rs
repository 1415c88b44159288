//! Zero-Shot RE in the form that the ODA study uses: T-REx's fields, and `template_questions`, the
//! first of which is the wording. There are no queries.

use super::description::SourceFormat;
use super::json::JsonReader;
use super::sample::Likeness;
use super::trex::slot;

pub(super) const ZERO_SHOT_RE: JsonReader = JsonReader {
    format: &FORMAT,
    wrapper: None,
    likeness: |sample| {
        Likeness::certain(sample.array_of(&[&["input"], &["answer"], &["template_questions"]]))
    },
    question: |record, number, _| {
        let mut made = slot(record, FORMAT.name, number)?;
        if let Some(wording) = record["template_questions"][0].as_str() {
            made.question = wording.trim().to_owned();
        }
        Ok(made)
    },
};

const FORMAT: SourceFormat = SourceFormat {
    name: "zeroshotre",
    about: "Zero-Shot RE (Wikidata), slot filling",
    needs: "a JSON array of `input`, `template_questions`, `topic_entity` and `answer`, with `alias`",
    folder: "Zero_Shot_RE*.json",
    files: "Zero_Shot_RE*.json",
    is_one: |name| name.replace(['_', '-'], "").starts_with("zeroshot") && name.ends_with(".json"),
    example: r#"{"input": "Arvel Tower [SEP] architect", "template_questions": ["Who was the architect of Arvel Tower?"], "topic_entity": {"Q1": "Arvel Tower"}, "answer": "Mira Sol"}"#,
    options: &[],
    fronts: &[],
    queries: false,
};
