//! Common parts of the JSON formats: records in an array, or in a list inside an object, with
//! fields of various names.

use std::fmt;
use std::path::Path;

use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use toolbox::exec::ExcludeWhen;

use super::description::SourceFormat;
use super::file;
use super::reader::{Each, QuestionReader, ReadRequest};
use super::sample::{Likeness, Sample};
use crate::question::{GoldQuery, GoldQuestion, Topic};
use crate::{Error, Refusal};

/// The names of a format's fields. Of several names, the first that a record has counts.
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

/// Makes a question of a record, given its number from 1; the error says what is wrong with it.
type MakeQuestion = fn(&Value, usize, &ReadRequest<'_>) -> Result<GoldQuestion, String>;

/// Reads a format whose files are lists of JSON records.
pub(super) struct JsonReader {
    pub format: &'static SourceFormat,
    /// The field of an object that has the list; `None` if the file is the list.
    pub wrapper: Option<&'static str>,
    pub likeness: fn(&Sample) -> Likeness,
    pub question: MakeQuestion,
}

impl QuestionReader for JsonReader {
    fn format(&self) -> &'static SourceFormat {
        self.format
    }

    fn likeness(&self, sample: &Sample) -> Likeness {
        (self.likeness)(sample)
    }

    fn read(&self, from: &ReadRequest<'_>, each: &mut Each<'_>) -> Result<(), Error> {
        let make = &mut |record: &Value, number| (self.question)(record, number, from);
        read_records(from.path, self.wrapper, self.format.name, each, make)
    }
}

/// Reads a format that is a JSON array of records with known fields.
pub(super) struct ArrayReader {
    pub format: &'static SourceFormat,
    pub fields: &'static Fields,
    /// Fields that only this format has.
    pub only_here: &'static [&'static str],
    /// Fields that this format never has.
    pub never_here: &'static [&'static str],
}

impl QuestionReader for ArrayReader {
    fn format(&self) -> &'static SourceFormat {
        self.format
    }

    fn likeness(&self, sample: &Sample) -> Likeness {
        let needed = sample.array_of(&[self.fields.question, self.fields.sparql]);
        let has = |fields: &[&str]| fields.iter().any(|field| sample.has(field));
        Likeness::of(
            needed,
            needed && has(self.only_here) && !has(self.never_here),
        )
    }

    fn read(&self, from: &ReadRequest<'_>, each: &mut Each<'_>) -> Result<(), Error> {
        let format = self.format.name;
        read_records(from.path, None, format, each, &mut |record, number| {
            question(record, self.fields, number)
        })
    }
}

/// Reads the records of a JSON array, or of the list `wrapper` inside an object, one at a time. A
/// record that `make` rejects is refused later; if the first one is rejected, the whole file is in
/// another format.
pub(super) fn read_records(
    path: &Path,
    wrapper: Option<&'static str>,
    format: &str,
    each: &mut Each<'_>,
    make: &mut dyn FnMut(&Value, usize) -> Result<GoldQuestion, String>,
) -> Result<(), Error> {
    let text = file::text(path)?;
    let mut visit = Visit {
        wrapper,
        number: 0,
        failed: None,
        found: false,
        each: &mut |record, number| match make(&record, number) {
            Ok(question) => each(question),
            Err(message) if number == 1 => Err(Error::record(path, 1, message)),
            Err(message) => each(bad(format, number, &message)),
        },
    };
    let mut deserializer = serde_json::Deserializer::from_str(&text);
    let parsed = deserializer
        .deserialize_any(&mut visit)
        .and_then(|()| deserializer.end());
    if let Some(error) = visit.failed {
        return Err(error);
    }
    let what = wrapper.map_or("a JSON array of questions".to_owned(), |name| {
        format!("a JSON object with a list `{name}`")
    });
    parsed.map_err(|error| Error::line(path, error.line(), format!("not {what}: {error}")))?;
    match (visit.found, visit.number) {
        (false, _) => Err(Error::file(path, format!("not {what}"))),
        (true, 0) => Err(Error::file(path, "the list of questions is empty")),
        _ => Ok(()),
    }
}

/// Finds the list of records and passes them on one by one, so that a large file is never held as a
/// tree.
struct Visit<'v> {
    wrapper: Option<&'static str>,
    number: usize,
    failed: Option<Error>,
    found: bool,
    each: &'v mut dyn FnMut(Value, usize) -> Result<(), Error>,
}

impl<'de> Visitor<'de> for &mut Visit<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.wrapper.is_some() {
            "an object"
        } else {
            "an array of records"
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        self.found = true;
        while let Some(record) = sequence.next_element::<Value>()? {
            self.number += 1;
            if let Err(error) = (self.each)(record, self.number) {
                self.failed = Some(error);
                return Err(serde::de::Error::custom("stopped"));
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some(wrapper) = self.wrapper else {
            return Err(serde::de::Error::custom(
                "an object where an array of records is expected",
            ));
        };
        while let Some(name) = map.next_key::<String>()? {
            if name == wrapper && !self.found {
                map.next_value_seed(List(&mut *self))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// The list in the wrapper field.
struct List<'l, 'v>(&'l mut Visit<'v>);

impl<'de> serde::de::DeserializeSeed<'de> for List<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self.0)
    }
}

/// A record that is not in its format; it is refused later.
pub(super) fn bad(format: &str, number: usize, message: &str) -> GoldQuestion {
    GoldQuestion {
        query: GoldQuery::Missing(Refusal::BadRecord, message.to_owned()),
        ..blank(format, format!("{format}-{number}"))
    }
}

/// A question of which only the id is known.
pub(super) fn blank(format: &str, id: String) -> GoldQuestion {
    GoldQuestion {
        id,
        source: format.to_owned(),
        question: String::new(),
        query: GoldQuery::Missing(Refusal::NoQuery, String::new()),
        topics: Vec::new(),
        answers: None,
        answers_bind: false,
        hops: None,
        kind: None,
        exclude: ExcludeWhen::Never,
    }
}

/// The first of these fields that exists and is not null.
pub(super) fn get<'r>(record: &'r Value, names: &[&str]) -> Option<&'r Value> {
    names
        .iter()
        .filter_map(|name| record.get(*name))
        .find(|value| !value.is_null())
}

/// The message that one of these fields is missing.
pub(super) fn missing(names: &[&str]) -> String {
    format!("`{}` is missing", names.join("` or `"))
}

/// A query text, or a note that the field is empty.
pub(super) fn query_text(text: Option<&Value>, field: &str) -> GoldQuery {
    match text.and_then(Value::as_str).map(str::trim) {
        Some(text) if !text.is_empty() => GoldQuery::Text(text.to_owned()),
        _ => GoldQuery::Missing(Refusal::NoQuery, format!("`{field}` is empty")),
    }
}

/// Reads one record; the error names what is missing.
pub(super) fn question(
    record: &Value,
    fields: &Fields,
    number: usize,
) -> Result<GoldQuestion, String> {
    if !record.is_object() {
        return Err("not a JSON object".to_owned());
    }
    let wording = get(record, fields.question)
        .and_then(Value::as_str)
        .ok_or_else(|| missing(fields.question))?;
    if !fields.sparql.iter().any(|name| record.get(*name).is_some()) {
        return Err(missing(fields.sparql));
    }
    let id = get(record, fields.id).map_or_else(|| format!("{}-{number}", fields.format), plain);
    Ok(GoldQuestion {
        question: wording.trim().to_owned(),
        query: query_text(get(record, fields.sparql), &fields.sparql.join("` or `")),
        topics: get(record, fields.topic).map(topics).unwrap_or_default(),
        answers: get(record, fields.answers).map(texts),
        hops: get(record, fields.hops)
            .and_then(Value::as_u64)
            .and_then(|hops| u32::try_from(hops).ok()),
        kind: get(record, fields.kind).map(plain),
        exclude: fields.exclude,
        ..blank(fields.format, id)
    })
}

/// A text or number as text.
pub(super) fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// `{id: label}`, or a list of ids.
pub(super) fn topics(value: &Value) -> Vec<Topic> {
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(name, label)| Topic {
                name: name.clone(),
                label: plain(label),
            })
            .collect(),
        Value::Array(list) => list
            .iter()
            .filter_map(Value::as_str)
            .map(|name| Topic {
                name: name.to_owned(),
                label: String::new(),
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Answers in all forms that occur: a text, a number, a list of them, `{id: label}`, or objects
/// with one of the known keys.
pub(super) fn texts(value: &Value) -> Vec<String> {
    const KEYS: [&str; 5] = [
        "answer",
        "entity_name",
        "EntityName",
        "answer_argument",
        "AnswerArgument",
    ];
    match value {
        Value::Array(list) => list.iter().flat_map(texts).collect(),
        Value::Object(map) => match KEYS
            .iter()
            .filter_map(|key| map.get(*key))
            .find(|value| !value.is_null())
        {
            Some(answer) => vec![plain(answer)],
            None => map
                .values()
                .filter(|value| !value.is_array() && !value.is_object())
                .map(plain)
                .collect(),
        },
        Value::Null => Vec::new(),
        other => vec![plain(other)],
    }
}
