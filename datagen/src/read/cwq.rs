//! ComplexWebQuestions: the published JSON (`ID, question, sparql, …`) and arrays of `id, question,
//! sparql, topic, gold`. Queries are in Virtuoso's dialect and contain `?x != topic`, which
//! excludes the topics from the answer (rule R7).

use std::path::{Path, PathBuf};

use toolbox::exec::ExcludeWhen;

use super::file;
use super::formats::SourceFormat;
use super::json::{Fields, read_array};
use super::reader::{Each, QuestionReader, ReadRequest};
use super::sample::{Likeness, Sample};
use crate::Error;

pub(super) struct Cwq;

const FORMAT: SourceFormat = SourceFormat {
    name: "cwq",
    about: "ComplexWebQuestions 1.1",
    needs: "a JSON array of `question` and `sparql`, with `ID`, `compositionality_type`, `answers`",
    folder: "ComplexWebQuestions_*.json",
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

impl QuestionReader for Cwq {
    fn format(&self) -> &'static SourceFormat {
        &FORMAT
    }

    fn likeness(&self, sample: &Sample) -> Likeness {
        FIELDS.likeness(
            sample,
            &["compositionality_type", "webqsp_ID", "machine_question"],
        )
    }

    fn files(&self, path: &Path) -> Result<Vec<PathBuf>, Error> {
        file::of_set(path, "ComplexWebQuestions_*.json", |name| {
            name.starts_with("complexwebquestions") && name.ends_with(".json")
        })
    }

    fn read(&self, from: &ReadRequest<'_>, each: &mut Each<'_>) -> Result<(), Error> {
        read_array(from.path, &FIELDS, each)
    }
}
