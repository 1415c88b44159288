//! LC-QuAD 1: a JSON array with `_id, corrected_question, sparql_query`, or the same with `id, question, sparql`.

use std::path::Path;

use toolbox::exec::ExcludeWhen;
use toolbox::kg::Kg;

use super::Reader;
use super::json::{Fields, read_array};
use crate::Error;
use crate::question::GoldQuestion;

pub(super) struct LcQuad1;

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

impl Reader for LcQuad1 {
    fn format(&self) -> &'static str {
        FIELDS.format
    }

    fn about(&self) -> &'static str {
        "LC-QuAD 1: a JSON array with corrected_question and sparql_query"
    }

    fn read(&self, path: &Path, _kg: Option<&dyn Kg>) -> Result<Vec<GoldQuestion>, Error> {
        read_array(path, &FIELDS)
    }
}
