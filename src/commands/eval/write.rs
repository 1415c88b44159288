//! The output folder of `eval`.

use std::path::Path;

use anyhow::{Result, anyhow};
use common::fs;
use common::fs::StagedFolder;
use datagen::linking::Linking;
use serde::Serialize;
use serde_json::json;

use super::compare::ComparisonTable;
use super::result::Evaluation;
use super::{qald, report, sweep};

/// Refuses to overwrite anything but an earlier evaluation.
pub(super) fn check_target(out: &Path) -> Result<()> {
    let agents = || {
        std::fs::read_dir(out)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
    };
    let ours = |out: &Path| {
        out.join("report.html").is_file()
            && (measured(out) || agents().any(|folder| measured(&folder)))
    };
    fs::check(out, ours).map_err(|error| anyhow!("{}: {error}", out.display()))
}

/// Whether a folder holds the evaluation of one agent.
fn measured(folder: &Path) -> bool {
    fs::has(folder, &["metrics.json", "predictions.jsonl"])
}

/// Writes report.html, and for each agent metrics.json, predictions.jsonl, predictions.qald.json,
/// skipped.jsonl and, if requested, traces/. With several agents, each has its own folder; a sweep
/// also has sweep.json.
pub(in crate::commands) fn write(
    out: &Path,
    evaluated: &[Evaluation],
    setting: &serde_json::Value,
    published: &[ComparisonTable],
    sweep: &[serde_json::Value],
    traces: bool,
) -> Result<()> {
    let folder = StagedFolder::new(out)?;
    for one in evaluated {
        let within = if evaluated.len() == 1 {
            String::new()
        } else {
            format!("{}/", one.agent)
        };
        std::fs::create_dir_all(folder.path().join(&within))?;
        files(&folder, &within, one, setting, traces)?;
    }
    folder.file(
        "report.html",
        report::page(setting, evaluated, published, &sweep::rows(sweep)).as_bytes(),
    )?;
    if !sweep.is_empty() {
        folder.file("sweep.json", &serde_json::to_vec_pretty(sweep)?)?;
    }
    folder.commit()?;
    Ok(())
}

/// Metrics with the setting in which they were measured.
pub(super) fn metrics_object(
    evaluated: &Evaluation,
    setting: &serde_json::Value,
) -> Result<serde_json::Value> {
    let mut metrics = serde_json::to_value(&evaluated.metrics)?;
    metrics["skipped"] = json!(evaluated.skipped.len());
    if !evaluated.skipped.is_empty() {
        metrics["skipped_by"] = json!(evaluated.skipped_by());
    }
    if let Some(seen) = &evaluated.seen {
        metrics["seen"] = seen.object();
    }
    if let Some((counted, cost)) = evaluated.served {
        metrics["served"] = json!(counted);
        if let Some(cost) = cost {
            metrics["served"]["cost"] = json!(cost);
        }
    }
    metrics["agent"] = json!(evaluated.kind);
    if evaluated.agent != evaluated.kind {
        metrics["name"] = json!(evaluated.agent);
    }
    metrics["options"] = evaluated.options.clone();
    if let Some(hash) = &evaluated.prompts {
        metrics["prompts"] = json!(hash);
    }
    metrics["setting"] = setting.clone();
    if let Some(linking) = &evaluated.linking {
        metrics["linking"] = linking_object(linking);
    }
    Ok(metrics)
}

fn files(
    folder: &StagedFolder,
    within: &str,
    evaluated: &Evaluation,
    setting: &serde_json::Value,
    traces: bool,
) -> Result<()> {
    folder.file(
        &format!("{within}metrics.json"),
        &serde_json::to_vec_pretty(&metrics_object(evaluated, setting)?)?,
    )?;
    folder.file(
        &format!("{within}predictions.jsonl"),
        &lines(&evaluated.predictions)?,
    )?;
    let qald = qald::document(evaluated.kind, &evaluated.predictions);
    folder.file(
        &format!("{within}predictions.qald.json"),
        &serde_json::to_vec_pretty(&qald)?,
    )?;
    let skipped: Vec<_> = evaluated
        .skipped
        .iter()
        .map(|(id, reason)| json!({ "id": id, "reason": reason }))
        .collect();
    folder.file(&format!("{within}skipped.jsonl"), &lines(&skipped)?)?;
    if traces {
        std::fs::create_dir(folder.path().join(format!("{within}traces")))?;
        for (i, events) in evaluated.traces.iter().enumerate() {
            folder.file(&format!("{within}traces/{i:06}.jsonl"), &lines(events)?)?;
        }
    }
    Ok(())
}

fn lines<T: Serialize>(items: &[T]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for item in items {
        serde_json::to_writer(&mut bytes, item)?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

/// The linking metrics as JSON.
fn linking_object(linking: &Linking) -> serde_json::Value {
    let flat = |linking: &Linking| {
        json!({
            "questions": linking.questions,
            "gold": linking.gold,
            "linked": linking.linked,
            "found": linking.found,
            "recall": linking.recall(),
            "complete": linking.complete(),
            "precision": linking.precision(),
            "a_question": linking.a_question(),
            "seconds": linking.seconds,
        })
    };
    let mut value = flat(linking);
    for (dimension, values) in &linking.by {
        for (name, linking) in values {
            value["by"][dimension.as_str()][name.as_str()] = flat(linking);
        }
    }
    value
}
