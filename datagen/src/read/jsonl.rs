//! Our own format: one question a line, `{"id", "question", "sparql", "topic": {id: label}, "shape"?, "exclude"?}`. Topics that the query rules
//! out with `!=` are dropped from answers that hold something else, or where `exclude` says (`never`, `answer`, `others`, `every-step`).

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use toolbox::exec::ExcludeWhen;
use toolbox::kg::Kg;

use super::json::{Fields, bad, question};
use super::{Reader, file};
use crate::Error;
use crate::question::GoldQuestion;

pub(super) struct Jsonl;

const FIELDS: Fields = Fields {
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

impl Reader for Jsonl {
    fn format(&self) -> &'static str {
        FIELDS.format
    }

    fn about(&self) -> &'static str {
        "questions of one's own: JSON Lines with id, question, sparql, and optionally topic and shape"
    }

    fn read(&self, path: &Path, _kg: Option<&dyn Kg>) -> Result<Vec<GoldQuestion>, Error> {
        let text = file::text(path)?;
        let mut questions = Vec::new();
        for (number, line) in file::lines(&text) {
            let read = serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"));
            match read.and_then(|record| line_question(&record, number)) {
                Ok(question) => questions.push(question),
                Err(message) if questions.is_empty() => {
                    return Err(Error::line(path, number, format!("{message}; {}", file::looks_like(&text))));
                }
                Err(message) => questions.push(bad(FIELDS.format, number, &message)),
            }
        }
        if questions.is_empty() {
            return Err(Error::file(path, "the file is empty"));
        }
        Ok(questions)
    }
}

fn line_question(record: &Value, number: usize) -> Result<GoldQuestion, String> {
    let mut question = question(record, &FIELDS, number)?;
    if let Some(when) = record.get("exclude").filter(|when| !when.is_null()) {
        question.exclude = ExcludeWhen::deserialize(when).map_err(|error| format!("`exclude`: {error}"))?;
    }
    Ok(question)
}
