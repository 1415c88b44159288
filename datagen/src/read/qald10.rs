//! QALD-10 in the form that the ToG and ODA studies use: a JSON array with `question, sparql,
//! topic_entity {id: label}, answer {id: label}`.

use std::path::{Path, PathBuf};

use toolbox::exec::ExcludeWhen;

use super::file;
use super::formats::SourceFormat;
use super::json::{Fields, read_array};
use super::reader::{Each, QuestionReader, ReadRequest};
use super::sample::{Likeness, Sample};
use crate::Error;

pub(super) struct Qald10;

const FORMAT: SourceFormat = SourceFormat {
    name: "qald10",
    about: "QALD-10 in the form that ToG and ODA use",
    needs: "a JSON array of `question`, `sparql` and `topic_entity`, with `answer`",
    folder: "qald_10*.json",
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

impl QuestionReader for Qald10 {
    fn format(&self) -> &'static SourceFormat {
        &FORMAT
    }

    fn likeness(&self, sample: &Sample) -> Likeness {
        let own = !sample.has("compositionality_type")
            && !sample.has("qid")
            && sample.has("topic_entity");
        if own {
            FIELDS.likeness(sample, &["topic_entity"])
        } else {
            FIELDS.likeness(sample, &[])
        }
    }

    fn files(&self, path: &Path) -> Result<Vec<PathBuf>, Error> {
        file::of_set(path, "qald_10*.json", |name| {
            name.starts_with("qald_10") && name.ends_with(".json")
        })
    }

    fn read(&self, from: &ReadRequest<'_>, each: &mut Each<'_>) -> Result<(), Error> {
        read_array(from.path, &FIELDS, each)
    }
}
