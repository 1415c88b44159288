//! `kgagent demo`: the whole pipeline: load, generate, train, evaluate, ask; one table at the end.

mod own;
mod pipeline;
mod report;
mod shipped;

use anyhow::Result;
use common::listing::LIST;

use super::output;
use crate::cli::DemoArgs;
use crate::exit::ExitStatus;
use crate::ui::Ui;

pub(crate) fn run(args: &DemoArgs, ui: &Ui) -> Result<ExitStatus> {
    ui.catch_interrupts()?;
    if !args.out.join("graph").join(LIST).is_file() {
        // This is not the folder of an earlier demo.
        for name in ["metrics.json", "report.html"] {
            output::file(&args.out.join(name), None)?;
        }
    }
    if args.graph.is_empty() {
        shipped::run(args, ui)?;
    } else {
        own::run(args, ui)?;
    }
    Ok(ExitStatus::Done)
}
