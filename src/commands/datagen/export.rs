//! `kgagent datagen export`: a dataset in the layout of another trainer.

use anyhow::{Result, bail};
use datagen::export::ExportFormat;
use model::Dataset;

use super::super::output;
use super::axolotl;
use crate::cli::{ExportArgs, TrainerName};
use crate::exit::ExitStatus;
use crate::ui::Ui;

pub(crate) fn run(args: &ExportArgs, ui: &Ui) -> Result<ExitStatus> {
    output::spare(&args.out, [args.data.as_path()])?;
    let (format, configurations) = match (args.trainer, &args.base) {
        (None, _) => (args.format, Vec::new()),
        (Some(_), _) if args.format != ExportFormat::ShareGpt => {
            bail!("--trainer requires --format sharegpt, which its configuration reads")
        }
        (Some(_), None) => {
            bail!("--trainer requires --base, the model to train, such as meta-llama/Llama-3.1-70B")
        }
        // The configuration includes our chat template, which accepts turns in any order.
        (Some(TrainerName::Axolotl), Some(base)) => (
            ExportFormat::ShareGptTurns,
            axolotl::files(&Dataset::read(&args.data)?, base)?,
        ),
    };
    let mut done = datagen::export::export(&args.data, format, &args.out, &configurations)?;
    let names = configurations.iter().map(|(name, _)| (*name).to_owned());
    done.files.extend(names);
    ui.say(format!(
        "{} training and {} validation examples, read back and compared",
        done.train, done.valid
    ));
    for file in &done.files {
        ui.say(args.out.join(file).display().to_string());
    }
    ui.object(&serde_json::to_value(&done)?);
    Ok(ExitStatus::Done)
}
