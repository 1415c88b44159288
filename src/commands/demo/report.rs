//! The result of a demo: `metrics.json`, `report.html` and the closing tables.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use train::Summary;

use super::super::eval;
use super::super::eval::report::html;
use super::pipeline::{Demo, Laps, Measured, SampleAnswer};
use crate::ui::{header, seconds};

/// Writes metrics and report, and prints the closing tables.
pub(super) fn finish(
    demo: &Demo<'_>,
    laps: &Laps,
    measured: &[Measured],
    data: &datagen::report::Report,
    summary: &Summary,
    samples: &[SampleAnswer],
) -> Result<()> {
    let mut metrics = metrics(measured)?;
    metrics["data"] = serde_json::to_value(&data.total)?;
    metrics["coverage"] = serde_json::to_value(&data.coverage)?;
    metrics["training"] = serde_json::to_value(summary)?;
    let timings = laps.timings.iter();
    metrics["stages_seconds"] = timings
        .map(|(stage, seconds)| ((*stage).to_owned(), json!(seconds)))
        .collect();
    common::fs::write_file(
        &demo.folder("metrics.json"),
        &serde_json::to_vec_pretty(&metrics)?,
    )?;

    let mut results = eval::head();
    results.extend(
        measured
            .iter()
            .map(|one| eval::row(&one.name, &one.metrics)),
    );
    let stages = stages(laps);
    let loss = loss_curve(&demo.folder("model").join("loss.svg"))?;
    let cards: String = samples.iter().map(|sample| sample.html.as_str()).collect();
    let body = format!(
        "<h1>kgagent demo</h1><h2>Held-out questions</h2>{}<h2>Time</h2>{}<h2>Training loss</h2>\
         {loss}<h2>Sample questions</h2>{cards}",
        html::table(&results),
        html::table(&stages),
    );
    common::fs::write_file(
        &demo.folder("report.html"),
        html::page("kgagent demo", &body).as_bytes(),
    )?;

    let ui = demo.ui;
    ui.say("");
    ui.table(&results);
    ui.say("");
    ui.table(&stages);
    ui.say(format!(
        "\neverything is in {}: graph/ data/ model/ eval/ metrics.json report.html",
        demo.args.out.display()
    ));
    let samples: Vec<&Value> = samples.iter().map(|sample| &sample.object).collect();
    ui.object(&json!({ "metrics": metrics, "samples": samples }));
    Ok(())
}

/// The metrics of the first evaluation, with those of the others under their names. With several
/// agents, the first one is listed under its name as well.
fn metrics(measured: &[Measured]) -> Result<Value> {
    let mut metrics = serde_json::to_value(&measured[0].metrics)?;
    for (i, one) in measured.iter().enumerate() {
        if i > 0 || one.name.contains(' ') {
            metrics[one.name.replace(['-', ' '], "_")] = serde_json::to_value(&one.metrics)?;
        }
    }
    Ok(metrics)
}

fn stages(laps: &Laps) -> Vec<Vec<String>> {
    let total: f64 = laps.timings.iter().map(|(_, seconds)| seconds).sum();
    let mut rows = header("stage|time");
    let timings = laps.timings.iter();
    rows.extend(timings.map(|(stage, time)| vec![(*stage).to_owned(), seconds(*time)]));
    rows.push(vec!["all".to_owned(), seconds(total)]);
    rows
}

/// The loss curve as SVG, without the XML prolog, which is not allowed inside a page.
fn loss_curve(path: &Path) -> Result<String> {
    let svg =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(svg
        .find("<svg")
        .map_or_else(String::new, |start| svg[start..].to_owned()))
}
