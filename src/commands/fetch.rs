//! `kgagent fetch`: a model folder from the hub into the standard cache.

use anyhow::{Context, Result};
use serde_json::json;

use crate::Outcome;
use crate::cli::FetchArgs;
use crate::ui::Ui;

pub(crate) fn run(args: &FetchArgs, ui: &Ui) -> Result<Outcome> {
    // As huggingface_hub reads it.
    let offline = std::env::var("HF_HUB_OFFLINE").is_ok_and(|value| matches!(value.to_uppercase().as_str(), "1" | "ON" | "YES" | "TRUE"));
    let folder = if offline {
        model::hub::cached(&args.repo).with_context(|| format!("HF_HUB_OFFLINE is set and {} is not in the cache", args.repo))?
    } else {
        model::hub::fetch(&args.repo)?
    };
    ui.say(format!("{} is in {}", args.repo, folder.display()));
    ui.object(&json!({ "repo": args.repo, "folder": folder }));
    Ok(Outcome::Done)
}
