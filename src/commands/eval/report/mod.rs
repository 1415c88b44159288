//! `report.html`: one self-contained file with tables, plots, the papers' results, and every
//! question with the answers of all agents.

pub(in crate::commands) mod html;
mod questions;
pub(in crate::commands) mod sample;
mod svg;

use serde_json::Value;
use toolbox::metrics::{SCORES, difference};

use self::html::{escape, table};
use self::svg::{Bar, bars, number};
use super::compare::ComparisonTable;
use super::result::Evaluation;
use super::table::skipped_rows;
use crate::ui::{header, row};

/// Seed of the bootstrap of differences.
const SEED: u64 = 1;

/// The page; `setting` is the one in `metrics.json`.
pub(super) fn page(
    setting: &Value,
    evaluated: &[Evaluation],
    published: &[ComparisonTable],
    sweep: &[Vec<String>],
) -> String {
    let names: Vec<&str> = evaluated.iter().map(|one| one.agent.as_str()).collect();
    let mut body = format!("<h1>{}</h1>", escape(&names.join(", ")));
    body.push_str("<p>");
    if let Value::Object(map) = setting {
        for (key, value) in map {
            body.push_str(&format!(
                "{} <b>{}</b> · ",
                escape(key),
                escape(&plain(value))
            ));
        }
    }
    body.push_str("intervals hold 95 % (bootstrap over questions)</p>");
    // A table has a head.
    if sweep.len() > 1 {
        body.push_str(&format!("<h2>Variations</h2>{}", table(sweep)));
    }
    body.push_str(&summary(evaluated));
    if let Some(seen) = evaluated.iter().find_map(Evaluation::seen) {
        body.push_str(&format!("<p>{}</p>", escape(&seen)));
    }
    body.push_str(&skipped(evaluated));
    if evaluated.len() > 1 {
        body.push_str(&differences(evaluated));
    }
    body.push_str("<h2>By group</h2>");
    body.push_str(&legend(&names));
    body.push_str(&plots(evaluated, &names));
    body.push_str("<h2>Cost of a question</h2>");
    body.push_str(&costs(evaluated, &names));
    body.push_str(&causes(evaluated));
    body.push_str("<h2>All scores</h2>");
    body.push_str(&scores(evaluated));
    if !published.is_empty() {
        body.push_str("<h2>Published results</h2>");
        for comparison in published {
            let lines: String = comparison
                .differs
                .iter()
                .map(|line| format!("<li>{}</li>", escape(line)))
                .collect();
            body.push_str(&format!(
                "<h3>{}</h3>{}<ul>{lines}</ul>",
                escape(&comparison.title),
                table(&comparison.rows)
            ));
        }
    }
    body.push_str(&questions::list(evaluated));
    let title = format!("kgagent eval: {}", names.join(", "));
    html::page(&title, &body)
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A mean with its interval.
fn with_interval(one: &Evaluation, score: &str) -> String {
    let value = SCORES
        .iter()
        .position(|name| *name == score)
        .map_or(0.0, |index| one.metrics.scores.values()[index]);
    match one
        .metrics
        .interval
        .and_then(|interval| interval.get(score))
    {
        Some([low, high]) => format!("{value:.3} [{low:.3}, {high:.3}]"),
        None => format!("{value:.3}"),
    }
}

fn summary(evaluated: &[Evaluation]) -> String {
    let mut rows = header(
        "agent|n|hits@1|F1|exact|em_strict|program|answered|calls|invalid|asked|tokens|seconds",
    );
    for one in evaluated {
        let m = &one.metrics;
        let each = |sum: f64| number(sum / m.n.max(1) as f64);
        let mut row = vec![one.agent.clone(), m.n.to_string()];
        row.extend(
            ["hits_at_1", "f1", "exact", "em_strict"].map(|score| with_interval(one, score)),
        );
        row.push(
            m.program
                .map_or_else(|| "–".to_owned(), |share| format!("{share:.3}")),
        );
        row.push(m.answered.to_string());
        row.extend(
            [
                m.calls as f64,
                m.invalid_calls as f64,
                m.asked as f64,
                m.tokens as f64,
                m.seconds,
            ]
            .map(each),
        );
        rows.push(row);
    }
    table(&rows)
        + "<p class=\"n\">calls, invalid, asked (times the model was asked), tokens and seconds are of one question; definitions: docs/metrics.md</p>"
}

/// The questions that were not evaluated, by cause.
fn skipped(evaluated: &[Evaluation]) -> String {
    let with = evaluated.iter().filter(|one| !one.skipped.is_empty());
    let one = |one: &Evaluation| {
        format!(
            "<h3>{}: {} questions not evaluated</h3>{}",
            escape(&one.agent),
            one.skipped.len(),
            table(&skipped_rows(one))
        )
    };
    with.map(one).collect()
}

/// Differences between each two agents on the questions that both have answered, with intervals.
fn differences(evaluated: &[Evaluation]) -> String {
    let mut rows = header("pair|questions|F1|exact");
    for (i, a) in evaluated.iter().enumerate() {
        for b in &evaluated[i + 1..] {
            let pairs: Vec<_> = a
                .predictions
                .iter()
                .filter_map(|x| {
                    Some((
                        x.scores,
                        b.predictions.iter().find(|y| y.id == x.id)?.scores,
                    ))
                })
                .collect();
            let of = |score: &dyn Fn(&toolbox::metrics::Scores) -> f64| {
                let (x, y): (Vec<f64>, Vec<f64>) =
                    pairs.iter().map(|(x, y)| (score(x), score(y))).unzip();
                let mean =
                    x.iter().zip(&y).map(|(x, y)| x - y).sum::<f64>() / x.len().max(1) as f64;
                let [low, high] = difference(&x, &y, SEED);
                format!("{mean:+.3} [{low:+.3}, {high:+.3}]")
            };
            rows.push(vec![
                format!("{} − {}", a.agent, b.agent),
                pairs.len().to_string(),
                of(&|s| s.f1),
                of(&|s| s.exact),
            ]);
        }
    }
    format!("<h2>Differences on the same questions</h2>{}", table(&rows))
}

fn legend(names: &[&str]) -> String {
    let one = |(i, name): (usize, &&str)| {
        format!(
            "<span class=\"k\" style=\"background:{}\"></span>{} ",
            svg::COLOURS[i % svg::COLOURS.len()],
            escape(name)
        )
    };
    format!(
        "<p>{}</p>",
        names.iter().enumerate().map(one).collect::<String>()
    )
}

/// F1 overall and by each dimension.
fn plots(evaluated: &[Evaluation], names: &[&str]) -> String {
    let bar = |metrics: Option<&toolbox::metrics::Metrics>| -> Bar {
        metrics.map_or((0.0, None), |m| {
            (
                m.scores.f1,
                m.interval.and_then(|interval| interval.get("f1")),
            )
        })
    };
    let all = vec![(
        "all".to_owned(),
        evaluated
            .iter()
            .map(|one| bar(Some(&one.metrics)))
            .collect(),
    )];
    let mut html = format!("<div class=\"p\">{}", bars("F1", names, &all));
    let Some(first) = evaluated.first() else {
        return String::new();
    };
    for (dimension, values) in &first.metrics.by {
        let group = |value: &String| {
            let of = |one: &Evaluation| {
                bar(one
                    .metrics
                    .by
                    .get(dimension)
                    .and_then(|values| values.get(value)))
            };
            (value.clone(), evaluated.iter().map(of).collect())
        };
        let groups: Vec<(String, Vec<Bar>)> = values.keys().map(group).collect();
        html.push_str(&bars(&format!("F1 by {dimension}"), names, &groups));
    }
    html + "</div>"
}

fn costs(evaluated: &[Evaluation], names: &[&str]) -> String {
    let chart = |title: &str, sum: &dyn Fn(&toolbox::metrics::Metrics) -> f64| {
        let values = evaluated
            .iter()
            .map(|one| (sum(&one.metrics) / one.metrics.n.max(1) as f64, None))
            .collect();
        bars(title, names, &[(String::new(), values)])
    };
    let mut html = format!(
        "<div class=\"p\">{}{}{}",
        chart("calls", &|m| m.calls as f64),
        chart("tokens", &|m| m.tokens as f64),
        chart("milliseconds", &|m| m.seconds * 1e3)
    );
    let mut phases: Vec<&String> = evaluated
        .iter()
        .flat_map(|one| one.metrics.phases.keys())
        .collect();
    phases.sort();
    phases.dedup();
    if !phases.is_empty() {
        let of = |phase: &String, one: &Evaluation| {
            one.metrics.phases.get(phase).copied().unwrap_or(0.0) * 1e3
                / one.metrics.n.max(1) as f64
        };
        let groups: Vec<(String, Vec<Bar>)> = phases
            .iter()
            .map(|phase| {
                (
                    (*phase).clone(),
                    evaluated.iter().map(|one| (of(phase, one), None)).collect(),
                )
            })
            .collect();
        html.push_str(&bars("milliseconds by phase", names, &groups));
    }
    html + "</div>"
}

/// Why answers are missing, and what linking kept.
fn causes(evaluated: &[Evaluation]) -> String {
    let mut html = String::new();
    for one in evaluated {
        let (failures, kept) = (&one.metrics.failures, &one.metrics.linking_recall);
        let failures = failures.iter().map(|(cause, n)| (cause, n.to_string()));
        let kept = kept
            .iter()
            .map(|(stage, share)| (stage, format!("{share:.3}")));
        for (head, cells) in [
            ("no answer because|questions", failures.collect::<Vec<_>>()),
            ("stage of linking|gold kept", kept.collect()),
        ] {
            if !cells.is_empty() {
                let mut rows = header(head);
                rows.extend(
                    cells
                        .into_iter()
                        .map(|(name, cell)| vec![name.clone(), cell]),
                );
                html.push_str(&format!("<h3>{}</h3>{}", escape(&one.agent), table(&rows)));
            }
        }
    }
    if html.is_empty() {
        html
    } else {
        format!("<h2>Causes and linking</h2>{html}")
    }
}

fn scores(evaluated: &[Evaluation]) -> String {
    let agents = evaluated.iter().map(|one| one.agent.clone());
    let mut rows = vec![row("score", agents)];
    for score in SCORES {
        rows.push(row(
            score,
            evaluated.iter().map(|one| with_interval(one, score)),
        ));
    }
    table(&rows)
}
