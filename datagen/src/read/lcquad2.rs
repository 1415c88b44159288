//! LC-QuAD 2: a JSON array with three wordings (`question`, `NNQT_question`,
//! `paraphrased_question`) and two queries (`sparql_wikidata`, `sparql_dbpedia18`). If `question`
//! is null or `n/a`, the next wording is used.

use serde_json::Value;
use toolbox::exec::ExcludeWhen;

use super::description::SourceFormat;
use super::json::{JsonReader, blank, get, missing, plain, query_text, texts};
use super::reader::ReadRequest;
use super::sample::Likeness;
use crate::question::GoldQuestion;

pub(super) const LCQUAD2: JsonReader = JsonReader {
    format: &FORMAT,
    wrapper: None,
    likeness: |sample| Likeness::certain(sample.array_of(&[&WORDINGS, &QUERIES])),
    question,
};

const FORMAT: SourceFormat = SourceFormat {
    name: "lcquad2",
    about: "LC-QuAD 2 (Wikidata, DBpedia 2018)",
    needs: "a JSON array of `question`, `NNQT_question` or `paraphrased_question` with `sparql_wikidata` or `sparql_dbpedia18`",
    folder: "train.json and test.json, also in dataset/",
    files: "train.json, test.json",
    is_one: |name| matches!(name, "train.json" | "test.json"),
    example: r#"{"uid": 1, "NNQT_question": "…", "question": "…", "paraphrased_question": "…", "sparql_wikidata": "select ?x where { wd:Q1 wdt:P1 ?x }", "sparql_dbpedia18": "…", "template": "…"}"#,
    options: &[
        ("dbpedia", "the DBpedia queries instead of Wikidata's"),
        ("paraphrased", "the paraphrased wording"),
        ("nnqt", "the templates' wording"),
    ],
    fronts: &[],
    queries: true,
};

const WORDINGS: [&str; 3] = ["question", "paraphrased_question", "NNQT_question"];
const QUERIES: [&str; 2] = ["sparql_wikidata", "sparql_dbpedia18"];

fn question(record: &Value, number: usize, from: &ReadRequest<'_>) -> Result<GoldQuestion, String> {
    let option = from.option;
    let order = match option {
        Some("paraphrased") => ["paraphrased_question", "question", "NNQT_question"],
        Some("nnqt") => ["NNQT_question", "question", "paraphrased_question"],
        _ => WORDINGS,
    };
    let real = |text: &&str| !text.is_empty() && !text.eq_ignore_ascii_case("n/a");
    let wording = order
        .iter()
        .filter_map(|name| record.get(*name)?.as_str().map(str::trim))
        .find(real)
        .ok_or_else(|| missing(&WORDINGS))?;
    let field = if option == Some("dbpedia") {
        "sparql_dbpedia18"
    } else {
        "sparql_wikidata"
    };
    if QUERIES.iter().all(|name| record.get(*name).is_none()) {
        return Err(missing(&QUERIES));
    }
    let id = get(record, &["uid", "_id", "id"]).map_or_else(|| format!("lcquad2-{number}"), plain);
    Ok(GoldQuestion {
        question: wording.to_owned(),
        query: query_text(record.get(field), field),
        answers: get(record, &["answer", "answers"])
            .map(texts)
            .filter(|answers| !answers.is_empty()),
        kind: get(record, &["template_index", "template_id", "template"]).map(plain),
        exclude: ExcludeWhen::Answer,
        ..blank(FORMAT.name, id)
    })
}
