//! JSON that clients send, read in one way by every address and every tool. A field that is null
//! counts as absent, since many programs write every field of a request. A whole number may be
//! written as `2.0`, since some languages have only one kind of number. A field that is given twice
//! is an error.

use std::cell::RefCell;
use std::fmt;

use serde::de::value::MapDeserializer;
use serde::de::{DeserializeOwned, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::{Map, Number, Value};

/// The largest number up to which every whole `f64` is exact: 2^53.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Reads a text of JSON.
///
/// # Errors
/// Says where it is not JSON.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(bytes).map(|Given(value)| value)
}

/// Reads the fields of an object that was [parsed](parse).
///
/// # Errors
/// Names the field that is missing, unknown or wrong.
pub(crate) fn read<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    let Value::Object(fields) = value else {
        return Err("an object with fields is needed".to_owned());
    };
    let mut fields = fields.into_iter();
    let field = RefCell::new(None);
    // Remembers the field that is being read, so that an error can name it.
    let each = std::iter::from_fn(|| {
        let next = fields.next();
        *field.borrow_mut() = next.as_ref().map(|(name, _)| name.clone());
        next
    });
    T::deserialize(MapDeserializer::<_, serde_json::Error>::new(each)).map_err(|error| {
        let message = error.to_string().replace("usize", "a whole number");
        let name = field.take().map(|name| format!("`{name}`"));
        match name.filter(|name| !message.contains(name)) {
            Some(name) => format!("{name}: {message}"),
            None => message,
        }
    })
}

/// A value without fields that are null.
struct Given(Value);

impl<'de> Deserialize<'de> for Given {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(GivenVisitor).map(Self)
    }
}

struct GivenVisitor;

impl<'de> Visitor<'de> for GivenVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(truth.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(if number.fract() == 0.0 && number.abs() <= EXACT {
            (number as i64).into()
        } else {
            Number::from_f64(number).map_or(Value::Null, Value::Number)
        })
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Given(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some((name, Given(value))) = entries.next_entry::<String, Given>()? {
            if fields.contains_key(&name) {
                return Err(A::Error::custom(format!("`{name}` is given twice")));
            }
            if !value.is_null() {
                fields.insert(name, value);
            }
        }
        Ok(fields.into())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Page {
        text: String,
        limit: Option<usize>,
        #[serde(default)]
        names: Vec<String>,
    }

    fn page(text: &str) -> Result<Page, String> {
        read(parse(text.as_bytes()).map_err(|error| error.to_string())?)
    }

    #[test]
    fn null_is_absent_and_a_whole_number_may_have_a_fraction() {
        let plain = page(r#"{"text": "a", "limit": 2}"#).unwrap();
        for same in [
            r#"{"text": "a", "limit": 2.0, "names": null}"#,
            r#"{"names": [], "limit": 0.2e1, "text": "a"}"#,
        ] {
            assert_eq!(page(same).unwrap(), plain);
        }
        assert_eq!(page(r#"{"text": "a", "limit": null}"#).unwrap().limit, None);
        let value = parse(br#"{"a": [null, {"b": null, "c": -0.0}], "d": 2.5, "e": 1e300}"#);
        assert_eq!(
            value.unwrap(),
            json!({ "a": [null, { "c": 0 }], "d": 2.5, "e": 1e300 })
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in [
            (r#"{"text": "a", "text": "b"}"#, "`text` is given twice"),
            (r#"{"text": null}"#, "missing field `text`"),
            (r#"{"text": "a", "limit": 2.5}"#, "`limit`: invalid type"),
            (r#"{"text": "a", "limit": -1}"#, "expected a whole number"),
            (r#"{"text": "a", "names": [null]}"#, "`names`: "),
            (r#"{"text": "a", "lmit": 1}"#, "unknown field `lmit`"),
            (r#"["a"]"#, "an object with fields is needed"),
            (r#"{"text": "#, "EOF"),
        ] {
            let error = page(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
