//! `kgagent fetch`: download a model folder from the hub into the standard cache.

use anyhow::{Context, Result};
use indicatif::ProgressStyle;
use model::hub::Fetching;
use serde_json::json;

use crate::cli::FetchArgs;
use crate::exit::ExitStatus;
use crate::ui::{StageProgress, Ui};

pub(crate) fn run(args: &FetchArgs, ui: &Ui) -> Result<ExitStatus> {
    model::hub::check_name(&args.repo)?;
    // The same values count as true as in huggingface_hub.
    let offline = std::env::var("HF_HUB_OFFLINE")
        .is_ok_and(|value| matches!(value.to_uppercase().as_str(), "1" | "ON" | "YES" | "TRUE"));
    let folder = if offline {
        model::hub::cached(&args.repo, None).with_context(|| {
            format!(
                "HF_HUB_OFFLINE is set and {} is not in the cache",
                args.repo
            )
        })??
    } else {
        let mut shown = None;
        let folder = model::hub::fetch(&args.repo, &mut |now| show(&mut shown, now, ui));
        if let Some((_, stage)) = &shown {
            stage.finish_and_clear();
        }
        folder.with_context(|| {
            format!(
                "{} is incomplete; the same command continues the download",
                args.repo
            )
        })?
    };
    ui.say(format!("{} is in {}", args.repo, folder.display()));
    ui.object(&json!({ "repo": args.repo, "folder": folder }));
    Ok(ExitStatus::Done)
}

/// Shows one bar per file.
fn show(shown: &mut Option<(String, StageProgress)>, now: Fetching<'_>, ui: &Ui) {
    if shown.as_ref().is_none_or(|(file, _)| file != now.file) {
        if let Some((_, stage)) = shown.take() {
            stage.finish();
        }
        let stage = ui.progress(now.file, "byte", Some(now.size));
        if let Ok(style) = ProgressStyle::with_template(
            "{prefix} {bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta} left",
        ) {
            stage.set_style(style);
        }
        // The bytes of an earlier run must not count towards the speed of this one.
        stage.set_position(now.done);
        stage.reset_eta();
        *shown = Some((now.file.to_owned(), stage));
    }
    if let Some((_, stage)) = shown {
        stage.set_position(now.done);
    }
}
