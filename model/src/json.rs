//! JSON files of bounded size, and typed access to the fields of a configuration.

use std::path::Path;

use serde_json::{Map, Value};

use crate::mistaken::Kind;
use crate::{ModelError, limits, mistaken};

/// Reads a JSON file.
///
/// # Errors
/// When it cannot be read, is too large or is not valid JSON.
pub(crate) fn read_json(path: &Path) -> Result<Value, ModelError> {
    let text = mistaken::read(path, limits::JSON_BYTES)?;
    let reason = match serde_json::from_slice(&text) {
        Ok(value) if is_servers_error(&value) => "it has only an `error`".to_owned(),
        Ok(value) => return Ok(value),
        Err(error) => error.to_string(),
    };
    let what = mistaken::describe(&text, text.len() as u64, Kind::Text);
    let message = what.map_or(reason, |what| format!("it is {what}"));
    Err(ModelError::json(path, message))
}

/// Whether this is what a server sends instead of a file. No file of a model has only this key.
fn is_servers_error(value: &Value) -> bool {
    let only = value.as_object().filter(|map| map.len() == 1);
    only.is_some_and(|map| map.get("error").is_some_and(Value::is_string))
}

/// A whole number of at least 0.
pub(crate) fn whole(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|n| usize::try_from(n).ok())
}

/// A JSON object indented for people, with a final newline.
pub(crate) fn pretty(value: &Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}

/// An invalid configuration.
pub(crate) fn invalid(message: impl Into<String>) -> ModelError {
    ModelError::Config(message.into())
}

/// A positive whole number; `None` if it is missing or null.
pub(crate) fn optional_size(
    map: &Map<String, Value>,
    key: &str,
) -> Result<Option<usize>, ModelError> {
    let Some(value) = map.get(key).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    match whole(value).filter(|n| (1..=1 << 32).contains(n)) {
        None => Err(invalid(format!(
            "`{key}` is {value}, not a positive whole number"
        ))),
        size => Ok(size),
    }
}

/// A positive whole number.
pub(crate) fn size(map: &Map<String, Value>, key: &str) -> Result<usize, ModelError> {
    optional_size(map, key)?.ok_or_else(|| invalid(format!("`{key}` is missing")))
}

/// A positive number; `None` if it is missing or null.
pub(crate) fn optional_number(
    map: &Map<String, Value>,
    key: &str,
) -> Result<Option<f64>, ModelError> {
    let Some(value) = map.get(key).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    match value.as_f64().filter(|x| x.is_finite() && *x > 0.0) {
        None => Err(invalid(format!(
            "`{key}` is {value}, not a positive number"
        ))),
        number => Ok(number),
    }
}

/// Whether brackets outside of strings are nested deeper than `most`.
pub(crate) fn is_nested_deeper(json: &[u8], most: usize) -> bool {
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > most {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_strings_do_not_nest() {
        assert!(!is_nested_deeper(br#"["[[[\"[[[", {}]"#, 2));
        assert!(is_nested_deeper(br#"["[[[\\", [[]]]"#, 2));
    }
}
