//! What a finished run leaves beside its model for people: a page with its curves and figures.

use std::fmt::Write;

use serde_json::Value;

use crate::progress::{StepReport, Validation};
use crate::svg::{Axis, curve};
use crate::trainer::Summary;

/// The loss curve alone.
pub(crate) fn loss_curve(steps: &[StepReport], validations: &[Validation]) -> String {
    let dots: Vec<(usize, f64)> = validations.iter().map(|v| (v.step, v.loss)).collect();
    curve(
        "loss by step (dots: held out)",
        Axis::Logarithmic,
        &points(steps, |s| s.loss),
        &dots,
    )
}

fn points(steps: &[StepReport], value: impl Fn(&StepReport) -> f64) -> Vec<(usize, f64)> {
    steps.iter().map(|step| (step.step, value(step))).collect()
}

/// The page: one file, nothing fetched.
pub(crate) fn page(
    run: &Value,
    summary: &Summary,
    steps: &[StepReport],
    validations: &[Validation],
) -> String {
    let mut out = String::from(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Training</title>\n<style>body{font:15px sans-serif;margin:2em auto;max-width:760px}\
         td,th{padding:2px 12px;text-align:right}td:first-child,th:first-child{text-align:left}pre{background:#f4f4f4;padding:1em;overflow:auto}</style></head><body>\n\
         <h1>Training</h1>\n<table>\n",
    );
    let mut row = |name: &str, value: String| {
        let _ = writeln!(out, "<tr><td>{name}</td><td>{value}</td></tr>");
    };
    row("parameters", summary.parameters.to_string());
    row("trained", summary.trained_parameters.to_string());
    row("examples", summary.examples.to_string());
    row("steps", summary.steps.to_string());
    row("tokens", summary.tokens.to_string());
    row(
        "tokens a second",
        format!("{:.0}", summary.tokens_per_second),
    );
    row("seconds", format!("{:.1}", summary.seconds));
    row("loss (last tenth)", format!("{:.4}", summary.loss));
    if let Some(valid) = &summary.validation {
        row("held-out loss", format!("{:.4}", valid.loss));
        row(
            "held-out tokens predicted first",
            format!("{:.4}", valid.accuracy),
        );
        row(
            "held-out calls exact",
            valid
                .exact()
                .map_or("none".to_owned(), |share| format!("{share:.4}")),
        );
        row(
            "doubt it can bear",
            valid
                .doubt
                .map_or("too few held-out turns to say".to_owned(), |doubt| {
                    format!("{doubt:.4}")
                }),
        );
    }
    out.push_str("</table>\n");
    if let Some(valid) = &summary.validation {
        out.push_str("<h2>Held-out calls by tool</h2>\n<table><tr><th>tool</th><th>calls</th><th>exact</th></tr>\n");
        for (tool, score) in &valid.tools {
            let _ = writeln!(
                out,
                "<tr><td>{}</td><td>{}</td><td>{:.4}</td></tr>",
                escaped(tool),
                score.calls,
                score.share()
            );
        }
        out.push_str(
            "</table>\n<p>A call is exact where each of its tokens is the model's first choice behind the right ones before it.</p>\n",
        );
    }
    out.push_str(&loss_curve(steps, validations));
    out.push_str(&curve(
        "learning rate by step",
        Axis::Linear,
        &points(steps, |s| s.rate),
        &[],
    ));
    out.push_str(&curve(
        "gradient norm by step, before clipping",
        Axis::Logarithmic,
        &points(steps, |s| s.norm),
        &[],
    ));
    out.push_str(&curve(
        "tokens a second by step",
        Axis::Linear,
        &points(steps, |s| s.tokens_per_second),
        &[],
    ));
    if validations.len() > 1 {
        let exact: Vec<(usize, f64)> = validations
            .iter()
            .filter_map(|v| Some((v.step, v.exact()?)))
            .collect();
        out.push_str(&curve(
            "held-out calls exact by step",
            Axis::Linear,
            &exact,
            &exact,
        ));
    }
    let _ = write!(
        out,
        "<h2>Run</h2>\n<pre>{}</pre>\n</body></html>\n",
        escaped(&format!("{run:#}"))
    );
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
