//! Options from the environment and from `kgagent.toml`: command line first, then `KGAGENT_…`, then the file, then the default.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{ArgMatches, Command, CommandFactory};

use crate::cli::Cli;

/// Name of the file that is read from the current folder.
const FILE: &str = "kgagent.toml";

/// Parses the command line with the environment and the configuration file behind it.
///
/// # Errors
/// An unreadable file, or a key in it that is no option.
pub(crate) fn matches(args: &[std::ffi::OsString]) -> Result<ArgMatches> {
    let command = with_environment(Cli::command());
    let command = match file(args) {
        Some(path) => with_file(command, &path)?,
        None => command,
    };
    Ok(command.get_matches_from(args))
}

/// `--config FILE` if given, else the one that `KGAGENT_CONFIG` names, else the file of the current folder if there is one.
fn file(args: &[std::ffi::OsString]) -> Option<PathBuf> {
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let text = arg.to_string_lossy();
        if text == "--config" {
            return args.next().map(PathBuf::from);
        }
        if let Some(path) = text.strip_prefix("--config=") {
            return Some(PathBuf::from(path));
        }
    }
    if let Some(path) = std::env::var_os("KGAGENT_CONFIG").filter(|path| !path.is_empty()) {
        return Some(PathBuf::from(path));
    }
    let here = Path::new(FILE);
    here.exists().then(|| here.to_path_buf())
}

/// Every option with a long name can be given as `KGAGENT_LONG_NAME`.
fn with_environment(command: Command) -> Command {
    let command = command.mut_args(|arg| match arg.get_long() {
        Some(long) if long != "help" && long != "version" => {
            let name = format!("KGAGENT_{}", long.replace('-', "_").to_uppercase());
            arg.env(name).hide_env(true)
        }
        _ => arg,
    });
    command.mut_subcommands(with_environment)
}

fn with_file(command: Command, path: &Path) -> Result<Command> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let table: toml::Table = text
        .parse()
        .with_context(|| format!("{} is not TOML", path.display()))?;
    apply(command, &table, path, "")
}

/// Keys of a table are options of the command and of those below it; a table is a subcommand's.
fn apply(mut command: Command, table: &toml::Table, path: &Path, section: &str) -> Result<Command> {
    for (key, value) in table {
        if let toml::Value::Table(inner) = value {
            let Some(sub) = command.find_subcommand(key).cloned() else {
                bail!("{}: there is no command `{section}{key}`", path.display());
            };
            let sub = apply(sub, inner, path, &format!("{section}{key} "))?;
            command = command.mut_subcommand(key, |_| sub);
            continue;
        }
        let values: Vec<String> = match value {
            toml::Value::Array(items) => items.iter().map(plain).collect(),
            other => vec![plain(other)],
        };
        if !knows(&command, key) {
            bail!(
                "{}: `{key}` is no option of kgagent {}",
                path.display(),
                section.trim_end()
            );
        }
        command = set_default(command, key, &values);
    }
    Ok(command)
}

fn plain(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn knows(command: &Command, key: &str) -> bool {
    command
        .get_arguments()
        .any(|arg| arg.get_long() == Some(key))
        || command.get_subcommands().any(|sub| knows(sub, key))
}

fn set_default(command: Command, key: &str, values: &[String]) -> Command {
    let command = command.mut_args(|arg| {
        if arg.get_long() == Some(key) {
            arg.required(false).default_values(values.to_vec())
        } else {
            arg
        }
    });
    command.mut_subcommands(|sub| set_default(sub, key, values))
}
