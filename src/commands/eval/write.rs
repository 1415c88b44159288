//! The folder that `eval` writes.

use std::path::Path;

use anyhow::Result;
use datagen::linking::Linking;
use model::atomic::StagedFolder;
use serde::Serialize;
use serde_json::json;

use super::run::Evaluated;

/// Writes metrics.json, predictions.jsonl, skipped.jsonl and, if asked for, traces/.
pub(crate) fn write(out: &Path, evaluated: &Evaluated, setting: &serde_json::Value, traces: bool) -> Result<()> {
    let folder = StagedFolder::new(out)?;
    let mut metrics = serde_json::to_value(&evaluated.metrics)?;
    metrics["skipped"] = json!(evaluated.skipped.len());
    metrics["setting"] = setting.clone();
    if let Some(linking) = &evaluated.linking {
        metrics["linking"] = linking_object(linking);
    }
    folder.file("metrics.json", &serde_json::to_vec_pretty(&metrics)?)?;
    folder.file("predictions.jsonl", &lines(&evaluated.predictions)?)?;
    let skipped: Vec<_> = evaluated.skipped.iter().map(|(id, reason)| json!({ "id": id, "reason": reason })).collect();
    folder.file("skipped.jsonl", &lines(&skipped)?)?;
    if traces {
        std::fs::create_dir(folder.path().join("traces"))?;
        for (i, events) in evaluated.traces.iter().enumerate() {
            folder.file(&format!("traces/{i:06}.jsonl"), &lines(events)?)?;
        }
    }
    folder.commit()?;
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

/// Linking for machines: the counts and what follows from them.
pub(super) fn linking_object(linking: &Linking) -> serde_json::Value {
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
