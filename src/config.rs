//! Options from the environment and from `kgagent.toml`. The command line comes first, then
//! `KGAGENT_…`, then the file, then the default.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Arg, ArgMatches, Command, CommandFactory};

use crate::cli::Cli;

/// The configuration file that is read from the current folder.
const FILE: &str = "kgagent.toml";

/// Parses the command line; missing options come from the environment and the configuration file.
///
/// # Errors
/// If the file is unreadable or has a key that is not an option.
pub(crate) fn matches(args: &[std::ffi::OsString]) -> Result<ArgMatches> {
    let command = with_environment(Cli::command());
    let command = match file(args) {
        Some(path) => with_file(command, &path)?,
        None => command,
    };
    Ok(command.get_matches_from(args))
}

/// The configuration file: `--config FILE`, else `KGAGENT_CONFIG`, else `kgagent.toml` in the
/// current folder if it exists.
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

/// The long name of an option, followed by its older names.
fn names(arg: &Arg) -> impl Iterator<Item = &str> {
    arg.get_long()
        .into_iter()
        .chain(arg.get_all_aliases().unwrap_or_default())
}

/// Lets every option be given as `KGAGENT_LONG_NAME`. An older name counts if the current one is
/// not set.
fn with_environment(command: Command) -> Command {
    let variable = |name: &str| format!("KGAGENT_{}", name.replace('-', "_").to_uppercase());
    let is_set = |variable: &&String| std::env::var_os(variable).is_some();
    let command = command.mut_args(|arg| {
        if matches!(arg.get_long(), Some("help" | "version")) {
            return arg;
        }
        let variables: Vec<String> = names(&arg).map(variable).collect();
        match variables.iter().find(is_set).or(variables.first()) {
            Some(variable) => arg.env(variable).hide_env(true),
            None => arg,
        }
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

/// Sets defaults from a table: a key is an option of the command or of its subcommands, a nested
/// table belongs to the subcommand of that name.
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
                "{}: `{key}` is not an option of {}",
                path.display(),
                format!("kgagent {section}").trim_end()
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
        .any(|arg| names(arg).any(|name| name == key))
        || command.get_subcommands().any(|sub| knows(sub, key))
}

fn set_default(command: Command, key: &str, values: &[String]) -> Command {
    let command = command.mut_args(|arg| {
        if names(&arg).any(|name| name == key) {
            arg.required(false).default_values(values.to_vec())
        } else {
            arg
        }
    });
    command.mut_subcommands(|sub| set_default(sub, key, values))
}
