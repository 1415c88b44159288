//! The description of the interface in the form of OpenAPI, and the schemas in it.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

/// Where a schema of the document is named.
const IN_DOCUMENT: &str = "#/components/schemas/";
/// Where a schema that stands alone has those that it names.
const ALONE: &str = "#/$defs/";

/// The document of `/openapi.json`. A test of the router compares them.
pub(crate) static OPENAPI: LazyLock<Value> = LazyLock::new(|| {
    let parsed = serde_json::from_str(include_str!("../openapi.json"));
    let mut document: Value = parsed.unwrap_or_default();
    document["info"]["version"] = env!("CARGO_PKG_VERSION").into();
    document
});

/// A schema of the document with all schemas that it names, so that it can stand alone.
pub(crate) fn alone(name: &str) -> Value {
    let mut named = Map::new();
    let mut schema = moved(&OPENAPI["components"]["schemas"][name], &mut named);
    if !named.is_empty() {
        schema["$defs"] = named.into();
    }
    schema
}

/// A copy of a part of a schema with its references moved; `named` gets what they name.
fn moved(part: &Value, named: &mut Map<String, Value>) -> Value {
    match part {
        Value::Object(fields) => {
            let one = |(key, value): (&String, &Value)| {
                let name = value.as_str().and_then(|at| at.strip_prefix(IN_DOCUMENT));
                match name.filter(|_| key == "$ref") {
                    Some(name) => {
                        if !named.contains_key(name) {
                            named.insert(name.to_owned(), Value::Null);
                            let schema = &OPENAPI["components"]["schemas"][name];
                            named[name] = moved(schema, named);
                        }
                        (key.clone(), json!(format!("{ALONE}{name}")))
                    }
                    None => (key.clone(), moved(value, named)),
                }
            };
            Value::Object(fields.iter().map(one).collect())
        }
        Value::Array(items) => items.iter().map(|item| moved(item, named)).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_alone_has_everything_that_it_names() {
        let schema = alone("ToolAnswer");
        let text = schema.to_string();
        assert!(!text.contains(IN_DOCUMENT));
        for part in text.split(ALONE).skip(1) {
            let name = part.split('"').next().unwrap_or_default();
            assert!(schema["$defs"][name].is_object(), "{name}");
        }
        assert_eq!(schema["type"], "object");
        assert!(alone("Kept")["$defs"].is_null());
    }
}
