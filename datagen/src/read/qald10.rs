//! QALD-10 in the form that the ToG and ODA studies use: a JSON array with `question, sparql,
//! topic_entity {id: label}, answer {id: label}`.

use toolbox::exec::ExcludeWhen;

use super::description::SourceFormat;
use super::json::{ArrayReader, Fields};

pub(super) const QALD10: ArrayReader = ArrayReader {
    format: &FORMAT,
    fields: &FIELDS,
    only_here: &["topic_entity"],
    never_here: &["compositionality_type", "qid"],
};

const FORMAT: SourceFormat = SourceFormat {
    name: "qald10",
    about: "QALD-10 in the form that ToG and ODA use",
    needs: "a JSON array of `question`, `sparql` and `topic_entity`, with `answer`",
    folder: "qald_10*.json",
    files: "qald_10*.json",
    is_one: |name| name.starts_with("qald_10") && name.ends_with(".json"),
    example: r#"{"question": "…", "sparql": "PREFIX wd: … SELECT …", "topic_entity": {"Q1": "universe"}, "answer": {"Q2": "Earth"}}"#,
    options: &[],
    fronts: &[],
    queries: true,
};

const FIELDS: Fields = Fields {
    format: "qald10",
    id: &["id"],
    question: &["question"],
    sparql: &["sparql"],
    topic: &["topic_entity"],
    answers: &["answer", "gold"],
    hops: &[],
    kind: &[],
    exclude: ExcludeWhen::Answer,
};
