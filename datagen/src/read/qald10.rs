//! QALD-10 as the ToG and ODA studies use it: a JSON array with `question, sparql, topic_entity {id: label}, answer {id: label}`.

use std::path::Path;

use toolbox::exec::ExcludeWhen;
use toolbox::kg::Kg;

use super::Reader;
use super::json::{Fields, read_array};
use crate::Error;
use crate::question::GoldQuestion;

pub(super) struct Qald10;

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

impl Reader for Qald10 {
    fn format(&self) -> &'static str {
        FIELDS.format
    }

    fn about(&self) -> &'static str {
        "QALD-10 in the ToG/ODA form: a JSON array with question, sparql and topic_entity"
    }

    fn read(&self, path: &Path, _kg: Option<&dyn Kg>) -> Result<Vec<GoldQuestion>, Error> {
        read_array(path, &FIELDS)
    }
}
