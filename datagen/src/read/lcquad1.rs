//! LC-QuAD 1: a JSON array with `_id, corrected_question, sparql_query`, or the same with `id, question, sparql`.

use std::path::{Path, PathBuf};

use toolbox::exec::ExcludeWhen;

use super::file;
use super::formats::SourceFormat;
use super::json::{Fields, read_array};
use super::reader::{Each, QuestionReader, ReadRequest};
use super::sample::{Likeness, Sample};
use crate::Error;

pub(super) struct LcQuad1;

const FORMAT: SourceFormat = SourceFormat {
    name: "lcquad1",
    about: "LC-QuAD 1 (DBpedia)",
    needs: "a JSON array of `corrected_question` and `sparql_query`",
    folder: "train-data.json and test-data.json",
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

impl QuestionReader for LcQuad1 {
    fn format(&self) -> &'static SourceFormat {
        &FORMAT
    }

    fn likeness(&self, sample: &Sample) -> Likeness {
        FIELDS.likeness(
            sample,
            &[
                "corrected_question",
                "intermediary_question",
                "sparql_template_id",
            ],
        )
    }

    fn files(&self, path: &Path) -> Result<Vec<PathBuf>, Error> {
        file::of_set(path, "train-data.json, test-data.json", |name| {
            matches!(name, "train-data.json" | "test-data.json")
        })
    }

    fn read(&self, from: &ReadRequest<'_>, each: &mut Each<'_>) -> Result<(), Error> {
        read_array(from.path, &FIELDS, each)
    }
}
