//! GrailQA: a JSON array with `qid, question, sparql_query, level`.

use std::path::Path;

use toolbox::exec::ExcludeWhen;
use toolbox::kg::Kg;

use super::Reader;
use super::json::{Fields, read_array};
use crate::Error;
use crate::question::GoldQuestion;

pub(super) struct GrailQa;

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

impl Reader for GrailQa {
    fn format(&self) -> &'static str {
        FIELDS.format
    }

    fn about(&self) -> &'static str {
        "GrailQA: a JSON array with question and sparql_query"
    }

    fn read(&self, path: &Path, _kg: Option<&dyn Kg>) -> Result<Vec<GoldQuestion>, Error> {
        read_array(path, &FIELDS)
    }
}
