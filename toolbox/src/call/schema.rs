//! The tools as JSON schemas, for models that call tools by JSON: the definitions in OpenAI's form,
//! a schema of the calls that are live, and calls from and to JSON arguments. All of it comes from
//! the grammar table of the thirteen tools; served models have no extended ones.

use kg::term::Literal;
use kg::value::Op;
use serde_json::{Map, Value, json};

use super::accept::{Live, LiveSet};
use super::ast::{Call, Target, Tool};
use super::grammar::{Param, SIGNATURES, Signature};
use super::parse::parse_call;
use super::print::{is_delimiter, print_name};
use crate::limits::MAX_SET_ARGS;

/// What a comparator may be if it is not an operator.
const EXTREMES: [&str; 2] = ["argmax", "argmin"];
/// The argument of a tool that takes any number of sets.
const SETS: &str = "sets";

/// The JSON names of a tool's arguments, in the order of its parameters. A tool that takes any
/// number of sets has one argument, a list.
#[must_use]
pub fn argument_names(row: &Signature) -> Vec<&'static str> {
    if row.variadic {
        return vec![SETS];
    }
    let name = |i: usize, param: &Param| {
        if row.params[..i].contains(param) {
            "other_set"
        } else {
            param.word()
        }
    };
    row.params
        .iter()
        .enumerate()
        .map(|(i, param)| name(i, param))
        .collect()
}

/// The tools in the form of OpenAI's field `tools`: a list of functions with names, descriptions and
/// JSON schemas of their arguments.
#[must_use]
pub fn tool_definitions() -> Vec<Value> {
    let definition = |row: &Signature| {
        let properties = arguments(row, |param| Some(schema_of(param)))?;
        let required = match row.variadic {
            true => vec![SETS.to_owned()],
            false => properties.keys().take(row.required).cloned().collect(),
        };
        Some(json!({ "type": "function", "function": {
            "name": row.name, "description": row.doc,
            "parameters": object(properties, &required),
        } }))
    };
    SIGNATURES.iter().filter_map(definition).collect()
}

/// The schema of a parameter without regard to the state of a question.
fn schema_of(param: Param) -> Value {
    let operators = Op::ALL.iter().map(ToString::to_string);
    match param {
        Param::Set => text("a result such as v0, an entity such as e0, or [] for the empty set"),
        Param::Relation => {
            text("a relation that a list has shown for the set; ~ before it walks it backwards")
        }
        Param::Class => text("a class such as c0"),
        Param::Comparator => {
            let all = operators.chain(EXTREMES.map(str::to_owned));
            json!({ "type": "string", "enum": all.collect::<Vec<_>>() })
        }
        Param::Operator => json!({ "type": "string", "enum": operators.collect::<Vec<_>>() }),
        Param::Value => text("a value such as x0 or 2011, or an entity such as e0"),
        Param::Mention => text("words of the question"),
        // Only extended tools have the others.
        extended => text(extended.word()),
    }
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

/// A schema of an object with these properties and no others.
fn object(properties: Map<String, Value>, required: &[String]) -> Value {
    json!({
        "type": "object", "properties": Value::Object(properties), "required": required,
        "additionalProperties": false,
    })
}

/// The properties of a tool's arguments; `None` if `schema` has none for a parameter that must be
/// given.
fn arguments(
    row: &Signature,
    schema: impl Fn(Param) -> Option<Value>,
) -> Option<Map<String, Value>> {
    let names = argument_names(row);
    let mut properties = Map::new();
    if row.variadic {
        let items = schema(*row.params.last()?)?;
        properties.insert(
            SETS.to_owned(),
            json!({ "type": "array", "items": items, "minItems": row.required, "maxItems": MAX_SET_ARGS }),
        );
        return Some(properties);
    }
    for (i, (&param, name)) in row.params.iter().zip(names).enumerate() {
        match schema(param) {
            Some(schema) => properties.insert(name.to_owned(), schema),
            None if i >= row.required => continue,
            None => return None,
        };
    }
    Some(properties)
}

/// The schema of the calls that are live, as one object `{"call": {"tool": …, …}}`. It may allow a
/// little more than the call language: each argument is limited by itself. Arguments that may be
/// left out are null, because strict servers want every property to be required.
#[must_use]
pub fn live_schema(live: &Live) -> Value {
    let calls: Vec<Value> = SIGNATURES
        .iter()
        .filter(|row| !live.last_call || row.tool == Tool::End)
        .filter_map(|row| live_call(row, live))
        .collect();
    let mut properties = Map::new();
    properties.insert("call".to_owned(), json!({ "anyOf": calls }));
    object(properties, &["call".to_owned()])
}

/// The schema of one tool's live calls; `None` if it has none.
fn live_call(row: &Signature, live: &Live) -> Option<Value> {
    if row.variadic && live_sets(row.tool, live).len() < row.required {
        return None;
    }
    let given = arguments(row, |param| {
        let choices = live_choices(row.tool, param, live);
        (!choices.is_empty()).then(|| json!({ "type": "string", "enum": choices }))
    })?;
    let mut properties = Map::new();
    properties.insert(
        "tool".to_owned(),
        json!({ "type": "string", "enum": [row.name] }),
    );
    let names = argument_names(row);
    for (name, mut schema) in given {
        let position = names.iter().position(|known| *known == name);
        if !row.variadic && position.is_some_and(|at| at >= row.required) {
            schema["type"] = json!(["string", "null"]);
            if let Some(choices) = schema["enum"].as_array_mut() {
                choices.push(Value::Null);
            }
        }
        properties.insert(name, schema);
    }
    let required: Vec<String> = properties.keys().cloned().collect();
    Some(object(properties, &required))
}

/// The sets that a tool may name, as calls write them.
fn live_sets(tool: Tool, live: &Live) -> Vec<String> {
    let fits = |set: &&LiveSet| match tool {
        Tool::End => !set.unanswerable,
        Tool::GetTailEntity => !set.scalar && !set.out.is_empty(),
        Tool::GetHeadEntity => !set.scalar && !set.incoming.is_empty(),
        Tool::GetEntityByConstraint | Tool::Judge | Tool::RetrieveRelation => {
            !(set.scalar || set.out.is_empty() && set.incoming.is_empty())
        }
        _ => !set.scalar,
    };
    let mut texts: Vec<String> = live
        .sets
        .iter()
        .filter(fits)
        .map(|set| set.text.clone())
        .collect();
    if tool == Tool::End {
        texts.push("[]".to_owned());
    }
    texts
}

/// The texts that a parameter of a tool may have.
fn live_choices(tool: Tool, param: Param, live: &Live) -> Vec<String> {
    let entities = live.sets.iter().filter(|set| set.entity);
    let mut texts: Vec<String> = match param {
        Param::Set => live_sets(tool, live),
        Param::Relation => {
            let mut texts = Vec::new();
            for set in live.sets.iter().filter(|set| !set.scalar) {
                match tool {
                    Tool::GetTailEntity => texts.extend_from_slice(&set.out),
                    Tool::GetHeadEntity => texts.extend_from_slice(&set.incoming),
                    _ => {
                        texts.extend_from_slice(&set.out);
                        texts.extend(set.incoming.iter().map(|name| format!("~{name}")));
                    }
                }
            }
            if tool == Tool::Judge && !texts.is_empty() {
                texts.extend_from_slice(&live.types);
            }
            texts
        }
        Param::Class => live.classes.clone(),
        Param::Comparator | Param::Operator => match schema_of(param)["enum"].as_array() {
            Some(all) => all
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            None => Vec::new(),
        },
        Param::Value => {
            let mut texts = live.values.clone();
            texts.extend(entities.map(|set| set.text.clone()));
            if tool == Tool::Judge {
                texts.extend_from_slice(&live.classes);
            }
            texts
        }
        Param::Mention => live.mentions.clone(),
        _ => Vec::new(),
    };
    // A text that two sets share may be listed once: schemas want distinct values.
    let mut seen = rustc_hash::FxHashSet::default();
    texts.retain(|text| seen.insert(text.clone()));
    texts
}

/// The arguments of a call as a JSON object.
#[must_use]
pub fn arguments_of(call: &Call) -> Value {
    let row = call.tool.signature();
    let mut texts = call.args.iter().map(ToString::to_string);
    if row.variadic {
        return json!({ SETS: texts.collect::<Vec<_>>() });
    }
    let names = argument_names(row);
    let given = names.into_iter().zip(&mut texts);
    Value::Object(
        given
            .map(|(name, text)| (name.to_owned(), Value::String(text)))
            .collect(),
    )
}

/// The call of the tool `name` with JSON arguments; `next` is the number of its result.
///
/// # Errors
/// A message that says which tool or argument is wrong and what would be right.
pub fn call_of(name: &str, arguments: &Value, next: u32) -> Result<Call, String> {
    let Some(tool) = Tool::by_name(name) else {
        let known: Vec<&str> = SIGNATURES.iter().map(|row| row.name).collect();
        return Err(format!(
            "`{name}` is no tool; the tools are {}",
            known.join(", ")
        ));
    };
    let row = tool.signature();
    let names = argument_names(row);
    let Some(given) = arguments.as_object() else {
        return Err(format!(
            "the arguments of {name} are no object; give {}",
            names.join(", ")
        ));
    };
    if let Some(unknown) = given.keys().find(|key| !names.contains(&key.as_str())) {
        return Err(format!(
            "{name} has no argument `{unknown}`; its arguments are {}",
            names.join(", ")
        ));
    }
    let mut texts = Vec::new();
    if row.variadic {
        let Some(sets) = given.get(SETS).and_then(Value::as_array) else {
            return Err(format!("{name} needs a list `{SETS}`"));
        };
        for set in sets {
            texts.push(argument(Param::Set, set)?);
        }
    } else {
        for (i, (&param, key)) in row.params.iter().zip(&names).enumerate() {
            match given.get(*key).filter(|value| !value.is_null()) {
                Some(value) => texts.push(argument(param, value)?),
                None if i >= row.required => break,
                None => return Err(format!("{name} needs the argument `{key}`")),
            }
        }
    }
    let target = match Call::new(tool, Vec::new(), next).target {
        Target::None => String::new(),
        Target::Var(index) => format!("v{index} = "),
        Target::Ans => "ans = ".to_owned(),
    };
    let written = format!("{target}{name}({})", texts.join(", "));
    parse_call(&written).map_err(|error| format!("`{written}`: {error}"))
}

/// A JSON argument as a call writes it.
fn argument(param: Param, value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(written(param, text.trim())),
        Value::Number(number) => Ok(number.to_string()),
        Value::Array(items) if param == Param::Set => {
            let items: Result<Vec<String>, String> =
                items.iter().map(|item| argument(param, item)).collect();
            Ok(format!("[{}]", items?.join(", ")))
        }
        other => Err(format!("`{other}` is no {}; give a string", param.word())),
    }
}

/// A text argument as a call writes it: unchanged if it parses like that, else in quotes.
fn written(param: Param, text: &str) -> String {
    let bare = |text: &str| !text.is_empty() && !text.chars().any(is_delimiter);
    let inner = text.strip_prefix('~').unwrap_or(text);
    match param {
        Param::Comparator | Param::Operator => text.to_owned(),
        _ if bare(text) || text.starts_with(['<', '[']) => text.to_owned(),
        Param::Relation if bare(inner) || inner.starts_with('<') => text.to_owned(),
        Param::Relation if inner.len() < text.len() => format!("~{}", print_name(inner)),
        Param::Mention | Param::Value if text.starts_with('"') => text.to_owned(),
        Param::Mention | Param::Value => Literal::plain(text).to_string(),
        Param::Set | Param::Relation | Param::Class => print_name(text),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::call::CallAcceptor;
    use common::acceptor::Acceptor;

    fn live() -> Live {
        let set = |text: &str, out: &[&str], incoming: &[&str]| LiveSet {
            text: text.to_owned(),
            out: out.iter().map(|&r| r.to_owned()).collect(),
            incoming: incoming.iter().map(|&r| r.to_owned()).collect(),
            ..LiveSet::default()
        };
        Live {
            next_var: 2,
            sets: vec![
                set("e0", &["a.b", "<odd, (name)>"], &[]),
                set("v0", &[], &["c.d"]),
            ],
            values: vec!["x0".to_owned()],
            ..Live::default()
        }
    }

    /// Every call that the acceptor allows goes to JSON and back, and the schemas allow its
    /// arguments.
    #[test]
    fn calls_survive_json() {
        let acceptor = CallAcceptor::new(live());
        let mut open = vec![(String::new(), acceptor.start())];
        let mut calls = Vec::new();
        while let Some((text, state)) = open.pop() {
            if acceptor.may_end(&state) {
                calls.push(text.clone());
            }
            for more in acceptor.continuations(&state) {
                let next = more
                    .bytes()
                    .try_fold(state.clone(), |state, byte| acceptor.step(&state, byte))
                    .unwrap();
                open.push((format!("{text}{more}"), next));
            }
        }
        assert!(calls.len() > 30, "{}", calls.len());
        let schema = live_schema(acceptor.live());
        for text in calls {
            let call = parse_call(&text).unwrap();
            let arguments = arguments_of(&call);
            assert_eq!(call_of(call.tool.name(), &arguments, 2), Ok(call.clone()));
            let tool = schema["properties"]["call"]["anyOf"]
                .as_array()
                .unwrap()
                .iter()
                .find(|one| one["properties"]["tool"]["enum"][0] == call.tool.name())
                .unwrap_or_else(|| panic!("{text} is missing"));
            for (name, value) in arguments.as_object().unwrap() {
                let property = &tool["properties"][name];
                let choices = if name == SETS {
                    &property["items"]
                } else {
                    property
                };
                let choices = choices["enum"].as_array().unwrap();
                let values = value.as_array().cloned().unwrap_or(vec![value.clone()]);
                assert!(
                    values.iter().all(|value| choices.contains(value)),
                    "{text}: {value} of {choices:?}"
                );
            }
        }
        let tools = schema["properties"]["call"]["anyOf"].as_array().unwrap();
        assert!(
            !tools
                .iter()
                .any(|one| one.to_string().contains("get_entity_by_type")),
            "no class is live"
        );
    }

    #[test]
    fn every_tool_is_defined() {
        let tools = tool_definitions();
        assert_eq!(tools.len(), SIGNATURES.len());
        let of = |name: &str| {
            let found = tools.iter().find(|tool| tool["function"]["name"] == name);
            found.unwrap()["function"]["parameters"].clone()
        };
        assert_eq!(
            of("get_tail_entity")["required"],
            json!(["set", "relation"])
        );
        assert_eq!(of("get_relation")["required"], json!(["set"]));
        assert!(of("get_relation")["properties"]["other_set"].is_object());
        assert_eq!(of("union")["properties"][SETS]["minItems"], 2);
    }

    #[test]
    fn arguments_are_quoted_where_they_must_be_and_wrong_ones_are_named() {
        let text = |name: &str, arguments: Value| {
            call_of(name, &arguments, 1).map(|call| call.to_string())
        };
        assert_eq!(
            text("get_candidate_entity", json!({ "mention": "Old Town" })),
            Ok("v1 = get_candidate_entity(\"Old Town\")".to_owned())
        );
        assert_eq!(
            text(
                "get_entity_by_constraint",
                json!({ "set": "v0", "relation": "~a b", "comparator": ">", "value": 2011 })
            ),
            Ok("v1 = get_entity_by_constraint(v0, ~<a b>, >, 2011)".to_owned())
        );
        // An argument cannot smuggle in another one.
        assert_eq!(
            text("count", json!({ "set": "v0), end(v0" })),
            Ok("v1 = count(<v0), end(v0>)".to_owned())
        );
        assert_eq!(
            text("end", json!({ "set": [] })),
            Ok("ans = end([])".to_owned())
        );
        for (name, arguments, says) in [
            ("walk", json!({}), "is no tool"),
            ("count", json!("v0"), "no object"),
            ("count", json!({}), "needs the argument `set`"),
            ("count", json!({ "set": true }), "is no set"),
            ("count", json!({ "sets": "v0" }), "no argument `sets`"),
            ("union", json!({ "sets": "v0" }), "needs a list"),
            ("union", json!({ "sets": ["v0"] }), "takes 2"),
        ] {
            let error = text(name, arguments).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
