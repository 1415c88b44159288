//! QALD-JSON (QALD 1–10, YAGO-QA): `{"questions": [{id, question: [{language, string}], query: {sparql}, answers: [SPARQL results]}]}`.

use std::path::Path;

use serde_json::Value;
use toolbox::exec::ExcludeWhen;
use toolbox::kg::Kg;

use super::json::{bad, plain};
use super::{Reader, file};
use crate::question::{GoldQuery, GoldQuestion};
use crate::{Error, Refusal};

pub(super) struct Qald;

impl Reader for Qald {
    fn format(&self) -> &'static str {
        "qald"
    }

    fn about(&self) -> &'static str {
        "QALD-JSON and YAGO-QA: an object with questions"
    }

    fn read(&self, path: &Path, _kg: Option<&dyn Kg>) -> Result<Vec<GoldQuestion>, Error> {
        let text = file::text(path)?;
        let whole: Value = serde_json::from_str(&text)
            .map_err(|error| Error::line(path, error.line(), format!("not a JSON object: {error}; {}", file::looks_like(&text))))?;
        let Some(records) = whole.get("questions").and_then(Value::as_array) else {
            return Err(Error::line(path, 1, format!("QALD-JSON has a list `questions`; {}", file::looks_like(&text))));
        };
        let mut questions = Vec::with_capacity(records.len());
        for (i, record) in records.iter().enumerate() {
            match question(record, i + 1) {
                Ok(question) => questions.push(question),
                Err(message) if i == 0 => return Err(Error::record(path, 1, message)),
                Err(message) => questions.push(bad("qald", i + 1, message)),
            }
        }
        Ok(questions)
    }
}

fn question(record: &Value, number: usize) -> Result<GoldQuestion, &'static str> {
    let wordings = record.get("question").and_then(Value::as_array).ok_or("`question` is no list of wordings")?;
    let in_language = |language: Option<&str>| {
        let fits = |wording: &&Value| language.is_none() || wording.get("language").and_then(Value::as_str) == language;
        wordings.iter().filter(fits).find_map(|wording| wording.get("string").and_then(Value::as_str))
    };
    let wording = in_language(Some("en")).or_else(|| in_language(None)).ok_or("no wording carries a `string`")?;
    let query = match record.pointer("/query/sparql").and_then(Value::as_str).map(str::trim) {
        Some(sparql) if !sparql.is_empty() => GoldQuery::Text(sparql.to_owned()),
        _ => GoldQuery::Missing(Refusal::NoQuery, "`query.sparql` is missing or empty".to_owned()),
    };
    let id = record.get("id").map_or_else(|| number.to_string(), plain);
    let mut made = bad("qald", number, "");
    made.id = format!("qald-{id}");
    made.question = wording.trim().to_owned();
    made.query = query;
    made.answers = record.get("answers").map(answers);
    made.kind = record.get("answertype").and_then(Value::as_str).map(str::to_owned);
    made.exclude = ExcludeWhen::Answer;
    Ok(made)
}

/// The values of SPARQL JSON results.
fn answers(results: &Value) -> Vec<String> {
    let mut texts = Vec::new();
    for result in results.as_array().into_iter().flatten() {
        if let Some(truth) = result.get("boolean") {
            texts.push(plain(truth));
        }
        for binding in result.pointer("/results/bindings").and_then(Value::as_array).into_iter().flatten() {
            let values = binding.as_object().into_iter().flat_map(|binding| binding.values());
            texts.extend(values.filter_map(|value| value.get("value")).map(plain));
        }
    }
    texts
}
