//! KQA Pro's `kb.json` as triples (rules A.2.5): concepts and entities with attributes, relations
//! and their qualifiers.
//!
//! | in kb.json | triples |
//! |---|---|
//! | `name` | `wd:Q1 rdfs:label "…"` |
//! | `instanceOf`, and all that its concepts are in turn | `wd:Q1 wdt:instance_of wd:Q2` |
//! | an attribute or relation `place of birth` | `wd:Q1 wdt:place_of_birth V`, and for its qualifiers `wd:Q1 p:place_of_birth S . S ps:place_of_birth V` |
//! | a qualifier `start time` | `S pq:start_time V` |
//! | a quantity with a unit | `"1.7 metre"^^<urn:kgagent:quantity>`; without one, a decimal |
//! | a year, a date, a text | `xsd:gYear`, `xsd:date`, a plain literal |

use std::collections::BTreeSet;

use serde_json::Value;

use crate::kqapro_parts::{KbPart, KbParts};
use crate::limits::KB_VALUES;
use crate::term::{Literal, QUANTITY, RDFS_LABEL, Term};

/// Entities and concepts.
pub const ENTITY: &str = "http://www.wikidata.org/entity/";
/// Plain relations and attributes.
pub const DIRECT: &str = "http://www.wikidata.org/prop/direct/";
/// From an entity to a statement.
pub const STATEMENT: &str = "http://www.wikidata.org/prop/";
/// From a statement to its value.
pub const STATEMENT_VALUE: &str = "http://www.wikidata.org/prop/statement/";
/// From a statement to a qualifier's value.
pub const QUALIFIER: &str = "http://www.wikidata.org/prop/qualifier/";
/// From an entity or concept to each of its concepts.
pub const INSTANCE_OF: &str = "http://www.wikidata.org/prop/direct/instance_of";
/// The unit of quantities without a unit.
const NO_UNIT: &str = "1";

/// An error in a `kb.json`, with its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct KbError {
    /// `line 3`, or the entity and field.
    pub place: String,
    /// The error.
    pub message: String,
    /// The line of a JSON error; else 1.
    pub line: u64,
}

/// The IRI of a relation, attribute or qualifier in a namespace. Spaces become underscores, as in
/// KQA Pro's SPARQL.
#[must_use]
pub fn relation(namespace: &str, name: &str) -> String {
    let mut iri = namespace.to_owned();
    for c in name.chars() {
        match c {
            ' ' => iri.push('_'),
            '<' | '>' | '"' | '{' | '}' | '|' | '^' | '`' | '\\' | '%' => {
                let mut bytes = [0; 4];
                // Characters that an IRI must not contain are percent-encoded.
                c.encode_utf8(&mut bytes)
                    .bytes()
                    .for_each(|byte| iri.push_str(&format!("%{byte:02X}")));
            }
            c if c <= ' ' => iri.push('_'),
            c => iri.push(c),
        }
    }
    iri
}

/// The canonical spelling of a number: `100`, `1.7`, `-0.25`; very large and very small numbers
/// have an exponent.
#[must_use]
pub fn number(value: f64) -> String {
    if value == 0.0 {
        "0".to_owned()
    } else if (1e-6..1e17).contains(&value.abs()) {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}

/// A quantity as a literal; a plain number if it has no unit (`1` means no unit).
#[must_use]
pub fn quantity(value: f64, unit: &str) -> Literal {
    let number = number(value);
    match text(unit).as_str() {
        "" | NO_UNIT if number.contains('e') => Literal::xsd(number, "double"),
        "" | NO_UNIT => Literal::xsd(number, "decimal"),
        unit => Literal {
            lexical: format!("{number} {unit}"),
            datatype: Some(QUANTITY.to_owned()),
            lang: None,
        },
    }
}

/// A year as a literal with at least four digits.
#[must_use]
pub fn year(value: i64) -> Literal {
    Literal::xsd(
        if value < 0 {
            format!("-{:04}", -value)
        } else {
            format!("{value:04}")
        },
        "gYear",
    )
}

/// A date written `2001/2/28` or `2001-02-28` as a literal.
#[must_use]
pub fn date(text: &str) -> Option<Literal> {
    let (sign, digits) = text
        .strip_prefix('-')
        .map_or(("", text), |rest| ("-", rest));
    let parts: Vec<u32> = digits
        .split(['/', '-'])
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    let [year, month @ 1..=12, day @ 1..=31] = parts[..] else {
        return None;
    };
    Some(Literal::xsd(
        format!("{sign}{year:04}-{month:02}-{day:02}"),
        "date",
    ))
}

/// A text with collapsed white space, as KQA Pro compares names.
#[must_use]
pub fn text(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Calls `each` with the triples of a `kb.json`, entity by entity in file order. Its entries and the
/// values of any one of them take at most `memory` bytes.
///
/// # Errors
/// [`KbError`] with the line of invalid JSON, or the entity and field of an invalid value.
pub fn each_triple(
    kb: &str,
    memory: usize,
    each: &mut dyn FnMut([Term; 3]),
) -> Result<(), KbError> {
    let parts = KbParts::of(kb, memory).map_err(|error| KbError {
        place: format!("line {}", error.line()),
        message: format!("not KQA Pro's kb.json: {error}"),
        line: error.line() as u64,
    })?;
    let missing = |name: &str| KbError {
        place: "line 1".to_owned(),
        message: format!("not KQA Pro's kb.json: it has no object `{name}`"),
        line: 1,
    };
    Kb {
        concepts: &parts.concepts.ok_or_else(|| missing("concepts"))?,
        entities: &parts.entities.ok_or_else(|| missing("entities"))?,
        memory,
        blanks: 0,
        each,
    }
    .run()
}

struct Kb<'k> {
    concepts: &'k KbPart<'k>,
    entities: &'k KbPart<'k>,
    memory: usize,
    blanks: u64,
    each: &'k mut dyn FnMut([Term; 3]),
}

fn iri(iri: impl Into<String>) -> Term {
    Term::Iri(iri.into())
}

fn wrong(id: &str, field: &str, message: &str) -> KbError {
    KbError {
        place: format!("{id}, `{field}`"),
        message: message.to_owned(),
        line: 1,
    }
}

/// A list; empty if it is missing.
fn list<'v>(id: &str, of: &'v Value, field: &str) -> Result<&'v [Value], KbError> {
    match of.get(field) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(list)) => Ok(list),
        Some(_) => Err(wrong(id, field, "not a list")),
    }
}

fn string<'v>(id: &str, of: &'v Value, field: &str) -> Result<&'v str, KbError> {
    of.get(field)
        .and_then(Value::as_str)
        .ok_or_else(|| wrong(id, field, "missing, or not a text"))
}

/// Direct parents: `instanceOf`, or `subclassOf`, which later files use for concepts.
fn parents<'v>(id: &str, of: &'v Value) -> Result<Vec<&'v str>, KbError> {
    let mut found = Vec::new();
    for field in ["instanceOf", "subclassOf"] {
        for parent in list(id, of, field)? {
            found.push(
                parent
                    .as_str()
                    .ok_or_else(|| wrong(id, field, "an id that is not a text"))?,
            );
        }
    }
    Ok(found)
}

fn owned(ids: Vec<&str>) -> Vec<String> {
    ids.into_iter().map(str::to_owned).collect()
}

/// A value: `{type, value, unit}`.
fn literal(id: &str, value: &Value) -> Result<Literal, KbError> {
    let given = value
        .get("value")
        .ok_or_else(|| wrong(id, "value", "missing"))?;
    let odd = |what: &str| wrong(id, "value", &format!("`{given}` is not a {what}"));
    match string(id, value, "type")? {
        "string" => given
            .as_str()
            .map(Literal::plain)
            .ok_or_else(|| odd("text")),
        "quantity" => {
            let number = given.as_f64().ok_or_else(|| odd("number"))?;
            Ok(quantity(
                number,
                value.get("unit").and_then(Value::as_str).unwrap_or(NO_UNIT),
            ))
        }
        "year" => given
            .as_i64()
            .or_else(|| given.as_str()?.parse().ok())
            .map(year)
            .ok_or_else(|| odd("year")),
        "date" => given
            .as_str()
            .and_then(date)
            .ok_or_else(|| odd("date `year/month/day`")),
        other => Err(wrong(
            id,
            "type",
            &format!("`{other}` is not one of string, quantity, year, date"),
        )),
    }
}

impl Kb<'_> {
    fn run(&mut self) -> Result<(), KbError> {
        for (id, node) in self.concepts.iter().chain(self.entities.iter()) {
            let node = &self.values(id, node)?;
            let subject = iri(format!("{ENTITY}{id}"));
            (self.each)([
                subject.clone(),
                iri(RDFS_LABEL),
                Term::Literal(Literal::plain(text(string(id, node, "name")?))),
            ]);
            for concept in self.ancestors(id, node)? {
                (self.each)([
                    subject.clone(),
                    iri(INSTANCE_OF),
                    iri(format!("{ENTITY}{concept}")),
                ]);
            }
        }
        for (id, node) in self.entities.iter() {
            let node = &self.values(id, node)?;
            let subject = iri(format!("{ENTITY}{id}"));
            for attribute in list(id, node, "attributes")? {
                let value = literal(id, attribute.get("value").unwrap_or(&Value::Null))?;
                self.statement(
                    id,
                    &subject,
                    string(id, attribute, "key")?,
                    &Term::Literal(value),
                    attribute,
                )?;
            }
            for fact in list(id, node, "relations")? {
                let object_id = string(id, fact, "object")?;
                let object = iri(format!("{ENTITY}{object_id}"));
                let name = string(id, fact, "predicate")?;
                match string(id, fact, "direction")? {
                    "forward" => self.statement(id, &subject, name, &object, fact)?,
                    // An entity states the fact itself, with "forward"; a concept has no facts.
                    "backward" if self.concepts.get(object_id).is_some() => {
                        self.statement(id, &object, name, &subject, fact)?;
                    }
                    "backward" => {}
                    other => {
                        return Err(wrong(
                            id,
                            "direction",
                            &format!("`{other}` is neither forward nor backward"),
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    /// All ancestors of a node among the concepts.
    fn ancestors(&self, id: &str, node: &Value) -> Result<BTreeSet<String>, KbError> {
        let mut found = BTreeSet::new();
        let mut open: Vec<String> = owned(parents(id, node)?);
        while let Some(concept) = open.pop() {
            if found.contains(&concept) {
                continue;
            }
            if let Some(above) = self.concepts.get(&concept) {
                let above = self.values(&concept, above)?;
                open.extend(owned(parents(&concept, &above)?));
            }
            found.insert(concept);
        }
        Ok(found)
    }

    /// Reads the text of an entry.
    fn values(&self, id: &str, entry: &str) -> Result<Value, KbError> {
        let invalid = |message: String| KbError {
            place: id.to_owned(),
            message,
            line: 1,
        };
        if entry.len() > self.memory / KB_VALUES {
            return Err(invalid(format!(
                "its values do not fit the memory of {} bytes; raise --memory",
                self.memory
            )));
        }
        serde_json::from_str(entry).map_err(|error| invalid(error.to_string()))
    }

    fn statement(
        &mut self,
        id: &str,
        subject: &Term,
        name: &str,
        object: &Term,
        fact: &Value,
    ) -> Result<(), KbError> {
        (self.each)([subject.clone(), iri(relation(DIRECT, name)), object.clone()]);
        let statement = Term::Blank(format!("kqa{}", self.blanks));
        self.blanks += 1;
        (self.each)([
            subject.clone(),
            iri(relation(STATEMENT, name)),
            statement.clone(),
        ]);
        (self.each)([
            statement.clone(),
            iri(relation(STATEMENT_VALUE, name)),
            object.clone(),
        ]);
        let qualifiers = match fact.get("qualifiers") {
            None | Some(Value::Null) => return Ok(()),
            Some(qualifiers) => qualifiers
                .as_object()
                .ok_or_else(|| wrong(id, "qualifiers", "not an object"))?,
        };
        for (key, values) in qualifiers {
            for value in values
                .as_array()
                .ok_or_else(|| wrong(id, key, "not a list of values"))?
            {
                (self.each)([
                    statement.clone(),
                    iri(relation(QUALIFIER, key)),
                    Term::Literal(literal(id, value)?),
                ]);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn values_have_one_spelling() {
        assert_eq!(
            [number(100.0), number(1.70), number(-0.0), number(2.5e20)],
            ["100", "1.7", "0", "2.5e20"]
        );
        assert_eq!(
            (
                quantity(7.0, "1").to_string(),
                quantity(7.0, "metre").lexical
            ),
            (Literal::xsd("7", "decimal").to_string(), "7 metre".into())
        );
        assert_eq!(
            (
                date("2001/2/8").unwrap().lexical,
                date("2001/13/8"),
                year(-44).lexical
            ),
            ("2001-02-08".into(), None, "-0044".into())
        );
    }

    #[test]
    fn errors_name_their_place() {
        for (kb, place) in [
            ("{", "line 1"),
            ("{\"concepts\": {}}", "line 1"),
            (r#"{"concepts": {}, "entities": {"Q1": {}}}"#, "Q1, `name`"),
            (
                r#"{"concepts": {}, "entities": {"Q1": {"name": "a", "attributes": [{"key": "k", "value": {"type": "date", "value": "x"}}]}}}"#,
                "Q1, `value`",
            ),
        ] {
            assert_eq!(
                each_triple(kb, 1 << 20, &mut |_| {}).unwrap_err().place,
                place,
                "{kb}"
            );
        }
    }
}
