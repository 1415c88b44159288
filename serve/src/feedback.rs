//! What people say about answers, as questions for training.

use kg::Kg;
use serde::Deserialize;
use serde_json::{Value, json};
use toolbox::answer::{AnswerValue, Member};

use crate::explain;
use crate::fault::Fault;
use crate::feedback_files::Appended;
use crate::service::Service;
use crate::store::StoredAnswer;

/// Right answers that one may give.
const ANSWERS: usize = 100;
/// Maximum bytes of the answer that a verdict is about. A larger one is left out of its line.
const GIVEN: usize = 1 << 14;

/// What somebody says about an answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FeedbackRequest {
    /// The answer's id.
    pub(crate) id: String,
    pub(crate) verdict: Verdict,
    /// With [`Verdict::Wrong`]: the right answers, by name or label.
    #[serde(default)]
    pub(crate) answers: Vec<String>,
}

/// Whether an answer is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    Right,
    Wrong,
}

/// Keeps what somebody says about an answer.
///
/// # Errors
/// [`Fault`] if the server keeps no feedback, the answer is not kept any more, or the file or the disk
/// is full.
pub(crate) fn keep(service: &Service, request: &FeedbackRequest) -> Result<(), Fault> {
    let Some(files) = &service.feedback else {
        return Err(Fault::unknown(
            "no_feedback",
            "this server keeps no feedback; its operator can name a file with --feedback",
        ));
    };
    let stored = service.answer(&request.id)?;
    let texts = &request.answers;
    if texts.len() > ANSWERS || texts.iter().any(|text| text.len() > 500) {
        let message = format!("at most {ANSWERS} answers of 500 bytes");
        return Err(Fault::bad("too_long", message));
    }
    if request.verdict == Verdict::Right && !texts.is_empty() {
        let message = "`answers` corrects a wrong answer; a right one needs no correction";
        return Err(Fault::bad("answers", message));
    }
    let line = line(service, &stored, request)?;
    let is_gold = request.verdict == Verdict::Right || !texts.is_empty();
    match files.append(&line, is_gold) {
        Ok(Appended::Written | Appended::Known) => Ok(()),
        Ok(Appended::Full) => {
            tracing::warn!("the feedback file is full; move it away and reload the server");
            let message = "the feedback file is full; the server's operator can move it away";
            Err(Fault::new(507, "feedback_full", message))
        }
        Err(error) => {
            tracing::error!("feedback could not be written: {error}");
            let message = "the feedback could not be saved";
            Err(Fault::new(507, "not_saved", message))
        }
    }
}

fn line(
    service: &Service,
    stored: &StoredAnswer,
    request: &FeedbackRequest,
) -> Result<Value, Fault> {
    let graph = service.graph(Some(&stored.graph))?;
    let kg = &graph.kg;
    let label = |name: &String| {
        let node = kg.by_name(name);
        let label = node.and_then(|node| kg.label(node));
        (name.clone(), label.unwrap_or_else(|| name.clone()).into())
    };
    let topic: serde_json::Map<String, Value> = stored.entities.iter().map(label).collect();
    let mut line = json!({
        "id": stored.id, "question": stored.question, "topic": topic, "graph": stored.graph,
        "verdict": if request.verdict == Verdict::Right { "right" } else { "wrong" },
        "program": stored.answer.program,
    });
    let given = given(&stored.answer.value);
    let is_short = given.to_string().len() <= GIVEN;
    match request.verdict {
        Verdict::Right => match explain::sparql(kg, stored) {
            Ok(query) => line["sparql"] = query.into(),
            Err(_) if is_short => line["answers"] = given.clone(),
            Err(_) => {
                let message = "the answer has no query, and is too long to be kept without one";
                return Err(Fault::bad("too_long", message));
            }
        },
        Verdict::Wrong if !request.answers.is_empty() => {
            let names = request.answers.iter().map(|text| named(kg, text));
            line["answers"] = names.collect();
        }
        Verdict::Wrong => {}
    }
    // What the verdict is about; `adapt` compares it with other verdicts.
    if is_short {
        line["given"] = given;
    }
    Ok(line)
}

/// The answers that were given, by name.
fn given(value: &AnswerValue) -> Value {
    match value {
        AnswerValue::Set(members) => members.iter().map(|member| member.name.as_str()).collect(),
        AnswerValue::Number(number) => json!([number.to_string()]),
        AnswerValue::Truth(truth) => json!([truth.to_string()]),
        AnswerValue::Table(table) => {
            let name = |row: &Vec<Member>| -> Value {
                row.iter().map(|member| member.name.as_str()).collect()
            };
            table.rows.iter().map(name).collect()
        }
    }
}

/// The name of the node that a text means, or else the text.
fn named(kg: &dyn Kg, text: &str) -> String {
    let text = text.trim();
    if kg.by_name(text).is_some() {
        return text.to_owned();
    }
    match kg.by_label(text)[..] {
        [only] => kg.name(only),
        _ => text.to_owned(),
    }
}
