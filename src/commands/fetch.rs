//! `kgagent fetch`: a model folder from the hub into the standard cache.

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use model::hub::Fetching;
use serde_json::json;

use crate::Outcome;
use crate::cli::FetchArgs;
use crate::ui::Ui;

pub(crate) fn run(args: &FetchArgs, ui: &Ui) -> Result<Outcome> {
    model::hub::check_name(&args.repo)?;
    // As huggingface_hub reads it.
    let offline = std::env::var("HF_HUB_OFFLINE")
        .is_ok_and(|value| matches!(value.to_uppercase().as_str(), "1" | "ON" | "YES" | "TRUE"));
    let folder = if offline {
        model::hub::cached(&args.repo).with_context(|| {
            format!(
                "HF_HUB_OFFLINE is set and {} is not in the cache",
                args.repo
            )
        })?
    } else {
        let mut shown: Option<(String, ProgressBar)> = None;
        let folder = model::hub::fetch(&args.repo, &mut |now| show(&mut shown, now, ui));
        if let Some((_, bar)) = &shown {
            bar.finish_and_clear();
        }
        folder.with_context(|| {
            format!(
                "not all of {} is here; what is stays, and the same command goes on with it",
                args.repo
            )
        })?
    };
    ui.say(format!("{} is in {}", args.repo, folder.display()));
    ui.object(&json!({ "repo": args.repo, "folder": folder }));
    Ok(Outcome::Done)
}

/// A bar a file.
fn show(shown: &mut Option<(String, ProgressBar)>, now: Fetching<'_>, ui: &Ui) {
    if shown.as_ref().is_none_or(|(file, _)| file != now.file) {
        if let Some((_, bar)) = shown.take() {
            bar.finish();
        }
        let bar = ui.bar(Some(now.size), now.file);
        if let Ok(style) = ProgressStyle::with_template(
            "{prefix} {bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta} left",
        ) {
            bar.set_style(style);
        }
        // What an earlier run has left is not this one's speed.
        bar.set_position(now.done);
        bar.reset_eta();
        *shown = Some((now.file.to_owned(), bar));
    }
    if let Some((_, bar)) = shown {
        bar.set_position(now.done);
    }
}
