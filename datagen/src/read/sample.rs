//! The beginning of a question file: enough for every reader to recognise its format.

use std::cell::RefCell;
use std::fmt;
use std::io::Read;
use std::path::Path;

use common::input::without_mark;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::file;
use crate::{Error, limits};

/// The layout of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleForm {
    /// A JSON array of records.
    Array,
    /// A JSON object; [`Sample::wrapper`] names the field with its list of records, if it has one.
    Object,
    /// One JSON object per line.
    Lines,
    /// Anything else.
    Text,
}

/// The beginning of a file.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The layout.
    pub form: SampleForm,
    /// The field of a JSON object that contains the list of records.
    pub wrapper: Option<String>,
    /// The first record of a JSON file, if it is an object.
    pub record: Option<Map<String, Value>>,
    /// The first non-blank line.
    pub line: String,
    /// Line and reason if the JSON breaks before its first record.
    pub broken: Option<(usize, String)>,
}

/// How likely a file is in a reader's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    /// Something that the format needs is missing.
    No,
    /// It has the fields that the format needs; another format may fit too.
    Could,
    /// It has something that only this format has.
    Sure,
}

impl Likeness {
    /// The likeness of a file: whether it has the fields that the format needs, and fields that
    /// only this format has.
    pub(super) fn of(needed: bool, unique: bool) -> Self {
        match (needed, unique) {
            (_, true) => Self::Sure,
            (true, false) => Self::Could,
            (false, false) => Self::No,
        }
    }

    /// The likeness of a file whose fields no other format has.
    pub(super) fn certain(is_one: bool) -> Self {
        Self::of(is_one, is_one)
    }
}

impl Sample {
    /// Reads the beginning of a file, compressed or not.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let mut bytes = Vec::new();
        file::open(path)?
            .take(limits::SAMPLE_BYTES)
            .read_to_end(&mut bytes)
            .map_err(Error::io(path))?;
        Ok(Self::of(&String::from_utf8_lossy(&bytes)))
    }

    /// The sample of a text, which may end anywhere.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let text = without_mark(text);
        let line = file::lines(text)
            .next()
            .map_or("", |(_, line)| line.trim())
            .to_owned();
        let plain = |form, record| Self {
            form,
            wrapper: None,
            record,
            line: line.clone(),
            broken: None,
        };
        if !line.starts_with(['{', '[']) {
            return plain(SampleForm::Text, None);
        }
        let peek = Peek::default();
        // A data error means that reading stopped on purpose after the first record; any other
        // error means broken JSON.
        let stopped = serde::Deserializer::deserialize_any(
            &mut serde_json::Deserializer::from_str(text),
            Outer(&peek),
        )
        .err();
        let (wrapper, record) = (peek.wrapper.into_inner(), peek.record.into_inner());
        let broken = stopped
            .filter(|error| !error.is_data() && record.is_none())
            .map(|error| (error.line(), error.to_string()));
        if line.starts_with('[') {
            return Self {
                broken,
                ..plain(SampleForm::Array, record)
            };
        }
        // If the first line is a whole object, the file has one record per line, unless this line
        // is alone and contains the list of a published set.
        let alone = file::lines(text).nth(1).is_none();
        match serde_json::from_str::<Map<String, Value>>(&line) {
            Ok(own) if !(alone && is_wrapper(wrapper.as_deref())) => {
                plain(SampleForm::Lines, Some(own))
            }
            _ => Self {
                wrapper,
                broken,
                ..plain(SampleForm::Object, record)
            },
        }
    }

    /// Whether the first record has a field.
    #[must_use]
    pub fn has(&self, field: &str) -> bool {
        self.record
            .as_ref()
            .is_some_and(|record| record.contains_key(field))
    }

    /// Whether the file is a JSON array whose first record has a field of each group.
    #[must_use]
    pub fn array_of(&self, groups: &[&[&str]]) -> bool {
        self.form == SampleForm::Array && self.has_each(groups)
    }

    /// Whether the first record has a field of each group.
    #[must_use]
    pub fn has_each(&self, groups: &[&[&str]]) -> bool {
        self.record.is_some()
            && groups
                .iter()
                .all(|names| names.iter().any(|name| self.has(name)))
    }

    /// The layout and fields in words, for messages.
    #[must_use]
    pub fn describe(&self) -> String {
        let form = match self.form {
            _ if self.line.is_empty() => return "the file is empty".to_owned(),
            _ if let Some((_, reason)) = &self.broken => {
                return format!("it begins like JSON but is broken: {reason}");
            }
            SampleForm::Array => "a JSON array".to_owned(),
            SampleForm::Lines => "JSON Lines".to_owned(),
            SampleForm::Object => self
                .wrapper
                .as_ref()
                .map_or("a JSON object".to_owned(), |name| {
                    format!("a JSON object with a list `{name}`")
                }),
            SampleForm::Text => {
                return format!(
                    "it begins with `{}`",
                    self.line.chars().take(60).collect::<String>()
                );
            }
        };
        match &self.record {
            Some(record) => {
                let fields: Vec<&str> = record.keys().take(8).map(String::as_str).collect();
                format!("it is {form} of {}", fields.join(", "))
            }
            None => format!("it is {form} without records"),
        }
    }

    /// The kind of graph that the file is, if it is a graph and not a question file.
    #[must_use]
    pub fn graph(&self) -> Option<&'static str> {
        let line = self.line.as_str();
        let (bars, tabs) = (line.matches('|').count(), line.matches('\t').count());
        if line.starts_with("@prefix") || line.starts_with("PREFIX") && line.ends_with('.') {
            Some("a Turtle graph")
        } else if line.starts_with('<') && line.ends_with('.') {
            Some("an N-Triples graph")
        } else if self.form == SampleForm::Object && line.contains("\"concepts\"") {
            Some("KQA Pro's kb.json")
        } else if self.form == SampleForm::Text && bars == 2 && tabs == 0 {
            Some("a MetaQA graph (`s|r|o`)")
        } else if self.form == SampleForm::Text && tabs == 2 && !line.contains('#') {
            Some("a graph of tab-separated triples")
        } else {
            None
        }
    }
}

/// Whether a published set keeps its questions in this field.
fn is_wrapper(name: Option<&str>) -> bool {
    name.is_some_and(|name| name.eq_ignore_ascii_case("questions"))
}

/// What a JSON text contains up to its first record.
#[derive(Default)]
struct Peek {
    wrapper: RefCell<Option<String>>,
    record: RefCell<Option<Map<String, Value>>>,
}

/// Visits the outermost value.
struct Outer<'p>(&'p Peek);

/// Visits a field of the outermost object.
struct Field<'p>(&'p Peek, String);

/// Ends the visit early.
fn seen<E: de::Error>() -> E {
    E::custom("seen enough")
}

impl<'de> Visitor<'de> for Outer<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("records")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        if let Some(Value::Object(record)) = sequence.next_element::<Value>()? {
            self.0.record.replace(Some(record));
        }
        Err(seen())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            map.next_value_seed(Field(self.0, name))?;
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Field<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Field<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        match sequence.next_element::<Value>()? {
            Some(Value::Object(record)) => {
                self.0.wrapper.replace(Some(self.1));
                self.0.record.replace(Some(record));
                Err(seen())
            }
            Some(_) => {
                while sequence.next_element::<IgnoredAny>()?.is_some() {}
                Ok(())
            }
            None => {
                if is_wrapper(Some(&self.1)) {
                    self.0.wrapper.replace(Some(self.1));
                }
                Ok(())
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_distinguished() {
        for (text, form, wrapper, field) in [
            (
                "[{\"a\": 1, \"b\": [1, 2]}, {\"a\": 2}]",
                SampleForm::Array,
                None,
                Some("b"),
            ),
            (
                "[\n  {\n    \"a\": 1\n  },\n  {\n    \"a",
                SampleForm::Array,
                None,
                Some("a"),
            ),
            (
                "{\"a\": 1}\n{\"a\": 2}\n",
                SampleForm::Lines,
                None,
                Some("a"),
            ),
            ("{\"a\": 1}\n", SampleForm::Lines, None, Some("a")),
            (
                "{\"topics\": [{\"x\": 1}], \"a\": 1}\n",
                SampleForm::Lines,
                None,
                Some("a"),
            ),
            (
                "{\"dataset\": {\"id\": \"x\"}, \"questions\": [{\"id\": 1}",
                SampleForm::Object,
                Some("questions"),
                Some("id"),
            ),
            (
                "{\n\"Version\": \"1\",\n\"Questions\": [{\"QuestionId\": 1}]}",
                SampleForm::Object,
                Some("Questions"),
                Some("QuestionId"),
            ),
            (
                "{\"questions\": []}",
                SampleForm::Object,
                Some("questions"),
                None,
            ),
            ("\u{feff}\n[ ]", SampleForm::Array, None, None),
            ("a,b\n", SampleForm::Text, None, None),
            ("", SampleForm::Text, None, None),
        ] {
            let sample = Sample::of(text);
            assert_eq!(
                (sample.form, sample.wrapper.as_deref()),
                (form, wrapper),
                "{text}"
            );
            assert!(
                field.is_none_or(|field| sample.has(field)),
                "{text}: {sample:?}"
            );
        }
    }
}
