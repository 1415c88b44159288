//! `kgagent fetch`: a model folder from the hub into the standard cache.

use anyhow::Result;
use serde_json::json;

use crate::Outcome;
use crate::cli::FetchArgs;
use crate::ui::Ui;

pub(crate) fn run(args: &FetchArgs, ui: &Ui) -> Result<Outcome> {
    let folder = model::hub::fetch(&args.repo)?;
    ui.say(format!("{} is in {}", args.repo, folder.display()));
    ui.object(&json!({ "repo": args.repo, "folder": folder }));
    Ok(Outcome::Done)
}
