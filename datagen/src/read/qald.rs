//! QALD-JSON (QALD 1–10, QALD-9-plus, YAGO-QA): `{"questions": [{id, question: [{language,
//! string}], query: {sparql}, answers: [SPARQL results]}]}`.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use toolbox::exec::ExcludeWhen;

use super::description::LANGUAGE;
use super::description::SourceFormat;
use super::file;
use super::json::{blank, plain, query_text, read_records};
use super::reader::{Each, QuestionReader, ReadRequest};
use super::sample::{Likeness, Sample, SampleForm};
use crate::Error;
use crate::question::{GoldQuery, GoldQuestion};
use crate::refusal::Refusal;

pub(super) struct Qald;

pub(super) const FORMAT: SourceFormat = SourceFormat {
    name: "qald",
    about: "QALD-JSON: QALD 1 to 10, QALD-9-plus, YAGO-QA",
    needs: "a JSON object with a list `questions` of `question` (wordings by language) and `query`",
    folder: "qald*.json (one of the Wikidata and DBpedia files of QALD-9-plus has to be named)",
    files: "qald*.json",
    is_one: |name| (name.contains("qald") || name.contains("yago")) && name.ends_with(".json"),
    example: r#"{"questions": [{"id": "1", "question": [{"language": "en", "string": "…"}], "query": {"sparql": "SELECT …"}, "answers": [{"head": {"vars": ["x"]}, "results": {"bindings": []}}]}]}"#,
    options: &[(
        LANGUAGE,
        "the wordings in that language (`de`, `pt_BR`, …); English, else the first, without it",
    )],
    fronts: &[],
    queries: true,
};

impl QuestionReader for Qald {
    fn format(&self) -> &'static SourceFormat {
        &FORMAT
    }

    fn likeness(&self, sample: &Sample) -> Likeness {
        let questions =
            sample.form == SampleForm::Object && sample.wrapper.as_deref() == Some("questions");
        Likeness::of(questions, questions && sample.has("question"))
    }

    fn files(&self, path: &Path) -> Result<Vec<PathBuf>, Error> {
        let found = file::of_set(path, &FORMAT)?;
        let of = |graph: &str| {
            found
                .iter()
                .find(|file| file.to_string_lossy().to_ascii_lowercase().contains(graph))
        };
        match (of("wikidata.json"), of("dbpedia.json")) {
            (Some(a), Some(b)) => {
                let message = format!(
                    "this folder has queries for two graphs; give {} or {}",
                    a.display(),
                    b.display()
                );
                Err(Error::file(path, message))
            }
            _ => Ok(found),
        }
    }

    fn read(&self, from: &ReadRequest<'_>, each: &mut Each<'_>) -> Result<(), Error> {
        read_records(
            from.path,
            Some("questions"),
            FORMAT.name,
            each,
            &mut |record, number| question(record, number, from.option),
        )
    }
}

/// The name that a file gives its set (`dataset.id`), such as `qald-9-train-multilingual`.
///
/// # Errors
/// If the file cannot be read or is not a JSON object.
pub(super) fn set_name(path: &Path) -> Result<Option<String>, Error> {
    #[derive(Deserialize)]
    struct Named {
        dataset: Option<SetName>,
    }
    #[derive(Deserialize)]
    struct SetName {
        id: Option<String>,
    }
    let text = file::text(path)?;
    let named: Named = serde_json::from_str(&text)
        .map_err(|error| Error::line(path, error.line(), error.to_string()))?;
    Ok(named.dataset.and_then(|set| set.id))
}

fn question(record: &Value, number: usize, language: Option<&str>) -> Result<GoldQuestion, String> {
    let wordings = record["question"]
        .as_array()
        .ok_or("`question` is not a list of wordings")?;
    let in_language = |language: Option<&str>| {
        let fits = |wording: &&Value| {
            let spoken = wording["language"].as_str();
            language.is_none_or(|language| {
                spoken.is_some_and(|spoken| spoken.eq_ignore_ascii_case(language))
            })
        };
        let wordings = wordings.iter().filter(fits);
        wordings
            .filter_map(|wording| wording["string"].as_str())
            .map(str::trim)
            .find(|text| !text.is_empty())
    };
    let any = in_language(Some("en"))
        .or_else(|| in_language(None))
        .ok_or("no wording carries a `string`")?;
    let query = query_text(record.pointer("/query/sparql"), "query.sparql");
    let (wording, query) = match language {
        None => (any, query),
        Some(language) => match in_language(Some(language)) {
            Some(wording) => (wording, query),
            None => (
                any,
                GoldQuery::Missing(Refusal::NoWording, format!("no wording in `{language}`")),
            ),
        },
    };
    let published = record.get("answers").map(answers);
    // Files made by scripts often have answers only.
    let query = match (query, published.as_deref()) {
        (GoldQuery::Missing(Refusal::NoQuery, _), Some([_, ..])) => GoldQuery::AnswersOnly {
            aliases: Vec::new(),
        },
        (query, _) => query,
    };
    let id = record.get("id").map_or_else(|| number.to_string(), plain);
    Ok(GoldQuestion {
        question: wording.to_owned(),
        query,
        answers: published,
        kind: record["answertype"].as_str().map(str::to_owned),
        exclude: ExcludeWhen::Answer,
        ..blank(FORMAT.name, format!("qald-{id}"))
    })
}

/// The values of SPARQL JSON results.
fn answers(results: &Value) -> Vec<String> {
    let mut texts = Vec::new();
    for result in results.as_array().into_iter().flatten() {
        if let Some(truth) = result.get("boolean") {
            texts.push(plain(truth));
        }
        for binding in result["results"]["bindings"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let values = binding
                .as_object()
                .into_iter()
                .flat_map(|binding| binding.values());
            texts.extend(values.filter_map(|value| value.get("value")).map(plain));
        }
    }
    texts
}
