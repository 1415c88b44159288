//! `kgagent doctor`: what this machine has, what is missing, and what to do about it.

use std::path::Path;

use anyhow::Result;
use serde_json::json;

use super::ranking::cache_folder;
use super::train::free_memory;
use crate::exit::ExitStatus;
use crate::ui::Ui;

/// One line of the report.
struct Finding {
    about: &'static str,
    found: String,
    /// What to do, if something is missing.
    advice: Option<&'static str>,
}

pub(crate) fn run(ui: &Ui) -> Result<ExitStatus> {
    let findings = findings();
    let mut table = vec![["about", "found", "to do"].map(str::to_owned).to_vec()];
    table.extend(findings.iter().map(|one| {
        let advice = one.advice.unwrap_or_default().to_owned();
        vec![one.about.to_owned(), one.found.clone(), advice]
    }));
    ui.table(&table);
    let lines = findings
        .iter()
        .map(|one| json!({ "about": one.about, "found": one.found, "advice": one.advice }));
    ui.object(&json!({ "findings": lines.collect::<Vec<_>>() }));
    Ok(ExitStatus::Done)
}

fn findings() -> Vec<Finding> {
    let finding = |about, found, advice| Finding {
        about,
        found,
        advice,
    };
    let threads = rayon::current_num_threads();
    let memory = free_memory();
    let gpu = train::device::memory(train::Processor::Cuda, 1);
    let hub = model::hub::folder();
    let models = std::fs::read_dir(&hub).map_or(0, |entries| {
        let models = entries.flatten().map(|entry| entry.file_name());
        let named = models.filter(|name| name.to_string_lossy().starts_with("models--"));
        named.count()
    });
    let products = train::products();
    vec![
        finding("version", version(), None),
        finding("processor", processor(), None),
        finding(
            "answering",
            infer::engine::instructions().to_owned(),
            (infer::engine::instructions() == "plain loops")
                .then_some("a processor with AVX2 answers several times as fast"),
        ),
        finding(
            "training",
            format!("products in {products}"),
            (products == "f32").then_some(
                "a processor with AVX-512 BF16 or AMX trains bases of 0.1 billion parameters and more faster",
            ),
        ),
        finding(
            "threads",
            format!("{threads} threads"),
            (threads == 1).then_some("RAYON_NUM_THREADS sets how many"),
        ),
        finding(
            "free memory",
            memory.map_or_else(
                || "unknown".to_owned(),
                |bytes| format!("{:.1} GB", bytes as f64 / 1e9),
            ),
            (memory.is_some_and(|bytes| bytes < 2_000_000_000))
                .then_some("kg load keeps to --memory; train --dry-run says what a run needs"),
        ),
        match gpu {
            Ok(Some(bytes)) => {
                finding("GPU", format!("{:.1} GB", bytes as f64 / 1e9), None)
            }
            Ok(None) => finding("GPU", "none".to_owned(), None),
            Err(why) => finding(
                "GPU",
                why.to_string(),
                Some("not needed; docs/guide/hugging-face-base.md"),
            ),
        },
        finding(
            "models of the hub",
            format!("{models} in {}", hub.display()),
            (models == 0).then_some("kgagent fetch ORG/NAME, where there is a network"),
        ),
        finding(
            "vectors of encoders",
            cache_folder().map_or_else(|| "no folder".to_owned(), |path| path.display().to_string()),
            None,
        ),
        finding(
            "configuration",
            if Path::new("kgagent.toml").is_file() {
                "kgagent.toml in this folder"
            } else {
                "none in this folder"
            }
            .to_owned(),
            None,
        ),
    ]
}

/// The version and what it was built with.
fn version() -> String {
    let with: Vec<&str> = [
        ("cuda", cfg!(feature = "cuda")),
        ("parquet", cfg!(feature = "parquet")),
    ]
    .into_iter()
    .filter_map(|(name, has)| has.then_some(name))
    .collect();
    let features = if with.is_empty() {
        "without optional features".to_owned()
    } else {
        format!("with {}", with.join(" and "))
    };
    format!("{} {features}", env!("CARGO_PKG_VERSION"))
}

/// The name of the processor.
fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "model name").then(|| value.trim().to_owned())
    });
    name.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}
