//! `report.html`: one file that stands alone, without a script from elsewhere: tables, plots, the papers' results, and every question with what
//! each agent made of it.

mod drill;
mod svg;

use serde_json::Value;
use toolbox::metrics::{SCORES, difference};

use super::compare::Beside;
use super::run::Evaluated;
use svg::{Bar, bars, number};

/// Seed of the intervals of differences.
const SEED: u64 = 1;
/// Longest text shown whole; a label can be a megabyte.
const LONGEST: usize = 1_500;

/// The page. `setting` is what `metrics.json` says about how questions were put.
pub(super) fn page(setting: &Value, evaluated: &[Evaluated], published: &[Beside]) -> String {
    let names: Vec<&str> = evaluated.iter().map(|one| one.agent).collect();
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
    body.push_str(&summary(evaluated));
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
        for table in published {
            let lines: String = table
                .differs
                .iter()
                .map(|line| format!("<li>{}</li>", escape(line)))
                .collect();
            body.push_str(&format!(
                "<h3>{}</h3>{}<ul>{lines}</ul>",
                escape(&table.title),
                rows(&table.rows)
            ));
        }
    }
    body.push_str(&drill::questions(evaluated));
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>kgagent eval: {}</title><style>{}</style></head><body>{body}<script>{}</script></body></html>\n",
        escape(&names.join(", ")),
        include_str!("page.css"),
        include_str!("page.js")
    )
}

/// Text as it may stand in a page: markup inert, marks that change the direction of writing and control characters made visible, long text cut.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(LONGEST * 2));
    for (i, c) in text.chars().enumerate() {
        if i == LONGEST {
            out.push('…');
            break;
        }
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            '\u{200e}'
            | '\u{200f}'
            | '\u{61c}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A table; the first row is its head.
fn rows(rows: &[Vec<String>]) -> String {
    let mut html = "<table>".to_owned();
    for (i, row) in rows.iter().enumerate() {
        let tag = if i == 0 { "th" } else { "td" };
        let cells: String = row
            .iter()
            .map(|cell| format!("<{tag}>{}</{tag}>", escape(cell)))
            .collect();
        html.push_str(&format!("<tr>{cells}</tr>"));
    }
    html + "</table>"
}

/// A mean with its interval.
fn with_interval(one: &Evaluated, score: &str) -> String {
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

fn summary(evaluated: &[Evaluated]) -> String {
    let head = [
        "agent",
        "n",
        "hits@1",
        "F1",
        "exact",
        "em_strict",
        "program",
        "answered",
        "calls",
        "invalid",
        "asked",
        "tokens",
        "seconds",
    ];
    let mut table = vec![head.map(str::to_owned).to_vec()];
    for one in evaluated {
        let m = &one.metrics;
        let each = |sum: f64| number(sum / m.n.max(1) as f64);
        let mut row = vec![one.agent.to_owned(), m.n.to_string()];
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
        table.push(row);
    }
    rows(&table)
        + "<p class=\"n\">calls, invalid, asked (times the model was asked), tokens and seconds are of one question; definitions: docs/metrics.md</p>"
}

/// How sure it is that one agent is better than another: over the questions that both were measured on.
fn differences(evaluated: &[Evaluated]) -> String {
    let mut table = vec![
        ["pair", "questions", "F1", "exact"]
            .map(str::to_owned)
            .to_vec(),
    ];
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
            table.push(vec![
                format!("{} − {}", a.agent, b.agent),
                pairs.len().to_string(),
                of(&|s| s.f1),
                of(&|s| s.exact),
            ]);
        }
    }
    format!("<h2>Differences on the same questions</h2>{}", rows(&table))
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

/// F1 in all and by each dimension.
fn plots(evaluated: &[Evaluated], names: &[&str]) -> String {
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
            let of = |one: &Evaluated| {
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

fn costs(evaluated: &[Evaluated], names: &[&str]) -> String {
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
        let of = |phase: &String, one: &Evaluated| {
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

/// Why there was no answer, and what linking kept.
fn causes(evaluated: &[Evaluated]) -> String {
    let mut html = String::new();
    for one in evaluated {
        if !one.metrics.failures.is_empty() {
            let mut table = vec![vec!["no answer because".to_owned(), "questions".to_owned()]];
            table.extend(
                one.metrics
                    .failures
                    .iter()
                    .map(|(cause, n)| vec![cause.clone(), n.to_string()]),
            );
            html.push_str(&format!("<h3>{}</h3>{}", escape(one.agent), rows(&table)));
        }
        if !one.metrics.linking_recall.is_empty() {
            let mut table = vec![vec!["stage of linking".to_owned(), "gold kept".to_owned()]];
            table.extend(
                one.metrics
                    .linking_recall
                    .iter()
                    .map(|(stage, share)| vec![stage.clone(), format!("{share:.3}")]),
            );
            html.push_str(&format!("<h3>{}</h3>{}", escape(one.agent), rows(&table)));
        }
    }
    if html.is_empty() {
        html
    } else {
        format!("<h2>Causes and linking</h2>{html}")
    }
}

fn scores(evaluated: &[Evaluated]) -> String {
    let mut table = vec![
        std::iter::once("score".to_owned())
            .chain(evaluated.iter().map(|one| one.agent.to_owned()))
            .collect::<Vec<_>>(),
    ];
    for score in SCORES {
        table.push(
            std::iter::once(score.to_owned())
                .chain(evaluated.iter().map(|one| with_interval(one, score)))
                .collect(),
        );
    }
    rows(&table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_inert() {
        assert_eq!(
            escape("<script>alert('x')</script>&\"\u{202e}\u{7}"),
            "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot;\u{fffd}\u{fffd}"
        );
        assert_eq!(escape(&"a".repeat(1 << 20)).chars().count(), LONGEST + 1);
    }

    #[test]
    fn charts_have_a_bar_for_each_value() {
        let groups = vec![
            ("<1>".to_owned(), vec![(0.5, Some([0.4, 0.6])), (1.0, None)]),
            ("2".to_owned(), vec![(0.0, None), (0.2, None)]),
        ];
        let chart = bars("F1", &["a", "b"], &groups);
        assert_eq!(
            (
                chart.matches("<rect").count(),
                chart.matches("class=\"e\"").count()
            ),
            (4, 1)
        );
        assert!(chart.contains("&lt;1&gt;") && !chart.contains("<1>") && !chart.contains("rotate"));
        assert!(
            bars(
                "F1",
                &["a"],
                &[("a name that is too long".to_owned(), vec![(1.0, None)])]
            )
            .contains("rotate")
        );
    }
}
