//! Published results compared with ours: the papers' tables (`papers.json`), and how the settings
//! differ.

use anyhow::{Context, Result};
use datagen::read::QuestionSource;
use serde::Deserialize;
use toolbox::metrics::{Metrics, SCORES};

use super::result::Evaluation;
use crate::ui::row;

/// A table of a paper; values are percentages.
#[derive(Debug, Deserialize)]
pub(super) struct PublishedTable {
    /// Its number in our notes.
    pub(super) id: String,
    /// Paper and table.
    pub(super) source: String,
    /// Graph, entities, model, split.
    pub(super) setting: String,
    /// A caveat.
    #[serde(default)]
    pub(super) note: Option<String>,
    pub(super) columns: Vec<PublishedColumn>,
    pub(super) rows: Vec<PublishedRow>,
}

/// What a column measures, in our terms.
#[derive(Debug, Deserialize)]
pub(super) struct PublishedColumn {
    /// The data set; see [`dataset`].
    pub(super) dataset: String,
    /// Name of the score.
    pub(super) metric: String,
    /// Dimension and value of a group, as in `hops=2`; `None` means all questions.
    pub(super) group: Option<String>,
}

/// A system's results.
#[derive(Debug, Deserialize)]
pub(super) struct PublishedRow {
    pub(super) model: String,
    pub(super) values: Vec<Option<f64>>,
}

/// A published table restricted to one dataset, followed by our rows.
pub(in crate::commands) struct ComparisonTable {
    pub(super) title: String,
    /// The first row is the head.
    pub(super) rows: Vec<Vec<String>>,
    /// How the settings differ, in lines.
    pub(super) differs: Vec<String>,
}

/// The tables of all papers.
pub(super) fn published() -> Result<Vec<PublishedTable>> {
    serde_json::from_str(include_str!("papers.json")).context("papers.json is damaged")
}

/// The data set of a source, as `papers.json` names it; `None` if no paper has it.
pub(super) fn dataset(source: &str) -> Result<Option<String>> {
    let source: QuestionSource = source.parse()?;
    let names = source.set_names()?;
    let mut keys = names.iter().map(|name| key(&source.format, name));
    let first = keys.next().flatten();
    Ok(first
        .filter(|first| keys.all(|key| key == Some(*first)))
        .map(str::to_owned))
}

/// The key of a set: its format, but QALD-JSON is the format of many sets. The files of
/// QALD-9-plus, which has other questions and queries than QALD-9, do not name their set.
fn key<'n>(format: &str, name: &'n str) -> Option<&'n str> {
    if format != "qald" {
        return Some(name);
    }
    match name.to_lowercase().replace('_', "-").as_str() {
        "qald-9-yago" => Some("yago"),
        name if name.starts_with("qald-9-train") || name.starts_with("qald-9-test") => {
            Some("qald9")
        }
        _ => None,
    }
}

/// The published tables on a dataset with our results; `ours` describes our setting.
pub(super) fn compare(
    dataset: Option<&str>,
    evaluations: &[Evaluation],
    ours: &str,
) -> Result<Vec<ComparisonTable>> {
    let Some(dataset) = dataset else {
        return Ok(Vec::new());
    };
    let tables = published()?;
    Ok(tables
        .iter()
        .filter(|table| table.columns.iter().any(|column| column.dataset == dataset))
        .map(|table| one(table, dataset, evaluations, ours))
        .collect())
}

fn one(
    table: &PublishedTable,
    dataset: &str,
    evaluations: &[Evaluation],
    ours: &str,
) -> ComparisonTable {
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
    let mut rows = vec![row("system", columns.iter().map(named))];
    let shown =
        |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.1}"));
    for theirs in &table.rows {
        let values: Vec<Option<f64>> = columns
            .iter()
            .map(|&i| theirs.values.get(i).copied().flatten())
            .collect();
        if values.iter().any(Option::is_some) {
            rows.push(row(&theirs.model, values.into_iter().map(shown)));
        }
    }
    for evaluation in evaluations {
        let value = |&i: &usize| {
            shown(measured(&evaluation.metrics, &table.columns[i]).map(|value| value * 100.0))
        };
        let name = format!("here: {}", evaluation.agent);
        rows.push(row(name, columns.iter().map(value)));
    }
    let mut differs = vec![
        format!("theirs: {}", table.setting),
        format!("here: {ours}"),
    ];
    differs.extend(table.note.iter().map(|note| format!("note: {note}")));
    ComparisonTable {
        title: format!("{} ({})", table.source, table.id),
        rows,
        differs,
    }
}

/// Our value for a column.
fn measured(metrics: &Metrics, column: &PublishedColumn) -> Option<f64> {
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
    use std::collections::BTreeSet;

    use datagen::read::ReadOptions;

    use super::super::question::groups;
    use super::*;

    #[test]
    fn every_published_table_is_complete_and_uses_our_score_names() {
        let tables = published().unwrap();
        let ids: Vec<&str> = tables.iter().map(|table| table.id.as_str()).collect();
        assert_eq!(
            ids,
            [
                "A-1", "A-2", "A-4", "A-5", "B-1", "B-2", "B-3", "C-1", "C-2", "C-3"
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
        // Averages stated in the papers follow from the stored numbers.
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

    const QUERY: &str = "SELECT ?x WHERE { ?x ?y ?z }";

    fn qald(dataset: &str) -> String {
        format!(
            r#"{{{dataset} "questions": [{{"id": "1", "question": [{{"language": "en", "string": "q"}}], "query": {{"sparql": "{QUERY}"}}}}]}}"#
        )
    }

    /// Files of the sets whose tables have groups or whose format several sets share.
    fn files() -> Vec<(&'static str, String)> {
        let levels = ["i.i.d.", "compositional", "zero-shot"].map(|level| {
            format!(
                r#"{{"qid": 1, "question": "q", "sparql_query": "{QUERY}", "level": "{level}"}}"#
            )
        });
        let steps = [
            "Relate",
            "QFilterYear",
            "And",
            "SelectBetween",
            "Count",
            "VerifyNum",
        ]
        .map(|name| format!(r#"{{"function": "{name}", "inputs": []}}"#));
        let kqapro = format!(
            r#"[{{"question": "q", "choices": [], "answer": "yes", "sparql": "{QUERY}", "program": [{}]}}]"#,
            steps.join(", ")
        );
        let id = |id: &str| qald(&format!(r#""dataset": {{"id": "{id}"}},"#));
        let metaqa = "q [a]\tb\n".to_owned();
        vec![
            (
                "grailqa=grailqa_dev.json",
                format!("[{}]", levels.join(", ")),
            ),
            ("kqapro=val.json", kqapro),
            ("metaqa=qa_1.txt", metaqa.clone()),
            ("metaqa=qa_2.txt", metaqa.clone()),
            ("metaqa=qa_3.txt", metaqa),
            ("qald=qald-9-test.json", id("qald-9-test-multilingual")),
            ("qald=yago-qa.json", id("qald_9_yago")),
        ]
    }

    #[test]
    fn every_key_is_of_a_set_that_some_source_reads() {
        let dir = tempfile::tempdir().unwrap();
        let kinds = [
            "movie_to_year",
            "movie_to_actor_to_movie",
            "movie_to_actor_to_movie_to_year",
        ];
        for (hops, kind) in (1..).zip(kinds) {
            std::fs::write(dir.path().join(format!("qa_{hops}_qtype.txt")), kind).unwrap();
        }
        let mut known: BTreeSet<(String, Option<String>)> =
            datagen::read::readers(&ReadOptions::default())
                .iter()
                .map(|reader| reader.format().name)
                .filter_map(|format| Some((key(format, format)?.to_owned(), None)))
                .collect();
        for (source, text) in files() {
            let (format, name) = source.split_once('=').unwrap();
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            let source = format!("{format}={}", path.display());
            let dataset = dataset(&source).unwrap().unwrap();
            let source: QuestionSource = source.parse().unwrap();
            for question in source.read(None, &ReadOptions::default()).unwrap() {
                let group = |(dimension, value)| Some(format!("{dimension}={value}"));
                let groups = groups(&question).into_iter().map(group);
                known.extend(groups.chain([None]).map(|group| (dataset.clone(), group)));
            }
        }
        for table in published().unwrap() {
            for column in table.columns {
                let key = (column.dataset, column.group);
                assert!(
                    known.contains(&key),
                    "{}: no source gives {key:?}",
                    table.id
                );
            }
        }
    }

    #[test]
    fn tables_of_one_qald_do_not_match_another() {
        let dir = tempfile::tempdir().unwrap();
        let dataset_of = |name: &str, id: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, qald(id)).unwrap();
            dataset(&format!("qald={}", path.display())).unwrap()
        };
        for foreign in [
            "",
            r#""dataset": {"id": "qald-10-test"},"#,
            r#""dataset": {"id": "qald-9-plus-test"},"#,
            r#""dataset": {"id": "qald-7-train"},"#,
        ] {
            assert_eq!(dataset_of("qald.json", foreign), None, "{foreign}");
        }
        let ours = r#""dataset": {"id": "qald-9-train-multilingual"},"#;
        assert_eq!(dataset_of("qald_9.json", ours).as_deref(), Some("qald9"));
        // A folder that also contains another set is neither of them.
        assert_eq!(
            dataset(&format!("qald={}", dir.path().display())).unwrap(),
            None
        );
        assert_eq!(dataset("jsonl=q.jsonl").unwrap().as_deref(), Some("jsonl"));
        let tables = published().unwrap();
        let mut columns = tables.iter().flat_map(|table| &table.columns);
        assert!(columns.all(|column| column.dataset != "jsonl"));
    }
}
