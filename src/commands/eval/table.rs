//! The tables that `eval` and `demo` print.

use datagen::linking::Linking;
use toolbox::metrics::Metrics;

use super::result::Evaluation;
use crate::ui::{Ui, header, seconds};

/// The row of some metrics.
pub(in crate::commands) fn row(name: &str, metrics: &Metrics) -> Vec<String> {
    let s = &metrics.scores;
    let share = |x: f64| format!("{x:.4}");
    vec![
        name.to_owned(),
        metrics.n.to_string(),
        share(s.hits_at_1),
        share(s.f1),
        share(s.exact),
        metrics.program.map_or_else(|| "–".to_owned(), share),
        metrics.answered.to_string(),
        metrics.calls.to_string(),
        metrics.invalid_calls.to_string(),
        seconds(metrics.seconds),
    ]
}

/// The head of a table of metrics.
pub(in crate::commands) fn head() -> Vec<Vec<String>> {
    header("questions|n|hits@1|f1|exact|program|answered|calls|invalid|time")
}

/// Prints the metrics, how well entities were linked, and which questions were skipped.
pub(super) fn print(evaluated: &[Evaluation], ui: &Ui) {
    let several = evaluated.len() > 1;
    let mut rows = head();
    for one in evaluated {
        let named = |name: String| {
            if several {
                format!("{} {name}", one.agent)
            } else {
                name
            }
        };
        rows.push(row(&named("all".to_owned()), &one.metrics));
        for (dimension, values) in &one.metrics.by {
            rows.extend(
                values
                    .iter()
                    .map(|(value, metrics)| row(&named(format!("{dimension} {value}")), metrics)),
            );
        }
    }
    ui.table(&rows);
    // Entities are linked before the agent starts, so all agents have the same.
    if let Some(linking) = evaluated.first().and_then(|one| one.linking.as_ref()) {
        let mut rows = header("entities linked|n|recall|complete|precision|a question|time");
        rows.push(linking_row("all", linking));
        for (dimension, values) in &linking.by {
            rows.extend(
                values
                    .iter()
                    .map(|(value, linking)| linking_row(&format!("{dimension} {value}"), linking)),
            );
        }
        ui.say("");
        ui.table(&rows);
    }
    for one in evaluated
        .iter()
        .filter(|one| !one.metrics.linking_recall.is_empty())
    {
        let mut rows = vec![vec![
            format!("linking by {}", one.agent),
            "gold kept".to_owned(),
        ]];
        rows.extend(
            one.metrics
                .linking_recall
                .iter()
                .map(|(stage, share)| vec![stage.clone(), format!("{share:.4}")]),
        );
        ui.say("");
        ui.table(&rows);
    }
    print_served(evaluated, ui);
    print_skipped(evaluated, ui);
    // All agents have the same model.
    if let Some(seen) = evaluated.iter().find_map(Evaluation::seen) {
        ui.say(seen);
    }
}

/// Prints what the server of a model counted for each agent.
fn print_served(evaluated: &[Evaluation], ui: &Ui) {
    let mut rows = header("served|requests|prompt tokens|cached|written tokens|cost");
    for one in evaluated {
        let Some((counted, cost)) = one.served else {
            continue;
        };
        rows.push(vec![
            one.agent.clone(),
            counted.requests.to_string(),
            counted.prompt_tokens.to_string(),
            counted.cached_tokens.to_string(),
            counted.completion_tokens.to_string(),
            cost.map_or_else(|| "–".to_owned(), |cost| format!("{cost:.6}")),
        ]);
    }
    if rows.len() > 1 {
        ui.say("");
        ui.table(&rows);
    }
}

/// Prints how many questions each agent skipped, and why.
fn print_skipped(evaluated: &[Evaluation], ui: &Ui) {
    for one in evaluated {
        let Some((id, reason)) = one.skipped.first() else {
            continue;
        };
        ui.say(format!(
            "{}: {} questions were skipped, such as {id}: {reason}",
            one.agent,
            one.skipped.len()
        ));
        ui.table(&skipped_rows(one));
    }
}

/// The number of skipped questions by cause, with a head.
pub(super) fn skipped_rows(one: &Evaluation) -> Vec<Vec<String>> {
    let mut rows = header("skipped because of|questions");
    let causes = one.skipped_by().into_iter();
    rows.extend(causes.map(|(cause, n)| vec![cause.to_owned(), n.to_string()]));
    rows
}

fn linking_row(name: &str, linking: &Linking) -> Vec<String> {
    let share = |x: f64| format!("{x:.4}");
    let each = linking.seconds * 1e3 / linking.questions.max(1) as f64;
    vec![
        name.to_owned(),
        linking.questions.to_string(),
        share(linking.recall()),
        share(linking.complete()),
        share(linking.precision()),
        format!("{:.2}", linking.a_question()),
        format!("{each:.2} ms"),
    ]
}
