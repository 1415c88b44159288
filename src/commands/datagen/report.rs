//! The table of a generation report.

use anyhow::Result;
use datagen::report::{Counts, Report};

use crate::ui::{self, Ui, header, seconds};

/// Prints a report, as an object or as tables.
pub(super) fn print(report: &Report, ui: &Ui) -> Result<()> {
    ui.object(&serde_json::to_value(report)?);
    counts(report, ui);
    Ok(())
}

/// Prints one row per source, then the reasons for refusals.
pub(super) fn counts(report: &Report, ui: &Ui) {
    let counted = |name: &str, counts: &Counts| {
        let numbers = [
            counts.questions,
            counts.converted,
            counts.verified,
            counts.refused.values().sum(),
            counts.examples,
            counts.steps,
        ];
        let mut row = row(name, &numbers);
        row.push(seconds(counts.seconds));
        row
    };
    let mut rows = header("source|questions|converted|verified|refused|examples|steps|time");
    let sources = report.sources.iter();
    rows.extend(sources.map(|(name, counts)| counted(name, counts)));
    rows.push(counted("all", &report.total));
    ui.table(&rows);
    if !report.total.refused.is_empty() {
        let mut reasons: Vec<(&String, &usize)> = report.total.refused.iter().collect();
        reasons.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), (*name).clone()));
        let mut rows = header("refused because|questions");
        rows.extend(reasons.iter().map(|(name, count)| row(name, &[**count])));
        ui.say("");
        ui.table(&rows);
    }
}

pub(super) fn row(name: &str, numbers: &[usize]) -> Vec<String> {
    ui::row(name, numbers.iter().map(ToString::to_string))
}
