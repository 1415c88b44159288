//! Our own format: one question per line, `{"id", "question", "sparql", "topic": {id: label},
//! "answers"?, "shape"?, "exclude"?}`, or a JSON array of the same. Topics that the query excludes
//! with `!=` are dropped from answers that contain anything else, or as `exclude` says (`never`,
//! `answer`, `others`, `every-step`). A record with `answers` but without `sparql` (or with a null
//! or empty one) is for evaluation only. Lines are read one at a time, so the file may have any
//! size.

use serde::Deserialize;
use serde_json::Value;
use toolbox::exec::ExcludeWhen;

use super::description::SourceFormat;
use super::file;
use super::json::{Fields, bad, get, question, read_records};
use super::reader::{Each, QuestionReader, ReadRequest};
use super::sample::{Likeness, Sample, SampleForm};
use crate::Error;
use crate::question::{GoldQuery, GoldQuestion};

pub(super) struct Jsonl;

const FORMAT: SourceFormat = SourceFormat {
    name: "jsonl",
    about: "questions of one's own",
    needs: "JSON Lines (or a JSON array) of `question` with `sparql` or `answers`, and optionally `id`, `topic`, `hops`, `shape`, `exclude`",
    folder: "every .jsonl",
    files: "*.jsonl",
    is_one: |name| name.ends_with(".jsonl"),
    example: r#"{"id": "q1", "question": "Who founded Arvel?", "sparql": "SELECT ?x { ex:arvel ex:founder ?x }", "topic": {"ex:arvel": "Arvel"}}"#,
    options: &[],
    fronts: &[],
    queries: true,
};

pub(super) const FIELDS: Fields = Fields {
    format: "jsonl",
    id: &["id"],
    question: &["question"],
    sparql: &["sparql"],
    topic: &["topic"],
    answers: &["answers"],
    hops: &["hops"],
    kind: &["shape", "kind", "type"],
    exclude: ExcludeWhen::Others,
};

impl QuestionReader for Jsonl {
    fn format(&self) -> &'static SourceFormat {
        &FORMAT
    }

    fn likeness(&self, sample: &Sample) -> Likeness {
        let needed = sample.has_each(&[&["question"], &["sparql", "answers"]]);
        Likeness::of(
            needed && sample.form == SampleForm::Array,
            needed && sample.form == SampleForm::Lines,
        )
    }

    fn read(&self, from: &ReadRequest<'_>, each: &mut Each<'_>) -> Result<(), Error> {
        if Sample::read(from.path)?.form == SampleForm::Array {
            return read_records(from.path, None, FIELDS.format, each, &mut record);
        }
        let mut any = false;
        file::each_line(from.path, &mut |number, line| {
            let read = serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"));
            let first = !std::mem::replace(&mut any, true);
            match read.and_then(|value| record(&value, number)) {
                Ok(question) => each(question),
                Err(message) if first => Err(Error::line(from.path, number, message)),
                Err(message) => each(bad(FIELDS.format, number, &message)),
            }
        })
    }
}

/// A record with a query, or with answers only.
fn record(value: &Value, number: usize) -> Result<GoldQuestion, String> {
    // Tables exported as JSON have every field in every record, null or empty if unused.
    let no_query = get(value, FIELDS.sparql)
        .is_none_or(|query| query.as_str().is_some_and(|text| text.trim().is_empty()));
    let mut made = if no_query && get(value, FIELDS.answers).is_some() {
        let mut with = value.clone();
        with["sparql"] = Value::Null;
        GoldQuestion {
            query: GoldQuery::AnswersOnly {
                aliases: Vec::new(),
            },
            ..question(&with, &FIELDS, number)?
        }
    } else {
        question(value, &FIELDS, number)?
    };
    if let Some(when) = value.get("exclude").filter(|when| !when.is_null()) {
        made.exclude =
            ExcludeWhen::deserialize(when).map_err(|error| format!("`exclude`: {error}"))?;
    }
    Ok(made)
}
