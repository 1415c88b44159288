//! `kgagent completions`, and the man pages of a release.

use std::path::Path;

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::{Cli, PagesArgs};
use crate::exit::ExitStatus;
use crate::ui::Ui;

/// The name of the program in what is generated.
const NAME: &str = "kgagent";

/// Prints the completions of a shell.
pub(crate) fn completions(shell: Shell, ui: &Ui) -> ExitStatus {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), NAME, &mut bytes);
    ui.say(String::from_utf8_lossy(&bytes).trim_end());
    ExitStatus::Done
}

/// Writes a man page for each command, and the completions of three shells.
pub(crate) fn run(args: &PagesArgs) -> Result<ExitStatus> {
    let failed = |dir: &Path| format!("cannot write to {}", dir.display());
    for dir in [&args.man, &args.completions] {
        std::fs::create_dir_all(dir).with_context(|| failed(dir))?;
    }
    clap_mangen::generate_to(Cli::command(), &args.man).with_context(|| failed(&args.man))?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut Cli::command(), NAME, &args.completions)
            .with_context(|| failed(&args.completions))?;
    }
    Ok(ExitStatus::Done)
}
