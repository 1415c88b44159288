//! WebQSP: `{"Questions": [{QuestionId, RawQuestion, ProcessedQuestion, Parses: [{Sparql,
//! TopicEntityMid, Answers, …}]}]}`. Of several parses, the first one that is marked as complete is
//! used, otherwise the first. Hand-written queries (`#MANUAL SPARQL`) and parses of only a part of
//! the question have their own kind. They are tried like all others, and verification decides.

use serde_json::Value;
use toolbox::exec::ExcludeWhen;

use super::description::SourceFormat;
use super::json::{JsonReader, blank, get, missing, plain, query_text, texts};
use super::reader::ReadRequest;
use super::sample::{Likeness, SampleForm};
use crate::question::{GoldQuestion, Topic};

pub(super) const WEBQSP: JsonReader = JsonReader {
    format: &FORMAT,
    wrapper: Some("Questions"),
    likeness: |sample| {
        let questions =
            sample.form == SampleForm::Object && sample.wrapper.as_deref() == Some("Questions");
        Likeness::of(questions, questions && sample.has("Parses"))
    },
    question,
};

const FORMAT: SourceFormat = SourceFormat {
    name: "webqsp",
    about: "WebQuestionsSP (Freebase)",
    needs: "a JSON object with a list `Questions` of `RawQuestion` and `Parses`",
    folder: "WebQSP.*.json, also in data/",
    files: "WebQSP.train.json, WebQSP.test.json",
    // The partial files contain questions that could not be fully annotated; they have no
    // queries.
    is_one: |name| {
        name.starts_with("webqsp") && name.ends_with(".json") && !name.contains("partial")
    },
    example: r#"{"Questions": [{"QuestionId": "WebQTrn-0", "RawQuestion": "…", "Parses": [{"Sparql": "PREFIX ns: …", "TopicEntityMid": "m.01", "InferentialChain": ["…"], "Answers": [{"AnswerArgument": "m.02", "EntityName": "…"}]}]}]}"#,
    options: &[],
    fronts: &[],
    queries: true,
};

const WORDINGS: [&str; 2] = ["RawQuestion", "ProcessedQuestion"];
/// The beginning of a hand-written query.
const MANUAL: &str = "#MANUAL SPARQL";

fn question(record: &Value, number: usize, _: &ReadRequest<'_>) -> Result<GoldQuestion, String> {
    let wording = get(record, &WORDINGS)
        .and_then(Value::as_str)
        .ok_or_else(|| missing(&WORDINGS))?;
    let parses = record["Parses"]
        .as_array()
        .ok_or("`Parses` is not a list")?;
    let quality = |parse: &Value| {
        parse["AnnotatorComment"]["ParseQuality"]
            .as_str()
            .map(str::to_ascii_lowercase)
    };
    let complete = |parse: &&Value| quality(parse).is_none_or(|quality| quality == "complete");
    let none = Value::Null;
    let parse = parses
        .iter()
        .find(complete)
        .or_else(|| parses.first())
        .unwrap_or(&none);
    let chain = parse["InferentialChain"]
        .as_array()
        .filter(|chain| !chain.is_empty());
    let constraints = parse["Constraints"].as_array().map_or(0, Vec::len);
    let manual = parse["Sparql"]
        .as_str()
        .is_some_and(|text| text.trim_start().starts_with(MANUAL));
    let kind = match (manual, complete(&parse), chain) {
        (true, ..) => "hand-written",
        (_, false, _) => "partial",
        (.., Some(_)) if constraints > 0 => "constrained chain",
        (.., Some(_)) => "chain",
        (.., None) => "other",
    };
    let label = || {
        get(parse, &["TopicEntityName", "PotentialTopicEntityMention"])
            .map(plain)
            .unwrap_or_default()
    };
    let topic = parse["TopicEntityMid"]
        .as_str()
        .filter(|mid| !mid.is_empty());
    Ok(GoldQuestion {
        question: wording.trim().to_owned(),
        query: query_text(parse.get("Sparql"), "Parses[].Sparql"),
        topics: topic
            .map(|mid| Topic {
                name: mid.to_owned(),
                label: label(),
            })
            .into_iter()
            .collect(),
        answers: parse.get("Answers").map(texts),
        hops: chain
            .and_then(|chain| u32::try_from(chain.len()).ok())
            .filter(|_| !manual),
        kind: Some(kind.to_owned()),
        exclude: ExcludeWhen::Answer,
        ..blank(
            FORMAT.name,
            get(record, &["QuestionId"]).map_or_else(|| format!("webqsp-{number}"), plain),
        )
    })
}
