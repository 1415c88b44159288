//! The report of a finished run: a page with figures and curves.

use std::fmt::Write;

use serde_json::Value;

use crate::progress::{StepReport, Summary, Validation};
use crate::svg::{Axis, curve};

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

/// The page, a single file without external resources.
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
    for (name, value) in figures(summary) {
        let _ = writeln!(out, "<tr><td>{name}</td><td>{value}</td></tr>");
    }
    out.push_str("</table>\n");
    if let Some(valid) = &summary.validation {
        tools(valid, &mut out);
    }
    out.push_str(&loss_curve(steps, validations));
    for (title, axis, value) in [
        (
            "learning rate by step",
            Axis::Linear,
            (|s| s.rate) as fn(&StepReport) -> f64,
        ),
        (
            "gradient norm by step, before clipping",
            Axis::Logarithmic,
            |s| s.norm,
        ),
        ("tokens per second by step", Axis::Linear, |s| {
            s.tokens_per_second
        }),
    ] {
        out.push_str(&curve(title, axis, &points(steps, value), &[]));
    }
    if validations.len() > 1 {
        let share = |v: &Validation| Some((v.step, v.exact()?));
        let exact: Vec<(usize, f64)> = validations.iter().filter_map(share).collect();
        let title = "held-out calls exact by step";
        out.push_str(&curve(title, Axis::Linear, &exact, &exact));
    }
    let run = escaped(&format!("{run:#}"));
    let _ = write!(out, "<h2>Run</h2>\n<pre>{run}</pre>\n</body></html>\n");
    out
}

/// Names and values of the figures.
fn figures(summary: &Summary) -> Vec<(&'static str, String)> {
    let mut rows = vec![
        ("parameters", summary.parameters.to_string()),
        ("trained", summary.trained_parameters.to_string()),
        ("examples", summary.examples.to_string()),
        ("steps", summary.steps.to_string()),
        ("tokens", summary.tokens.to_string()),
        (
            "tokens per second",
            format!("{:.0}", summary.tokens_per_second),
        ),
        ("seconds", format!("{:.1}", summary.seconds)),
        ("loss (last tenth)", format!("{:.4}", summary.loss)),
    ];
    if let Some(valid) = &summary.validation {
        let share = |share: Option<f64>, missing: &str| {
            share.map_or(missing.to_owned(), |share| format!("{share:.4}"))
        };
        rows.extend([
            ("held-out loss", format!("{:.4}", valid.loss)),
            ("held-out accuracy", format!("{:.4}", valid.accuracy)),
            ("held-out calls exact", share(valid.exact(), "no calls")),
            (
                "abstention threshold",
                share(valid.abstention_threshold, "too few held-out turns"),
            ),
        ]);
    }
    rows
}

/// The table of held-out calls.
fn tools(valid: &Validation, out: &mut String) {
    out.push_str("<h2>Held-out calls by tool</h2>\n<table><tr><th>tool</th><th>calls</th><th>exact</th></tr>\n");
    for (tool, score) in &valid.tools {
        let (tool, calls, share) = (escaped(tool), score.calls, score.share());
        let _ = writeln!(
            out,
            "<tr><td>{tool}</td><td>{calls}</td><td>{share:.4}</td></tr>"
        );
    }
    out.push_str(
        "</table>\n<p>A call is exact if each of its tokens is the model's first choice after the right tokens before it.</p>\n",
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
