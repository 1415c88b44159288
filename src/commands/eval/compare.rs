//! Published results beside ours: the papers' tables as data (`papers.json`), and how our setting differs from theirs.

use anyhow::{Context, Result};
use serde::Deserialize;
use toolbox::metrics::{Metrics, SCORES};

use super::run::Evaluated;

/// A table of a paper; values are percentages.
#[derive(Debug, Deserialize)]
pub(super) struct Published {
    /// Its number in our notes.
    pub(super) id: String,
    /// Paper and table.
    pub(super) source: String,
    /// Graph, entities, model, split.
    pub(super) setting: String,
    /// What is odd about it.
    #[serde(default)]
    pub(super) note: Option<String>,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Row>,
}

/// What a column measures, in our names.
#[derive(Debug, Deserialize)]
pub(super) struct Column {
    /// Format of the source.
    pub(super) dataset: String,
    /// Name of the score.
    pub(super) metric: String,
    /// Dimension and value of a group, as in `hops=2`; all questions without it.
    pub(super) group: Option<String>,
}

/// A system's results.
#[derive(Debug, Deserialize)]
pub(super) struct Row {
    pub(super) model: String,
    pub(super) values: Vec<Option<f64>>,
}

/// A published table cut to one data set, with our rows under it.
pub(crate) struct Beside {
    pub(super) title: String,
    /// Head first.
    pub(super) rows: Vec<Vec<String>>,
    /// What differs, a line each.
    pub(super) differs: Vec<String>,
}

/// The tables of all papers.
pub(super) fn published() -> Result<Vec<Published>> {
    serde_json::from_str(include_str!("papers.json")).context("the papers' tables are damaged")
}

/// The published tables on a data set with our results beneath; `ours` says in which setting these came about.
pub(super) fn beside(dataset: &str, evaluated: &[Evaluated], ours: &str) -> Result<Vec<Beside>> {
    let tables = published()?;
    Ok(tables
        .iter()
        .filter(|table| table.columns.iter().any(|column| column.dataset == dataset))
        .map(|table| one(table, dataset, evaluated, ours))
        .collect())
}

fn one(table: &Published, dataset: &str, evaluated: &[Evaluated], ours: &str) -> Beside {
    let columns: Vec<usize> = (0..table.columns.len())
        .filter(|&i| table.columns[i].dataset == dataset)
        .collect();
    let named = |&i: &usize| {
        let column = &table.columns[i];
        column.group.as_ref().map_or_else(
            || column.metric.clone(),
            |group| format!("{} {group}", column.metric),
        )
    };
    let mut rows = vec![
        std::iter::once("system".to_owned())
            .chain(columns.iter().map(named))
            .collect::<Vec<_>>(),
    ];
    let shown =
        |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.1}"));
    for row in &table.rows {
        let values: Vec<Option<f64>> = columns
            .iter()
            .map(|&i| row.values.get(i).copied().flatten())
            .collect();
        if values.iter().any(Option::is_some) {
            rows.push(
                std::iter::once(row.model.clone())
                    .chain(values.into_iter().map(shown))
                    .collect(),
            );
        }
    }
    for evaluated in evaluated {
        let value = |&i: &usize| {
            shown(measured(&evaluated.metrics, &table.columns[i]).map(|value| value * 100.0))
        };
        rows.push(
            std::iter::once(format!("here: {}", evaluated.agent))
                .chain(columns.iter().map(value))
                .collect(),
        );
    }
    let mut differs = vec![
        format!("theirs: {}", table.setting),
        format!("here: {ours}"),
    ];
    differs.extend(table.note.iter().map(|note| format!("note: {note}")));
    Beside {
        title: format!("{} ({})", table.source, table.id),
        rows,
        differs,
    }
}

/// Our value for a column.
fn measured(metrics: &Metrics, column: &Column) -> Option<f64> {
    let index = SCORES.iter().position(|score| *score == column.metric)?;
    let of = match &column.group {
        None => metrics,
        Some(group) => {
            let (dimension, value) = group.split_once('=')?;
            metrics.by.get(dimension)?.get(value)?
        }
    };
    Some(of.scores.values()[index])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_published_table_is_whole_and_in_our_names() {
        let tables = published().unwrap();
        let ids: Vec<&str> = tables.iter().map(|table| table.id.as_str()).collect();
        assert_eq!(
            ids,
            [
                "A-1", "A-2", "A-3", "A-4", "A-5", "B-1", "B-2", "B-3", "C-1", "C-2", "C-3"
            ]
        );
        for table in &tables {
            assert!(
                table
                    .columns
                    .iter()
                    .all(|column| SCORES.contains(&column.metric.as_str())),
                "{}",
                table.id
            );
            for row in &table.rows {
                assert_eq!(
                    row.values.len(),
                    table.columns.len(),
                    "{} {}",
                    table.id,
                    row.model
                );
                assert!(
                    row.values
                        .iter()
                        .flatten()
                        .all(|value| (0.0..=100.0).contains(value)),
                    "{} {}",
                    table.id,
                    row.model
                );
            }
        }
        // What the papers say of themselves can be worked out again from the stored numbers.
        let row = |id: &str, model: &str| {
            let table = tables.iter().find(|table| table.id == id).unwrap();
            table
                .rows
                .iter()
                .find(|row| row.model == model)
                .unwrap()
                .values
                .iter()
                .map(|value| value.unwrap())
                .collect::<Vec<_>>()
        };
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        assert!((mean(&row("B-1", "ODA GPT-4")) - 85.79).abs() < 0.01);
        assert!((mean(&row("B-1", "ToG GPT-4")) - 78.70).abs() < 0.01);
        assert!((mean(&row("A-5", "KG-Agent 1:10:5")) - 78.6).abs() < 0.06);
        assert!((mean(&row("B-2", "ODA")) - 85.77).abs() < 0.01);
    }
}
