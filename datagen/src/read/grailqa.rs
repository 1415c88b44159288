//! GrailQA: a JSON array with `qid, question, sparql_query, level`, and the same meaning also as
//! `s_expression` and `graph_query`.

use kg::spargebra::Query;
use serde_json::Value;
use toolbox::exec::ExcludeWhen;

use super::description::SourceFormat;
use super::json::{Fields, JsonReader, question};
use super::sample::{Likeness, Sample};
use crate::Refusal;
use crate::question::{GoldQuery, GoldQuestion};
use crate::sexpr::{graph_query, sexpr};

pub(super) const GRAILQA: JsonReader = JsonReader {
    format: &FORMAT,
    wrapper: None,
    likeness,
    question: |record, number, from| {
        let query = match from.option {
            Some("sexpr") => from_field(record, "s_expression", |value| {
                sexpr(value.as_str().ok_or("`s_expression` is not a text")?)
                    .map_err(|error| error.to_string())
            }),
            Some("graph") => from_field(record, "graph_query", graph_query),
            _ => return question(record, &FIELDS, number),
        };
        Ok(GoldQuestion {
            query,
            ..question(record, &FIELDS, number)?
        })
    },
};

const FORMAT: SourceFormat = SourceFormat {
    name: "grailqa",
    about: "GrailQA 1.0",
    needs: "a JSON array of `question` and `sparql_query`, with `qid`, `s_expression`, `graph_query`, `level`",
    folder: "grailqa_*.json",
    files: "grailqa_*.json",
    is_one: |name| name.starts_with("grailqa") && name.ends_with(".json"),
    example: r#"{"qid": 1, "question": "…", "sparql_query": "…", "s_expression": "(AND biology.gene (JOIN biology.gene.locus m.01))", "graph_query": {"nodes": [], "edges": []}, "level": "zero-shot"}"#,
    options: &[
        ("sexpr", "the query is made from `s_expression`"),
        ("graph", "the query is made from `graph_query`"),
    ],
    fronts: &["sexpr", "graph"],
    queries: true,
};

const FIELDS: Fields = Fields {
    format: "grailqa",
    id: &["qid"],
    question: &["question"],
    sparql: &["sparql_query"],
    topic: &["topic_entity"],
    answers: &["answer"],
    hops: &["hops"],
    kind: &["level"],
    exclude: ExcludeWhen::Answer,
};

fn likeness(sample: &Sample) -> Likeness {
    let needed = sample.array_of(&[&["qid"], FIELDS.question]) && !sample.has("sentence");
    let queries = ["graph_query", "s_expression", "sparql_query"];
    let has_query = queries.iter().any(|field| sample.has(field));
    Likeness::of(needed, needed && has_query)
}

/// The query of a field other than the SPARQL.
fn from_field(
    record: &Value,
    name: &str,
    read: impl Fn(&Value) -> Result<Query, String>,
) -> GoldQuery {
    match record.get(name).filter(|value| !value.is_null()).map(read) {
        None => GoldQuery::Missing(Refusal::NoQuery, format!("`{name}` is missing")),
        Some(Ok(query)) => GoldQuery::Algebra(Box::new(query)),
        Some(Err(message)) => GoldQuery::Missing(Refusal::Syntax, message),
    }
}
