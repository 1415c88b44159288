//! ODA's JSON layouts (rules B.5): `{entity: [[head, relation, tail], …]}` and `{id: label}`,
//! written and read as streams.
//!
//! Names: Wikidata's `Q42` and `P31` and Freebase's `m.02x` and `people.person.x` are written as
//! they are, other nodes with their full IRI. Any other tail is a literal, written as its lexical
//! form: the layout cannot express datatypes and languages (N-Triples can).

use std::fmt;
use std::io::Read;

use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use crate::names::{expand, text_iri};
use crate::term::{Literal, RDFS_LABEL, Term};
use crate::value::FREEBASE;

const WIKIDATA: &str = "http://www.wikidata.org/entity/";
const WIKIDATA_DIRECT: &str = "http://www.wikidata.org/prop/direct/";

/// The layout of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OdaKind {
    /// Entities with their triples.
    Triples,
    /// Ids with their labels.
    Labels,
}

/// A file in ODA's layout cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct OdaLayoutError {
    /// The line, from 1; many files have only one.
    pub line: usize,
    /// The error and, if possible, the correct form.
    pub message: String,
}

/// The name of a node or relation in ODA's layout.
#[must_use]
pub(super) fn write_name(term: &Term) -> String {
    match term {
        Term::Iri(iri) => {
            let local = |namespace: &str| {
                iri.strip_prefix(namespace)
                    .filter(|local| read_iri(local).as_deref() == Some(iri))
                    .map(str::to_owned)
            };
            [WIKIDATA, WIKIDATA_DIRECT, FREEBASE]
                .into_iter()
                .find_map(local)
                .unwrap_or_else(|| iri.clone())
        }
        Term::Blank(label) => format!("_:{label}"),
        Term::Literal(literal) => literal.lexical.clone(),
    }
}

/// The IRI of a name, if the layout knows its form.
fn read_iri(name: &str) -> Option<String> {
    let digits = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
    let mut chars = name.chars();
    match (chars.next()?, chars.as_str()) {
        ('Q' | 'L', rest) if digits(rest) => return Some(format!("{WIKIDATA}{name}")),
        ('P', rest) if digits(rest) => return Some(format!("{WIKIDATA_DIRECT}{name}")),
        _ => {}
    }
    let plain = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    let parts: Vec<&str> = name.split('.').collect();
    match parts[..] {
        ["m" | "g", id] if plain(id) => return Some(format!("{FREEBASE}{name}")),
        // A domain, a type and a property. A sentence with dots contains spaces; a number starts
        // with a digit.
        [_, _, _, ..]
            if parts.iter().all(|part| plain(part))
                && name.starts_with(|c: char| c.is_ascii_lowercase()) =>
        {
            return Some(format!("{FREEBASE}{name}"));
        }
        _ => {}
    }
    if name.contains(char::is_whitespace) {
        return None;
    }
    let (scheme, rest) = name.split_once(':')?;
    match scheme {
        "http" | "https" | "urn" => Some(name.to_owned()),
        _ => expand(scheme)
            .filter(|_| !rest.is_empty())
            .map(|namespace| format!("{namespace}{rest}")),
    }
}

fn node(name: &str) -> Term {
    match name.strip_prefix("_:") {
        Some(label) => Term::Blank(label.to_owned()),
        None => Term::Iri(read_iri(name).unwrap_or_else(|| text_iri(name))),
    }
}

fn tail(name: &str) -> Term {
    match (name.strip_prefix("_:"), read_iri(name)) {
        (Some(label), _) => Term::Blank(label.to_owned()),
        (None, Some(iri)) => Term::Iri(iri),
        (None, None) => Term::Literal(Literal::plain(name)),
    }
}

/// Reads a file in either layout and passes its triples on as they are read.
pub struct OdaReader<F> {
    sink: F,
    kind: Option<OdaKind>,
}

impl<E: fmt::Display, F: FnMut([Term; 3]) -> Result<(), E>> OdaReader<F> {
    /// A reader that passes triples to `sink`; labels become `rdfs:label` triples.
    pub fn new(sink: F) -> Self {
        Self { sink, kind: None }
    }

    /// Reads a whole file.
    ///
    /// # Errors
    /// [`OdaLayoutError`] with the line: invalid JSON, another layout, or an error of the sink.
    pub fn read(mut self, reader: impl Read) -> Result<OdaKind, OdaLayoutError> {
        let mut json = serde_json::Deserializer::from_reader(reader);
        let wrong = |error: serde_json::Error| OdaLayoutError {
            line: error.line(),
            message: error.to_string(),
        };
        (&mut self).deserialize(&mut json).map_err(wrong)?;
        json.end().map_err(wrong)?;
        self.kind.ok_or_else(|| OdaLayoutError {
            line: 1,
            message: "an empty object: there is nothing in it".to_owned(),
        })
    }
}

impl<'de, E: fmt::Display, F: FnMut([Term; 3]) -> Result<(), E>> DeserializeSeed<'de>
    for &mut OdaReader<F>
{
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, E: fmt::Display, F: FnMut([Term; 3]) -> Result<(), E>> Visitor<'de>
    for &mut OdaReader<F>
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "an object of entities with lists of [head, relation, tail], or of ids with labels",
        )
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            map.next_value_seed(OdaEntry {
                reader: self,
                key: &key,
            })?;
        }
        Ok(())
    }
}

/// The value of one key: a list of triples or a label.
struct OdaEntry<'a, F> {
    reader: &'a mut OdaReader<F>,
    key: &'a str,
}

impl<E: fmt::Display, F: FnMut([Term; 3]) -> Result<(), E>> OdaEntry<'_, F> {
    fn is<X: serde::de::Error>(&mut self, kind: OdaKind) -> Result<(), X> {
        match self.reader.kind.replace(kind) {
            Some(before) if before != kind => Err(X::custom(format!(
                "`{}` has another layout than the entries before it",
                self.key
            ))),
            _ => Ok(()),
        }
    }
}

impl<'de, E: fmt::Display, F: FnMut([Term; 3]) -> Result<(), E>> DeserializeSeed<'de>
    for OdaEntry<'_, F>
{
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, E: fmt::Display, F: FnMut([Term; 3]) -> Result<(), E>> Visitor<'de> for OdaEntry<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a list of [head, relation, tail] or a label for `{}`",
            self.key
        )
    }

    fn visit_str<X: serde::de::Error>(mut self, label: &str) -> Result<(), X> {
        self.is(OdaKind::Labels)?;
        // An id without a label has an empty label, or the id as its label.
        if label.is_empty() || label == self.key {
            return Ok(());
        }
        let triple = [
            node(self.key),
            Term::Iri(RDFS_LABEL.to_owned()),
            Term::Literal(Literal::plain(label)),
        ];
        (self.reader.sink)(triple).map_err(X::custom)
    }

    fn visit_unit<X: serde::de::Error>(mut self) -> Result<(), X> {
        self.is(OdaKind::Labels)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        self.is(OdaKind::Triples)?;
        while let Some(triple) = list.next_element::<Vec<OdaText>>()? {
            let [
                OdaText(Some(head)),
                OdaText(Some(relation)),
                OdaText(Some(far)),
            ] = &triple[..]
            else {
                return Err(A::Error::custom(format!(
                    "`{}` has a triple that is not three texts",
                    self.key
                )));
            };
            (self.reader.sink)([node(head), node(relation), tail(far)])
                .map_err(A::Error::custom)?;
        }
        Ok(())
    }
}

/// A text, or a number as text; `None` for anything else.
struct OdaText(Option<String>);

impl<'de> Deserialize<'de> for OdaText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = OdaText;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }
            fn visit_str<X>(self, text: &str) -> Result<OdaText, X> {
                Ok(OdaText(Some(text.to_owned())))
            }
            fn visit_u64<X>(self, number: u64) -> Result<OdaText, X> {
                Ok(OdaText(Some(number.to_string())))
            }
            fn visit_i64<X>(self, number: i64) -> Result<OdaText, X> {
                Ok(OdaText(Some(number.to_string())))
            }
            fn visit_f64<X>(self, number: f64) -> Result<OdaText, X> {
                Ok(OdaText(Some(number.to_string())))
            }
            fn visit_unit<X>(self) -> Result<OdaText, X> {
                Ok(OdaText(None))
            }
            fn visit_bool<X>(self, _: bool) -> Result<OdaText, X> {
                Ok(OdaText(None))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OdaText, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(OdaText(None))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OdaText, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(OdaText(None))
            }
        }
        deserializer.deserialize_any(Text)
    }
}
