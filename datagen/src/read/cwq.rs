//! ComplexWebQuestions: the published JSON (`ID, question, sparql, …`) and arrays of `id, question,
//! sparql, topic, gold`. Queries are in Virtuoso's dialect and contain `?x != topic`, which
//! excludes the topics from the answer (rule R7).

use toolbox::exec::ExcludeWhen;

use super::description::SourceFormat;
use super::json::{ArrayReader, Fields};

pub(super) const CWQ: ArrayReader = ArrayReader {
    format: &FORMAT,
    fields: &FIELDS,
    only_here: &["compositionality_type", "webqsp_ID", "machine_question"],
    never_here: &[],
};

const FORMAT: SourceFormat = SourceFormat {
    name: "cwq",
    about: "ComplexWebQuestions 1.1",
    needs: "a JSON array of `question` and `sparql`, with `ID`, `compositionality_type`, `answers`",
    folder: "ComplexWebQuestions_*.json",
    files: "ComplexWebQuestions_*.json",
    is_one: |name| name.starts_with("complexwebquestions") && name.ends_with(".json"),
    example: r#"{"ID": "WebQTrn-1_a1", "compositionality_type": "conjunction", "question": "…", "sparql": "PREFIX ns: … SELECT DISTINCT ?x …", "answers": [{"answer_id": "m.01", "answer": "…"}]}"#,
    options: &[],
    fronts: &[],
    queries: true,
};

const FIELDS: Fields = Fields {
    format: "cwq",
    id: &["id", "ID"],
    question: &["question"],
    sparql: &["sparql"],
    topic: &["topic", "topic_entity"],
    answers: &["gold", "answers", "answer"],
    hops: &[],
    kind: &["type", "compositionality_type"],
    exclude: ExcludeWhen::Answer,
};
