//! LC-QuAD 1: a JSON array with `_id, corrected_question, sparql_query`, or the same with `id,
//! question, sparql`.

use toolbox::exec::ExcludeWhen;

use super::description::SourceFormat;
use super::json::{ArrayReader, Fields};

pub(super) const LCQUAD1: ArrayReader = ArrayReader {
    format: &FORMAT,
    fields: &FIELDS,
    only_here: &[
        "corrected_question",
        "intermediary_question",
        "sparql_template_id",
    ],
    never_here: &[],
};

const FORMAT: SourceFormat = SourceFormat {
    name: "lcquad1",
    about: "LC-QuAD 1 (DBpedia)",
    needs: "a JSON array of `corrected_question` and `sparql_query`",
    folder: "train-data.json and test-data.json",
    files: "train-data.json, test-data.json",
    is_one: |name| matches!(name, "train-data.json" | "test-data.json"),
    example: r#"{"_id": "1", "corrected_question": "…", "intermediary_question": "…", "sparql_query": "SELECT DISTINCT COUNT(?uri) …", "sparql_template_id": 101}"#,
    options: &[],
    fronts: &[],
    queries: true,
};

const FIELDS: Fields = Fields {
    format: "lcquad1",
    id: &["_id", "id"],
    question: &["corrected_question", "question"],
    sparql: &["sparql_query", "sparql"],
    topic: &[],
    answers: &["gold"],
    hops: &[],
    kind: &["sparql_template_id"],
    exclude: ExcludeWhen::Answer,
};
