//! KQA Pro: a JSON array with `question`, `sparql`, `program`, `choices` and `answer`, over the
//! graph of its `kb.json`.

use serde_json::Value;
use toolbox::exec::ExcludeWhen;

use super::description::SourceFormat;
use super::file;
use super::json::{JsonReader, blank, get, missing, plain};
use super::reader::ReadRequest;
use super::sample::Likeness;
use crate::Refusal;
use crate::kqapro;
use crate::question::{GoldQuery, GoldQuestion, Topic};

pub(super) const KQAPRO: JsonReader = JsonReader {
    format: &FORMAT,
    wrapper: None,
    likeness: |sample| {
        Likeness::certain(sample.array_of(&[&["question"], &["program", "choices"]]))
    },
    question,
};

const FORMAT: SourceFormat = SourceFormat {
    name: "kqapro",
    about: "KQA Pro (a part of Wikidata)",
    needs: "a JSON array of `question` with `sparql` and `program`, and `choices`, `answer`",
    folder: "train.json and val.json; test.json has no queries. kb.json is its graph",
    files: "train.json, val.json",
    is_one: |name| matches!(name, "train.json" | "val.json"),
    example: r#"{"question": "How tall is Arvel Tower?", "choices": ["90 metre"], "program": [{"function": "Find", "dependencies": [], "inputs": ["Arvel Tower"]}, {"function": "QueryAttr", "dependencies": [0], "inputs": ["height"]}], "sparql": "SELECT DISTINCT ?pv WHERE { ?e <pred:name> \"Arvel Tower\" . ?e <height> ?pv . }", "answer": "90 metre"}"#,
    options: &[("program", "the query is made from `program`")],
    fronts: &["program"],
    queries: true,
};

fn question(record: &Value, number: usize, from: &ReadRequest<'_>) -> Result<GoldQuestion, String> {
    let id = format!("{}-{number}", file::stem(from.path));
    let wording = record["question"]
        .as_str()
        .ok_or_else(|| missing(&["question"]))?;
    let program = get(record, &["program"]);
    let none = |field: &str| GoldQuery::Missing(Refusal::NoQuery, format!("`{field}` is missing"));
    let algebra = |query| GoldQuery::Algebra(Box::new(query));
    let query = match (from.option, program, record["sparql"].as_str()) {
        (Some("program"), Some(program), _) => kqapro::program(program, from.kg)
            .map_or_else(|why| GoldQuery::Missing(Refusal::Syntax, why), algebra),
        (Some("program"), None, _) => none("program"),
        (_, _, Some(sparql)) => kqapro::sparql(sparql, from.kg)
            .map_or_else(|(reason, why)| GoldQuery::Missing(reason, why), algebra),
        (_, _, None) => none("sparql"),
    };
    let topics = program
        .map(|program| kqapro::topics(program, from.kg))
        .unwrap_or_default();
    let kind = program.and_then(Value::as_array).map(|steps| types(steps));
    Ok(GoldQuestion {
        question: wording.trim().to_owned(),
        query,
        topics: topics
            .into_iter()
            .map(|(name, label)| Topic { name, label })
            .collect(),
        answers: get(record, &["answer"]).map(|answer| vec![kqapro::answer(&plain(answer))]),
        answers_bind: true,
        kind: kind.filter(|kind| !kind.is_empty()),
        exclude: ExcludeWhen::Never,
        ..blank(FORMAT.name, id)
    })
}

/// The question types of KQA Pro's own evaluation, separated by `+`: a question has several. Its
/// `zero-shot` is missing: it depends on the answers of the training set.
fn types(steps: &[Value]) -> String {
    let names: Vec<&str> = steps
        .iter()
        .filter_map(|step| step.get("function")?.as_str())
        .collect();
    let any = |is_one: &dyn Fn(&str) -> bool| names.iter().any(|name| is_one(name));
    let qualifies = |name: &str| {
        name.starts_with("QFilter")
            || matches!(
                name,
                "QueryAttrUnderCondition" | "QueryAttrQualifier" | "QueryRelationQualifier"
            )
    };
    [
        (
            "multi-hop",
            any(&|name| name == "Relate" || name.starts_with("Filter")),
        ),
        ("qualifier", any(&qualifies)),
        (
            "comparison",
            any(&|name| matches!(name, "SelectBetween" | "SelectAmong")),
        ),
        ("logical", any(&|name| matches!(name, "And" | "Or"))),
        ("count", any(&|name| name == "Count")),
        ("verify", any(&|name| name.starts_with("Verify"))),
    ]
    .into_iter()
    .filter(|(_, is_one)| *is_one)
    .map(|(name, _)| name)
    .collect::<Vec<_>>()
    .join("+")
}
