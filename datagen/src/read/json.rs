//! What the JSON formats have in common: an array of flat records whose fields go by different names.

use std::path::Path;

use serde_json::Value;
use toolbox::exec::ExcludeWhen;

use super::file;
use crate::question::{GoldQuery, GoldQuestion, Topic};
use crate::{Error, Refusal};

/// The names of a format's fields; of several names the first that a record has counts.
pub(super) struct Fields {
    pub format: &'static str,
    pub id: &'static [&'static str],
    pub question: &'static [&'static str],
    pub sparql: &'static [&'static str],
    pub topic: &'static [&'static str],
    pub answers: &'static [&'static str],
    pub hops: &'static [&'static str],
    pub kind: &'static [&'static str],
    pub exclude: ExcludeWhen,
}

/// Reads a JSON array of records.
pub(super) fn read_array(path: &Path, fields: &Fields) -> Result<Vec<GoldQuestion>, Error> {
    let text = file::text(path)?;
    let wrong = |message: &str| format!("{message}; {}", file::looks_like(&text));
    let records = match serde_json::from_str::<Value>(&text) {
        Ok(Value::Array(records)) => records,
        Ok(_) => return Err(Error::line(path, 1, wrong(&format!("{} is a JSON array of questions", fields.format)))),
        Err(error) => return Err(Error::line(path, error.line(), wrong(&format!("not a JSON array: {error}")))),
    };
    if records.is_empty() {
        return Err(Error::file(path, "the array is empty"));
    }
    let mut questions = Vec::with_capacity(records.len());
    for (i, record) in records.iter().enumerate() {
        match question(record, fields, i + 1) {
            Ok(question) => questions.push(question),
            Err(message) if i == 0 => return Err(Error::record(path, 1, wrong(&message))),
            Err(message) => questions.push(bad(fields.format, i + 1, &message)),
        }
    }
    Ok(questions)
}

/// A record that is not in its format: read, and refused later.
pub(super) fn bad(format: &str, number: usize, message: &str) -> GoldQuestion {
    GoldQuestion {
        id: format!("{format}-{number}"),
        source: format.to_owned(),
        question: String::new(),
        query: GoldQuery::Missing(Refusal::BadRecord, message.to_owned()),
        topics: Vec::new(),
        answers: None,
        answers_bind: false,
        hops: None,
        kind: None,
        exclude: ExcludeWhen::Never,
    }
}

/// One record; the error says what it lacks.
pub(super) fn question(record: &Value, fields: &Fields, number: usize) -> Result<GoldQuestion, String> {
    let get = |names: &[&str]| names.iter().find_map(|name| record.get(*name)).filter(|value| !value.is_null());
    let need = |names: &[&str]| format!("`{}` is missing", names.join("` or `"));
    if !record.is_object() {
        return Err("not a JSON object".to_owned());
    }
    let wording = get(fields.question).and_then(Value::as_str).ok_or_else(|| need(fields.question))?;
    if !fields.sparql.iter().any(|name| record.get(*name).is_some()) {
        return Err(need(fields.sparql));
    }
    let query = match get(fields.sparql).and_then(Value::as_str).map(str::trim) {
        Some(text) if !text.is_empty() => GoldQuery::Text(text.to_owned()),
        _ => GoldQuery::Missing(Refusal::NoQuery, format!("`{}` is empty", fields.sparql.join("` or `"))),
    };
    let id = get(fields.id).map_or_else(|| format!("{}-{number}", fields.format), plain);
    Ok(GoldQuestion {
        id,
        source: fields.format.to_owned(),
        question: wording.trim().to_owned(),
        query,
        topics: get(fields.topic).map(topics).unwrap_or_default(),
        answers: get(fields.answers).map(texts),
        answers_bind: false,
        hops: get(fields.hops).and_then(Value::as_u64).and_then(|hops| u32::try_from(hops).ok()),
        kind: get(fields.kind).map(plain),
        exclude: fields.exclude,
    })
}

/// A text or number as text.
pub(super) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// `{id: label}`, or a list of ids.
pub(super) fn topics(value: &Value) -> Vec<Topic> {
    match value {
        Value::Object(map) => map.iter().map(|(name, label)| Topic { name: name.clone(), label: plain(label) }).collect(),
        Value::Array(list) => {
            list.iter().filter_map(Value::as_str).map(|name| Topic { name: name.to_owned(), label: String::new() }).collect()
        }
        _ => Vec::new(),
    }
}

/// Answers in the forms that occur: a text, a number, a list of them, `{id: label}`, or objects with one of the known keys.
fn texts(value: &Value) -> Vec<String> {
    const KEYS: [&str; 3] = ["answer", "entity_name", "answer_argument"];
    match value {
        Value::Array(list) => list.iter().flat_map(texts).collect(),
        Value::Object(map) => match KEYS.iter().find_map(|key| map.get(*key)) {
            Some(answer) => vec![plain(answer)],
            None => map.values().map(plain).collect(),
        },
        Value::Null => Vec::new(),
        other => vec![plain(other)],
    }
}
