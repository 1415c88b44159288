//! ComplexWebQuestions: the published JSON (`ID, question, sparql, …`) and arrays of `id, question, sparql, topic, gold`. Queries are in
//! Virtuoso's dialect and name the topics in `?x != topic`, which drops them from the answer (rule R7).

use std::path::Path;

use toolbox::exec::ExcludeWhen;
use toolbox::kg::Kg;

use super::Reader;
use super::json::{Fields, read_array};
use crate::Error;
use crate::question::GoldQuestion;

pub(super) struct Cwq;

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

impl Reader for Cwq {
    fn format(&self) -> &'static str {
        FIELDS.format
    }

    fn about(&self) -> &'static str {
        "ComplexWebQuestions: a JSON array with question and sparql"
    }

    fn read(&self, path: &Path, _kg: Option<&dyn Kg>) -> Result<Vec<GoldQuestion>, Error> {
        read_array(path, &FIELDS)
    }
}
