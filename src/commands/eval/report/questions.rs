//! The questions of a report, each with the answers of all agents.

use toolbox::trace::{ResultText, TraceEvent, row_lines};

use super::super::result::{Evaluation, Prediction};
use super::html::escape;

/// Maximum number of questions shown.
const SHOWN: usize = 300;
/// Maximum number of answers shown per set.
const MEMBERS: usize = 12;

/// The list of questions with the controls that filter it. Questions that some agent did not answer
/// exactly come first.
pub(super) fn list(evaluated: &[Evaluation]) -> String {
    let Some(first) = evaluated.first() else {
        return String::new();
    };
    let found = |one: &Evaluation, id: &str| {
        one.predictions
            .iter()
            .position(|prediction| prediction.id == id)
    };
    let mut listed: Vec<(bool, &Prediction)> = first
        .predictions
        .iter()
        .map(|prediction| {
            let right = |one: &Evaluation| {
                found(one, &prediction.id).is_some_and(|at| one.predictions[at].scores.exact == 1.0)
            };
            (evaluated.iter().all(right), prediction)
        })
        .collect();
    listed.sort_by_key(|(right, _)| *right);
    let all = listed.len();
    listed.truncate(SHOWN);
    let mut html = format!(
        "<h2>Questions</h2><p>{} of {all}, those that some agent did not answer exactly first. <input id=\"find\" placeholder=\"find\"> <select id=\"which\"><option value=\"\">all</option><option value=\"wrong\">some agent wrong</option><option value=\"differ\">agents differ</option><option value=\"right\">all right</option></select></p>",
        listed.len()
    );
    for (_, asked) in listed {
        let of: Vec<Option<(&Evaluation, usize)>> = evaluated
            .iter()
            .map(|one| found(one, &asked.id).map(|at| (one, at)))
            .collect();
        let rights: Vec<bool> = of
            .iter()
            .flatten()
            .map(|(one, at)| one.predictions[*at].scores.exact == 1.0)
            .collect();
        let kind = match (
            rights.iter().all(|right| *right),
            rights.iter().any(|right| *right),
        ) {
            (true, _) => "right",
            (false, true) => "wrong differ",
            (false, false) => "wrong",
        };
        let chips: String = of
            .iter()
            .flatten()
            .map(|(one, at)| chip(one, *at))
            .collect();
        let columns: String = of
            .iter()
            .flatten()
            .map(|(one, at)| column(one, *at))
            .collect();
        html.push_str(&format!(
            "<details class=\"q {kind}\"><summary>{chips} <bdi>{}</bdi></summary><p class=\"n\">{} · gold: <bdi>{}</bdi></p><div class=\"c\">{columns}</div></details>",
            escape(&asked.question),
            escape(&asked.id),
            escape(&members(&asked.gold_labels))
        ));
    }
    html
}

fn chip(one: &Evaluation, at: usize) -> String {
    let scores = one.predictions[at].scores;
    let class = if scores.exact == 1.0 {
        "y"
    } else if scores.f1 > 0.0 {
        "h"
    } else {
        "x"
    };
    format!(
        "<span class=\"chip {class}\">{} {:.2}</span>",
        escape(&one.agent),
        scores.f1
    )
}

fn members(labels: &[String]) -> String {
    if labels.is_empty() {
        return "none".to_owned();
    }
    let more = labels.len().saturating_sub(MEMBERS);
    labels[..labels.len() - more].join(", ")
        + &if more > 0 {
            format!(", … ({} in all)", labels.len())
        } else {
            String::new()
        }
}

/// The answer of one agent and how it got there.
fn column(one: &Evaluation, at: usize) -> String {
    let prediction = &one.predictions[at];
    let mut html = format!(
        "<div><h4>{}</h4><p>answer: <bdi>{}</bdi> <span class=\"n\">({}, {} tokens)</span></p>",
        escape(&one.agent),
        escape(&members(&prediction.predicted_labels)),
        escape(&format!("{:?}", prediction.provenance).to_lowercase()),
        prediction.tokens
    );
    if let Some(emptied) = &prediction.emptied {
        html.push_str(&format!(
            "<p class=\"n\">emptied at step {}: {}</p>",
            emptied.step,
            escape(&emptied.why)
        ));
    }
    html.push_str("<ol>");
    for event in &one.traces[at] {
        html.push_str(&shown(event));
    }
    html + "</ol></div>"
}

/// An event of a trace; empty for events that other parts of the page show.
pub(super) fn shown(event: &TraceEvent) -> String {
    match event {
        TraceEvent::Prompt { turns } => {
            let text: Vec<String> = turns
                .iter()
                .map(|turn| format!("[{:?}] {}", turn.role, turn.text()))
                .collect();
            format!(
                "<li><details><summary>prompt</summary><pre><bdi>{}</bdi></pre></details></li>",
                escape(&text.join("\n"))
            )
        }
        TraceEvent::Reply(reply) => {
            let problem = reply.problem.iter().map(|problem| format!("({problem})"));
            let parts = [&reply.thought, &reply.text].map(String::clone);
            let parts: Vec<String> = parts.into_iter().chain(problem).collect();
            let text = parts.join("\n");
            if text.trim().is_empty() {
                return String::new();
            }
            format!(
                "<li><details><summary>reply</summary><pre><bdi>{}</bdi></pre></details></li>",
                escape(text.trim())
            )
        }
        TraceEvent::Call { text, .. } => format!("<li><code>{}</code></li>", escape(text)),
        TraceEvent::Result { result, .. } => {
            format!("<li>→ <bdi>{}</bdi></li>", escape(&result_text(result)))
        }
        TraceEvent::Error { message } => format!("<li class=\"x\">{}</li>", escape(message)),
        TraceEvent::Decision { candidates, .. } => {
            let one = |one: &toolbox::trace::DecidedCandidate| {
                let tag = if one.chosen { "b" } else { "span" };
                format!(
                    "<{tag}><code>{}</code> <span class=\"n\">{:.2}</span></{tag}>",
                    escape(&one.program.join("; ")),
                    one.score
                )
            };
            format!(
                "<li>{}</li>",
                candidates.iter().map(one).collect::<Vec<_>>().join("<br>")
            )
        }
        TraceEvent::Observe { .. }
        | TraceEvent::Tokens { .. }
        | TraceEvent::Memory { .. }
        | TraceEvent::Answer { .. }
        | TraceEvent::Timing { .. } => String::new(),
    }
}

fn result_text(result: &ResultText) -> String {
    match result {
        ResultText::Relations { out, r#in } => {
            format!("out: {}; in: {}", out.join(", "), r#in.join(", "))
        }
        ResultText::Set { size, first } if *size > first.len() => {
            format!("{}, … ({size} in all)", first.join(", "))
        }
        ResultText::Set { size: 0, .. } => "nothing".to_owned(),
        ResultText::Set { first, .. } => first.join(", "),
        ResultText::Number(number) => number.to_string(),
        ResultText::Truth(truth) => truth.to_string(),
        ResultText::Table { size, first, .. } => {
            format!("{size} rows: {}", row_lines(*size, first).join("; "))
        }
    }
}
